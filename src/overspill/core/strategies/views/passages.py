"""Reads a text for the passages that speak to a question, and for its landmarks, in one pass.

Holds back only a pool whose size follows from the room; a passage of the result is verbatim and
carries its place.  What counts as a landmark (a heading, a definition) the views say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from overspill.core.model import Block, Budget, Span, Totals
from overspill.core.strategies.views.atoms import Atom, atoms_of, segment_end
from overspill.core.strategies.views.landmarks import Found, Landmark
from overspill.core.strategies.views.offers import Replay, pool_bytes, room_bytes
from overspill.core.strategies.views.query_terms import Query, worths
from overspill.core.strategies.views.relevance import strengths_of
from overspill.core.strategies.views.windows import windows

LANDMARKS_KEPT = 6_000
REACH = 6
"""Atoms on either side that a hit makes interesting."""
LASTING = 0.985
"""What stays from line to line of the force that a heading lends."""
LASTING_WITHIN = 0.996
"""The same where a heading's lines belong to it to their last: the body of a function, the hunks of a commit."""


@dataclass(slots=True)
class _Segment:
    span: Span
    hits: list[tuple[int, tuple[int, ...]]]
    static: float
    counts: dict[int, int] = field(default_factory=dict)
    lent: float = 0.0
    """Worth that neighbours lend: context of a good passage is worth holding."""


class Passages:
    """One pass over a text: feed blocks, then ask for what is worth showing."""

    def __init__(
        self,
        room: Budget,
        query: Query,
        *,
        landmarks: Callable[[Block], Iterable[Found]],
        counts_hit: Callable[[bytes, int], bool] | None = None,
        force_of: Callable[[bytes], float] | None = None,
        defines: Callable[[bytes], bytes] | None = None,
        begins: re.Pattern[bytes] | None = None,
        reach: int = REACH,
        lasting: float = LASTING,
    ) -> None:
        self._room = room
        self._counts_hit = counts_hit
        self._force_of = force_of
        self._defines = defines
        """The name that a line defines, in lower case, or nothing."""
        self._begins = begins
        """Where in a long line a new part begins."""
        self._reach, self._lasting = reach, lasting
        self._query = query
        self._landmarks_of = landmarks
        self._capacity = pool_bytes(room)
        self._held = 0
        self._pool: list[_Segment] = []
        self._counts = [0] * len(query.terms)
        self._before: _Segment | None = None
        self.landmarks: list[Landmark] = []
        self.landmarks_seen = 0
        self.lines = 0
        self._atoms: list[Atom] | None = None
        self._answers: Replay[Span] | None = None
        self._outline: Replay[Span] | None = None

    def feed(self, block: Block) -> None:
        self._atoms = self._answers = self._outline = None
        data = block.data
        hits = list(self._query.hits(data))
        if self._counts_hit is not None:
            hits = [hit for hit in hits if self._counts_hit(data, hit[0])]
        for _, terms in hits:
            for term in terms:
                self._counts[term] += 1
        found = list(self._landmarks_of(block))
        at = hit = mark = 0
        line, column = block.line, block.column
        while at < len(data):
            end = segment_end(data, at)
            piece = data[at:end]
            first_hit = hit
            while hit < len(hits) and hits[hit][0] < end:
                hit += 1
            static = 0.0
            while mark < len(found) and found[mark][0] < end:
                offset, weight, level, label = found[mark]
                static = max(static, weight)
                self._note(Landmark(block.start + offset, line + data.count(b"\n", at, offset), weight, level, label))
                mark += 1
            segment = _Segment(
                Span(block.start + at, piece, line, column),
                [(offset - at, terms) for offset, terms in hits[first_hit:hit]],
                static,
            )
            self._hold(segment)
            newlines = piece.count(b"\n")
            line += newlines
            column = 0 if piece.endswith(b"\n") else len(piece) - piece.rfind(b"\n") - 1 + (0 if newlines else column)
            at = end
        self.lines = line

    def _note(self, landmark: Landmark) -> None:
        self.landmarks_seen += 1
        if len(self.landmarks) < LANDMARKS_KEPT:
            self.landmarks.append(landmark)

    def _hold(self, segment: _Segment) -> None:
        for _, terms in segment.hits:
            for term in terms:
                segment.counts[term] = segment.counts.get(term, 0) + 1
        before, self._before = self._before, segment
        if before is not None:
            own, other = len(segment.counts), len(before.counts)
            segment.lent = max(segment.lent, 0.4 * other)
            before.lent = max(before.lent, 0.4 * own)
        self._pool.append(segment)
        self._held += len(segment.span.data)
        if self._held > 2 * self._capacity:
            self._prune()

    def _prune(self) -> None:
        worth = worths(self._query, self._counts, max(1, self.lines, self._pool[-1].span.line))

        def value(segment: _Segment) -> float:
            return sum(worth[term] for term in segment.counts) + segment.static + segment.lent

        ranked = sorted(self._pool, key=lambda segment: (-value(segment), segment.span.start))
        held, kept = 0, []
        for segment in ranked:
            if held + len(segment.span.data) > self._capacity:
                break
            held += len(segment.span.data)
            kept.append(segment)
        self._pool = sorted(kept, key=lambda segment: segment.span.start)
        self._held = held

    # -- at the end ---------------------------------------------------------------------------

    def atoms(self) -> Sequence[Atom]:
        """What is held, in lines and parts of long lines."""
        if self._atoms is None:
            self._atoms = self._cut()
        return self._atoms

    def _cut(self) -> list[Atom]:
        atoms: list[Atom] = []
        for segment in self._pool:
            hit = 0
            for part in atoms_of(segment.span, self._begins):
                terms: list[int] = []
                end = part.end - segment.span.start
                while hit < len(segment.hits) and segment.hits[hit][0] < end:
                    terms.extend(segment.hits[hit][1])
                    hit += 1
                atoms.append(Atom(part, tuple(dict.fromkeys(terms))))
        return atoms

    def passages(self, totals: Totals) -> Iterable[Span]:
        """Passages that answer the question, best first, each a few lines long."""
        if self._answers is None:
            self._answers = Replay(self._ranked(totals))
        return self._answers

    def _ranked(self, totals: Totals) -> Iterator[Span]:
        if not self._query:
            return
        atoms = self.atoms()
        worth = worths(self._query, self._counts, max(totals.lines, totals.bytes // 80, 1))
        strengths = strengths_of(
            atoms,
            worth,
            self._query,
            self.landmarks,
            reach=self._reach,
            lasting=self._lasting,
            force_of=self._force_of,
            defines=self._defines,
        )
        yield from windows(atoms, strengths, worth, ceiling=room_bytes(self._room))

    def outline(self) -> Iterable[Span]:
        """The landmarks' own lines, the weightiest first."""
        if self._outline is None:
            self._outline = Replay(self._weightiest())
        return self._outline

    def _weightiest(self) -> Iterator[Span]:
        by_start = {atom.span.start: atom.span for atom in self.atoms()}
        for landmark in sorted(self.landmarks, key=lambda mark: (-mark.weight, mark.start)):
            span = by_start.get(landmark.start)
            if span is not None:
                yield span

    def edges(self, first: int, last: int) -> Iterator[Span]:
        """The first and the last bytes held, in whole atoms: how it begins and ends."""
        atoms = self.atoms() if self._pool else []
        taken = 0
        for atom in atoms:
            if taken >= first:
                break
            yield atom.span
            taken += len(atom.span.data)
        taken = 0
        for atom in reversed(atoms):
            if taken >= last:
                break
            yield atom.span
            taken += len(atom.span.data)
