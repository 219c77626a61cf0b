"""Layouts that keep so many characters (or bytes) of the start and of the end, whatever lines they cut.

Each is a table of shares and a page: the words before, between and after.  Where the figure would cut
a grapheme cluster or an escape sequence in two, the cut moves to its nearer border.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from overspill.core.layouts.held import Held, characters, gap_between
from overspill.core.layouts.words import WORDINGS, WORDS_BYTES, Facts, where
from overspill.core.measure import readable
from overspill.core.model import Block, Budget, Call, Gap, Part, Span, Totals
from overspill.core.ports import Composition, Excerpt
from overspill.core.strategies.ends import Ends

if TYPE_CHECKING:
    from overspill.core.access import Access
    from overspill.core.notice import Kept, Language
    from overspill.core.ports import Strategy


class Page(NamedTuple):
    """The words around the two stretches."""

    opening: str
    mark: str
    closing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CharEnds:
    """So many of the first and of the last, counted in ``unit``."""

    name: str
    page: Callable[[Facts], Page]
    unit: Literal["chars", "bytes"] = "chars"
    reserve: int = 0
    """Left free of the budget before it is shared."""
    head_share: float = 0.5
    tail_share: float | None = None
    """None: all that the head leaves."""
    on_top: int = WORDS_BYTES

    def fits(self, text: str, limit: Budget) -> bool:
        return True

    def selector(self, budget: Budget, strategy: Strategy) -> CharEndsSelector | None:
        if not isinstance(strategy, Ends):
            return None
        size = budget.max_bytes if self.unit == "bytes" else budget.max_chars
        if size is None:
            return None
        head, tail = self.sizes(max(2, size - self.reserve), strategy)
        return CharEndsSelector(self, head, tail)

    def sizes(self, room: int, strategy: Ends) -> tuple[int, int]:
        """How much of the start and of the end."""
        if strategy.name != "ends":
            return (room, 0) if strategy.head_share else (0, room)
        head = int(room * self.head_share)
        tail = room - head if self.tail_share is None else int(room * self.tail_share)
        return head, tail


class CharEndsSelector:
    kind = ""
    headline = ""

    def __init__(self, layout: CharEnds, head: int, tail: int) -> None:
        self._layout, self._head, self._tail = layout, head, tail
        widest = 4 if layout.unit == "chars" else 1
        self._held = Held(max(head, tail) * widest)

    def less(self, share: float) -> CharEndsSelector | None:
        fewer = copy(self)
        fewer._head, fewer._tail = int(self._head * share), int(self._tail * share)
        return fewer if fewer._head + fewer._tail else None

    def feed(self, block: Block) -> None:
        self._held.feed(block)

    def finish(self, totals: Totals, call: Call) -> CharEndsSelector:
        self._held.end(totals)
        size = totals.bytes if self._layout.unit == "bytes" else self._held.chars
        if (both := self._head + self._tail) >= size:  # little, which takes more when it is shown
            self._head, self._tail = (part * max(0, size - 1) // both for part in (self._head, self._tail))
        return self

    def compose(self, kept: Kept, *, access: Access, language: Language) -> Composition:
        first, last = ends_of(self._held, self._layout.unit, self._head, self._tail)
        gap = gap_between(first, last, self._held.totals)
        facts = Facts(
            kept=kept,
            access=access,
            language=language,
            totals=self._held.totals,
            gap=gap,
            chars=self._held.chars,
            head_chars=len(characters(first.data)) if first else 0,
            tail_chars=len(characters(last.data)) if last else 0,
        )
        page = self._layout.page(facts)
        parts = [
            Part(readable(first.data), span=first) if first else None,
            Part(page.mark + ("" if last else page.closing), gap=gap),
            Part(readable(last.data), span=last) if last else None,
        ]
        closing = [Part(page.closing)] if last and page.closing else []
        return Composition(page.opening, (*(part for part in parts if part), *closing))

    def fill(self, excerpt: Excerpt) -> None:
        """Composed, never filled."""

    def describe(self, gap: Gap) -> str:
        return ""

    def mark(self, gap: Gap, words: str) -> str | None:
        return None


def ends_of(held: Held, unit: Literal["chars", "bytes"], head: int, tail: int) -> tuple[Span | None, Span | None]:
    if unit == "bytes":
        return held.first(head) if head else None, held.last(tail) if tail else None
    return held.first_chars(head) if head else None, held.last_chars(tail) if tail else None


def _toollevel(facts: Facts) -> Page:
    counted = facts.say(
        f"{facts.omitted_chars} characters, {facts.omitted_lines} lines omitted",
        f"省略 {facts.omitted_chars} 个字符、{facts.omitted_lines} 行",
    )
    return Page(
        "",
        shortest_within(200, [f"\n\n[… {counted}]\n{words(facts)}\n\n" for words in WORDINGS]),
    )


def _buffered(facts: Facts) -> Page:
    n = facts.omitted_chars
    return Page(
        f"{where(facts)}\n\n",
        facts.say(f"\n\n... ({n} characters truncated) ...\n\n", f"\n\n... (已截断 {n} 个字符) ...\n\n"),
    )


def _codex(facts: Facts) -> Page:
    n, total = facts.omitted_chars, facts.totals.lines
    return Page(
        facts.say(f"Total output lines: {total}\n\n", f"输出总行数：{total}\n\n"),
        facts.say(f"…{n} chars truncated…", f"…已截断 {n} 个字符…"),
        f"\n{where(facts)}",
    )


def _gemini_cli(facts: Facts) -> Page:
    n = facts.omitted_chars
    return Page(
        f"{where(facts)}\n",
        facts.say(f"\n\n... [{n} characters omitted] ...\n\n", f"\n\n... [省略 {n} 个字符] ...\n\n"),
    )


def _claude_code(facts: Facts) -> Page:
    size = f"{facts.totals.bytes / 1024:.1f} KB"
    shown = f"{facts.head_chars + facts.tail_chars}"
    opening = facts.say(
        f"{where(facts)}\n\nToo much to show: {size}. The first {shown} characters:\n",
        f"{where(facts)}\n\n输出过大：{size}。前 {shown} 个字符：\n",
    )
    return Page(opening, "\n...\n")


def shortest_within(room_chars: int, candidates: list[str]) -> str:
    """The first candidate that fits the reserve, else the last."""
    return next((words for words in candidates if len(words) <= room_chars), candidates[-1])


TOOLLEVEL = CharEnds(name="toollevel", page=_toollevel, on_top=0, reserve=200, head_share=0.4, tail_share=0.4)
BUFFERED = CharEnds(name="buffered", page=_buffered)
CODEX = CharEnds(name="codex", page=_codex, unit="bytes")
GEMINI_CLI = CharEnds(name="gemini-cli", page=_gemini_cli, head_share=0.2)
CLAUDE_CODE = CharEnds(name="claude-code", page=_claude_code, head_share=1.0)
