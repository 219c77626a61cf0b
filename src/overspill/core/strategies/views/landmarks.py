"""The lines that give a text its structure: headings, definitions, commits.

What counts as one the views say; here is only what a landmark is, and which of them a gap holds.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import NamedTuple

from overspill.core.model import Gap


class Landmark(NamedTuple):
    """A line that gives the text its structure."""

    start: int
    line: int
    weight: float
    level: int
    """Depth of the section that it opens, 1 the outermost; 0 when it opens none."""
    label: str


Found = tuple[int, float, int, str]
"""What a view reports of one landmark in a block: offset of its line, weight, level, label."""


def names_within(landmarks: Sequence[Landmark], gap: Gap, *, most: int = 6) -> list[Landmark]:
    """The landmarks inside a gap, the weightiest when there are many, in order."""
    starts = [landmark.start for landmark in landmarks]
    inside = landmarks[bisect.bisect_left(starts, gap.start) : bisect.bisect_left(starts, gap.end)]
    if len(inside) <= most:
        return list(inside)
    best = sorted(inside, key=lambda landmark: (-landmark.weight, landmark.start))[:most]
    return sorted(best, key=lambda landmark: landmark.start)
