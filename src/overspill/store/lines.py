"""Counts lines while bytes stream by, and remembers where some of them start.

An index holds, for every stretch of ``stride`` bytes, the first line that starts in it.  The stride
doubles whenever the entries would be more than ``MOST_ENTRIES``, so the index of any output is small and
its memory bounded, and the nearest known start is never further away than one stride and one line.
The same bytes give the same index, however they were cut into chunks.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right

FIRST_STRIDE = 64 * 1024
MOST_ENTRIES = 4096
WORTH_BYTES = 256 * 1024
"""Outputs below this are scanned faster than an index is looked up."""


class LineCounter:
    """Feed it every byte once; ``lines`` and ``size`` are those of all that was fed."""

    __slots__ = ("_ends_open", "_mark", "_newlines", "_offsets", "_starts", "_stride", "size")

    def __init__(self) -> None:
        self.size = 0
        self._newlines = 0
        self._ends_open = False
        self._stride = FIRST_STRIDE
        self._mark = FIRST_STRIDE
        self._starts = array("Q")
        self._offsets = array("Q")

    @property
    def lines(self) -> int:
        return self._newlines + self._ends_open

    def feed(self, data: bytes) -> None:
        if not data:
            return
        at = 0
        while True:
            wanted = max(self._mark - 1 - self.size, at)
            newline = data.find(b"\n", wanted) if wanted < len(data) else -1
            if newline < 0:
                break
            self._newlines += data.count(b"\n", at, newline + 1)
            at = newline + 1
            self._note(self._newlines + 1, self.size + at)
        self._newlines += data.count(b"\n", at) if at else data.count(b"\n")
        self.size += len(data)
        self._ends_open = data[-1] != 0x0A

    def _note(self, line: int, offset: int) -> None:
        self._starts.append(line)
        self._offsets.append(offset)
        if len(self._starts) > MOST_ENTRIES:
            self._thin()
        self._mark = (offset // self._stride + 1) * self._stride

    def _thin(self) -> None:
        self._stride *= 2
        starts, offsets, mark = array("Q"), array("Q"), self._stride
        for line, offset in zip(self._starts, self._offsets, strict=True):
            if offset >= mark:
                starts.append(line)
                offsets.append(offset)
                mark = (offset // self._stride + 1) * self._stride
        self._starts, self._offsets = starts, offsets

    def packed(self) -> bytes:
        """The index in bytes; empty for an output too small to need one."""
        if self.size < WORTH_BYTES:
            return b""
        return _little(self._starts) + _little(self._offsets)


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


def _little(numbers: array[int]) -> bytes:
    if sys.byteorder == "big":
        numbers = array("Q", numbers)
        numbers.byteswap()
    return numbers.tobytes()
