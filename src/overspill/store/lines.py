"""Counts lines while bytes stream by, and remembers where some of them start.

The nearest known start is never further away than one stride and one line, and the index of any output
is small.  The same bytes give the same index, however they were cut into chunks.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right

from overspill.core.line_starts import LineStarts

WORTH_BYTES = 256 * 1024
"""Outputs below this are scanned faster than an index is looked up."""


class LineCounter:
    """Feed it every byte once; ``lines`` and ``size`` are those of all that was fed."""

    __slots__ = ("_ends_open", "_newlines", "_starts", "size")

    def __init__(self) -> None:
        self.size = 0
        self._newlines = 0
        self._ends_open = False
        self._starts = LineStarts()

    @property
    def lines(self) -> int:
        return self._newlines + self._ends_open

    def feed(self, data: bytes) -> None:
        if not data:
            return
        at = 0
        while True:
            wanted = max(self._starts.mark - 1 - self.size, at)
            newline = data.find(b"\n", wanted) if wanted < len(data) else -1
            if newline < 0:
                break
            self._newlines += data.count(b"\n", at, newline + 1)
            at = newline + 1
            self._starts.note(self._newlines + 1, self.size + at)
        self._newlines += data.count(b"\n", at) if at else data.count(b"\n")
        self.size += len(data)
        self._ends_open = data[-1] != 0x0A

    def packed(self) -> bytes:
        """The index in bytes; empty for an output too small to need one."""
        return self._starts.packed() if self.size >= WORTH_BYTES else b""


def nearest(packed: bytes, line: int) -> tuple[int, int]:
    """The last known line that starts at or before ``line``, and the offset where it does."""
    numbers = array("Q")
    numbers.frombytes(packed)
    if sys.byteorder == "big":
        numbers.byteswap()
    half = len(numbers) // 2
    place = bisect_right(numbers, line, 0, half) - 1
    return (1, 0) if place < 0 else (numbers[place], numbers[half + place])


def nearest_to_offset(packed: bytes, offset: int) -> tuple[int, int]:
    """The last known line that starts at or before the byte ``offset``, and where it does."""
    numbers = array("Q")
    numbers.frombytes(packed)
    if sys.byteorder == "big":
        numbers.byteswap()
    half = len(numbers) // 2
    place = bisect_right(numbers, offset, half) - half - 1
    return (1, 0) if place < 0 else (numbers[place], numbers[half + place])
