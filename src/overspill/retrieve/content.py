"""What the bytes of an output can be queried as: JSON, JSON lines, a table, Parquet, or nothing of these.

Decided from the first bytes and, for JSON, by parsing: a guess that the parser refuses is no answer.
"""

from __future__ import annotations

import csv
import json
from typing import Any, Literal

from overspill.retrieve.source import Source

Content = Literal["json", "json lines", "csv", "tsv", "parquet", "text", "binary", "empty"]
SAMPLE_BYTES = 64 * 1024
_LEAST_COLUMNS = 2


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
    second = rest.lstrip().partition(b"\n")[0]
    try:
        json.loads(second)
    except ValueError:
        return "text" if whole or b"\n" in rest.lstrip() else "json lines"
    return "json lines"


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


def parsed(source: Source, content: Content) -> Any:
    """The values of JSON or JSON lines; ``ValueError`` with the place when it isn't."""
    data = source.read(0, source.size).removeprefix(b"\xef\xbb\xbf")
    if content == "json":
        return json.loads(data)
    values = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                values.append(json.loads(line))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
    return values
