"""JSON: what is shown, marks included, is valid JSON itself, with counts and a path for what is not.

One document (pretty or in one line), documents in a row, JSON lines.  Where the source is not
valid the excerpt can't be either; the headline says so.
"""

from __future__ import annotations

import re
from itertools import chain, islice

from overspill.core.model import Block, Budget, Call, Totals
from overspill.core.strategies.views.json_facts import Facts
from overspill.core.strategies.views.json_pointers import resolved
from overspill.core.strategies.views.json_scan import Frame, Run, Scan
from overspill.core.strategies.views.json_selection import STATIC_SHARE, JsonSelection, State
from overspill.core.strategies.views.json_tiles import Tiles, key_of
from overspill.core.strategies.views.json_trouble import Troubles
from overspill.core.strategies.views.json_weighing import ROW_MEMBERS
from overspill.core.strategies.views.offers import pool_bytes, room_bytes
from overspill.core.strategies.views.query_terms import query_for, terms_in, worths

STUDIED_BYTES = 2 << 20
"""Values are counted in this much of a document; later ones are weighed by what was learned there."""
LEAST_RUN_BYTES = 128
"""A shorter run counts as one of so many: it takes memory and time all the same."""
LEAST_MEMBER_BYTES = 12
"""The same for a member: so many short ones are never shown that weighing them all would be worth the time."""
_OPENING_KEY = re.compile(rb'\s*("[^"\\]*+(?:\\.[^"\\]*+)*+")\s*:', re.DOTALL)


def sniff(sample: bytes, call: Call) -> float:
    """By how it begins, and by the share of quotes, colons and brackets."""
    text = sample.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not text:
        return 0.0
    if text[:1] in b"{[":
        if re.match(rb'\{\s*"(?:[^"\\]|\\.)*"\s*:|\{\s*\}|\[\s*(?:[{\["\]\d-]|true|false|null|NaN|Infinity)', text):
            least = len(text) // 400 + 1
            shape = sum(1 for _ in islice(re.finditer(rb'"\s*:|",|\],|\},|\d,', text), least))
            return 0.95 if shape == least else 0.6
        return 0.0
    start = re.search(rb'^(?:\{\s*$|\[\s*$|\{\s*")', text[:4_000], re.MULTILINE)
    if start is None:
        return 0.0
    pairs = len(re.findall(rb'"[^"\n]*"\s*:\s*\S', text))
    return 0.8 if pairs * 120 > len(text) - start.start() else 0.0


class JsonView:
    """One pass over JSON."""

    def __init__(self, room: Budget, call: Call) -> None:
        self._room = room
        self._query = query_for(call.question)
        self._facts = Facts()
        self._troubles = Troubles()
        self._scan = Scan(self._take)
        self._capacity = max(1 << 20, 2 * pool_bytes(room))
        self._runs: list[Run] = []
        self._studying = True
        self._held = 0
        self._seen_bytes = self._studied_bytes = 0
        self._counts = [0] * len(self._query.terms)

    def feed(self, block: Block) -> None:
        self._scan.feed(block)

    def _take(self, run: Run) -> None:
        self._seen_bytes += run.whole_bytes
        self._studied_bytes += max(run.whole_bytes, LEAST_RUN_BYTES)
        if self._query:
            run.forces = self._query.forces(run.data, self._counts)
        if run.frame is self._scan.root:
            self._troubles.see(run)
        if self._studying:
            self._facts.see(run, field_of(run.frame))
            if self._studied_bytes > STUDIED_BYTES:
                self._studying = False
                self._facts.study_is_over()
        else:
            run.oddness = self._facts.glanced(run)
        self._runs.append(run)
        self._held += max(len(run.data), LEAST_RUN_BYTES)
        if self._held > 2 * self._capacity and not self._studying:
            self._prune()

    def _prune(self) -> None:
        scores = self._scored()
        order = sorted(range(len(self._runs)), key=lambda index: (-scores[index], self._runs[index].start))
        held, kept = 0, []
        for index in order:
            if held > self._capacity:
                break
            held += max(len(self._runs[index].data), LEAST_RUN_BYTES)
            kept.append(index)
        self._runs = [self._runs[index] for index in sorted(kept)]
        self._held = held

    def _worths(self) -> list[float]:
        return worths(self._query, self._counts, max(1, self._seen_bytes // 60))

    def _scored(self) -> list[float]:
        """What each held run is worth: its question terms, those of its surroundings, its odd values."""
        worth = self._worths()
        keys: dict[int, int] = {}
        around: dict[int, dict[int, float]] = {}
        for run in self._runs:
            forces = run.forces or {}
            frame: Frame | None = run.frame
            for _ in range(2):
                if frame is None or frame is self._scan.root:
                    break
                here = around.setdefault(id(frame), {})
                for term, force in forces.items():
                    here[term] = max(here.get(term, 0.0), force)
                if frame.kind == "[" or frame.members >= 2 * ROW_MEMBERS:
                    break
                frame = frame.parent
        scale = 1.0 / (max(worth, default=0.0) or 1.0)
        scores = []
        if self._studying:
            self._facts.weigh()
        for run in self._runs:
            if run.oddness is None:
                run.oddness = self._facts.glanced(run)
            forces = run.forces or {}
            odd = max(run.oddness, self._troubles.of_run(run)) if run.troubles else run.oddness
            static = odd + 0.5 / (1 + run.frame.depth) * (1.0 if run.first == 0 else 0.3)
            asked = 0.0
            if self._query:
                terms = dict(forces)
                for term in terms_in(self._key_mask(run.frame, keys)):
                    terms[term] = max(terms.get(term, 0.0), 0.7)
                if run.frame.kind == "{":
                    for term, force in around.get(id(run.frame), {}).items():
                        terms[term] = max(terms.get(term, 0.0), 0.6 * force)
                asked = sum(worth[term] * force for term, force in terms.items()) * scale
            scores.append(asked + (STATIC_SHARE if self._query else 1.0) * static)
        return scores

    def _follow_pointers(self, call: Call) -> None:
        """A question after the latest asks for what is the latest in this document."""
        openings = (run.frame.opening for run in self._runs if run.first == 0)
        question = resolved(call.question, chain((run.data for run in self._runs), openings))
        if question != call.question:
            self._query = query_for(question)
            self._counts = [0] * len(self._query.terms)
            for run in self._runs:
                run.forces = self._query.forces(run.data, self._counts)

    def _key_mask(self, frame: Frame | None, known: dict[int, int]) -> int:
        """The question terms in the keys that lead to a container."""
        if frame is None:
            return 0
        mask = known.get(id(frame))
        if mask is None:
            match = _OPENING_KEY.match(frame.opening)
            own = self._query.mask(match.group(1)) if match else 0
            mask = known[id(frame)] = own | self._key_mask(frame.parent, known)
        return mask

    def finish(self, totals: Totals, call: Call) -> JsonSelection:
        self._scan.finish()
        self._follow_pointers(call)
        scores = self._scored()
        order = sorted(range(len(self._runs)), key=lambda index: (-scores[index], self._runs[index].start))
        taken, size = set[int](), 0
        for index in order:
            if size > 10 * room_bytes(self._room):
                break
            run = self._runs[index]
            size += max(LEAST_RUN_BYTES, min(3_000, len(run.data)), LEAST_MEMBER_BYTES * run.count)
            taken.add(index)
        for index, run in enumerate(self._runs):
            if run.first == 0 and run.frame.depth <= 3 and size < 16 * room_bytes(self._room):
                if index not in taken:
                    size += len(run.data)
                taken.add(index)
        tiles = Tiles(self._scan.root, self._query)
        for index in sorted(taken):
            tiles.add(self._runs[index])
        if not self._runs:
            tiles.box_of(self._scan.root)
        scan = self._scan
        state: State = "whole" if not scan.broken else "broken"
        if scan.is_too_deep or scan.is_too_long:
            state = "too deep" if scan.is_too_deep else "too long"
        elif scan.is_mixed and not scan.broken:
            state = "mixed"
        return JsonSelection(tiles, self._query, self._worths(), self._facts, self._troubles, totals, state=state)


def field_of(frame: Frame) -> str:
    """The key under which a container's elements stand, its own or that of the nearest object."""
    here: Frame | None = frame
    while here is not None:
        match = _OPENING_KEY.match(here.opening)
        if match:
            return key_of(match.group(1))
        here = here.parent
    return ""
