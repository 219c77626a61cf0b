"""Passages out of atoms: the stretches around those that speak most strongly, best first.

Guarantees passages that don't overlap, each within a share of the room; what an earlier one said counts less.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from overspill.core.model import Span, join
from overspill.core.strategies.views.atoms import Atom

DENSITY = 0.45
"""How much a long passage must be worth more than a short one."""
STRETCH = 0.5
"""A passage goes on while the next line is worth this share of its best."""
PASSAGE_SHARE = 0.12
"""Of the room, at most so much goes to one passage."""
REPEAT = 0.2
"""How much less a term is worth each time that it was shown."""


def windows(
    atoms: Sequence[Atom], strengths: Sequence[dict[int, float]], worth: Sequence[float], *, ceiling: int
) -> Iterator[Span]:
    """Stretches around the strongest atoms, best first; what was shown already counts less."""
    score = [sum(worth[term] * force for term, force in here.items()) for here in strengths]
    order = sorted((i for i, value in enumerate(score) if value > 0), key=lambda i: (-score[i], i))
    taken = bytearray(len(atoms))
    found: list[tuple[int, int, dict[int, float]]] = []
    planned = 0
    for peak in order:
        if taken[peak]:
            continue
        first, last = _stretch(atoms, score, taken, peak, limit=max(600, int(ceiling * PASSAGE_SHARE)))
        terms: dict[int, float] = {}
        for index in range(first, last + 1):
            taken[index] = 1
            planned += len(atoms[index].span.data)
            for term, force in strengths[index].items():
                terms[term] = max(terms.get(term, 0.0), force)
        found.append((first, last, terms))
        if planned > 4 * ceiling:
            break
    shown = [0] * len(worth)

    def value(window: tuple[int, int, dict[int, float]]) -> float:
        size = atoms[window[1]].span.end - atoms[window[0]].span.start
        told = sum(worth[term] * force / (1 + REPEAT * shown[term]) for term, force in window[2].items())
        return float(told * (size + 200) ** -DENSITY)

    heap = [(-value(window), window[0], window) for window in found]
    heapq.heapify(heap)
    while heap:
        _, first, window = heapq.heappop(heap)
        now = value(window)
        if heap and now < -heap[0][0] - 1e-9:
            heapq.heappush(heap, (-now, first, window))
            continue
        for term, force in window[2].items():
            if force >= 0.6:
                shown[term] += 1
        yield join([atom.span for atom in atoms[window[0] : window[1] + 1]])


def _stretch(
    atoms: Sequence[Atom], score: Sequence[float], taken: bytearray, peak: int, *, limit: int
) -> tuple[int, int]:
    """How far a passage around its strongest atom goes: while neighbours are half as strong."""
    first = last = peak
    size = len(atoms[peak].span.data)
    floor = STRETCH * score[peak]
    while size < limit:
        before, after = first - 1, last + 1
        up = (
            score[before]
            if before >= 0 and not taken[before] and atoms[before].span.end == atoms[first].span.start
            else -1.0
        )
        down = (
            score[after]
            if after < len(atoms) and not taken[after] and atoms[last].span.end == atoms[after].span.start
            else -1.0
        )
        if max(up, down) < floor:
            break
        if down >= up:
            last, size = after, size + len(atoms[after].span.data)
        else:
            first, size = before, size + len(atoms[before].span.data)
    return first, last
