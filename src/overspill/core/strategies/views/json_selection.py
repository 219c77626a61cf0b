"""What to show of a JSON document, and the marks that keep it valid.

The tiles that are worth most for their size are shown; one that is shown brings the ends of all
boxes that it lies in, so that each gap lies inside one box.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Literal

from overspill.core.model import Gap, Totals
from overspill.core.ports import Excerpt
from overspill.core.strategies.salience.trouble import telling
from overspill.core.strategies.views.json_course import Course, Group, ends_of, group_of
from overspill.core.strategies.views.json_facts import Facts
from overspill.core.strategies.views.json_scan import DEPTH_KEPT, LONG_STRING_BYTES
from overspill.core.strategies.views.json_tiles import Box, Tile, Tiles
from overspill.core.strategies.views.json_trouble import Troubles
from overspill.core.strategies.views.json_weighing import Weighing
from overspill.core.strategies.views.query_terms import Query

STATIC_SHARE = 0.18
"""What is odd by itself counts so much beside the answer to a question."""
State = Literal["whole", "broken", "mixed", "too deep", "too long"]


class JsonSelection:
    """What to show of a document, and how its gaps are marked."""

    kind = "JSON"

    def __init__(
        self,
        tiles: Tiles,
        query: Query,
        worth: Sequence[float],
        facts: Facts,
        troubles: Troubles,
        totals: Totals,
        *,
        state: State,
    ) -> None:
        self._tiles = tiles
        self._query = query
        scale = 1.0 / (max(worth, default=0.0) or 1.0)
        self._worth = [value * scale for value in worth]
        self._facts = facts
        self._totals = totals
        self._state = state
        self._broken = state not in ("whole", "mixed")
        self._troubles = troubles
        Weighing(tiles, query, facts, troubles)
        self._parts: dict[int, list[Tile]] = {}
        for tile in self._tiles.all:
            self._parts.setdefault(id(tile.box), []).append(tile)
        for parts in self._parts.values():
            parts.sort(key=lambda tile: tile.span.start)
        share = STATIC_SHARE if query else 1.0
        self._groups = self._ranked()
        self._course = Course(self._groups, self._parts, self._worth, static_share=share)
        self._places: tuple[dict[int, tuple[Box, int]], dict[int, tuple[Box, int]]] | None = None

    @property
    def headline(self) -> str:
        root = self._tiles.root
        if self._state == "too deep":
            return f"nested more than {DEPTH_KEPT} levels deep, shown as text from there"
        if self._state == "too long":
            return f"digits or blanks without an end for more than {LONG_STRING_BYTES >> 10} KiB, shown as text there"
        if self._broken:
            return "not valid JSON as it stands (cut short or mixed with other text)"
        if root.members > 1:
            many = f"{root.members} JSON documents"
            if self._state == "mixed":
                many += " among other text"
            worst = self._worst()
            return f"{many}; {worst}" if worst else many
        return ""

    def _worst(self) -> str:
        """What the documents say of trouble, where it isn't what many of them say."""
        troubled = [tile for tile in self._tiles.all if tile.trouble]
        worst = max(troubled, key=lambda tile: (self._troubles.worth(tile.trouble), tile.static), default=None)
        return f"line {worst.span.line}: {telling(worst.span.data)}" if worst else ""

    # -- choosing -----------------------------------------------------------------------------

    def _score(self, tile: Tile) -> float:
        if not self._query:
            return tile.static + tile.lent
        terms = {**tile.heard}
        for term, force in tile.said.items():
            terms[term] = max(terms.get(term, 0.0), force)
        asked = sum(self._worth[term] * force for term, force in terms.items())
        return float(asked + STATIC_SHARE * (tile.static + tile.lent))

    def _ranked(self) -> list[Group]:
        groups: list[Group] = []
        for parts in self._parts.values():
            groups.extend(self._groups_of(parts))
        return groups

    def _groups_of(self, parts: Sequence[Tile]) -> Iterator[Group]:
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
                    yield group_of(run)
                run, size, low, high = [tile], len(tile.span.data), score, score
        if run:
            yield group_of(run)

    def fill(self, excerpt: Excerpt) -> None:
        if not self._course.fill(excerpt):
            self._frames(excerpt)

    def _frames(self, excerpt: Excerpt) -> None:
        """For a room in which no value fits: what the document opens and closes with, as deep as it goes."""
        box = self._groups[0].tiles[0].box if self._groups else None
        boxes: list[Box] = []
        while box is not None:
            boxes.append(box)
            box = box.parent
        for one in reversed(boxes):
            if one.opening and not excerpt.add(*ends_of([one])):
                break

    # -- gaps ---------------------------------------------------------------------------------

    def _place_tables(self) -> tuple[dict[int, tuple[Box, int]], dict[int, tuple[Box, int]]]:
        """Which box and which member stand after and before the edges of what can be shown."""
        if self._places is None:
            after: dict[int, tuple[Box, int]] = {0: (self._tiles.root, 0)}
            before: dict[int, tuple[Box, int]] = {}
            boxes: dict[int, Box] = {}
            for tile in self._tiles.all:
                size = len(tile.value) if tile.box.kind == '"' else 1 if tile.value or tile.box.parent else 0
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
        return f"{many} documents ({first + 1}–{end})" if self._state != "mixed" else "more documents"

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
