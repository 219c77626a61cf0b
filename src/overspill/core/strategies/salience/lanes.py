"""Columns of small numbers, one byte for each unit, worked on as a whole: by translation and as big integers.

Guarantees the same answers as a loop over the units would give, as long as no number outgrows its byte.
Leaves to others what the numbers mean.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from operator import itemgetter

Column = bytes | bytearray
BYTES = 256
MANY = 5
"""The rank of a unit before which more than a few of its kind stood."""
LAST = 8
_RANKS = range(MANY)
_OFTEN = 16
"""Kinds that come more often than this on average are looked for one by one."""
_SOMETHING = re.compile(rb"[^\0]")


def table(values: Iterable[int]) -> bytes:
    """What ``translate`` takes: the answer for each number, 0 for those beyond the values."""
    return bytes(values).ljust(BYTES, b"\0")


def times(factor: int, below: int = BYTES) -> bytes:
    """The table that multiplies the numbers below a bound."""
    return table(factor * number for number in range(below))


def added(*columns: Column) -> bytes:
    """The sums, unit by unit."""
    total = sum(int.from_bytes(column, "little") for column in columns)
    return total.to_bytes(len(columns[0]), "little")


def either(column: Column, other: Column) -> bytes:
    """All bits of the one and of the other."""
    bits = int.from_bytes(column, "little") | int.from_bytes(other, "little")
    return bits.to_bytes(len(column), "little")


def paired(high: Column, factor: int, low: Column) -> bytes:
    """One column of two: ``high`` times the factor, and ``low``."""
    return added(high.translate(times(factor, 1 + (BYTES - 1) // factor)), low)


def around(column: Column, reach: int) -> bytes:
    """Of each unit, the sum of the units so far before and after it, its own number counted in."""
    lane = int.from_bytes(column, "little")
    total = lane
    for distance in range(1, reach + 1):
        total += (lane << 8 * distance) + (lane >> 8 * distance)
    return (total & ((1 << 8 * len(column)) - 1)).to_bytes(len(column), "little")


def where(column: Column) -> list[int]:
    """The units that have any number but 0."""
    return [match.start() for match in _SOMETHING.finditer(column)]


def spreading(kinds: Sequence[int], different: int) -> Callable[[bytes], bytes]:
    """For units of so many different kinds: what makes a column of the numbers that each kind has."""
    if different <= BYTES:
        of = bytes(kinds)
        return lambda numbers: of.translate(table(numbers))
    pick = itemgetter(*kinds)
    return lambda numbers: bytes(pick(numbers))


def ranked(kinds: Sequence[int], different: int) -> tuple[bytes, bytes]:
    """For each unit how many of its kind stood before it, few as they count, and the same with the last one marked."""
    size = len(kinds)
    last = bytearray(size)
    if different <= BYTES and size > _OFTEN * different:
        column, few = bytes(kinds), bytearray([MANY]) * size
        for kind in range(different):
            at = -1
            for rank in _RANKS:
                at = column.find(kind, at + 1)
                if at < 0:
                    break
                few[at] = rank
            last[column.rfind(kind)] = LAST
        ranks = bytes(few)
    else:
        alone, held = repeat(0), Counter(kinds)
        seen = [alone if held[kind] == 1 else chain(_RANKS, repeat(MANY)) for kind in range(different)]
        ranks = bytes(map(next, map(seen.__getitem__, kinds)))
        for index in dict(zip(kinds, range(size), strict=True)).values():
            last[index] = LAST
    return ranks, added(ranks, last)


def log_bin(value: float) -> int:
    """0 for nothing, then one more for each doubling."""
    return min(12, int(value).bit_length())
