"""What stands out among lines of one form: the extreme of a number, and the rare value where a few are usual.

Guarantees grades that depend on the lines given and on nothing else, in time that grows with their bytes; the lines
are read a few hundred at a time, so that what they are made of never leaves a core's cache.
Leaves to others what standing out is worth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice
from operator import le, mul
from typing import NamedTuple

LEAST_ALIKE = 12
"""Fewer units of a form say nothing about what is usual among them."""
MOST_ALIKE = 20_000
READ_BYTES = 640
SLOTS = 48
EXTREMES = 3
"""So many of the highest values of one slot can stand out."""
USUAL_SHARE = 8
"""A slot with fewer values than one for so many lines is one of usual values: a rare one among them says something."""
RARE_SHARE = 50
"""A value is rare when the most usual one of its slot is so many times as frequent."""
FEW = 3
"""Numbers of no more different values than these have no extremes."""
ROWS_AT_ONCE = 512
_SEPARATED = bytes(32 if code in b"\"'`=,:;[](){}<>|#@" else code for code in range(256))
_NUMBER = frozenset(b"0123456789.-+")
_BETWEEN = b"\0"


class Standing(NamedTuple):
    """One grade for each unit, 0 for nothing, and for the rare values what they are."""

    outliers: bytearray
    rare: bytearray
    rare_values: dict[int, bytes]


def standing_out(texts: Sequence[bytes], forms: Sequence[Hashable]) -> Standing:
    """Grades the units by the slots of their form: texts parted by white space and signs, as many parts each."""
    size = len(texts)
    found = Standing(bytearray(size), bytearray(size), {})
    groups: dict[Hashable, list[int]] = {}
    for index, name in enumerate(forms):
        groups.setdefault(name, []).append(index)
    for members in groups.values():
        if LEAST_ALIKE <= len(members) <= MOST_ALIKE:
            for alike, slots in _read([texts[index][:READ_BYTES] for index in members], members):
                for slot in slots:
                    slot.grade(found, alike)
    return found


def _read(rows: Sequence[bytes], members: Sequence[int]) -> list[tuple[list[int], list[_Slot]]]:
    """For each number of parts that enough rows have: the members of these rows, and the slots that the parts fill."""
    by_width: dict[int, tuple[list[int], list[_Slot]]] = {}

    def see(width: int, some: Sequence[int], columns: Iterable[Sequence[bytes]]) -> None:
        if width not in by_width:
            by_width[width] = [], [_Slot(len(rows)) for _ in range(min(width, SLOTS))]
        alike, slots = by_width[width]
        alike += some
        for slot, cells in zip(slots, columns, strict=False):
            slot.see(cells)

    widths = Counter(len(_parts(row)) for row in rows[:LEAST_ALIKE])
    usual = max(widths, key=lambda width: (widths[width], width))
    for first in range(0, len(rows), ROWS_AT_ONCE):
        some, whose = rows[first : first + ROWS_AT_ONCE], members[first : first + ROWS_AT_ONCE]
        if columns := _alike(some, usual):
            see(usual, whose, columns)
            continue
        parted: dict[int, list[tuple[int, list[bytes]]]] = {}
        for member, parts in zip(whose, map(_parts, some), strict=True):
            parted.setdefault(len(parts), []).append((member, parts))
        for width, found in parted.items():
            see(width, [member for member, _ in found], zip(*[parts for _, parts in found], strict=True))
    return [(alike, slots) for alike, slots in by_width.values() if len(alike) >= LEAST_ALIKE]


def _parts(row: bytes) -> list[bytes]:
    return row.translate(_SEPARATED).split(None, SLOTS)


def _alike(rows: Sequence[bytes], width: int) -> list[list[bytes]]:
    """The parts of the rows, column by column, where all rows have so many; nothing where they differ."""
    text = b" \0 ".join(rows).translate(_SEPARATED)
    if width > SLOTS or text.count(_BETWEEN) >= len(rows):
        return []
    parts = text.split()
    step = width + 1
    if len(parts) + 1 != step * len(rows) or parts[width::step].count(_BETWEEN) + 1 != len(rows):
        return []
    return [parts[slot::step] for slot in range(width)]


class _Slot:
    """One place in the rows of a form, and what stands there: seen in pieces, graded in the end."""

    __slots__ = ("_counts", "_first", "_first_at", "_most", "_numbers", "_rows", "_varied")

    def __init__(self, most_rows: int) -> None:
        self._first = b""
        self._rows = 0
        self._varied = False
        self._most = max(FEW, most_rows // USUAL_SHARE)
        self._counts: Counter[bytes] | None = Counter()
        """None: too many different values to be usual ones."""
        self._first_at: dict[bytes, int] = {}
        self._numbers: list[float] | None = []
        """None: not only numbers."""

    def see(self, cells: Sequence[bytes]) -> None:
        if not cells:
            return
        before = self._rows
        self._rows += len(cells)
        if not before:
            self._first = cells[0]
            if not _NUMBER.issuperset(self._first):
                self._numbers = None
        if not self._varied:
            if cells.count(self._first) == len(cells):
                return
            self._varied = True
            if before:
                self._count([self._first] * before, 0)
        self._count(cells, before)

    def _count(self, cells: Sequence[bytes], before: int) -> None:
        if self._numbers is not None:
            try:
                self._numbers += map(float, cells)
            except ValueError:
                self._numbers = None
        if self._counts is None:
            return
        known = len(self._counts)
        self._counts.update(cells)
        if len(self._counts) > self._most:
            self._counts = None
        elif len(self._counts) > known:
            last = before + len(cells) - 1
            self._first_at = dict(zip(reversed(cells), range(last, before - 1, -1), strict=True)) | self._first_at

    def grade(self, found: Standing, alike: Sequence[int]) -> None:
        if not self._varied:
            return
        numbers, counts = self._numbers, self._counts
        if numbers and (counts is None or len(counts) > FEW):
            _grade_numbers(found.outliers, numbers, alike)
        if counts is not None and len(counts) <= self._rows // USUAL_SHARE and not (numbers and _sorted(numbers)):
            self._grade_rare(found, counts, alike)

    def _grade_rare(self, found: Standing, counts: Mapping[bytes, int], alike: Sequence[int]) -> None:
        """The first line of each value that is far rarer than the usual ones of its slot."""
        most = max(counts.values())
        for value, count in counts.items():
            if count * RARE_SHARE > most:
                continue
            index = alike[self._first_at[value]]
            grade = 3 if count == 1 else 2 if count <= 3 else 1
            if grade > found.rare[index]:
                found.rare[index] = grade
                found.rare_values[index] = value


def _sorted(numbers: Sequence[float]) -> bool:
    return all(map(le, numbers, islice(numbers, 1, None)))


def _grade_numbers(found: bytearray, values: Sequence[float], alike: Sequence[int]) -> None:
    highest, lowest = max(values), min(values)
    if highest == lowest or highest > 1e100 or highest != highest:
        return
    mean = sum(values) / len(values)
    spread = max(0.0, sum(map(mul, values, values)) / len(values) - mean * mean) ** 0.5
    ends = len(values) - 1
    # clocks and counters have their extremes at the ends
    if 0 < (where := values.index(lowest)) < ends:
        _raise(found, alike[where], _grade(lowest, mean, spread))
    if not 0 < values.index(highest) < ends:
        return
    grade = _grade(highest, mean, spread)
    _raise(found, alike[values.index(highest)], grade)
    if grade == 1:
        return
    left = [*values]
    for _ in range(EXTREMES - 1):
        left[left.index(max(left))] = -math.inf
        where = left.index(max(left))
        grade = _grade(values[where], mean, spread)
        if grade > 1:
            _raise(found, alike[where], grade)


def _grade(value: float, mean: float, spread: float) -> int:
    far = abs(value - mean) / spread if spread else 0.0
    return 1 if far < 3 else 2 if far < 5 else 3 if far < 9 else 4


def _raise(grades: bytearray, index: int, grade: int) -> None:
    grades[index] = max(grades[index], grade)
