"""Layouts that keep whole lines from one end, by lines and by bytes, whichever is used up first.

Line ends count as a byte each.  Where not even one line fits, the layout itself shows nothing of the
output; then the start and the end of that line follow it, so that the model sees what it deals with.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from overspill.core.layouts.held import Held, gap_between
from overspill.core.layouts.words import WORDS_BYTES, Facts, where
from overspill.core.measure import readable
from overspill.core.model import Block, Budget, Call, Gap, Part, Span, Totals, lines_of
from overspill.core.notice import mark
from overspill.core.ports import Composition, Excerpt
from overspill.core.strategies.ends import Ends

if TYPE_CHECKING:
    from overspill.core.access import Access
    from overspill.core.notice import Kept, Language
    from overspill.core.ports import Strategy

LONG_LINE_BYTES = 1_000
_MOST_LINES = 1 << 60


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeLines:
    name: str
    after_last: bool = False
    """Does what follows a final line end count as a line of its own, an empty one?"""

    ends_bytes: int = LONG_LINE_BYTES
    """Shown of each end of the output where a line does not fit."""
    least_share: float = 0.0
    """Of the bytes: lines that take no more, since the next is too long, are given up for the two ends."""
    on_top: ClassVar[int] = WORDS_BYTES

    def fits(self, text: str, limit: Budget) -> bool:
        return not self.after_last or limit.max_lines is None or text.count("\n") < limit.max_lines

    def selector(self, budget: Budget, strategy: Strategy) -> WholeLinesSelector | None:
        if not isinstance(strategy, Ends) or strategy.name not in ("head", "tail"):
            return None
        if budget.max_tokens or budget.max_chars:
            return None
        most_bytes = budget.max_bytes or budget.bytes_ceiling
        return WholeLinesSelector(self, strategy.name, budget.max_lines or _MOST_LINES, most_bytes)


class _Preview(NamedTuple):
    """The lines that stay, and what had to go, in the unit that ran out."""

    lines: int
    bytes: int
    """Of the lines joined, without a line end after the last."""
    removed: int
    by_bytes: bool


class WholeLinesSelector:
    kind = ""
    headline = ""

    def __init__(self, layout: WholeLines, direction: str, most_lines: int, most_bytes: int) -> None:
        self._layout, self._direction = layout, direction
        self._most_lines, self._most_bytes = most_lines, most_bytes
        self._held = Held(most_bytes + 1)

    def less(self, share: float) -> WholeLinesSelector | None:
        fewer = copy(self)
        fewer._most_bytes = int(min(self._most_bytes, self._held.totals.bytes) * share)
        return fewer if fewer._most_bytes else None

    def feed(self, block: Block) -> None:
        self._held.feed(block)

    def finish(self, totals: Totals, call: Call) -> WholeLinesSelector:
        self._held.end(totals)
        return self

    def compose(self, kept: Kept, *, access: Access, language: Language) -> Composition:
        held = self._held
        preview = self._preview()
        span = self._span(preview)
        head = self._direction == "head"
        gap = gap_between(span if head else None, None if head else span, held.totals)
        facts = Facts(
            kept=kept, access=access, language=language, totals=held.totals, gap=gap, chars=held.chars
        )  # fmt: skip
        n = preview.removed
        if preview.by_bytes:
            marker = facts.say(f"...{n} bytes truncated...", f"...已截断 {n} 字节...")
        else:
            marker = facts.say(f"...{n} lines truncated...", f"...已截断 {n} 行...")
        little = int(self._most_bytes * self._layout.least_share)
        if preview.bytes <= little and held.totals.bytes and preview.by_bytes:
            return self._of_a_long_line(facts, marker, language)
        if head:
            # The span brings the line end that parts it from the blank line, when the source has one there.
            joint = "\n" if readable(span.data).endswith("\n") and len(span.data) > preview.bytes else "\n\n"
            return Composition(
                "", (Part(readable(span.data), span=span), Part(f"{joint}{marker}\n\n{where(facts)}", gap=gap))
            )
        return Composition("", (Part(f"{marker}\n\n{where(facts)}\n\n", gap=gap), Part(readable(span.data), span=span)))

    def _preview(self) -> _Preview:
        held, head = self._held, self._direction == "head"
        data = held.head if head else held.tail
        whole = len(data) >= held.totals.bytes
        lines = data.split(b"\n")
        if not self._layout.after_last and held.ends_line and (whole or not head):
            lines.pop()
        if not head:
            lines.reverse()
        total = held.newlines + 1 - (not self._layout.after_last and held.ends_line)
        used = count = 0
        by_bytes = False
        for line in lines:
            if count == self._most_lines:
                break
            size = len(line) + (count > 0)
            if used + size > self._most_bytes:
                by_bytes = True
                break
            used, count = used + size, count + 1
        removed = held.totals.bytes - used if by_bytes else total - count
        return _Preview(count, used, removed, by_bytes)

    def _span(self, preview: _Preview) -> Span:
        held = self._held
        if self._direction == "head":
            ended = held.head[preview.bytes : preview.bytes + 1] == b"\n" and preview.lines > 0
            return Span(0, held.head[: preview.bytes + ended], 1)
        final = not self._layout.after_last and held.ends_line
        return held.from_line(len(held.tail) - preview.bytes - (final and preview.lines > 0))

    def _of_a_long_line(self, facts: Facts, marker: str, language: Language) -> Composition:
        held = self._held
        size = min(self._layout.ends_bytes, max(1, (held.totals.bytes - 1) // 2), max(1, self._most_bytes // 2))
        most_lines = max(1, self._most_lines // 2)
        first, last = _first_lines(held.first(size), most_lines), _last_lines(held.last(size), most_lines)
        gap = gap_between(first, last, held.totals)
        words = facts.say(
            "No whole line fits; the start and the end of the output:", "没有一行能完整显示；输出的开头与结尾："
        )
        opening = f"\n\n{marker}\n\n" if self._direction == "head" else f"{marker}\n\n"
        facts_of_ends = where(_with_gap(facts, gap))
        between = f"\n{mark(gap, '', language=language)}\n" if gap else ""
        return Composition(
            f"{opening}{facts_of_ends}\n\n{words}\n",
            (Part(readable(first.data), span=first), Part(between, gap=gap), Part(readable(last.data), span=last)),
        )

    def fill(self, excerpt: Excerpt) -> None:
        """Composed, never filled."""

    def describe(self, gap: Gap) -> str:
        return ""

    def mark(self, gap: Gap, words: str) -> str | None:
        return None


def _first_lines(span: Span, count: int) -> Span:
    lines = lines_of(span.data)[:count]
    return span.part(0, sum(map(len, lines)))


def _last_lines(span: Span, count: int) -> Span:
    lines = lines_of(span.data)[-count:]
    return span.part(len(span.data) - sum(map(len, lines)), len(span.data))


def _with_gap(facts: Facts, gap: Gap | None) -> Facts:
    from dataclasses import replace

    return replace(facts, gap=gap)


OPENCODE = WholeLines(name="opencode", after_last=True)
UNIFIED = WholeLines(name="unified", ends_bytes=10_000, least_share=0.05)
"""What it cuts is JSON with a member to a line: where the data is one long text, all before it says nothing."""
REGISTRY = WholeLines(name="registry")
