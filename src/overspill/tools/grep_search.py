"""Searches the files below a root: the first hundred matches with their context, and how many there are in all.

ripgrep says which files match and how often, when it is at hand; else they are walked and searched here.
What is shown is cut out here either way, by the linear-time engine: no pattern can hang it, and of a
long line the window around the match is shown.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar, NamedTuple

from overspill.core.measure import cut_after, cut_before, display
from overspill.core.ports import Store
from overspill.errors import RequestError
from overspill.retrieve.pattern import Pattern, compiled
from overspill.tools.base import Tool
from overspill.tools.root import Root, Walk, is_binary

MAX_RESULTS = 100
CONTEXT_LINES = 2
_WINDOW_BYTES = 100
"""Shown on either side of a match in a long line."""
_LONG_LINE_BYTES = 400
_LINE_BYTES = 1 << 20
"""A longer line is searched in pieces that overlap."""
_NOTICE_CHARS = 200


class GrepSearch(Tool):
    """Searches files for a regular expression; answers with numbered lines and their context."""

    name = "grep_search"
    max_results: ClassVar[int] = MAX_RESULTS
    context_lines: ClassVar[int] = CONTEXT_LINES

    def __init__(
        self, root: str | os.PathLike[str] = ".", *, store: Store | str | None = None, ripgrep: str | None = "rg"
    ) -> None:
        super().__init__(store=store)
        self._root = Root(root)
        self._ripgrep = shutil.which(ripgrep) if ripgrep else None

    def execute(self, pattern: str, path: str = ".", include: str = "", context: int = CONTEXT_LINES) -> str:
        if not 0 <= context <= 50:
            raise RequestError("context", context, "a number of lines, 0 to 50")
        wanted = compiled(pattern, crlf=True)
        place = self._root.inside(path)
        if not place.exists():
            raise RequestError("path", path, "a file or directory that is there")
        counts = sorted(self._counts(pattern, wanted, place, include))
        total = sum(count for _, count in counts)
        if not total:
            return f"no match for {pattern!r}"
        room = self.MAX_OUTPUT_CHARS - _NOTICE_CHARS
        shown, lines = 0, self.MAX_OUTPUT_LINES - 2
        blocks: list[str] = []
        for file, _ in counts:
            for block in self._blocks(file, wanted, context, self.max_results - shown):
                text = "\n".join(block.lines)
                if len(text) + 1 > room or len(block.lines) + 1 > lines:
                    return self._answer(blocks, shown, total, len(counts))
                blocks.append(text)
                shown += block.matches
                room -= len(text) + 1
                lines -= len(block.lines) + 1
            if shown >= self.max_results:
                break
        return self._answer(blocks, shown, total, len(counts))

    def _answer(self, blocks: list[str], shown: int, total: int, files: int) -> str:
        where = f"in {files} file{'' if files == 1 else 's'}"
        plural = "" if total == 1 else "es"
        if shown >= total:
            head = f"{total} match{plural} {where}"
        else:
            head = (
                f"showing the first {shown} of {total} match{plural} {where}; narrow the pattern, the path or include"
            )
        return "\n--\n".join([f"[{head}]", *blocks]).replace("]\n--\n", "]\n", 1)

    def _counts(self, pattern: str, wanted: Pattern, place: Path, include: str) -> Iterator[tuple[str, int]]:
        """The files with matching lines, and how many each has."""
        if self._ripgrep and (counted := self._by_ripgrep(pattern, place, include)) is not None:
            yield from counted
            return
        walk = Walk(self._root)
        for file in [place] if place.is_file() else walk.files(place):
            name = self._root.shown(file)
            if _included(name, include) and not is_binary(file):
                count = sum(1 for _ in _matching_lines(file, wanted))
                if count:
                    yield name, count

    def _by_ripgrep(self, pattern: str, place: Path, include: str) -> list[tuple[str, int]] | None:
        """None when it does not understand what our engine does."""
        assert self._ripgrep
        words = [
            *(self._ripgrep, "--no-config", "--count", "--null", "--with-filename", "--hidden", "--no-require-git"),
            *("--no-ignore-global", "--no-ignore-parent", "--no-ignore-dot", "--crlf", "--glob", "!.git"),
            *("-e", pattern, "--", self._root.shown(place) or "."),
        ]
        ran = subprocess.run(words, cwd=self._root.path, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if ran.returncode not in (0, 1) and not ran.stdout:
            return None
        found = []
        for line in ran.stdout.split(b"\n"):
            raw, _, count = line.partition(b"\0")
            name = os.fsdecode(raw).removeprefix("./")
            if count and _included(name, include) and not is_binary(self._root.path / name):
                found.append((name, int(count)))
        return found

    def _blocks(self, name: str, wanted: Pattern, context: int, most: int) -> Iterator[_Block]:
        """Matches with their context, neighbours together; never more matches than asked for."""
        if most <= 0:
            return
        window: list[_Line] = []
        block: list[_Line] = []
        after = matches = 0
        for line in _lines(self._root.path / name, wanted):
            if line.match is not None and matches < most:
                if block and (after == 0 and window and window[0].number > block[-1].number + 1):
                    yield _Block.of(name, block)
                    block = []
                block += [*window, line]
                window, after, matches = [], context, matches + 1
            elif after and block:
                block.append(line)
                after -= 1
            else:
                if matches >= most:
                    break
                window = [*window, line][-context:] if context else []
                if not context and block:
                    yield _Block.of(name, block)
                    block = []
        if block:
            yield _Block.of(name, block)


class _Line(NamedTuple):
    number: int
    shown: str
    match: int | None
    """Where the match begins, in bytes of the line; None when there is none."""


class _Block(NamedTuple):
    lines: list[str]
    matches: int

    @classmethod
    def of(cls, name: str, lines: list[_Line]) -> _Block:
        texts = []
        for line in lines:
            sign = "-" if line.match is None else ":"
            texts.append(f"{name}{sign}{line.number}{sign} {line.shown}")
        return cls(texts, sum(line.match is not None for line in lines))


def _included(name: str, include: str) -> bool:
    return not include or fnmatchcase(name, include) or fnmatchcase(name.rpartition("/")[2], include)


def _matching_lines(file: Path, wanted: Pattern) -> Iterator[_Line]:
    return (line for line in _lines(file, wanted) if line.match is not None)


def _lines(file: Path, wanted: Pattern) -> Iterator[_Line]:
    """The lines of a file; one that is too long to hold comes as the window around its first match."""
    with file.open("rb") as source:
        number = 0
        while data := source.readline(_LINE_BYTES):
            number += 1
            if data.endswith(b"\n") or len(data) < _LINE_BYTES:
                yield _line(number, data.rstrip(b"\r\n"), wanted, 0)
                continue
            yield _long_line(source, number, data, wanted)


def _long_line(source: object, number: int, data: bytes, wanted: Pattern) -> _Line:
    found: _Line | None = None
    first, at = data, 0
    while True:
        if found is None:
            line = _line(number, data.rstrip(b"\r\n"), wanted, at)
            found = line if line.match is not None else None
        if data.endswith(b"\n"):
            break
        more = source.readline(_LINE_BYTES)  # type: ignore[attr-defined]
        if not more:
            break
        overlap = data[-4_096:]
        at += len(data) - len(overlap)
        data = overlap + more
    return found or _Line(number, _window(first, 0, 0, 0), None)


def _line(number: int, data: bytes, wanted: Pattern, offset: int) -> _Line:
    start, end = wanted.search(data, 0, len(data))
    if start < 0:
        return _Line(number, _window(data, 0, 0, offset), None)
    return _Line(number, _window(data, start, end, offset), offset + start)


def _window(data: bytes, start: int, end: int, offset: int) -> str:
    if len(data) <= _LONG_LINE_BYTES:
        return display(data)
    first = cut_after(data, max(0, start - _WINDOW_BYTES)) if start > _WINDOW_BYTES else 0
    last = cut_before(data, min(len(data), max(min(end, start + _WINDOW_BYTES), first) + _WINDOW_BYTES))
    place = f"[bytes {offset + first + 1}-{offset + last}] "
    return f"{place}{'…' if first else ''}{display(data[first:last])}{'…' if last < len(data) else ''}"
