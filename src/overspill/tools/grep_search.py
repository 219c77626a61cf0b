"""Searches the files below a root: the first hundred matches with their context, and how many there are in all.

Every match is found by the linear-time engine, so no pattern can hang it; ripgrep, when it is at hand,
only spares the files without one.  Of a long line the window around the match is shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, ClassVar, NamedTuple

from overspill.config.settings import TOOL_PARAMETERS
from overspill.core.measure import cut_after, cut_before, display
from overspill.core.ports import Store
from overspill.errors import PatternError, PolicyError, RequestError
from overspill.retrieve.pattern import Pattern, compiled
from overspill.tools import ripgrep
from overspill.tools.base import Tool
from overspill.tools.globs import Globs
from overspill.tools.root import Root, Walk, but_for, looks_binary, printable
from overspill.tools.running import nobody_waits

MAX_RESULTS = 100
CONTEXT_LINES = 2
_CONTEXT = TOOL_PARAMETERS["show_context"]
_WINDOW_BYTES = 100
"""Shown on either side of a match in a long line."""
_LONG_LINE_BYTES = 400
_LINE_BYTES = 1 << 20
"""A longer line is searched in pieces that overlap."""
_OVERLAP_BYTES = 4_096
_NOTICE_CHARS = 200
_LEAST_CHARS = 2_000
_ENDS_OF_TEXT = re.compile(r"\\[Az]|\(\?\w*-\w*m")
"""What means something else when the engine sees more than a line at once."""


class GrepSearch(Tool):
    """Searches files for a regular expression; answers with numbered lines and their context."""

    name = "grep_search"
    max_results: ClassVar[int] = MAX_RESULTS

    def __init__(
        self,
        root: str | os.PathLike[str] = ".",
        *,
        store: Store | str | None = None,
        context_lines: int = CONTEXT_LINES,
        rg: str | None = "rg",
    ) -> None:
        super().__init__(store=store)
        self._root = Root(root)
        self._context_lines = context_lines
        if context_lines not in _CONTEXT:
            raise PolicyError(f"{self.title}.context_lines", context_lines, f"0 to {_CONTEXT[-1]}")
        self._ripgrep = ripgrep.program(rg)

    def execute(self, pattern: str, path: str = ".", include: str = "", context: int | None = None) -> str:
        around = self._context_lines if context is None else context
        if around not in _CONTEXT:
            raise RequestError("context", around, f"a number of lines, 0 to {_CONTEXT[-1]}")
        wanted = _compiled(pattern)
        place = self._root.place(path)
        walk = Walk(self._root, place)
        counts: list[tuple[str, int]] = []
        unread = 0
        for file in self._files(pattern, place, include, walk):
            if nobody_waits():
                return ""
            try:
                count = self._count(file, wanted)
            except RequestError:
                if place.is_file():
                    raise
                unread += 1
                continue
            if count:
                counts.append((file, count))
        unread += walk.unread
        total = sum(count for _, count in counts)
        if not total:
            return f"no match for {pattern!r}{but_for(unread)}"
        page = _Page(max(_LEAST_CHARS, self.MAX_OUTPUT_CHARS) - _NOTICE_CHARS, self.MAX_OUTPUT_LINES - 1)
        for file, _ in counts:
            if not self._show(page, file, wanted, around):
                break
        where = f"in {len(counts)} file{'' if len(counts) == 1 else 's'}"
        plural = "" if total == 1 else "es"
        head = f"{total} match{plural} {where}"
        if page.matches < total:
            head = f"showing the first {page.matches} of {head}; narrow the pattern, the path or include"
        return "\n".join([f"[{head}{but_for(unread)}]", *page.lines])

    def _files(self, pattern: str, place: Path, include: str, walk: Walk) -> list[str]:
        """The files that may have a match, by their names from the root."""
        if place.is_file():
            return [self._root.shown(place)]
        wanted = Globs(include)
        if self._ripgrep:
            found = ripgrep.files(self._ripgrep, pattern, self._root.path, self._root.shown(place))
            if found is not None:
                return sorted(
                    name for name in found if wanted.match(name) and walk.reaches(self._root.path / name)
                )  # fmt: skip
        return sorted(name for file in walk.files() if wanted.match(name := self._root.shown(file)))

    def _count(self, name: str, wanted: Pattern) -> int:
        """How many lines match; none of a file that is no text."""
        with self._root.open(self._root.path / name) as source:
            return 0 if looks_binary(source) else sum(1 for _ in _lines(source, wanted, only_matches=True))

    def _show(self, page: _Page, name: str, wanted: Pattern, context: int) -> bool:
        """The matches of a file with the lines around; False when the page is full."""
        try:
            source = self._root.open(self._root.path / name)
        except RequestError:  # it went while we counted
            return True
        with source:
            before: list[_Line] = []
            after = 0
            for line in _lines(source, wanted, only_matches=not context):
                if line.match is not None:
                    if page.matches == self.max_results or not page.add(name, before, line):
                        return False
                    before, after = [], context
                elif after:
                    if not page.add_after(name, line):
                        return False
                    after -= 1
                elif page.matches == self.max_results:
                    return False
                else:
                    before = [*before, line][-context:]
        return True


def _compiled(pattern: str) -> Pattern:
    try:
        return compiled(pattern)
    except PatternError as error:
        if "literal" not in error.accepted:
            raise
        # The calls of read-back can be told so; a pattern of this tool has to say it itself.
        advice = "to search for these very characters, put a backslash before each that has a meaning"
        raise PatternError(error.pattern, error.reason, error.position, advice) from None


class _Line(NamedTuple):
    number: int
    shown: str
    match: int | None
    """Where the match begins, in bytes of the line; None when there is none."""


class _Page:
    """What is shown, as long as there is room."""

    def __init__(self, room_chars: int, room_lines: int) -> None:
        self.lines: list[str] = []
        self.matches = 0
        self._room_chars, self._room_lines = room_chars, room_lines
        self._last: tuple[str, int] = ("", 0)

    def add(self, name: str, before: list[_Line], match: _Line) -> bool:
        """A match with the lines before it; where these don't fit, without them."""
        fits = self._add(name, [*before, match]) or self._add(name, [match])
        self.matches += fits
        return fits

    def add_after(self, name: str, line: _Line) -> bool:
        return self._add(name, [line])

    def _add(self, name: str, lines: list[_Line]) -> bool:
        file, number = self._last
        follows = file == name and lines[0].number == number + 1
        texts = [] if follows or not self.lines else ["--"]
        for line in lines:
            sign = "-" if line.match is None else ":"
            texts.append(f"{printable(name)}{sign}{line.number}{sign} {line.shown}")
        size = sum(map(len, texts)) + len(texts)
        if size > self._room_chars or len(texts) > self._room_lines:
            return False
        self._room_chars -= size
        self._room_lines -= len(texts)
        self.lines += texts
        self._last = name, lines[-1].number
        return True


def _lines(source: BinaryIO, wanted: Pattern, *, only_matches: bool) -> Iterator[_Line]:
    """The lines of a file; one that is too long to hold comes as the window around its first match."""
    number = 1
    while data := source.read(_LINE_BYTES):
        data += b"" if data.endswith(b"\n") else source.readline(_LINE_BYTES)
        whole = len(data) if data.endswith(b"\n") or len(data) < _LINE_BYTES else data.rfind(b"\n") + 1
        found = _matching if only_matches else _all
        yield from found(data[:whole], number, wanted)
        number += data.count(b"\n")
        if whole < len(data):
            line = _long_line(source, number, data[whole:], wanted)
            if line.match is not None or not only_matches:
                yield line
            number += 1


def _all(data: bytes, number: int, wanted: Pattern) -> Iterator[_Line]:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for ordinal, line in enumerate(lines):
        yield _line(number + ordinal, line.rstrip(b"\r"), wanted, 0)


def _matching(data: bytes, number: int, wanted: Pattern) -> Iterator[_Line]:
    """The same for the lines that match alone: the engine runs over all of them at once where it can."""
    if _ENDS_OF_TEXT.search(wanted.text):
        yield from (line for line in _all(data, number, wanted) if line.match is not None)
        return
    at = 0
    while at < len(data):
        start, _ = wanted.search(data, at, len(data))
        if start < 0 or (start == len(data) and data.endswith(b"\n")):
            return
        first = data.rfind(b"\n", 0, start) + 1
        last = data.find(b"\n", start)
        last = len(data) if last < 0 else last
        number += data.count(b"\n", at, first)
        line = _line(number, data[first:last].rstrip(b"\r"), wanted, 0)
        if line.match is not None:
            yield line
        at, number = last + 1, number + 1


def _long_line(source: BinaryIO, number: int, data: bytes, wanted: Pattern) -> _Line:
    """A line whose end is somewhere further on in the file."""
    found: _Line | None = None
    first, at = data, 0
    while True:
        if found is None:
            line = _line(number, data.rstrip(b"\r\n"), wanted, at)
            found = line if line.match is not None else None
        if data.endswith(b"\n"):
            break
        more = source.readline(_LINE_BYTES)
        if not more:
            break
        overlap = data[-_OVERLAP_BYTES:]
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
