"""``outline``: what is in a kept output, or in a range of its lines, in one small answer.

Two parts: facts of the output's form (columns, paths, definitions, failures …), each true of the whole
stretch and recomputable from it; then its most telling lines, verbatim and numbered.  Lines of facts
begin with ``#``, lines of the source with their number.  Called on a gap, it zooms in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from overspill.core.access import Calls, worded
from overspill.core.capture import Capture, Whole
from overspill.core.excerpt import Costs, Excerpt
from overspill.core.model import UNITS, Budget, Span, Totals
from overspill.core.policy import Policy
from overspill.core.ports import Selection, Store
from overspill.retrieve import paging
from overspill.retrieve.address import RangeLike, parse_range
from overspill.retrieve.answer import Answer, Page, at_most, closing, default_policy, largest, opening, within
from overspill.retrieve.rows import Row
from overspill.retrieve.session import Session
from overspill.retrieve.shapes import Landmark, Shape, Stretch, listings, shape_of
from overspill.retrieve.source import Source

DEFAULT_TOKENS = 600
"""An outline is a look, to be followed by a read: it takes less than the budget unless asked for more; how to go on
from it comes on top.
A map of many named places, such as a document's, may take the whole budget."""
MOST_BYTES = 64 << 20
"""A longer stretch is outlined up to here, and the answer says so."""
_FACTS_SHARE = 0.5
_PLACES_SHARE = 0.8
_PAGES_SHARE = 0.25
"""Of the budget, for the places at which pages start: beside what the outline takes otherwise."""
_MANY_LANDMARKS = 24
_BEGINNING_BYTES = 64 * 1024
_ROUNDS = 7
_ROW_BYTES = 400
"""More of one telling line than this is left to ``read``."""


def outline(
    store: Store,
    handle: str,
    *,
    lines: RangeLike = None,
    question: str = "",
    max_tokens: int | None = None,
    policy: Policy | None = None,
    session: Session | None = None,
) -> Answer:
    """What is in the output, or in a range of its ``lines``; what speaks to the ``question`` comes first."""
    policy = policy or default_policy()
    with Source(store, handle) as source:
        if not source.size:
            words = opening("outline", source.handle, "the output is empty (0 bytes)")
            return Answer(text=within(words, policy), handle=source.handle)
        if beyond := source.beyond(lines):
            text = within(opening("outline", source.handle, beyond), policy)
            return Answer(text=text, handle=source.handle, exit_status=1)
        answer = _Outlining(source, _stretch(source, lines), question, policy, max_tokens).answer()
    if session is not None:
        session.note(answer.handle, [(page.start, page.end) for page in answer.pages])
    return answer


def _smaller(policy: Policy, max_tokens: int | None, ways: str, *, many: bool) -> Policy:
    if max_tokens is None and (many or policy.budget.max_tokens is None):
        return policy
    return at_most(policy, max_tokens or DEFAULT_TOKENS + policy.measure.tokens(ways))


@dataclass(frozen=True, slots=True)
class _Stretch:
    start: int
    end: int
    first_line: int
    last_line: int
    asked_last_line: int


def _stretch(source: Source, lines: RangeLike) -> _Stretch:
    first, last = 1, source.lines
    if lines is not None:
        asked = parse_range("lines", lines)
        first = asked.first.line
        last = min(asked.last.line, source.lines) if asked.last else source.lines
    start, end = source.line_start(first), source.line_start(last + 1)
    reached = last
    if end - start > MOST_BYTES:
        cut_line = source.line_at(start + MOST_BYTES)
        reached = max(first, cut_line - 1)
        end = source.line_start(reached + 1) if cut_line > first else start + MOST_BYTES
    return _Stretch(start, end, first, reached, last)


class _Outlining:
    def __init__(
        self, source: Source, stretch: _Stretch, question: str, policy: Policy, max_tokens: int | None
    ) -> None:
        self._source, self._stretch = source, stretch
        call = source.stored.call
        self._call = replace(call, question=question) if question else call
        looked_at = Stretch(source, stretch.start, stretch.end, stretch.first_line, self._call)
        self._shape = shape_of(looked_at, beginning=source.read(0, _BEGINNING_BYTES))
        self._ways = [self._paging(policy if max_tokens is None else at_most(policy, max_tokens)), self._forms(policy)]
        self._policy = _smaller(
            policy, max_tokens, "".join(self._ways), many=len(self._shape.landmarks) > _MANY_LANDMARKS
        )

    def answer(self) -> Answer:
        shape = self._shape
        selection, whole = self._selection()
        facts = [] if whole else self._facts(shape)
        rows = self._all_rows() if whole else self._telling(selection, facts)
        rows, text = self._fit(shape, facts, rows, selection)
        _, call = self._next(rows)
        return Answer(
            text=within(text, self._policy),
            handle=self._source.handle,
            pages=tuple(Page(row.start, row.end) for row in rows),
            next=call,
            facts=shape.facts,
        )

    def _selection(self) -> tuple[Selection | None, bool]:
        """What the default strategy finds telling in the stretch, taken for an output of its own."""
        policy = Policy(budget=self._policy.budget, counter=self._policy.counter, carrier=self._policy.carrier)
        capture = Capture(policy, self._call)
        for chunk in self._source.chunks(self._stretch.start, self._stretch.end):
            capture.feed(chunk)
        ended = capture.finish(self._call)
        return (None, True) if isinstance(ended, Whole) else (ended.selection, False)

    def _facts(self, shape: Shape) -> list[str]:
        """As many facts as their share of the budget holds: the list of places in the fullest form that fits."""
        room = self._room(self._ways, 1.0)
        if room is None:
            return []
        lines = [f"# {line}\n" for line in shape.lines]
        many = len(shape.landmarks) > _MANY_LANDMARKS
        share = _scaled(room, _FACTS_SHARE * 0.6 if many else _FACTS_SHARE)
        count = largest(lambda number: self._policy.measure.fits("".join(lines[:number]), share), len(lines))
        share = _scaled(room, _PLACES_SHARE if many else _FACTS_SHARE)
        return lines[:count] + self._places(shape.landmarks, lines[:count], share) + self._ways

    def _paging(self, policy: Policy) -> str:
        """How to take it page by page, in the fullest form that its share of the budget holds."""
        stretch, share = self._stretch, _scaled(policy.budget, _PAGES_SHARE)
        made = paging.listings(self._source, stretch.start, stretch.end, first_line=stretch.first_line, policy=policy)
        return next((line for words in made if policy.measure.fits(line := f"# {words}\n", share)), "")

    def _forms(self, policy: Policy) -> str:
        """The calls that any of the places can be put into."""
        access, rest = policy.access, self._source.rest()
        if not isinstance(access, Calls):
            return ""
        near, stretch = worded(access, "read", rest, around="LINE"), worded(access, "read", rest, lines="FIRST-LAST")
        asked = worded(access, "outline", rest, lines="FIRST-LAST", question="QUESTION")
        return f"# with places from here: {near} | {stretch} | {asked}\n"

    def _places(self, landmarks: Sequence[Landmark], before: Sequence[str], share: Budget) -> list[str]:
        for listing in listings(landmarks):
            lines = [f"# {line}\n" for line in listing]
            if self._policy.measure.fits("".join((*before, *lines)), share):
                return lines
        return []

    def _telling(self, selection: Selection | None, facts: Sequence[str]) -> list[Row]:
        """The most telling lines that fit beside the facts."""
        if selection is None:
            return []
        measure, budget = self._policy.measure, self._policy.budget
        share = 1.0
        rows: list[Row] = []
        for _ in range(_ROUNDS):
            room = self._room(facts, share)
            if room is None:
                break
            totals = self._totals()
            excerpt = Excerpt(room, totals, Costs(measure, room))
            selection.fill(excerpt)
            rows = list(self._rows_of(excerpt.spans()))
            if measure.fits(self._text("", facts, rows), budget):
                break
            share *= 0.82
        return rows

    def _totals(self) -> Totals:
        stretch = self._stretch
        return Totals(stretch.end - stretch.start, stretch.last_line - stretch.first_line + 1)

    def _room(self, facts: Sequence[str], share: float) -> Budget | None:
        frame = self._head("") + "".join(facts) + closing("x" * 60)
        size = self._policy.measure.size(frame, self._policy.budget)
        left = {}
        for unit, used in zip(UNITS, size, strict=True):
            bound = getattr(self._policy.budget, f"max_{unit}")
            if bound:
                left[f"max_{unit}"] = int((bound - used) * share)
        return Budget(**left) if min(left.values()) > 0 else None

    def _rows_of(self, spans: Sequence[Span]) -> Iterator[Row]:
        stretch = self._stretch
        for span in spans:
            for part in span.lines():
                start = stretch.start + part.start
                ends_line = part.data.endswith(b"\n") or start + len(part.data) >= self._source.size
                row = Row(start, part.data, part.line + stretch.first_line - 1, part.column, ends_line)
                yield row if len(row.data) <= _ROW_BYTES else row.first_part(_ROW_BYTES)

    def _all_rows(self) -> list[Row]:
        from overspill.retrieve.rows import rows

        stretch = self._stretch
        return list(rows(self._source, stretch.start, stretch.end, line=stretch.first_line))

    def _fit(
        self, shape: Shape, facts: list[str], rows: list[Row], selection: Selection | None
    ) -> tuple[list[Row], str]:
        headline = shape.headline or (selection.headline if selection is not None and not shape.lines else "")
        words = "; ".join(part for part in (shape.kind, headline) if part)

        def fits(some: Sequence[Row]) -> bool:
            return self._policy.measure.fits(self._text(words, facts, some), self._policy.budget)

        shown = rows[: largest(lambda number: fits(rows[:number]), len(rows))]
        if rows and not shown:
            size = largest(lambda size: not size or fits([rows[0].first_part(size)]), len(rows[0].data))
            shown = [rows[0].first_part(size)] if size else []
        if not shown and not fits([]):
            facts = facts[: len(facts) // 2]
        return shown, self._text(words, facts, shown)

    def _text(self, words: str, facts: Sequence[str], rows: Sequence[Row]) -> str:
        return self._head(words) + "".join(facts) + "".join(row.shown() for row in rows) + self._foot(rows)

    def _head(self, words: str) -> str:
        stretch, source = self._stretch, self._source
        where = f"{source.lines} line{'s' if source.lines != 1 else ''}, {source.size} bytes"
        if stretch.first_line > 1 or stretch.last_line < source.lines:
            where = f"lines {stretch.first_line}-{stretch.last_line} of {source.lines}"
        return opening("outline", source.handle, f"{where}; {words}" if words else where)

    def _foot(self, rows: Sequence[Row]) -> str:
        return closing(self._next(rows)[1])

    def _next(self, rows: Sequence[Row]) -> tuple[str, str]:
        """Zooming into the largest stretch of which nothing is shown; or what lies behind the outlined."""
        stretch, source = self._stretch, self._source
        if stretch.last_line < stretch.asked_last_line:
            first, last = stretch.last_line + 1, stretch.asked_last_line
        else:
            first, last = self._largest_gap(rows)
        if last - first < 2:
            return "", ""
        lines = f"{first}-{last}"
        verb = "outline" if last - first > 30 else "read"
        return lines, worded(self._policy.access, verb, source.rest(first, last), lines=lines)

    def _largest_gap(self, rows: Sequence[Row]) -> tuple[int, int]:
        best, after = (1, 0), self._stretch.first_line - 1
        for line in [*(row.line for row in rows), self._stretch.last_line + 1]:
            if line - 1 - after > best[1] - best[0] + 1:
                best = (after + 1, line - 1)
            after = max(after, line)
        return best


def _scaled(budget: Budget, share: float) -> Budget:
    sizes = {f"max_{unit}": getattr(budget, f"max_{unit}") for unit in UNITS}
    return Budget(**{name: max(1, int(size * share)) for name, size in sizes.items() if size})
