"""Source lines as an answer shows them: overspill's number, a colon, the line verbatim.

``812:text`` is a whole line; ``812[2001-6000]:text`` is those bytes of it.  A row never begins or ends
inside a code point, a grapheme cluster or an escape sequence.  Of a line that overwrites itself a row shows the
last state; where an earlier one is asked for, each is a row of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from overspill.core.measure import cut_after, cut_before, display
from overspill.retrieve.source import Source

_RETURNS = re.compile(rb"\r+(?=[^\r\n])")
_OVERWRITES = re.compile(rb"\r+(?=[^\r\n])|(?<=[^\x08])(?=\x08)")


class Row(NamedTuple):
    """A line of the source, or a part of one."""

    start: int
    data: bytes
    line: int
    column: int
    """Bytes of the line before the row."""
    ends_line: bool
    """Is the end of the line in it?"""

    @property
    def end(self) -> int:
        return self.start + len(self.data)

    @property
    def whole(self) -> bool:
        return self.column == 0 and self.ends_line

    def shown(self, mark: str = ":") -> str:
        text = display(self.data.removesuffix(b"\n")).replace("\n", "")
        return f"{self.label}{mark}{text}\n"

    @property
    def label(self) -> str:
        if self.whole:
            return str(self.line)
        last = self.column + max(1, len(self.data.removesuffix(b"\n")))  # a line end alone is a byte too
        return f"{self.line}[{self.column + 1}-{last}]"

    def states(self, overwrites: re.Pattern[bytes] = _RETURNS) -> Iterator[Row]:
        """Its parts, as a terminal shows them one after the other."""
        row, at = self, 0
        for found in overwrites.finditer(self.data):
            place = found.end()
            if cut_before(self.data, place) == place > at:  # else inside an escape sequence
                yield row._replace(data=self.data[at:place], ends_line=False)
                row = row._replace(start=self.start + place, column=self.column + place)
                at = place
        yield row._replace(data=self.data[at:])

    def showing(self, start: int, end: int) -> list[Row]:
        """The row, if what stands between the two offsets can be seen in it; else its states that do show that."""
        wanted = display(self.data[max(0, start - self.start) : max(0, end - self.start)])
        if wanted in display(self.data):
            return [self]
        states = self.states(_OVERWRITES)
        return [state for state in states if state.end > start and state.start < max(end, start + 1)]

    def first_part(self, size: int) -> Row:
        """About ``size`` bytes of its start, one cluster at least."""
        place = cut_before(self.data, size) or cut_after(self.data, 1)
        whole = place >= len(self.data)
        return self._replace(data=self.data[:place], ends_line=self.ends_line and whole)

    def last_part(self, size: int) -> Row:
        """About ``size`` bytes of its end, one cluster at least."""
        place = cut_after(self.data, len(self.data) - size)
        if place >= len(self.data):
            place = cut_before(self.data, len(self.data) - 1)
        return self._replace(start=self.start + place, data=self.data[place:], column=self.column + place)

    def part_around(self, place: int, size: int) -> Row:
        """About ``size`` bytes with those at ``place`` in their middle, one cluster at least."""
        first = cut_before(self.data, max(0, min(place - size // 2, len(self.data) - size)))
        last = cut_before(self.data, first + size)
        if last <= place:
            last = cut_after(self.data, place + 1)
        return Row(
            self.start + first,
            self.data[first:last],
            self.line,
            self.column + first,
            self.ends_line and last >= len(self.data),
        )


def rows(
    source: Source, start: int, end: int, *, line: int, column: int = 0, of: Literal["lines", "states"] = "lines"
) -> Iterator[Row]:
    """The rows of a stretch of the source, lines in order; the last may be a part of a line."""
    data = source.read(start, end - start)
    at = 0
    while at < len(data):
        found = data.find(b"\n", at)
        stop = len(data) if found < 0 else found + 1
        ends_line = found >= 0 or start + stop >= source.size
        row = Row(start + at, data[at:stop], line, column, ends_line)
        yield from row.states() if of == "states" else (row,)
        at, line, column = stop, line + 1, 0


def place_of(first: Row, last: Row) -> str:
    """Where a run of rows is, in words."""
    if first.column == 0 and last.ends_line:
        return f"line {first.line}" if first.line == last.line else f"lines {first.line}-{last.line}"
    last_byte = last.column + len(last.data)
    if first.line == last.line:
        return f"line {first.line}, bytes {first.column + 1}-{last_byte}"
    start = f"line {first.line}" + (f" byte {first.column + 1}" if first.column else "")
    stop = f"line {last.line}" + ("" if last.ends_line else f" byte {last_byte}")
    return f"{start} to {stop}"
