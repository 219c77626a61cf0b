"""The room for an excerpt, filled span by span: what strategies see of the budget.

Costs are planned additively, span by span, with a usual mark for every gap; the renderer
then measures the final text exactly and, when the plan was off, fills again with another
room.  Overlapping spans are kept once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import add, itemgetter

from overspill.core.measure import Measure, Size, display, safe_part
from overspill.core.model import Budget, Gap, Span, Totals

_USUAL_MARK = "[… lines 12345-67890 omitted]\n"
_SMALLEST_PIECE_BYTES = 16


class Costs:
    """What spans cost when shown; remembers, so that filling again is cheap."""

    def __init__(self, measure: Measure, budget: Budget) -> None:
        self._measure = measure
        self._budget = budget
        self._known: dict[tuple[int, int], Size] = {}
        self.mark = measure.size(_USUAL_MARK, budget)

    def of(self, span: Span) -> Size:
        key = (span.start, span.end)
        size = self._known.get(key)
        if size is None:
            size = self._measure.size(display(span.data), self._budget)
            if self._budget.max_lines:
                size = size._replace(lines=span.newlines)
            self._known[key] = size
        return size


class Excerpt:
    """Spans of one source that fit together; see ``ports.Excerpt`` for the contract."""

    def __init__(self, room: Budget, totals: Totals, costs: Costs) -> None:
        self.room = room
        self._totals = totals
        self._costs = costs
        self._bounds = room.bounds
        self._kept: list[Span] = []
        self._used: Sequence[int] = costs.mark

    @property
    def left(self) -> float:
        return min(
            (1 - used / bound for used, bound in zip(self._used, self._bounds, strict=True) if bound), default=1.0
        )

    def add(self, *spans: Span, leave: float = 0.0) -> bool:
        used, added = self._used, []
        for span in spans:
            for part in self._missing(span):
                self._keep(part)
                added.append(part)
                if not self._within(self._used, leave):
                    for part in added:
                        del self._kept[bisect_left(self._kept, part.start, key=itemgetter(0))]
                    self._used = used
                    return False
        return True

    def add_ends(self, first: Span, last: Span | None = None, *, leave: float = 0.0) -> bool:
        """By halving: the largest equal pieces of the start and of the end that fit."""
        if last is None:
            if self.add(first, leave=leave):
                return True
            last = first
        before, used = list(self._kept), self._used
        low, high = 0, max(len(first.data), len(last.data))
        best: tuple[Span, ...] = ()
        while high - low >= _SMALLEST_PIECE_BYTES or (not best and high > low):
            middle = (low + high + 1) // 2
            pieces = ends_of(first, last, middle)
            if self.add(*pieces, leave=leave):
                best, low = pieces, middle
                self._kept, self._used = list(before), used
            else:
                high = middle - 1
        return bool(best) and self.add(*best, leave=leave)

    def could_hold(self, *spans: Span, leave: float = 0.0) -> bool:
        used: Sequence[int] = self._costs.mark
        for span in spans:
            used = [*map(add, used, self._costs.of(span))]
        return self._within(used, leave)

    def spans(self) -> list[Span]:
        """What is kept, in source order, neighbours joined."""
        joined: list[Span] = []
        run: list[Span] = []
        for span in self._kept:
            if run and run[-1].end != span.start:
                joined.append(_join(run))
                run = []
            run.append(span)
        return [*joined, _join(run)] if run else joined

    def _within(self, used: Sequence[int], leave: float) -> bool:
        return all(not bound or size <= bound * (1 - leave) for size, bound in zip(used, self._bounds, strict=True))

    def _missing(self, span: Span) -> Iterable[Span]:
        """The parts of a span that are not kept yet."""
        at, parts = span.start, []
        index = bisect_left(self._kept, span.start, key=itemgetter(0))
        if index and self._kept[index - 1].end > at:
            at = min(self._kept[index - 1].end, span.end)
        while at < span.end:
            following = self._kept[index] if index < len(self._kept) else None
            end = min(following.start, span.end) if following else span.end
            if end > at:
                parts.append(span if end - at == len(span.data) else span.part(at - span.start, end - span.start))
            if following is None:
                break
            at, index = max(at, following.end), index + 1
        return parts

    def _keep(self, part: Span) -> None:
        if part.start < 0 or part.end > self._totals.bytes:
            raise ValueError(f"a span from byte {part.start} to {part.end} is not of this output")
        index = bisect_left(self._kept, part.start, key=itemgetter(0))
        touches_left = part.start == (self._kept[index - 1].end if index else 0)
        touches_right = part.end == (self._kept[index].start if index < len(self._kept) else self._totals.bytes)
        more_gaps = 1 - touches_left - touches_right
        self._kept.insert(index, part)
        self._used = [
            used + cost + more_gaps * mark
            for used, cost, mark in zip(self._used, self._costs.of(part), self._costs.mark, strict=True)
        ]


def ends_of(first: Span, last: Span, size: int) -> tuple[Span, ...]:
    """The first ``size`` bytes of one span and the last of another, moved to safe places; empty ones left out."""
    start = safe_part(first, 0, size)
    end = safe_part(last, len(last.data) - size, len(last.data))
    return tuple(piece for piece in (start, end) if piece.data)


def gaps_between(spans: Sequence[Span], totals: Totals) -> list[Gap]:
    """Everything that the spans (in order, joined) leave out of a source of this size."""
    gaps = []
    at, line, column = 0, 1, 0
    for span in spans:
        # A strategy of the user's may be wrong about its spans: no account can be built on that.
        between = span.start - at
        if not line <= span.line <= line + between or (not between and (span.line, span.column) != (line, column)):
            raise ValueError(f"a span at byte {span.start} can't be at line {span.line}, byte {span.column + 1}")
        if span.start > at:
            last_line, last_column = (span.line, span.column) if span.column else (span.line - 1, None)
            gaps.append(Gap(at, span.start, line, last_line, column, last_column))
        at = span.end
        newlines = span.newlines
        line = span.line + newlines
        column = len(span.data) - span.data.rfind(b"\n") - 1 if newlines else span.column + len(span.data)
    if at < totals.bytes:
        gaps.append(Gap(at, totals.bytes, line, totals.lines, column))
    return gaps


def _join(run: Sequence[Span]) -> Span:
    return run[0] if len(run) == 1 else run[0]._replace(data=b"".join(span.data for span in run))
