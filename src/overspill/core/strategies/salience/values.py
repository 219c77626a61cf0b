"""What stands out among lines of one form: the extreme of a number, and the rare value where a few are usual.

Guarantees grades that depend on the lines given and on nothing else, in time that grows with their bytes.
Leaves to others what standing out is worth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import pairwise
from operator import mul
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
_SEPARATED = bytes(32 if code in b"\"'`=,:;[](){}<>|#@" else code for code in range(256))
_NUMBER = frozenset(b"0123456789.-+")


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
        if not LEAST_ALIKE <= len(members) <= MOST_ALIKE:
            continue
        by_width: dict[int, list[tuple[int, list[bytes]]]] = {}
        for index in members:
            row = texts[index][:READ_BYTES].translate(_SEPARATED).split(None, SLOTS)
            by_width.setdefault(len(row), []).append((index, row))
        for width, rows in by_width.items():
            if width and len(rows) >= LEAST_ALIKE:
                _grade_slots(found, [index for index, _ in rows], [row for _, row in rows])
    return found


def _grade_slots(found: Standing, alike: Sequence[int], rows: Sequence[Sequence[bytes]]) -> None:
    """Grades units of one form and width, slot by slot."""
    for _, slot in zip(range(SLOTS), zip(*rows, strict=True), strict=False):
        distinct = set(slot)
        different = len(distinct)
        if different == 1:
            continue
        numbers = _numbers(slot, distinct)
        if numbers and different > 3:
            _grade_numbers(found.outliers, numbers, alike)
        if different <= len(slot) // USUAL_SHARE and not (numbers and _sorted(numbers)):
            _grade_rare(found, slot, Counter(slot), alike)


def _numbers(slot: Sequence[bytes], distinct: Collection[bytes]) -> list[float]:
    """The values of a slot of numbers; none if a text is among them."""
    if not _NUMBER.issuperset(slot[0]):
        return []
    try:
        if 2 * len(distinct) > len(slot):
            return list(map(float, slot))
        known = {value: float(value) for value in distinct}
        return list(map(known.__getitem__, slot))
    except ValueError:
        return []


def _sorted(numbers: Sequence[float]) -> bool:
    return all(before <= after for before, after in pairwise(numbers))


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
    left = [*values]
    for place in range(EXTREMES):
        where = left.index(max(left))
        grade = _grade(values[where], mean, spread)
        if place == 0 or grade > 1:
            _raise(found, alike[where], grade)
        left[where] = -math.inf


def _grade(value: float, mean: float, spread: float) -> int:
    far = abs(value - mean) / spread if spread else 0.0
    return 1 if far < 3 else 2 if far < 5 else 3 if far < 9 else 4


def _grade_rare(found: Standing, slot: Sequence[bytes], counts: Mapping[bytes, int], alike: Sequence[int]) -> None:
    """The first line of each value that is far rarer than the usual ones of its slot."""
    most = max(counts.values())
    seen: set[bytes] = set()
    for index, value in zip(alike, slot, strict=True):
        count = counts[value]
        if count * RARE_SHARE > most or value in seen:
            continue
        seen.add(value)
        grade = 3 if count == 1 else 2 if count <= 3 else 1
        if grade > found.rare[index]:
            found.rare[index] = grade
            found.rare_values[index] = value


def _raise(grades: bytearray, index: int, grade: int) -> None:
    grades[index] = max(grades[index], grade)
