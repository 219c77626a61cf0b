"""What each tile of a JSON document is worth: what it says, what stands around it, and the keys above it.

A value tells what its record is about, a key only what its own value is; records beside one another don't share what
they say, be they in an array or under names.  Leaves the choice of tiles to the selection.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from overspill.core.strategies.views.json_facts import IDENTITY_KEYS, Facts
from overspill.core.strategies.views.json_pointers import states_asked
from overspill.core.strategies.views.json_tiles import Box, Tile, Tiles
from overspill.core.strategies.views.json_trouble import Troubles
from overspill.core.strategies.views.query_terms import Query, terms_in

KEY_FORCE = 1.0
"""How strongly a key speaks to the question, a value speaking with 1."""
ROW_MEMBERS = 12
"""An object of at least so many members, most of them containers, is a row of records with names."""
UNASKED = 0.35
"""What a record still speaks to the question when it holds another state than the one that is asked for."""
HARD_OF_HEARING = 0.55
"""The usual values of a record gain so much less when another one speaks to the question."""
_SOME, _SOME_ELEMENTS = {"": 0}, [0]
"""What stands for a container that holds something."""
_KEYS = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")\s*:', re.DOTALL)


class Weighing:
    """Weighs the tiles of one document, in place."""

    def __init__(self, tiles: Tiles, query: Query, facts: Facts, troubles: Troubles) -> None:
        self._tiles, self._query, self._facts, self._troubles = tiles, query, facts, troubles
        self._identifies = cache(lambda key: IDENTITY_KEYS.search(key) is not None)
        self._rows = self._rows_of_records()
        self._weigh()

    def _weigh(self) -> None:
        """Gives each tile what it says itself, what its siblings say, and what the keys above it say."""
        around: dict[int, dict[int, float]] = {}
        odd: dict[int, float] = {}
        for tile in self._tiles.all:
            tile.static = self._static(tile)
            shared: dict[int, float] = {}
            if self._query:
                tile.said, shared = self._spoken(tile)
            box: Box | None = tile.box
            fade, lent = 0.62, 0.6 * max(0.0, tile.static - 0.3)
            for _ in range(3):
                if box is None or (box.parent is None and box.members > 1):
                    break
                if shared:
                    here = around.setdefault(id(box), {})
                    for term, force in shared.items():
                        here[term] = max(here.get(term, 0.0), force * fade)
                if lent > odd.get(id(box), 0.0):
                    odd[id(box)] = lent
                if id(box) in self._rows:
                    break
                fade, lent, box = fade * 0.7, lent * 0.6, box.parent
        if self._query:
            self._listen(around)
        for tile in self._tiles.all:
            box = tile.box
            if odd.get(id(box)) or (box.parent is not None and odd.get(id(box.parent))):
                telling = 0.4 if tile.usual else 1.0 if tile.key and self._identifies(tile.key) else 0.7
                tile.lent = telling * odd.get(id(box), 0.0)
                if box.parent is not None and box.kind == "{":
                    tile.lent += 0.6 * telling * odd.get(id(box.parent), 0.0)

    def _listen(self, around: dict[int, dict[int, float]]) -> None:
        """Gives each tile what its surroundings say, and the keys above it."""
        keys: dict[int, dict[int, float]] = {}
        unasked = self._unasked()
        for tile in self._tiles.all:
            audible = HARD_OF_HEARING if tile.usual else 1.0
            heard: dict[int, float] = {}
            for source, fade in self._contexts(tile.box, around):
                for term, force in source.items():
                    heard[term] = max(heard.get(term, 0.0), force * fade * audible)
            for term, force in self._keys_above(tile.box, keys).items():
                heard[term] = max(heard.get(term, 0.0), force * audible * 0.97 ** min(tile.index, 30))
            if id(tile) in unasked or (unasked and _within(tile.box, unasked)):
                heard, tile.said = self._hushed(heard), self._hushed(tile.said)
            tile.heard = heard

    def _rows_of_records(self) -> set[int]:
        """Arrays, and objects that are arrays with names: what one of their members says, the others don't."""
        boxes: dict[int, Box] = {}
        parts: Counter[int] = Counter()
        containers: Counter[int] = Counter()
        for tile in self._tiles.all:
            if tile is not tile.box.parts[0]:
                continue
            box: Box | None = tile.box
            parts[id(box)] += len(tile.box.parts)
            containers[id(box)] += sum([part.value[:1] in (b"{", b"[") for part in tile.box.parts])
            while box is not None and id(box) not in boxes:
                boxes[id(box)] = box
                parts[id(box.parent)] += 1
                containers[id(box.parent)] += 1
                box = box.parent
        return {
            key
            for key, box in boxes.items()
            if box.kind == "[" or (box.members >= ROW_MEMBERS and 3 * containers[key] >= 2 * parts[key])
        }

    def _unasked(self) -> set[int]:
        """The records, as boxes or as single tiles, that hold another state than the one that the question names."""
        states = states_asked(self._facts.fields, self._query) if self._query else {}
        found: set[int] = set()
        for tile in self._tiles.all if states else ():
            depth, record = tile.box.depth, tile.value[:1] == b"{"
            if tile.box.kind == '"' or not (record or (depth, tile.key) in states):
                continue
            try:
                value = json.loads(tile.value)
            except (ValueError, RecursionError):
                continue
            pairs = (
                [((depth + 1, key), held) for key, held in value.items()] if record else [((depth, tile.key), value)]
            )
            if any(
                where in states and isinstance(held, str | bool) and held not in states[where] for where, held in pairs
            ):
                found.add(id(tile if record else tile.box))
        return found

    def _hushed(self, terms: dict[int, float]) -> dict[int, float]:
        """Less of each term, but for names and numbers: a record that holds one is asked for all the same."""
        return {term: force if self._query.terms[term].exact else force * UNASKED for term, force in terms.items()}

    def _spoken(self, tile: Tile) -> tuple[dict[int, float], dict[int, float]]:
        """The question terms in a tile, and those that its record shares: a value tells what the record is about,
        a key only what its own value is. The more of a value or key a term is, the stronger it speaks."""
        keys = [b'"' + tile.key.encode("utf-8", "replace") + b'"']
        values = tile.value
        if values[:1] in (b"{", b"["):
            keys += _KEYS.findall(values)
            values = _KEYS.sub(b"", values)
        long = min(1.0, max(0.5, 100 / len(values))) if values else 1.0
        shared = {term: long * force for term, force in self._query.forces(values).items()}
        said = dict(shared)
        for term, force in self._query.forces(b" ".join(keys)).items():
            said[term] = max(said.get(term, 0.0), KEY_FORCE * force)
        return said, shared

    def _contexts(
        self, box: Box | None, around: dict[int, dict[int, float]]
    ) -> Iterator[tuple[dict[int, float], float]]:
        fade = 1.0
        for _ in range(3):
            row = id(box) in self._rows
            if box is None or (row and fade < 1.0):
                return
            found = around.get(id(box))
            if found and not row:
                yield found, fade
            fade *= 0.75
            box = box.parent

    def _keys_above(self, box: Box | None, known: dict[int, dict[int, float]]) -> dict[int, float]:
        if box is None or not self._query:
            return {}
        found = known.get(id(box))
        if found is None:
            found = {term: force * 0.8 for term, force in self._keys_above(box.parent, known).items()}
            if box.name and not box.name.startswith("["):
                for term in terms_in(self._query.mask(box.name.encode("utf-8", "replace"))):
                    found[term] = 0.7
            known[id(box)] = found
        return found

    def _static(self, tile: Tile) -> float:
        box, value = tile.box, tile.value
        if box.kind == '"':
            static = 0.25 / (1 + tile.index / 80) if tile.index < 400 else 0.02
            static /= 1 + 0.5 * box.depth
        elif tile.inside is not None and value[:1] in (b"{", b"[") and value[1:-1].strip():
            static = self._facts.worth(box.depth, tile.field, _SOME if value[:1] == b"{" else _SOME_ELEMENTS)
            tile.usual = static < 0
            static = max(static, tile.inside)
        else:
            held = self._facts.value(value) if len(value) <= 4_000 else None
            static = self._facts.worth(box.depth, tile.field, held)
            tile.usual = static < 0
            if held.__class__ in (dict, list) and held:
                static = max(static, self._facts.best_worth(held, box.depth + 1, tile.field))
        if tile.trouble:
            static = max(static, self._troubles.worth(tile.trouble))
        static += 0.5 / (1 + tile.box.depth) ** 1.5
        if tile.index == 0:
            static += 0.12
        elif tile.index == tile.box.members - 1:
            static += 0.08
        if tile.key and self._identifies(tile.key):
            static += 0.12
        return float(static - min(0.2, len(tile.span.data) / 4_000))


def _within(box: Box | None, boxes: set[int]) -> bool:
    while box is not None:
        if id(box) in boxes:
            return True
        box = box.parent
    return False
