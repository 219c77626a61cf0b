"""Finds the passages of a text that speak to a question, and its landmarks, in one pass.

Holds back only a pool whose size follows from the room; a passage of the result is verbatim and
carries its place.  What counts as a landmark (a heading, a definition) the views say.
"""

from __future__ import annotations

import bisect
import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from overspill.core.measure import cut_after, cut_before
from overspill.core.model import Block, Budget, Gap, Span, Totals
from overspill.core.ports import Excerpt
from overspill.core.strategies.views.query_terms import Query, worths

SEGMENT_BYTES = 2_048
ATOM_BYTES = 320
"""A line longer than this is weighed and shown in parts."""
LANDMARKS_KEPT = 6_000
REFUSALS = 40
"""Spans that did not fit after which a view stops offering."""
REACH = 6
"""Atoms on either side that a hit makes interesting."""
FADE = 0.86
DENSITY = 0.45
"""How much a long passage must be worth more than a short one."""
STRETCH = 0.5
"""A passage goes on while the next line is worth this share of its best."""
PASSAGE_SHARE = 0.12
"""Of the room, at most so much goes to one passage."""
REPEAT = 0.2
"""How much less a term is worth each time that it was shown."""
DEFINED = 1.5
"""How much more the line that defines a name says about it than one that uses it."""
INHERITED = 0.75
ASKED_SHARE = 0.9
"""Of the room, what goes to the passages that speak to the question; the rest to the outline."""


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


@dataclass(slots=True)
class _Segment:
    span: Span
    hits: list[tuple[int, tuple[int, ...]]]
    static: float
    counts: dict[int, int] = field(default_factory=dict)
    lent: float = 0.0
    """Worth that neighbours lend: context of a good passage is worth holding."""


class _Atom(NamedTuple):
    span: Span
    terms: tuple[int, ...]


def counted(number: int, thing: str, things: str = "") -> str:
    """A number of things in words: ``1 file``, ``2 files``."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"


def room_bytes(room: Budget) -> int:
    """About how much text fits into a room, for deciding how far to look ahead."""
    sizes = [
        room.max_bytes,
        room.max_tokens and room.max_tokens * 4,
        room.max_chars and room.max_chars * 2,
        room.max_lines and room.max_lines * 120,
    ]
    return min(size for size in sizes if size)


def pool_bytes(room: Budget) -> int:
    """How much of the source a view may hold back."""
    return max(256 * 1024, min(8 * room.bytes_ceiling, 2 * 1024 * 1024))


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
    ) -> None:
        self._room = room
        self._counts_hit = counts_hit
        self._force_of = force_of
        self._defines = defines
        """The name that a line defines, in lower case, or nothing."""
        self._begins = begins
        """Where in a long line a new part begins."""
        self._reach = reach
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
        self._atoms: list[_Atom] | None = None
        self._answers: Replay | None = None
        self._outline: Replay | None = None

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
            end = _segment_end(data, at)
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

    def atoms(self) -> Sequence[_Atom]:
        """What is held, in lines and parts of long lines."""
        if self._atoms is None:
            self._atoms = self._cut()
        return self._atoms

    def _cut(self) -> list[_Atom]:
        atoms: list[_Atom] = []
        for segment in self._pool:
            hit = 0
            for part in _atoms_of(segment.span, self._begins):
                terms: list[int] = []
                end = part.end - segment.span.start
                while hit < len(segment.hits) and segment.hits[hit][0] < end:
                    terms.extend(segment.hits[hit][1])
                    hit += 1
                atoms.append(_Atom(part, tuple(dict.fromkeys(terms))))
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
        strengths = self._strengths(atoms, worth)
        yield from _windows(atoms, strengths, worth, ceiling=room_bytes(self._room))

    def _strengths(self, atoms: Sequence[_Atom], worth: Sequence[float]) -> list[dict[int, float]]:
        """For each atom the terms that speak there and how strongly: by hit, by nearness, by heading."""
        strengths: list[dict[int, float]] = [{} for _ in atoms]
        best = max(worth, default=0.0)
        telling = [value > 0.12 * best for value in worth]
        landmark_at = {landmark.start: landmark for landmark in self.landmarks if landmark.level}
        for index, atom in enumerate(atoms):
            terms = [term for term in atom.terms if telling[term]]
            if not terms:
                continue
            force = 1.35 if atom.span.start in landmark_at else 1.0
            if self._force_of is not None:
                force *= self._force_of(atom.span.data)
            defined = self._defines(atom.span.data) if self._defines else b""
            for term in terms:
                told = force * (DEFINED if defined and _names(defined, self._query.terms[term].text) else 1.0)
                _spread(strengths, atoms, index, term, told, reach=self._reach)
        self._inherit(atoms, strengths, telling)
        return strengths

    def _inherit(self, atoms: Sequence[_Atom], strengths: list[dict[int, float]], telling: Sequence[bool]) -> None:
        """Lines under a heading that speaks to the question speak to it as well, the first ones most."""
        sections = [landmark for landmark in self.landmarks if landmark.level]
        open_terms: list[tuple[int, int, list[int]]] = []
        at = 0
        for index, atom in enumerate(atoms):
            while at < len(sections) and sections[at].start <= atom.span.start:
                section = sections[at]
                while open_terms and open_terms[-1][0] >= section.level:
                    open_terms.pop()
                mask = self._query.mask(section.label.encode())
                terms = [term for term in range(len(telling)) if mask >> term & 1 and telling[term]]
                open_terms.append((section.level, section.line, terms))
                at += 1
            for _, line, terms in open_terms:
                if terms:
                    force = INHERITED * 0.985 ** min(400, atom.span.line - line)
                    here = strengths[index]
                    for term in terms:
                        if here.get(term, 0.0) < force:
                            here[term] = force

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


def _names(defined: bytes, asked: str) -> bool:
    """Whether a name is the one that is asked for, or holds it as some of its words."""
    text = asked.encode()
    return text == defined or (text in defined and (b"_" in text or b"-" in text))


def _segment_end(data: bytes, at: int) -> int:
    """Where a segment that starts here ends: after a line if one ends in reach, else at a safe byte."""
    if len(data) - at <= SEGMENT_BYTES:
        return len(data)
    newline = data.rfind(b"\n", at, at + SEGMENT_BYTES)
    if newline >= 0:
        return newline + 1
    newline = data.find(b"\n", at + SEGMENT_BYTES, at + 2 * SEGMENT_BYTES)
    if newline >= 0:
        return newline + 1
    return _soft_cut(data, at, at + 2 * SEGMENT_BYTES)


def _soft_cut(data: bytes, at: int, wanted: int) -> int:
    """A place near ``wanted`` where a long line may be cut: after a space or a delimiter, where it is safe."""
    if wanted >= len(data):
        return len(data)
    low = at + 2 * (wanted - at) // 3
    cut = max(data.rfind(delimiter, low, wanted) for delimiter in (b" ", b";", b",", b"\n", b">"))
    place = cut_before(data, cut + 1 if cut >= 0 else wanted)
    return place if place > at else cut_after(data, wanted)


def _atoms_of(span: Span, begins: re.Pattern[bytes] | None) -> Iterator[Span]:
    for line in span.lines():
        if len(line.data) <= ATOM_BYTES + ATOM_BYTES // 2:
            yield line
            continue
        at = 0
        while at < len(line.data):
            end = _soft_cut(line.data, at, at + ATOM_BYTES)
            parting = begins.search(line.data, at + 1, end) if begins else None
            if parting and cut_before(line.data, parting.start()) == parting.start():
                end = parting.start()
            yield line.part(at, end)
            at = end


def _spread(
    strengths: list[dict[int, float]], atoms: Sequence[_Atom], index: int, term: int, force: float, *, reach: int
) -> None:
    """Notes a hit at its atom and, fading, at the atoms around it that hang together with it."""
    if strengths[index].get(term, 0.0) < force:
        strengths[index][term] = force
    for step in (1, -1):
        here, value = index, force
        for _ in range(reach):
            there = here + step
            if not 0 <= there < len(atoms):
                break
            left, right = (here, there) if step > 0 else (there, here)
            if atoms[left].span.end != atoms[right].span.start:
                break
            value *= FADE
            if strengths[there].get(term, 0.0) >= value:
                break
            strengths[there][term] = value
            here = there


def _windows(
    atoms: Sequence[_Atom], strengths: Sequence[dict[int, float]], worth: Sequence[float], *, ceiling: int
) -> Iterator[Span]:
    """Stretches around the strongest atoms, best first; what was shown already counts less."""
    score = [sum(worth[term] * force for term, force in here.items()) for here in strengths]
    order = sorted((i for i, value in enumerate(score) if value > 0), key=lambda i: (-score[i], i))
    taken = bytearray(len(atoms))
    windows: list[tuple[int, int, dict[int, float]]] = []
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
        windows.append((first, last, terms))
        if planned > 4 * ceiling:
            break
    shown = [0] * len(worth)

    def value(window: tuple[int, int, dict[int, float]]) -> float:
        size = atoms[window[1]].span.end - atoms[window[0]].span.start
        told = sum(worth[term] * force / (1 + REPEAT * shown[term]) for term, force in window[2].items())
        return float(told * (size + 200) ** -DENSITY)

    heap = [(-value(window), window[0], window) for window in windows]
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
        yield join(atom.span for atom in atoms[window[0] : window[1] + 1])


def _stretch(
    atoms: Sequence[_Atom], score: Sequence[float], taken: bytearray, peak: int, *, limit: int
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


def join(spans: Iterable[Span]) -> Span:
    """Adjacent spans as one."""
    parts = list(spans)
    return parts[0] if len(parts) == 1 else parts[0]._replace(data=b"".join(part.data for part in parts))


class Replay:
    """Spans in an order that is worked out once, as far as somebody asks, and told again at every fill."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._rest, self._told = iter(spans), list[Span]()

    def __iter__(self) -> Iterator[Span]:
        for at in count():
            if at == len(self._told):
                span = next(self._rest, None)
                if span is None:
                    return
                self._told.append(span)
            yield self._told[at]


def interleave(*ranked: tuple[float, Iterable[Span]]) -> Iterator[Span]:
    """Several ranked lists as one, each getting its share of the bytes for as long as it has something."""
    sources = [[0.0, index, share, iter(spans)] for index, (share, spans) in enumerate(ranked) if share > 0]
    seen: set[tuple[int, int]] = set()
    while sources:
        source = min(sources, key=lambda entry: (entry[0], entry[1]))
        span = next(source[3], None)  # type: ignore[call-overload]
        if span is None:
            sources.remove(source)
            continue
        if (span.start, span.end) in seen:
            continue
        seen.add((span.start, span.end))
        source[0] += (len(span.data) + 40) / source[2]  # type: ignore[operator]
        yield span


def names_within(landmarks: Sequence[Landmark], gap: Gap, *, most: int = 6) -> list[Landmark]:
    """The landmarks inside a gap, the weightiest when there are many, in order."""
    starts = [landmark.start for landmark in landmarks]
    inside = landmarks[bisect.bisect_left(starts, gap.start) : bisect.bisect_left(starts, gap.end)]
    if len(inside) <= most:
        return list(inside)
    best = sorted(inside, key=lambda landmark: (-landmark.weight, landmark.start))[:most]
    return sorted(best, key=lambda landmark: landmark.start)


def nothing_to_say(gap: Gap) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class ViewSelection:
    """What a view found: its ranked spans, and what it can say about the rest."""

    kind: str
    headline: str
    ranked: Callable[[Budget], Iterable[Span]]
    describe_gap: Callable[[Gap], str] = nothing_to_say

    def fill(self, excerpt: Excerpt) -> None:
        """Adds the spans, best first, until the room is as good as full."""
        refused = 0
        for span in self.ranked(excerpt.room):
            if excerpt.add(span):
                continue
            refused += 1
            if refused > REFUSALS or excerpt.left < 0.01:
                break

    def describe(self, gap: Gap) -> str:
        return self.describe_gap(gap)

    def mark(self, gap: Gap, words: str) -> str | None:
        return None
