"""What is decided once, before any output comes: how much, above which size, by which strategy.

A policy is validated when it is built; a budget that could not even hold the notice is
refused here, so that it never fails when a tool has just answered.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal

from overspill.core.access import Access, FilePath
from overspill.core.measure import Carrier, Measure, Size
from overspill.core.model import UNITS, Budget, Call
from overspill.core.notice import WORDS, Language, floor_text
from overspill.core.ports import LINES_ON_TOP, Layout, Selector, Strategy, TokenCounter
from overspill.core.redact import Redactor, Secret
from overspill.core.strategies import Auto
from overspill.core.tokens import estimate_tokens
from overspill.errors import PolicyError

DEFAULT_BUDGET = Budget(max_tokens=2_000, max_bytes=9_000)
"""Under the smallest limit among today's hosts (10,000 bytes), so that none of them cuts again."""

EVERYTHING = Budget(max_bytes=1 << 62)
"""What no output exceeds."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    budget: Budget = DEFAULT_BUDGET
    """How much the model sees of an output that is cut, the notice counted in."""
    limit: Budget | None = None
    """Above it an output is cut; by default the budget."""
    strategy: Strategy = field(default_factory=Auto)
    access: Access = field(default_factory=FilePath)
    language: Language = "en"
    counter: TokenCounter = estimate_tokens
    carrier: Carrier = "text"
    redact: tuple[Secret, ...] = ()
    """What is taken out before anything is written or shown; ``redact.BUILT_IN`` knows the usual secrets."""
    layout: Layout | None = None
    """The text of another system, to its figures, in place of the usual header and marks."""
    when_failed: Literal["bounded", "original"] = "bounded"
    """What the caller gets when cutting or storing fails: an honest excerpt, or the output as it came."""

    def __post_init__(self) -> None:
        for name in ("budget", "limit"):
            size: object = getattr(self, name)
            if not isinstance(size, Budget) and (name, size) != ("limit", None):
                raise PolicyError(name, size, "a Budget, as in Budget(max_bytes=9_000)")
        if self.language not in WORDS:
            raise PolicyError("language", self.language, " or ".join(WORDS))
        if self.carrier not in ("text", "json"):
            raise PolicyError("carrier", self.carrier, "text or json")
        if not isinstance(self.strategy, Strategy):
            raise PolicyError("strategy", self.strategy, "an object with `name` and `selector`, or a name for `bound`")
        if not isinstance(self.access, Access):
            raise PolicyError("access", self.access, "Shell(), Tools(), FilePath(), SubAgent() or an object like them")
        if not callable(self.counter):
            raise PolicyError("counter", self.counter, "a callable from text to a number of tokens")
        if self.counter is not estimate_tokens:
            _try(self.counter)
        secrets: object = self.redact
        if not isinstance(secrets, list | tuple) or not all(isinstance(each, Secret) for each in secrets):
            raise PolicyError("redact", secrets, "a tuple of Secrets, as redact.BUILT_IN is")
        if self.redact:
            Redactor(self.redact)  # a pattern that is none is refused here
        if self.layout is not None and not isinstance(self.layout, Layout):
            raise PolicyError("layout", self.layout, "an object with `name`, `on_top`, `fits` and `selector`")
        if self.when_failed not in ("bounded", "original"):
            raise PolicyError("when_failed", self.when_failed, "bounded or original")
        floor = _floor(self.counter, self.carrier, self.language)
        for unit, least in zip(UNITS, floor, strict=True):
            value = getattr(self.budget, f"max_{unit}")
            if value is not None and value < least:
                raise PolicyError(f"max_{unit}", value, f"{least} or more, since the notice alone can need that")
            bound = getattr(self.limit, f"max_{unit}") if self.limit else None
            if value is not None and bound is not None and bound < value:
                raise PolicyError(f"limit.max_{unit}", bound, f"{value} (the budget's max_{unit}) or more")

    @cached_property
    def measure(self) -> Measure:
        return Measure(self.counter, self.carrier)

    @property
    def above(self) -> Budget:
        """The limit in force."""
        return self.limit or self.budget

    @property
    def uncut(self) -> Policy:
        """The same for what passes whole: secrets are still taken out."""
        return replace(self, budget=EVERYTHING, limit=None, layout=None)

    @property
    def cuts_nothing(self) -> bool:
        return self.above == EVERYTHING

    @cached_property
    def laid_out(self) -> Budget:
        """What a layout's text never exceeds: the budget, and its words where the system has them on top."""
        on_top = self.layout.on_top if self.layout else 0
        more = Size(0, on_top, on_top, LINES_ON_TOP if on_top else 0)
        named = {unit: getattr(self.budget, f"max_{unit}") for unit in UNITS}
        bounds = {f"max_{unit}": bound + room for (unit, bound), room in zip(named.items(), more, strict=True) if bound}
        # What only follows from the lines is no system's figure, so nothing goes on top of it.
        return Budget(**{"max_bytes": self.budget.bounds[1], **bounds})

    def lets_through(self, text: str) -> bool:
        """Is the text within the limit, or, where that names other units, all to be shown anyway?"""
        if self.layout is not None:
            return self.measure.fits(text, self.above) and self.layout.fits(text, self.above)
        return self.measure.fits(text, self.above) or (self.limit is not None and self.measure.fits(text, self.budget))

    def surely_lets_through(self, text: str) -> bool:
        """The same by cheap bounds; False means: look closer."""
        surely = self.measure.surely_fits(text, self.above)
        return surely and (self.layout is None or self.layout.fits(text, self.above))

    def selector(self, call: Call) -> Selector:
        """A fresh selector: the layout's, where it knows the strategy, else the strategy's own."""
        laid_out = self.layout.selector(self.budget, self.strategy) if self.layout else None
        return laid_out or self.strategy.selector(self.budget, call)


def _try(counter: TokenCounter) -> None:
    try:
        known = counter("a text") >= 0
    except Exception as fault:
        accepted = f"a callable from text to a number of tokens; it raised {type(fault).__name__}: {fault}"
        raise PolicyError("counter", counter, accepted) from fault
    if not known:
        raise PolicyError("counter", counter, "a callable that never counts less than 0")


@lru_cache(maxsize=32)
def _floor(counter: TokenCounter, carrier: Carrier, language: Language) -> Size:
    everything = Budget(max_tokens=1, max_bytes=1, max_chars=1, max_lines=1)
    return Measure(counter, carrier).size(floor_text(language), everything)
