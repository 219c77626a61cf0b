"""Where some lines of an output start, noted while it streams by: few enough to keep for an output of any size.

There is at most one entry for every stretch of ``stride`` bytes, the first that was offered in it; the
stride doubles whenever the entries would be more than ``MOST_ENTRIES``.
"""

from __future__ import annotations

import sys
from array import array

FIRST_STRIDE = 64 * 1024
MOST_ENTRIES = 4096


class LineStarts:
    """Notes come in the order of the output; ``lines`` and ``size`` are said by whoever counts."""

    __slots__ = ("_numbers", "_offsets", "_stride", "lines", "mark", "size")

    def __init__(self) -> None:
        self.lines = 0
        self.size = 0
        self.mark = FIRST_STRIDE
        """Only the start of a line at or after this is worth a note."""
        self._stride = FIRST_STRIDE
        self._numbers = array("Q")
        self._offsets = array("Q")

    def offer(self, spill: object) -> None:
        """To a spill that has ``counted_by(lines)``, so that nothing is counted twice.

        Its own class has to have it: one that only passes on what it hasn't may write other bytes than it is given.
        """
        if counted_by := getattr(type(spill), "counted_by", None):
            counted_by(spill, self)

    def note(self, line: int, offset: int) -> None:
        if offset < self.mark:
            return
        self._numbers.append(line)
        self._offsets.append(offset)
        if len(self._numbers) > MOST_ENTRIES:
            self._thin()
        self.mark = (offset // self._stride + 1) * self._stride

    def _thin(self) -> None:
        self._stride *= 2
        numbers, offsets, mark = array("Q"), array("Q"), self._stride
        for line, offset in zip(self._numbers, self._offsets, strict=True):
            if offset >= mark:
                numbers.append(line)
                offsets.append(offset)
                mark = (offset // self._stride + 1) * self._stride
        self._numbers, self._offsets = numbers, offsets

    def packed(self) -> bytes:
        """All line numbers, then all offsets, in 64 bits each."""
        return _little(self._numbers) + _little(self._offsets)


def _little(numbers: array[int]) -> bytes:
    if sys.byteorder == "big":
        numbers = array("Q", numbers)
        numbers.byteswap()
    return numbers.tobytes()
