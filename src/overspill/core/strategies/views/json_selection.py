"""What to show of a JSON document, and the marks that keep it valid.

The tiles that are worth most for their size are shown; one that is shown brings the ends of all
boxes that it lies in, so that each gap lies inside one box.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from overspill.core.model import Gap, Span, Totals
from overspill.core.ports import Excerpt
from overspill.core.strategies.views.json_facts import Facts
from overspill.core.strategies.views.json_scan import DEPTH_KEPT
from overspill.core.strategies.views.json_tiles import Box, Tile, Tiles
from overspill.core.strategies.views.json_weighing import Weighing
from overspill.core.strategies.views.query_terms import Query

MARK_BYTES = 50
"""About what a mark costs."""
DENSITY = 0.85
"""How much more a long group must be worth than a short one."""
STATIC_SHARE = 0.18
"""What is odd by itself counts so much beside the answer to a question."""
COMPANY = 0.35
"""How fast the companions of an odd value lose worth, one after the other."""
NEAR = 0.05
"""The same for the companions of one that speaks to the question."""
BRIDGED_BYTES = 64
"""A gap of no more bytes costs less to show than to mark."""
REFUSALS = 60
State = Literal["whole", "broken", "too deep"]


@dataclass(slots=True)
class _Group:
    """Neighbouring tiles that are shown together."""

    tiles: list[Tile]
    terms: frozenset[int]
    said: dict[int, float]
    heard: dict[int, float]
    static: float
    lent: float
    size: int


class JsonSelection:
    """What to show of a document, and how its gaps are marked."""

    kind = "JSON"

    def __init__(
        self, tiles: Tiles, query: Query, worth: Sequence[float], facts: Facts, totals: Totals, *, state: State
    ) -> None:
        self._tiles = tiles
        self._query = query
        scale = 1.0 / (max(worth, default=0.0) or 1.0)
        self._worth = [value * scale for value in worth]
        self._facts = facts
        self._totals = totals
        self._state = state
        self._broken = state != "whole"
        Weighing(tiles, query, facts)
        self._parts: dict[int, list[Tile]] = {}
        for tile in self._tiles.all:
            self._parts.setdefault(id(tile.box), []).append(tile)
        for parts in self._parts.values():
            parts.sort(key=lambda tile: tile.span.start)
        self._order = {id(tile): at for parts in self._parts.values() for at, tile in enumerate(parts)}
        self._groups = self._ranked()
        self._by_box: dict[int, list[_Group]] = {}
        for group in self._groups:
            self._by_box.setdefault(id(group.tiles[0].box), []).append(group)
        self._heap: list[tuple[float, int, _Group]] | None = None
        """The groups as they are worth before anything is shown."""
        self._places: tuple[dict[int, tuple[Box, int]], dict[int, tuple[Box, int]]] | None = None

    @property
    def headline(self) -> str:
        root = self._tiles.root
        if self._state == "too deep":
            return f"nested more than {DEPTH_KEPT} levels deep, shown as text from there"
        if self._broken:
            return "not valid JSON as it stands (cut short or mixed with other text)"
        if root.members > 1:
            return f"{root.members} JSON documents"
        return ""

    # -- choosing -----------------------------------------------------------------------------

    def _score(self, tile: Tile) -> float:
        terms = {**tile.heard}
        for term, force in tile.said.items():
            terms[term] = max(terms.get(term, 0.0), force)
        asked = sum(self._worth[term] * force for term, force in terms.items())
        return float(asked + (STATIC_SHARE if self._query else 1.0) * (tile.static + tile.lent))

    def _ranked(self) -> list[_Group]:
        groups: list[_Group] = []
        for parts in self._parts.values():
            groups.extend(self._groups_of(parts))
        return groups

    def _groups_of(self, parts: Sequence[Tile]) -> Iterator[_Group]:
        """Cuts the parts of a box where their worth changes."""
        run: list[Tile] = []
        size, low, high = 0, 0.0, 0.0
        for tile in parts:
            score = self._score(tile)
            fits = run and run[-1].span.end == tile.span.start and size < 420
            if fits and min(low, score) >= 0.6 * max(high, score):
                run.append(tile)
                low, high = min(low, score), max(high, score)
                size += len(tile.span.data)
            else:
                if run:
                    yield _group(run)
                run, size, low, high = [tile], len(tile.span.data), score, score
        if run:
            yield _group(run)

    def fill(self, excerpt: Excerpt) -> None:
        """Adds the groups of tiles, best first, each with the ends of all boxes that it lies in."""
        share = STATIC_SHARE if self._query else 1.0
        shown = [0.0] * len(self._worth)
        fields: dict[tuple[int, str], int] = {}
        opened: set[int] = set()

        company: dict[int, int] = {}

        def value(group: _Group) -> float:
            tile = group.tiles[0]
            beside = company.get(id(tile.box), 0)
            alone = 1 / (1 + COMPANY * beside)
            near = 1 / (1 + NEAR * beside)
            asked = 0.0
            for term in group.terms:
                force = max(group.said.get(term, 0.0), group.heard.get(term, 0.0) * near)
                asked += self._worth[term] * force / (1 + 0.3 * shown[term])
            repeated = fields.get((tile.box.depth, tile.field), 0)
            worth = asked + share * (group.static / (1 + 0.12 * repeated) + group.lent * alone)
            cost = group.size + MARK_BYTES + _unopened_bytes(tile.box, opened)
            return float(worth * (1 + 0.2 * min(4, len(group.tiles) - 1)) / (cost + 120) ** DENSITY)

        if self._heap is None:
            self._heap = [(-value(group), group.tiles[0].span.start, group) for group in self._groups]
            heapq.heapify(self._heap)
        heap = [*self._heap]
        done: set[int] = set()
        kept: set[int] = set()
        refused, left = 0, excerpt.left
        while heap and refused < REFUSALS and left > 0.01:
            priority, start, group = heapq.heappop(heap)
            if id(group) in done:
                continue
            now = value(group)
            if now < -priority - 1e-9 and heap and now < -heap[0][0] - 1e-9:
                heapq.heappush(heap, (-now, start, group))
                continue
            done.add(id(group))
            spans = [*ends_of(group.tiles[0].box), *(tile.span for tile in group.tiles)]
            if not excerpt.add(*spans):
                refused += 1
                continue
            company[id(group.tiles[0].box)] = company.get(id(group.tiles[0].box), 0) + len(group.tiles)
            for term, force in group.said.items():
                shown[term] += force if force >= 0.6 else 0.0
            for tile in group.tiles:
                where = (tile.box.depth, tile.field)
                fields[where] = fields.get(where, 0) + 1
            self._bridge(excerpt, group, kept)
            left = excerpt.left
            for box in list(_unopened(group.tiles[0].box, opened)):
                opened.add(id(box))
                for other in self._by_box.get(id(box), ()):
                    if id(other) not in done:
                        heapq.heappush(heap, (-value(other), other.tiles[0].span.start, other))
        if not opened:
            self._frames(excerpt)

    def _frames(self, excerpt: Excerpt) -> None:
        """For a room in which no value fits: what the document opens and closes with, as deep as it goes."""
        box = self._groups[0].tiles[0].box if self._groups else None
        boxes: list[Box] = []
        while box is not None:
            boxes.append(box)
            box = box.parent
        for one in reversed(boxes):
            if one.opening and not excerpt.add(*ends_of(one)):
                break

    def _bridge(self, excerpt: Excerpt, group: _Group, kept: set[int]) -> None:
        """Shows small gaps beside a group that would cost more as marks."""
        kept.update(id(tile) for tile in group.tiles)
        parts = self._parts[id(group.tiles[0].box)]
        box = group.tiles[0].box
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
            if reached and between and size <= BRIDGED_BYTES and excerpt.add(*(tile.span for tile in between)):
                kept.update(id(tile) for tile in between)

    # -- gaps ---------------------------------------------------------------------------------

    def _place_tables(self) -> tuple[dict[int, tuple[Box, int]], dict[int, tuple[Box, int]]]:
        """Which box and which member stand after and before the edges of what can be shown."""
        if self._places is None:
            after: dict[int, tuple[Box, int]] = {0: (self._tiles.root, 0)}
            before: dict[int, tuple[Box, int]] = {}
            boxes: dict[int, Box] = {}
            for tile in self._tiles.all:
                size = len(tile.value) if tile.box.kind == '"' else 1
                after[tile.span.end] = (tile.box, tile.index + size)
                before[tile.span.start] = (tile.box, tile.index)
                box: Box | None = tile.box
                while box is not None and id(box) not in boxes:
                    boxes[id(box)] = box
                    box = box.parent
            for box in boxes.values():
                if box.parent is None:
                    continue
                if box.opening:
                    after.setdefault(box.opening.end, (box, 0))
                    before.setdefault(box.opening.start, (box.parent, box.index))
                if box.closing:
                    before.setdefault(box.closing.start, (box, box.members))
                    after.setdefault(box.closing.end, (box.parent, box.index + 1))
            before.setdefault(self._totals.bytes, (self._tiles.root, self._tiles.root.members))
            self._places = after, before
        return self._places

    def _gap(self, gap: Gap) -> tuple[Box, int, int] | None:
        """The box that a gap lies in, its first omitted member and the one after its last."""
        after, before = self._place_tables()
        left, right = after.get(gap.start), before.get(gap.end)
        if left is None or right is None or left[0] is not right[0]:
            return None
        return left[0], left[1], right[1]

    def describe(self, gap: Gap) -> str:
        found = self._gap(gap)
        if found is None:
            return ""
        box, first, end = found
        if box.kind == '"':
            return f"{end - first} more bytes of this string"
        if end <= first:
            return ""
        many = f"{end - first} more"
        if box.kind == "[":
            return f"{many}: {box.path}[{first}:{end}]"
        if box.kind == "{":
            return f"{many} members"
        return f"{many} documents ({first + 1}–{end})"

    def mark(self, gap: Gap, words: str) -> str | None:
        found = self._gap(gap)
        if found is None:
            return None
        box, first, end = found
        if box.kind == "":
            text = json.dumps(words, ensure_ascii=False)
            return f'{{"…": {text}}}' if not self._broken and box.members > 1 else None
        place = _place(gap)
        if box.kind == '"':
            return f"[… {end - first} more bytes …]"
        comma = "," if box.closing is None or gap.end != box.closing.start else ""
        if box.kind == "[":
            path = json.dumps(f"… {end - first} more: {box.path}[{first}:{end}], {place}", ensure_ascii=False)
            return path + comma
        return f'"… {place}": "{end - first} more"{comma}'


def _place(gap: Gap) -> str:
    """Where a gap is, in the fewest words: whole lines, or bytes of the source."""
    if gap.first_column == 0 and gap.last_column is None:
        return (
            f"line {gap.first_line}" if gap.first_line == gap.last_line else f"lines {gap.first_line}-{gap.last_line}"
        )
    return f"bytes {gap.start + 1}-{gap.end}"


def _group(tiles: list[Tile]) -> _Group:
    said: dict[int, float] = {}
    heard: dict[int, float] = {}
    for tile in tiles:
        for all_of, one in ((said, tile.said), (heard, tile.heard)):
            for term, force in one.items():
                all_of[term] = max(all_of.get(term, 0.0), force)
    return _Group(
        tiles, frozenset(said) | frozenset(heard), said, heard,
        max(tile.static for tile in tiles), max(tile.lent for tile in tiles),
        sum(len(tile.span.data) for tile in tiles),
    )  # fmt: skip


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


def ends_of(box: Box | None) -> Iterator[Span]:
    """The openings and closings of a box and of all that it lies in, the outermost first."""
    if box is None:
        return
    yield from ends_of(box.parent)
    if box.opening:
        yield box.opening
    if box.closing:
        yield box.closing
