"""In which order the groups of a JSON document are offered to an excerpt, and what was shown changes in their worth.

Guarantees the same offers for the same answers: a second excerpt is offered what the first one was until it answers
otherwise, and only from there on is anything weighed again. Leaves to the selection what groups are and what marks say.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from overspill.core.model import Span
from overspill.core.ports import Excerpt
from overspill.core.strategies.views.json_tiles import Box, Tile

MARK_BYTES = 50
"""About what a mark costs."""
DENSITY = 0.85
"""How much more a long group must be worth than a short one."""
COMPANY = 0.35
"""How fast the companions of an odd value lose worth, one after the other."""
NEAR = 0.05
"""The same for the companions of one that speaks to the question."""
BRIDGED_BYTES = 64
"""A gap of no more bytes costs less to show than to mark."""
REFUSALS = 60
FULL = 0.01
"""With no more of the room left than this share, nothing more is offered."""
STANDS_MOST = 64
"""As many earlier states are remembered, as evenly as doubling allows."""


@dataclass(slots=True, eq=False)
class Group:
    """Neighbouring tiles that are shown together."""

    tiles: list[Tile]
    terms: frozenset[int]
    said: dict[int, float]
    heard: dict[int, float]
    static: float
    lent: float
    size: int
    many: float
    """How much more it is worth for being so many."""
    box: Box = field(init=False)
    where: tuple[int, str] = field(init=False)
    unopened: int = -1
    """Bytes that its box would bring along when ``power`` was worked out."""
    power: float = 1.0

    def __post_init__(self) -> None:
        self.box = self.tiles[0].box
        self.where = (self.box.depth, self.tiles[0].field)


def group_of(tiles: list[Tile]) -> Group:
    """Neighbours as one, worth what the best of them is."""
    said: dict[int, float] = {}
    heard: dict[int, float] = {}
    for tile in tiles:
        if not (tile.said or tile.heard):
            continue
        for all_of, one in ((said, tile.said), (heard, tile.heard)):
            for term, force in one.items():
                all_of[term] = max(all_of.get(term, 0.0), force)
    return Group(
        tiles, frozenset(said) | frozenset(heard), said, heard,
        max(tile.static for tile in tiles), max(tile.lent for tile in tiles),
        sum(len(tile.span.data) for tile in tiles), 1 + 0.2 * min(4, len(tiles) - 1),
    )  # fmt: skip


class _Offer(NamedTuple):
    spans: Sequence[Span]
    is_bridge: bool
    """It fills a small gap beside what was taken before."""
    taken: bool


@dataclass(slots=True)
class _Stand:
    """How far the choice has come after so many offers."""

    heap: list[tuple[float, int, Group]]
    shown: list[float]
    offers: int = 0
    company: dict[int, int] = field(default_factory=dict)
    fields: dict[tuple[int, str], int] = field(default_factory=dict)
    opened: set[int] = field(default_factory=set)
    done: set[int] = field(default_factory=set)
    kept: set[int] = field(default_factory=set)
    refused: int = 0

    def copy(self) -> _Stand:
        return replace(
            self, heap=[*self.heap], shown=[*self.shown], company={**self.company}, fields={**self.fields},
            opened={*self.opened}, done={*self.done}, kept={*self.kept},
        )  # fmt: skip


class Course:
    """The offers of one document's groups."""

    def __init__(
        self, groups: Sequence[Group], parts: dict[int, list[Tile]], worth: Sequence[float], *, static_share: float
    ) -> None:
        self._groups, self._parts, self._worth, self._share = groups, parts, worth, static_share
        self._order = {id(tile): at for tiles in parts.values() for at, tile in enumerate(tiles)}
        self._by_box: dict[int, list[Group]] = {}
        for group in groups:
            self._by_box.setdefault(id(group.box), []).append(group)
        self._offers: list[_Offer] = []
        self._stands: list[_Stand] = []
        self._apart = 1
        self._unopened: dict[int, int] = {}
        """By box, what its ends and those of the boxes around it add; until another one opens."""

    def fill(self, excerpt: Excerpt) -> bool:
        """Adds groups, best first, each with the ends of all boxes that it lies in; returns whether any was added."""
        if not self._stands:
            stand = _Stand([], [0.0] * len(self._worth))
            stand.heap = [(-self._value(group, stand), group.tiles[0].span.start, group) for group in self._groups]
            heapq.heapify(stand.heap)
            self._stands = [stand]
        known, agreed = self._repeat(excerpt)
        if agreed is not None:
            while self._stands[-1].offers > agreed:
                self._stands.pop()
            self._go_on(self._stands[-1].copy(), excerpt, known)
            known = [offer.taken for offer in self._offers]
        return any(known)

    def _repeat(self, excerpt: Excerpt) -> tuple[list[bool], int | None]:
        """Makes the offers of the time before: its answers, and how many were the same; None if it is full by then."""
        answers: list[bool] = []
        for spans, is_bridge, taken in self._offers:
            if not is_bridge and excerpt.left <= FULL:
                return answers, None
            answers.append(excerpt.add(*spans))
            if answers[-1] is not taken:
                return answers, len(answers) - 1
        return answers, len(answers)

    def _go_on(self, stand: _Stand, excerpt: Excerpt, known: Sequence[bool]) -> None:
        """Chooses from where it stands; the first answers are known."""
        del self._offers[stand.offers :]
        self._unopened.clear()
        heap, steps, left = stand.heap, 0, 1.0
        if stand.offers >= len(known):
            left = excerpt.left
        while heap and stand.refused < REFUSALS and left > FULL:
            if steps == self._apart:
                self._remember(stand)
                steps = 0
            priority, start, group = heapq.heappop(heap)
            if id(group) in stand.done:
                continue
            now = self._value(group, stand)
            if now < -priority - 1e-9 and heap and now < -heap[0][0] - 1e-9:
                heapq.heappush(heap, (-now, start, group))
                continue
            steps += 1
            stand.done.add(id(group))
            ends = ends_of([*_unopened(group.box, stand.opened)])
            spans = [*ends, *[tile.span for tile in group.tiles]]
            if self._offer(spans, stand, excerpt, known):
                self._take(group, stand, excerpt, known)
            else:
                stand.refused += 1
                if len(group.tiles) > 1 and (group.box.parent is None or not stand.kept):
                    self._part(group, stand)
            if stand.offers >= len(known):
                left = excerpt.left

    def _remember(self, stand: _Stand) -> None:
        self._stands.append(stand.copy())
        if len(self._stands) > STANDS_MOST:
            del self._stands[1::2]
            self._apart *= 2

    def _offer(
        self, spans: Sequence[Span], stand: _Stand, excerpt: Excerpt, known: Sequence[bool], *, is_bridge: bool = False
    ) -> bool:
        taken = known[stand.offers] if stand.offers < len(known) else excerpt.add(*spans)
        self._offers.append(_Offer(spans, is_bridge, taken))
        stand.offers += 1
        return taken

    def _value(self, group: Group, stand: _Stand) -> float:
        """What a group is worth for its size, beside what is shown already."""
        box = id(group.box)
        beside = stand.company.get(box, 0)
        asked = 0.0
        if group.terms:
            near = 1 / (1 + NEAR * beside)
            for term in group.terms:
                force = max(group.said.get(term, 0.0), group.heard.get(term, 0.0) * near)
                asked += self._worth[term] * force / (1 + 0.3 * stand.shown[term])
        repeated = stand.fields.get(group.where, 0)
        alone = 1 / (1 + COMPANY * beside)
        worth = asked + self._share * (group.static / (1 + 0.12 * repeated) + group.lent * alone)
        unopened = self._unopened.get(box)
        if unopened is None:
            unopened = self._unopened[box] = _unopened_bytes(group.box, stand.opened)
        if group.unopened != unopened:
            group.unopened = unopened
            group.power = (group.size + MARK_BYTES + unopened + 120) ** DENSITY
        return worth * group.many / group.power

    def _take(self, group: Group, stand: _Stand, excerpt: Excerpt, known: Sequence[bool]) -> None:
        """Notes that a group is shown: what is beside it, and what says the same again, is worth less."""
        box = group.box
        stand.company[id(box)] = stand.company.get(id(box), 0) + len(group.tiles)
        for term, force in group.said.items():
            stand.shown[term] += force if force >= 0.6 else 0.0
        for tile in group.tiles:
            where = (tile.box.depth, tile.field)
            stand.fields[where] = stand.fields.get(where, 0) + 1
        self._bridge(group, stand, excerpt, known)
        opening = list(_unopened(box, stand.opened))
        if opening:
            self._unopened.clear()
        for one in opening:
            stand.opened.add(id(one))
            for other in self._by_box.get(id(one), ()):
                if id(other) not in stand.done:
                    heapq.heappush(stand.heap, (-self._value(other, stand), other.tiles[0].span.start, other))

    def _part(self, group: Group, stand: _Stand) -> None:
        """Has the halves of a group that didn't fit compete by themselves."""
        middle = (len(group.tiles) + 1) // 2
        for half in map(group_of, (group.tiles[:middle], group.tiles[middle:])):
            heapq.heappush(stand.heap, (-self._value(half, stand), half.tiles[0].span.start, half))

    def _bridge(self, group: Group, stand: _Stand, excerpt: Excerpt, known: Sequence[bool]) -> None:
        """Shows small gaps beside a group that would cost more as marks."""
        kept = stand.kept
        kept.update(map(id, group.tiles))
        box = group.box
        parts = self._parts[id(box)]
        first, last = self._order[id(group.tiles[0])], self._order[id(group.tiles[-1])]
        for start, step in ((first, -1), (last, 1)):
            between: list[Tile] = []
            size, at = 0, start + step
            here = parts[start]
            while True:
                there = parts[at] if 0 <= at < len(parts) else None
                edge = box.opening.end if step < 0 and box.opening else box.closing.start if box.closing else -1
                touches = here.span.start if step < 0 else here.span.end
                if there is None or (there.span.end if step < 0 else there.span.start) != touches:
                    reached = touches == edge
                    break
                if id(there) in kept:
                    reached = True
                    break
                between.append(there)
                size += len(there.span.data.strip())
                here, at = there, at + step
                if size > BRIDGED_BYTES:
                    reached = False
                    break
            if reached and between and size <= BRIDGED_BYTES:
                spans = [tile.span for tile in between]
                if self._offer(spans, stand, excerpt, known, is_bridge=True):
                    kept.update(map(id, between))


def _unopened(box: Box | None, opened: set[int]) -> Iterator[Box]:
    while box is not None and id(box) not in opened:
        yield box
        box = box.parent


def _unopened_bytes(box: Box | None, opened: set[int]) -> int:
    size = 0
    for one in _unopened(box, opened):
        size += len(one.opening.data) if one.opening else 0
        size += len(one.closing.data) if one.closing else 0
        size += MARK_BYTES
    return size


def ends_of(boxes: Sequence[Box]) -> list[Span]:
    """The openings and closings of boxes, the last one's first: of those that lie in one another, the outermost's."""
    return [end for box in reversed(boxes) for end in (box.opening, box.closing) if end is not None]
