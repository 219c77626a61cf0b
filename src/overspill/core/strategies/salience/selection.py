"""Puts units in the order in which they should be shown: most worth for each token first.

Guarantees a fixed order for the same scores, and that the front of the order serves any budget up to the one asked for.
Leaves to others the exact fit: the renderer counts for real and skips what does not fit.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from math import exp

MARK_TOKENS = 10.0
"""What the line that stands for a gap costs, about."""
LEAST_NEW = 0.02
"""However often it was said, this much of a unit's worth stays."""
BLOCK_NEW = 0.6
"""What stands by a unit that said something new goes on with it: it counts as new by at least this much."""
TOLD_NEW = 0.3
"""What is news by itself counts as new by so much, however often the words around it were said."""
PLACE_SHARE = 0.5
"""The unit that says where a finding is found is worth so much of it at least."""
BRIDGE_UNITS = 3
"""No gap of more units than this is filled because its mark would cost more than it."""


def token_costs(texts: Sequence[bytes]) -> list[float]:
    """About how many tokens each text takes, without a tokenizer: letters run together, digits and signs do not."""
    sample = b"".join(texts[:: max(1, len(texts) // 400)])[:65_536] or b" "
    signs = len(sample) - len(sample.translate(None, b"0123456789{}[]()<>:;,.'\"`=+*/\\|_!@#$%^&~?"))
    blanks = sample.count(b"  ")
    share = signs / len(sample)
    per_byte = 0.17 + 0.42 * share - 0.12 * blanks / len(sample)
    return [1.0 + len(text) * per_byte for text in texts]


def order(
    scores: Sequence[float],
    costs: Sequence[float],
    joined: Sequence[bool],
    forms: Sequence[Sequence[bytes]],
    *,
    max_tokens: float,
    heads: Sequence[int] = (),
    places: Mapping[int, int] | None = None,
    repeat: float = 0.6,
    news: Mapping[int, bytes] | None = None,
) -> Iterator[int]:
    """Indices of the units worth showing, best first, until about ``max_tokens`` are spent; as far as somebody asks.

    ``forms`` are the telling words of each unit: what has been said already is worth ``repeat`` of it the next time.
    ``heads`` are the units that name the section of each one (-1: none): one that says something new makes its own new.
    ``places`` are the units that say where others are: one that is taken wants its own.
    ``news`` is what units say that is new whatever their words: it counts once for each text.
    """
    size = len(scores)
    if not size:
        return
    top = max(scores)
    worth = [exp(score - top) for score in scores]
    taken = bytearray(size)
    near = bytearray(size)
    """Whether one that is taken stands so near that it could be joined."""
    said: dict[bytes, float] = {}
    news = news or {}
    told: set[bytes] = set()
    fresh = bytearray(size)
    new_words: dict[int, float] = {}
    """How much of the words of a form is new, by the form's identity, until another unit is taken."""
    beside = [False, *joined[1:], False]

    def weighed(index: int) -> float:
        """Worth per token, with the neighbours that join the unit to a kept one where they cost less than a mark."""
        by_new = fresh[index]
        left = right = MARK_TOKENS
        if near[index]:
            spent, at = 0.0, index
            while beside[at] and spent < MARK_TOKENS and index - at < BRIDGE_UNITS:
                at -= 1
                if taken[at]:
                    left, by_new = spent, by_new or fresh[at]
                    break
                spent += costs[at]
            spent, at = 0.0, index + 1
            while beside[at] and spent < MARK_TOKENS and at - index <= BRIDGE_UNITS:
                if taken[at]:
                    right, by_new = spent, by_new or fresh[at]
                    break
                spent += costs[at]
                at += 1
        worthy = max(LEAST_NEW, new_of(index))
        if by_new and worthy < BLOCK_NEW:
            worthy = BLOCK_NEW
        cost = costs[index]
        return worth[index] * worthy / max(cost + left + right - MARK_TOKENS, 0.5 * cost)

    def new_of(index: int) -> float:
        """How much of the unit was not said before."""
        words = forms[index]
        new = new_words.get(id(words), -1.0)
        if new < 0:
            new = sum([said.get(word, 1.0) for word in words]) / len(words) if words else said.get(b"", 1.0)
            new_words[id(words)] = new
        if new < TOLD_NEW and index in news and news[index] not in told:
            return TOLD_NEW
        return new

    # only the promising ones compete: the rest can come in as neighbours
    promise = [value / (cost + MARK_TOKENS) for value, cost in zip(worth, costs, strict=True)]
    ranked = sorted(range(size), key=promise.__getitem__, reverse=True)[: 100 + int(max_tokens) // 2]
    # those in the order of their promise wait apart: the heap of those that were weighed again stays small
    waiting = [(-promise[index], index) for index in reversed(ranked)]
    heap: list[tuple[float, int]] = []
    spent = 0.0
    while (heap or waiting) and spent < max_tokens:
        is_first = bool(waiting) and (not heap or waiting[-1] < heap[0])
        negative, index = waiting.pop() if is_first else heapq.heappop(heap)
        if taken[index]:
            continue
        now = weighed(index)
        if now < -negative * 0.999:
            heapq.heappush(heap, (-now, index))
            continue
        new = new_of(index)
        chosen = [index, *_bridges(index, joined, taken, costs)]
        for unit in chosen:
            taken[unit] = 1
            spent += costs[unit]
            for word in forms[unit] or (b"",):
                said[word] = said.get(word, 1.0) * repeat
            if unit in news:
                told.add(news[unit])
        new_words.clear()
        first, last = min(chosen), max(chosen)
        reach = range(max(0, first - BRIDGE_UNITS), min(size, last + 1 + BRIDGE_UNITS))
        near[reach.start : reach.stop] = b"\1" * len(reach)
        fresh[index] = new >= BLOCK_NEW
        head = heads[index] if heads and fresh[index] else -1
        if head >= 0 and not taken[head]:
            fresh[head] = 1
            heapq.heappush(heap, (-weighed(head), head))
        place = places.get(index, index) if places else index
        if not taken[place]:
            fresh[place] = 1
            worth[place] = max(worth[place], PLACE_SHARE * worth[index])
            heapq.heappush(heap, (-weighed(place), place))
        if not (first and joined[first] and taken[first - 1]) and not (
            last + 1 < size and joined[last + 1] and taken[last + 1]
        ):
            spent += MARK_TOKENS
        for unit in reach:
            if not (first <= unit <= last or taken[unit]):
                heapq.heappush(heap, (-weighed(unit), unit))
        yield from chosen


def _bridges(index: int, joined: Sequence[bool], taken: bytearray, costs: Sequence[float]) -> list[int]:
    """The units between this one and a kept one close by, where they cost no more than the mark for their gap would."""
    bridges: list[int] = []
    size = len(costs)
    for step in (-1, 1):
        gap: list[int] = []
        at = index + step
        while 0 <= at < size and len(gap) < BRIDGE_UNITS and joined[max(at, at - step)]:
            if taken[at]:
                if sum(costs[unit] for unit in gap) <= MARK_TOKENS:
                    bridges += gap
                break
            gap.append(at)
            at += step
    return bridges


def stretches(indices: Sequence[int]) -> int:
    """In how many runs of neighbours the indices come."""
    ordered = sorted(indices)
    return sum(1 for before, index in zip([-2, *ordered], ordered, strict=False) if index != before + 1)
