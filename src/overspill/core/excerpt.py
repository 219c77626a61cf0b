"""The room for an excerpt, filled span by span: what strategies see of the budget.

Costs are planned additively, span by span, with a usual mark for every gap; the renderer
then measures the final text exactly and, when the plan was off, fills again with another
room.  Overlapping spans are kept once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import add, le, sub

from overspill.core.measure import Measure, Size, display, safe_part
from overspill.core.model import Budget, Gap, Span, Totals, join

_USUAL_MARK = "[… lines 12345-67890 omitted]\n"
_SMALLEST_PIECE_BYTES = 16

Cost = tuple[int, ...]


class Costs:
    """What spans cost when shown, in the units that the budget names; remembers, so that filling again is cheap."""

    def __init__(self, measure: Measure, budget: Budget) -> None:
        self._measure = measure
        self._budget = budget
        self._known: dict[tuple[int, int], Cost] = {}
        self._named = [number for number, bound in enumerate(budget.bounds) if bound]
        self.mark = self._in_named(measure.size(_USUAL_MARK, budget))

    def bounds(self, room: Budget) -> Cost:
        """What a room has of each unit."""
        return tuple([room.bounds[number] or 0 for number in self._named])

    def of(self, span: Span) -> Cost:
        key = (span.start, span.start + len(span.data))
        cost = self._known.get(key)
        if cost is None:
            size = self._measure.size(display(span.data), self._budget)
            if self._budget.max_lines:
                size = size._replace(lines=span.newlines)
            cost = self._known[key] = self._in_named(size)
        return cost

    def _in_named(self, size: Size) -> Cost:
        return tuple([size[number] for number in self._named])


class Excerpt:
    """Spans of one source that fit together; see ``ports.Excerpt`` for the contract."""

    def __init__(self, room: Budget, totals: Totals, costs: Costs) -> None:
        self.room = room
        self._totals = totals
        self._costs = costs
        self._bounds = costs.bounds(room)
        self._kept: list[Span] = []
        self._starts: list[int] = []
        self._used: Sequence[int] = costs.mark

    @property
    def left(self) -> float:
        return min([1 - used / bound for used, bound in zip(self._used, self._bounds, strict=True)], default=1.0)

    def add(self, *spans: Span, leave: float = 0.0) -> bool:
        before: list[Span] = []
        used_before = self._used
        for span in spans:
            if span.start < 0 or span.start + len(span.data) > self._totals.bytes:
                raise ValueError(f"a span from byte {span.start} to {span.end} is not of this output")
            for part, index in self._missing(span):
                used = self._with(part, index)
                if not self._within(used, leave):
                    for added in before:
                        self._drop(added)
                    self._used = used_before
                    return False
                self._kept.insert(index, part)
                self._starts.insert(index, part.start)
                self._used = used
                before.append(part)
        return True

    def add_ends(self, first: Span, last: Span | None = None, *, leave: float = 0.0) -> bool:
        """By halving: the largest equal pieces of the start and of the end that fit."""
        if last is None:
            if self.add(first, leave=leave):
                return True
            last = first
        low, high = 0, max(len(first.data), len(last.data))
        best: tuple[Span, ...] = ()
        while high - low >= _SMALLEST_PIECE_BYTES or (not best and high > low):
            middle = (low + high + 1) // 2
            pieces = ends_of(first, last, middle)
            kept, starts, used = [*self._kept], [*self._starts], self._used
            if self.add(*pieces, leave=leave):
                best, low = pieces, middle
                self._kept, self._starts, self._used = kept, starts, used
            else:
                high = middle - 1
        return bool(best) and self.add(*best, leave=leave)

    def could_hold(self, *spans: Span, leave: float = 0.0) -> bool:
        used = self._costs.mark
        for span in spans:
            used = tuple(map(add, used, self._costs.of(span)))
        return self._within(used, leave)

    def spans(self) -> list[Span]:
        """What is kept, in source order, neighbours joined."""
        joined: list[Span] = []
        run: list[Span] = []
        for span in self._kept:
            if run and run[-1].end != span.start:
                joined.append(join(run))
                run = []
            run.append(span)
        return [*joined, join(run)] if run else joined

    def _within(self, used: Sequence[int], leave: float) -> bool:
        limits = [bound * (1 - leave) for bound in self._bounds] if leave else self._bounds
        return all(map(le, used, limits))

    def _missing(self, span: Span) -> Iterable[tuple[Span, int]]:
        """The parts of a span that are not kept yet, each with its place among those that are."""
        at, end = span.start, span.start + len(span.data)
        index = bisect_left(self._starts, at)
        if index and self._kept[index - 1].end > at:
            at = min(self._kept[index - 1].end, end)
        while at < end:
            following = self._starts[index] if index < len(self._starts) else end
            until = min(following, end)
            if until > at:
                yield (span if until - at == len(span.data) else span.part(at - span.start, until - span.start)), index
                index += 1
            if following >= end:
                break
            at, index = max(at, self._kept[index].end), index + 1

    def _with(self, part: Span, index: int) -> Cost:
        """What is used once the part is kept there."""
        touches_left = part.start == (self._kept[index - 1].end if index else 0)
        touches_right = part.end == (self._starts[index] if index < len(self._starts) else self._totals.bytes)
        more_gaps = 1 - touches_left - touches_right
        used = map(add, self._used, self._costs.of(part))
        return tuple(used if not more_gaps else map(add if more_gaps > 0 else sub, used, self._costs.mark))

    def _drop(self, part: Span) -> None:
        index = bisect_left(self._starts, part.start)
        del self._kept[index], self._starts[index]


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
