"""What of a long output is worth a closer look: the whole of a short one, chosen stretches of a long one.

Guarantees memory that does not grow with the output: the start, the end, the first line of every new form that speaks
of trouble (and the latest), what matches the question, a sample of other new forms; and counts of forms that are exact
until ``complete`` says otherwise. A block is only looked at by native code until it holds something new.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple

from overspill.core.measure import cut_after, cut_before
from overspill.core.model import Block, Span, join, lines_of
from overspill.core.strategies.salience import severity
from overspill.core.strategies.salience.question import Asked
from overspill.core.strategies.salience.templates import fine_keys

if TYPE_CHECKING:
    from overspill.core.strategies.rules import Rules

WHOLE_BYTES = 1 << 20
"""Up to here everything is looked at closely."""
HEAD_BYTES = 96 * 1024
TAIL_BYTES = 128 * 1024
CHOSEN_BYTES = 512 * 1024
LEAST_LINE_BYTES = 32
"""A shorter line counts as one of so many: what is looked at closely costs by the line."""
FORMS = 40_000
"""Forms of lines that are counted at once; beyond, those seen once make room."""
HITS = 240
WINDOW_BYTES = 320
LONG_LINES_BYTES = 4_096
EDGE_BYTES = 128
"""As much at the edge of a block inside a line is not cut at: what follows is not known there."""


class _Chosen(NamedTuple):
    number: int
    grace: int
    """How many thinnings it survives unasked."""
    span: Span


class Pool:
    """The stretches of one output that are looked at closely."""

    def __init__(self, asked: Asked | None, rules: Rules | None = None) -> None:
        self._asked, self._rules = asked, rules
        self._recent: deque[tuple[Block, int]] = deque()
        self._recent_weight = 0
        self._whole: list[Block] = []
        self._whole_weight = 0
        self._overflowed = False
        self._head: list[Span] = []
        self._chosen: list[_Chosen] = []
        self._chosen_weight = 0
        self._numbered = 0
        self._stage = 0
        self._severe: dict[bytes, Span] = {}
        self._last_keys: tuple[bytes, list[bytes], Counter[bytes]] = (b"", [], Counter())
        """Of the last block, which a command that repeats itself prints again and again."""
        self.counts: Counter[bytes] = Counter()
        self.complete = True
        """Whether the stretches are the whole output."""

    def feed(self, block: Block) -> None:
        if not self._overflowed:
            self._whole.append(block)
            self._whole_weight += _weight(block.data)
            if self._whole_weight <= WHOLE_BYTES:
                return
            self._overflow()
            return
        self._push(block)

    def _overflow(self) -> None:
        self._overflowed, self.complete = True, False
        held, self._whole = self._whole, []
        room = HEAD_BYTES
        for block in held:
            if room > 0:
                end = _first_part(block.data, room)
                self._head.append(block.part(0, end))
                room -= _weight(block.data[:end])
                self.counts.update(fine_keys(block.data[:end]))
                if end < len(block.data):
                    self._push(block.part(end, len(block.data)))
                    room = 0
            else:
                self._push(block)

    def _push(self, block: Block) -> None:
        same = self._recent and self._recent[-1][0].data == block.data
        weight = self._recent[-1][1] if same else _weight(block.data)
        self._recent.append((block, weight))
        self._recent_weight += weight
        while self._recent_weight - self._recent[0][1] >= TAIL_BYTES:
            oldest, weight = self._recent.popleft()
            self._recent_weight -= weight
            self._choose(oldest)

    def stretches(self) -> list[Span]:
        """In order, without overlap. The pool can't be fed after this."""
        if not self._overflowed:
            return [join(self._whole)] if self._whole else []
        spans = list(self._head)
        tail: list[Span] = []
        room = TAIL_BYTES
        while self._recent:
            block, weight = self._recent.pop()
            if room <= 0:
                self._choose(block)
                continue
            start = 0
            if weight > room:
                start = _last_part(block, room)
                self._choose(block.part(0, start))
            rest = block.part(start, len(block.data))
            self.counts.update(fine_keys(rest.data))
            tail.append(rest)
            room -= _weight(rest.data)
        spans += [chosen.span for chosen in self._chosen]
        spans += list(self._severe.values())
        spans += tail
        return _without_overlap(spans)

    # -- one block ------------------------------------------------------------------------------

    def _choose(self, block: Block) -> None:
        data = block.data
        if not data:
            return
        if data != self._last_keys[0]:
            if len(data) > LONG_LINES_BYTES * (data.count(b"\n") + 1):
                self._choose_windows(block)
                return
            keys = fine_keys(data)
            self._last_keys = data, keys, Counter(keys)
        _, keys, present = self._last_keys
        counts = self.counts
        fresh = present.keys() - counts.keys()
        counts.update(present)
        if len(counts) > FORMS:
            self._forget()
        wanted: dict[int, int] = {}
        starts: list[int] | None = None
        if fresh:
            order = [index for index, key in enumerate(keys) if key in fresh]
            first_of: dict[bytes, int] = {}
            for index in order:
                first_of.setdefault(keys[index], index)
            starts = _line_starts(data)
            self._choose_fresh(data, starts, list(first_of.values()), wanted)
        repeated = [key for key in self._severe if key in present and key not in fresh]
        if repeated:
            starts = starts or _line_starts(data)
            backwards = keys[::-1]
            for key in repeated[:64]:
                index = len(keys) - 1 - backwards.index(key)
                self._severe[key] = _lines(block, starts, index, index + 1)
        if self._asked is not None:
            starts = starts or _line_starts(data)
            self._choose_asked(data, starts, wanted)
        if self._rules:
            starts = starts or _line_starts(data)
            for at in islice(self._rules.places(data), HITS):
                wanted[min(bisect_right(starts, at) - 1, len(starts) - 2)] = 3
        if wanted and starts is not None:
            for index, grace in wanted.items():
                if grace >= 2 and len(self._severe) < 256 and index < len(keys):
                    self._severe.setdefault(keys[index], _lines(block, starts, index, index + 1))
            self._add(block, starts, wanted)

    def _choose_fresh(self, data: bytes, starts: Sequence[int], fresh: Sequence[int], wanted: dict[int, int]) -> None:
        """Of the lines of a new form: those that speak of trouble, and a sample of the others."""
        for index in fresh[:: max(1, len(fresh) // 24)][:32]:
            wanted[index] = 0
        ends = [starts[index + 1] for index in fresh]
        text = b"".join(data[starts[index] : end] for index, end in zip(fresh, ends, strict=True))
        bounds, at = [], 0
        for index, end in zip(fresh, ends, strict=True):
            at += end - starts[index]
            bounds.append(at)
        position = 0
        severe = 0
        for hit in islice(severity.scan(text), HITS * 4):
            if hit.level < severity.WARN or severe >= HITS:
                continue
            while bounds[position] <= hit.at:
                position += 1
            index = fresh[position]
            grace = 3 if hit.level >= severity.ERROR else 2 if hit.level >= severity.MENTION else 1
            if wanted.get(index, 0) < grace:
                wanted[index] = grace
                severe += 1

    def _choose_asked(self, data: bytes, starts: Sequence[int], wanted: dict[int, int]) -> None:
        assert self._asked is not None
        terms: dict[int, set[int]] = {}
        for at, term in islice(self._asked.each_hit(data), HITS * 4):
            terms.setdefault(bisect_right(starts, at) - 1, set()).add(term)
        for index in sorted(terms, key=lambda index: (-len(terms[index]), index))[: HITS // 4]:
            wanted[index] = max(wanted.get(index, 0), 2 if len(terms[index]) > 1 else 1)

    def _choose_windows(self, block: Block) -> None:
        """Of lines too long to weigh whole: what stands around trouble and around what was asked."""
        data = block.data
        places = [
            (hit.at, 3 if hit.level >= severity.ERROR else 1)
            for hit in islice(severity.scan(data), HITS // 2)
            if hit.level >= severity.WARN
        ]
        if self._asked is not None:
            places += [(at, 2) for at, _ in islice(self._asked.each_hit(data), HITS // 2)]
        if self._rules:
            places += [(at, 3) for at in islice(self._rules.places(data), HITS // 2)]
        places.append((0, 0))
        reached = -1
        for at, grace in sorted(places):
            if at <= reached:
                continue
            first = max(reached, _safe(block, at - WINDOW_BYTES))
            reached = _safe(block, at + WINDOW_BYTES)
            if reached > first:
                self._keep(block.part(first, reached), grace)

    def _add(self, block: Block, starts: Sequence[int], wanted: dict[int, int]) -> None:
        """Adds the lines with what stands around them, which says what they mean."""
        lines = len(starts) - 1
        run: tuple[int, int, int] | None = None
        for index in sorted(wanted):
            grace = wanted[index]
            first = max(0, index - (3 if grace >= 2 else 1))
            last = min(lines, index + (9 if grace >= 3 else 4 if grace >= 2 else 2))
            if run and first <= run[1]:
                run = (run[0], max(run[1], last), max(run[2], grace))
                continue
            if run:
                self._keep(_lines(block, starts, run[0], run[1]), run[2])
            run = (first, last, grace)
        if run:
            self._keep(_lines(block, starts, run[0], run[1]), run[2])

    def _keep(self, span: Span, grace: int) -> None:
        self._numbered += 1
        if self._stage > grace and self._numbered % (1 << (self._stage - grace)):
            return
        self._chosen.append(_Chosen(self._numbered, grace, span))
        self._chosen_weight += _weight(span.data)
        while self._chosen_weight > CHOSEN_BYTES:
            self._stage += 1
            self._chosen = [
                chosen
                for chosen in self._chosen
                if self._stage <= chosen.grace or not chosen.number % (1 << (self._stage - chosen.grace))
            ]
            self._chosen_weight = sum(_weight(chosen.span.data) for chosen in self._chosen)

    def _forget(self) -> None:
        kept = [(key, count) for key, count in self.counts.items() if count > 1 or key in self._severe]
        if len(kept) > FORMS // 2:
            kept = sorted(kept, key=lambda entry: -entry[1])[: FORMS // 2]
        self.counts = Counter(dict(kept))


def _weight(data: bytes) -> int:
    return max(len(data), LEAST_LINE_BYTES * data.count(b"\n"))


def _first_part(data: bytes, room: int) -> int:
    """Where the start ends that weighs ``room`` at most: whole lines, if there is one."""
    most = room // LEAST_LINE_BYTES
    if len(data) <= room and data.count(b"\n") <= most:
        return len(data)
    lines = data[:room].split(b"\n", most)
    end = min(len(data), room) - len(lines[most]) if len(lines) > most else data.rfind(b"\n", 0, room) + 1
    return end or cut_before(data, room)


def _last_part(block: Block, room: int) -> int:
    """Where the end begins that weighs ``room`` at most: whole lines, if there is one."""
    data = block.data
    at = max(0, len(data) - room)
    start = data.find(b"\n", at) + 1 if at else 0
    most = room // LEAST_LINE_BYTES + 1
    lines = data[start:].rsplit(b"\n", most)
    if len(lines) > most:
        return start + len(lines[0]) + 1
    return start or _safe(block, at)


def _line_starts(data: bytes) -> list[int]:
    return [*accumulate(map(len, lines_of(data)), initial=0)]


def _lines(block: Block, starts: Sequence[int], first: int, last: int) -> Span:
    column = block.column if first == 0 else 0
    return Span(block.start + starts[first], block.data[starts[first] : starts[last]], block.line + first, column)


def _safe(block: Block, at: int) -> int:
    """A place near ``at`` where a stretch may begin or end: never where a block cuts a line in two."""
    data = block.data
    if at <= 0 and block.column:
        at = min(len(data), EDGE_BYTES)
    elif at >= len(data) and not data.endswith(b"\n"):
        return cut_before(data, max(0, len(data) - EDGE_BYTES))
    return cut_after(data, max(0, at))


def _without_overlap(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    end = -1
    for span in sorted(spans, key=lambda span: (span.start, -len(span.data))):
        if span.end <= end:
            continue
        rest = span if span.start >= end else span.part(end - span.start, len(span.data))
        if merged and rest.start == end and (rest.column or not merged[-1].data.endswith(b"\n")):
            # the middle of a line: one stretch, so that the line is seen as one
            merged[-1] = join([merged[-1], rest])
        else:
            merged.append(rest)
        end = rest.end
    return merged
