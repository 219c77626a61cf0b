"""Where units stand in their output: near the start, near the end, in which tenth.

Guarantees columns that depend on places and sizes only, never on what the units say.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import pairwise

from overspill.core.model import Totals
from overspill.core.strategies.salience.lanes import table
from overspill.core.strategies.salience.units import Units

_FAR = bytes([*range(4), *(3 + min(12, (distance // 4).bit_length()) for distance in range(4, (4 << 11) + 1))])
"""Distances as they are counted: exactly when near, then one more for each doubling."""
_FARTHEST = len(_FAR) - 1
_STEPS = [0, *(distance for distance in range(1, len(_FAR)) if _FAR[distance] > _FAR[distance - 1])]
"""The first distance of each number."""


def columns_of_place(units: Units, totals: Totals) -> dict[str, bytes]:
    size, lines, starts, texts = len(units), units.lines, units.starts, units.texts
    if any(units.columns):
        before = [line - 1 + column // 200 for line, column in zip(lines, units.columns, strict=True)]
        from_start = bytes([_FAR[at] if at < _FARTHEST else _FAR[_FARTHEST] for at in before])
    else:
        from_start = _climbing(size, lambda unit: lines[unit] - 1, _STEPS)

    def left(unit: int) -> int:
        """How far the end is, in lines or in what would be lines of forty bytes."""
        unit = size - 1 - unit
        return max(0, min((totals.bytes - starts[unit] - len(texts[unit])) // 40, totals.lines - lines[unit] + 1))

    from_end = _climbing(size, left, _STEPS)[::-1]
    scale = 10 / max(1, totals.bytes)
    base = 10 * min(4, (totals.bytes // 8000).bit_length() // 2)
    return {
        "from_start": from_start,
        "from_end": from_end,
        "decile": _climbing(size, lambda unit: int(starts[unit] * scale), range(10)),
        "size_place": from_end.translate(table(base + min(9, end) for end in range(16))),
    }


def _climbing(size: int, number: Callable[[int], int], steps: Iterable[int]) -> bytes:
    """Which of the steps each unit has reached, for numbers that never fall from one unit to the next."""
    reached = [bisect_left(range(size), step, key=number) for step in steps]
    borders = pairwise([*reached, size])
    return b"".join(bytes([at]) * (end - first) for at, (first, end) in enumerate(borders))
