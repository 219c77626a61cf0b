"""The layout in two steps: first the ends by characters, then the ends of what that gave by lines.

For the first step 100 characters are reserved and 40 in 100 of the rest kept at either end; for the
second two lines are reserved, and half of the rest kept at either end.  The second counts and cuts the
text of the first, its mark included.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from overspill.core.excerpt import gaps_between
from overspill.core.layouts.ends import CharEnds, Page, ends_of, shortest_within
from overspill.core.layouts.held import Held, characters, gap_between
from overspill.core.layouts.words import WORDINGS, Facts
from overspill.core.measure import count_lines, readable
from overspill.core.model import Block, Budget, Call, Gap, Part, Span, Totals
from overspill.core.ports import Composition, Excerpt
from overspill.core.strategies.ends import Ends

if TYPE_CHECKING:
    from overspill.core.access import Access
    from overspill.core.notice import Kept, Language
    from overspill.core.ports import Strategy

RESERVED_CHARS = 100
RESERVED_LINES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSteps:
    name: str
    on_top: ClassVar[int] = 0

    def fits(self, text: str, limit: Budget) -> bool:
        return True

    def selector(self, budget: Budget, strategy: Strategy) -> TwoStepsSelector | None:
        if not isinstance(strategy, Ends) or budget.max_chars is None or budget.max_bytes or budget.max_tokens:
            return None
        return TwoStepsSelector(budget.max_chars, budget.max_lines, strategy)


class TwoStepsSelector:
    kind = ""
    headline = ""

    def __init__(self, most_chars: int, most_lines: int | None, strategy: Ends) -> None:
        self._most_chars, self._most_lines = most_chars, most_lines
        self._strategy = strategy
        self._held = Held(most_chars * 4)

    def less(self, share: float) -> TwoStepsSelector | None:
        """By characters where these were too many, else by lines: the figure of the other step stays."""
        fewer = copy(self)
        if self._most_lines and self._held.chars <= self._most_chars:
            fewer._most_lines = int(self._most_lines * share)
        else:
            fewer._most_chars = int(min(self._most_chars, self._held.chars) * share)
        return fewer if fewer._most_chars > RESERVED_CHARS and fewer._most_lines != RESERVED_LINES else None

    def feed(self, block: Block) -> None:
        self._held.feed(block)

    def finish(self, totals: Totals, call: Call) -> TwoStepsSelector:
        self._held.end(totals)
        return self

    def compose(self, kept: Kept, *, access: Access, language: Language) -> Composition:
        held = self._held
        facts = Facts(kept=kept, access=access, language=language, totals=held.totals, gap=None, chars=held.chars)
        parts = self._by_chars(facts) if held.chars > self._most_chars else self._whole()
        if self._most_lines:
            parts = self._by_lines(parts, facts)
        return Composition("", tuple(parts))

    def _whole(self) -> list[Part]:
        span = Span(0, self._held.head, 1)
        return [Part(readable(span.data), span=span)]

    def _by_chars(self, facts: Facts) -> list[Part]:
        head, tail = STEP_ONE.sizes(max(2, self._most_chars - RESERVED_CHARS), self._strategy)
        first, last = ends_of(self._held, "chars", head, tail)
        gap = gap_between(first, last, self._held.totals)
        shown = [len(characters(span.data)) if span else 0 for span in (first, last)]
        facts = replace(facts, gap=gap, head_chars=shown[0], tail_chars=shown[1])
        parts = [Part(readable(span.data), span=span) for span in (first, last) if span]
        parts.insert(1 if first else 0, Part(STEP_ONE.page(facts).mark, gap=gap))
        return parts

    def _by_lines(self, parts: list[Part], facts: Facts) -> list[Part]:
        assert self._most_lines is not None
        total = count_lines("".join(part.text for part in parts))
        if total <= self._most_lines:
            return parts
        half = max(1, (self._most_lines - RESERVED_LINES) // 2)
        head, tail = half, half
        if self._strategy.name != "ends":
            head, tail = (2 * half, 0) if self._strategy.head_share else (0, 2 * half)
        before, after = _lines_of(parts, 0, head), _lines_of(parts, total - tail, total)
        spans = [part.span for part in (*before, *after) if part.span]
        marks = {part.gap: part for part in (*before, *after) if part.gap}
        laid: list[Part] = [Part(readable(span.data), span=span) for span in spans]
        room = self._most_chars - sum(len(part.text) for part in (*laid, *marks.values()))
        for gap in gaps_between(spans, self._held.totals):
            at = next((index for index, part in enumerate(laid) if part.span and part.span.start == gap.end), len(laid))
            laid.insert(at, marks.get(gap) or self._mark(gap, replace(facts, gap=gap), laid[:at], room))
        return laid

    def _mark(self, gap: Gap, facts: Facts, before: list[Part], room_chars: int) -> Part:
        n = gap.omitted_lines
        joint = "\n" if before and not before[-1].text.endswith("\n") else ""
        counted = joint + facts.say(f"[… {n} lines omitted]", f"[… 省略 {n} 行]")
        return Part(shortest_within(room_chars, [f"{counted}\n{words(facts)}\n" for words in WORDINGS]), gap=gap)

    def fill(self, excerpt: Excerpt) -> None:
        """Composed, never filled."""

    def describe(self, gap: Gap) -> str:
        return ""

    def mark(self, gap: Gap, words: str) -> str | None:
        return None


def _lines_of(parts: list[Part], first: int, last: int) -> list[Part]:
    """The lines ``first`` (counted from 0) to ``last`` (exclusive) of a text in parts; marks whole or not at all."""
    chosen, line = [], 0
    for part in parts:
        newlines = part.text.count("\n")
        if part.span is None:
            if first <= line and line + newlines < last:
                chosen.append(part)
        else:
            data = part.span.data
            start = _after_newline(data, first - line) if first > line else 0
            end = _after_newline(data, last - line) if last > line else 0
            if end > start:
                span = part.span.part(start, end)
                chosen.append(Part(readable(span.data), span=span))
        line += newlines
    return chosen


def _after_newline(data: bytes, ordinal: int) -> int:
    """Where the line after so many line ends begins; the end of the data when there are fewer."""
    at = 0
    for _ in range(ordinal):
        at = data.find(b"\n", at) + 1
        if not at:
            return len(data)
    return at


def _step_one(facts: Facts) -> Page:
    n, lines = facts.omitted_chars, facts.omitted_lines
    counted = facts.say(f"{n} characters, {lines} lines omitted", f"省略 {n} 个字符、{lines} 行")
    candidates = [f"\n[… {counted}]\n{words(facts)}\n" for words in WORDINGS]
    return Page("", shortest_within(RESERVED_CHARS, candidates))


STEP_ONE = CharEnds(name="toollevel/tool", page=_step_one, reserve=RESERVED_CHARS, head_share=0.4, tail_share=0.4)
TOOLLEVEL_TOOL = TwoSteps(name="toollevel/tool")
