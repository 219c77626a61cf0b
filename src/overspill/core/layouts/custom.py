"""A strategy that a user writes as two plain functions over the whole text.

The bounded text is our header and what ``truncate`` returned, to the letter: an excerpt in a form of its
own (a JSON array cut to its first elements, say) stays in that form.  The account is exact and honest:
what the returned text has in common with the start of the output counts as kept, everything else as
omitted.  What is longer than the budget is not shown: then the start and the end of the output are.
One thing is given up for the plainness: the whole output is in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from overspill.core.layouts.held import gap_between
from overspill.core.layouts.words import Facts, where
from overspill.core.measure import cut_before, encode, readable
from overspill.core.model import Block, Budget, Call, Gap, Part, Span, Totals
from overspill.core.ports import Composition, Excerpt

if TYPE_CHECKING:
    from overspill.core.access import Access
    from overspill.core.notice import Kept, Language
    from overspill.core.ports import Strategy


class Truncator(Protocol):
    """What a user writes."""

    def needs_truncation(self, text: str) -> bool: ...

    def truncate(self, text: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Custom:
    """``Policy(layout=Custom(truncator))``."""

    truncator: Truncator
    name: str = "custom"
    on_top: ClassVar[int] = 0

    def fits(self, text: str, limit: Budget) -> bool:
        try:
            return not self.truncator.needs_truncation(text)
        except (Exception, SystemExit):  # it raises again where a fault becomes an event
            return False

    def selector(self, budget: Budget, strategy: Strategy) -> CustomSelector | None:
        return CustomSelector(self.truncator)


class CustomSelector:
    kind = ""
    headline = ""

    def __init__(self, truncator: Truncator) -> None:
        self._truncator = truncator
        self._blocks: list[bytes] = []
        self._totals = Totals(0, 0)
        self._shown = ""

    def feed(self, block: Block) -> None:
        self._blocks.append(block.data)

    def finish(self, totals: Totals, call: Call) -> CustomSelector:
        self._totals = totals
        text = readable(b"".join(self._blocks))
        shown = self._truncator.truncate(text) if self._truncator.needs_truncation(text) else text
        if not isinstance(shown, str):
            raise TypeError(f"truncate() returned {type(shown).__name__}, not str")
        self._shown = shown
        return self

    def compose(self, kept: Kept, *, access: Access, language: Language) -> Composition:
        data = b"".join(self._blocks)
        shown = encode(self._shown)
        same = cut_before(data, _agreeing(data, shown))
        span = Span(0, data[:same], 1)
        gap = gap_between(span, None, self._totals)
        facts = Facts(kept=kept, access=access, language=language, totals=self._totals, gap=gap, chars=len(data))
        parts = [Part(readable(span.data), span=span)] if same else []
        rest = readable(shown[same:])
        return Composition(f"{where(facts)}\n", (*parts, Part(rest, gap=gap)))

    def less(self, share: float) -> None:
        """What a user's function returned is shown whole or not at all."""

    def fill(self, excerpt: Excerpt) -> None:
        """Composed, never filled."""

    def describe(self, gap: Gap) -> str:
        return ""

    def mark(self, gap: Gap, words: str) -> str | None:
        return None


def _agreeing(one: bytes, other: bytes) -> int:
    """How many bytes two texts have in common at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[:middle]):
            low = middle
        else:
            high = middle - 1
    return low
