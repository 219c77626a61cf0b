"""What the bytes of an output can be queried as: JSON, JSON lines, a table, Parquet, or nothing of these.

Decided from the first bytes and, for JSON, by parsing: a guess that the parser refuses is no answer. Among JSON
lines single ones may be none, and are told apart.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from overspill.retrieve.source import Source

Content = Literal["json", "json lines", "csv", "tsv", "parquet", "text", "binary", "empty"]
SAMPLE_BYTES = 64 * 1024
_LEAST_COLUMNS = 2
_SAMPLE_LINES = 60


def content_of(source: Source) -> Content:
    """By the first bytes alone."""
    sample = source.read(0, SAMPLE_BYTES)
    if not sample:
        return "empty"
    if sample.startswith(b"PAR1"):
        return "parquet"
    if b"\0" in sample[:8192]:
        return "binary"
    text = sample.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in b"[{":
        return _json_kind(text, whole=len(sample) == source.size)
    delimiter = delimiter_of(sample.decode("utf-8", "replace"), whole=len(sample) == source.size)
    return "text" if delimiter is None else "tsv" if delimiter == "\t" else "csv"


def _json_kind(text: bytes, *, whole: bool) -> Content:
    first, _, rest = text.partition(b"\n")
    try:
        json.loads(first)
    except ValueError:
        return "json" if _begins_as_json(text) else "text"
    if not rest.strip():
        return "json"
    lines = [line for line in (rest if whole else rest.rpartition(b"\n")[0]).split(b"\n") if line.strip()]
    lines = lines[:_SAMPLE_LINES]
    return "json lines" if sum(map(is_json, lines)) >= len(lines) / 2 else "text"


def _begins_as_json(text: bytes) -> bool:
    after = text[1:200].lstrip()
    if text[:1] == b"{":
        return after[:1] in b'"}' and after != b""
    return after[:1] in b'[{"]-0123456789tfn' and after != b""


def delimiter_of(text: str, *, whole: bool) -> str | None:
    """The delimiter of a table whose rows all have as many cells; None when it is none."""
    lines = text.splitlines()
    if not whole:
        lines = lines[:-1]
    lines = [line for line in lines[:60] if line.strip()]
    if len(lines) < 2:
        return None
    for delimiter in "\t,;|":
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        if widths and widths[0] >= _LEAST_COLUMNS and widths.count(widths[0]) >= 0.95 * len(widths):
            return delimiter
    return None


class Parsed(NamedTuple):
    value: Any
    strays: list[int]
    """The lines among JSON lines that are no JSON."""


def parsed(source: Source, content: Content) -> Parsed:
    """The value of JSON, or those of JSON lines; ``ValueError`` with the place when it isn't."""
    data = source.read(0, source.size).removeprefix(b"\xef\xbb\xbf")
    if content == "json":
        return Parsed(json.loads(data), [])
    found = Parsed([], [])
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                found.value.append(json.loads(line))
            except ValueError:
                found.strays.append(number)
    return found


def is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def json_lines(source: Source, start: int, end: int) -> Iterator[tuple[bytes, list[int]]]:
    """The lines of a stretch, many at a time: with those that are no JSON emptied, and which of them these are."""
    return map(_without_strays, whole_lines(source, start, end))


def whole_lines(source: Source, start: int, end: int) -> Iterator[bytes]:
    """A stretch in pieces that end with a line."""
    held: list[bytes] = []
    for chunk in source.chunks(start, end):
        stop = chunk.rfind(b"\n") + 1
        if stop:
            yield b"".join((*held, chunk[:stop]))
            held.clear()
        held.append(chunk[stop:])
    if rest := b"".join(held):
        yield rest


def _without_strays(data: bytes) -> tuple[bytes, list[int]]:
    lines = data.split(b"\n")
    strays = [at for at, line in enumerate(lines) if line.strip() and not is_json(line)]
    for at in strays:
        lines[at] = b""
    return b"\n".join(lines) if strays else data, strays


def strays_in_words(lines: list[int]) -> str:
    """Which lines are no JSON; empty when all are."""
    if not lines:
        return ""
    shown = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
    return f"{len(lines)} lines that are no JSON: {shown}" if len(lines) > 1 else f"1 line that is no JSON: {shown}"
