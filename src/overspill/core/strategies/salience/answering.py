"""How much each unit, its surroundings and its heading speak to a question.

Guarantees columns that depend on the units and the question only; without a question each column says one thing of
all units alike. Leaves to others what an answer is worth beside other evidence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, repeat
from operator import sub

from overspill.core.strategies.salience.lanes import added, log_bin, times
from overspill.core.strategies.salience.question import Asked

_WINDOWS = ((2, 0.5), (8, 0.3), (25, 0.2))
"""How far around a unit an answer still speaks for it, and how much."""


def columns_of_question(
    asked: Asked | None, levels: bytes, columns: Mapping[str, bytes], data: bytes, ends: Sequence[int]
) -> dict[str, bytes]:
    size = len(levels)
    severe = levels.translate(times(4, 8))
    if asked is None or not asked.terms:
        none = bytes([15]) * size
        return {
            **dict.fromkeys(("asked", "asked_near", "asked_terms", "asked_rank"), none),
            "asked_heading": bytes([31]) * size,
            "asked_severity": severe,
        }
    scores, term_counts, ranks = _scores(asked, data, ends)
    top = max(scores) or 1.0
    return {
        "asked": bytes([1 + min(9, int(10 * score / top)) if score else 0 for score in scores]),
        "asked_near": bytes([min(10, int(10 * value)) for value in _around(scores)]),
        "asked_terms": bytes([min(6, count) for count in term_counts]),
        "asked_rank": ranks,
        "asked_severity": added(severe, bytes([1 + min(2, int(3 * score / top)) if score else 0 for score in scores])),
        "asked_heading": _under_headings(columns, scores, top),
    }


def _scores(asked: Asked, data: bytes, ends: Sequence[int]) -> tuple[list[float], list[int], bytes]:
    """For each unit: its score, how many of the terms it has, and its rank among all (0: none)."""
    size = len(ends)
    per_unit: dict[int, set[int]] = {}
    for at, term in asked.each_hit(data):
        per_unit.setdefault(bisect_right(ends, at), set()).add(term)
    lines_with = [0] * len(asked.terms)
    for held in per_unit.values():
        for term in held:
            lines_with[term] += 1
    rarity = asked.rarity(lines_with, size)
    scores = [0.0] * size
    term_counts = [0] * size
    for index, held in per_unit.items():
        scores[index] = sum(rarity[term] for term in sorted(held))
        term_counts[index] = len(held)
    ranks = bytearray(size)
    for position, index in enumerate(sorted(per_unit, key=lambda index: (-scores[index], index))):
        ranks[index] = min(12, 1 + log_bin(position))
    return scores, term_counts, bytes(ranks)


def _around(scores: Sequence[float]) -> Sequence[float]:
    """What the units around each one say, nearer ones counting more: from 0 to 1."""
    near = [0.0] * len(scores)
    sums = [*accumulate(scores, initial=0.0)]
    for reach, share in _WINDOWS:
        padded = [*repeat(0.0, reach), *sums, *repeat(sums[-1], reach)]
        window = [*map(sub, map(sub, padded[2 * reach + 1 :], padded), scores)]
        most = max(window) or 1.0
        near = [value + share * held / most for value, held in zip(near, window, strict=True)]
    return near


def _under_headings(columns: Mapping[str, bytes], scores: Sequence[float], top: float) -> bytes:
    """How much the last heading answers, and how far above it stands."""
    found, heading_score, age = bytearray(len(scores)), 0.0, 99
    for index, (kind, indented, score) in enumerate(zip(columns["heading"], columns["indented"], scores, strict=True)):
        if kind in (1, 3) or (kind & 2 and not indented):
            heading_score, age = score, 0
        else:
            age += 1
        if heading_score:
            found[index] = min(3, age // 4) * 5 + min(4, int(5 * heading_score / top))
    return bytes(found)
