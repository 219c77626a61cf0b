"""What one field of a JSON document holds, and what that makes of one of its values: rare, extreme, a failure.

A field is a key at a depth. Counts are exact for what was seen, and forgotten where there are many values.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import ge
from typing import Any

VALUES_KEPT = 32
TEXT_BYTES = 48
LONG_TEXT = "…"
"""What stands for a text of more bytes: each may be another one."""
KNOWN_EACH = 1_000

FAILURE_KEYS = re.compile(
    r"(?:error|exception|fail|fault|reason|message|msg|stack|trace|warning|violation|problem|denied|deprecat|yanked|"
    r"vulnerab|critical|fatal|exit_?code|status_?code|status|state|phase|conclusion|outcome|verdict|severity|level|result)",
    re.IGNORECASE,
)
SURE_FAILURE_KEYS = re.compile(
    r"(?:error|exception|fail|fault|stack|trace|violation|denied|fatal|yanked|vulnerab)", re.IGNORECASE
)
FAILURE_VALUES = re.compile(
    rb"(?i)\b(?:error|fail(?:ed|ure|ing)?|fatal|critical|high|panic|exception|crash\w*|denied|timed?[ _-]?out|"
    rb"unhealthy|down|degraded|firing|oom\w*|evicted|rejected|refused|unavailable|killed|abort(?:ed)?|missing|invalid|expired)\b"
)
_EMPTY = (None, "", False, 0)
CONTAINERS = frozenset((dict, list))
_NUMBERS = {int, float}
_PLAIN = {int, float, bool, type(None)}
_SOME = {"": 0}
_KEPT = frozenset((int, float, str))


def counted_as(value: Any) -> Any:
    """What stands for a value in counts: itself, or for a container and a long text that it is one."""
    if value.__class__ is list:
        return "[…]" if value else "[]"
    if value.__class__ is dict:
        return "{…}" if value else "{}"
    return LONG_TEXT if value.__class__ is str and len(value) > TEXT_BYTES else value


@dataclass(slots=True)
class Field:
    """The values of one key at one depth."""

    seen: int = 0
    values: Counter[Any] | None = field(default_factory=Counter)
    numbers: int = 0
    lowest: float = math.inf
    highest: float = -math.inf
    rising: int = 0
    last: float = 0.0
    nests: bool = False
    """Whether some of the values hold others."""

    def see(self, column: Sequence[Any]) -> None:
        """Counts its next values."""
        self.seen += len(column)
        kinds = {*map(type, column)}
        self.nests = self.nests or not CONTAINERS.isdisjoint(kinds)
        if self.values is not None:
            plain = kinds <= _PLAIN or (kinds == {str} and max(map(len, column)) <= TEXT_BYTES)
            self.values.update(column if plain else map(counted_as, column))
            if len(self.values) > VALUES_KEPT:
                self.values = None
        if not kinds.isdisjoint(_NUMBERS):
            numbers = column if kinds <= _NUMBERS else [item for item in column if type(item) in _NUMBERS]
            self.numbers += len(numbers)
            self.rising += sum(map(ge, numbers, chain((self.last,), numbers)))
            self.last = numbers[-1]
            self.lowest = min(self.lowest, *numbers)
            self.highest = max(self.highest, *numbers)

    @property
    def few_values(self) -> Counter[Any] | None:
        """How often each value was seen, where there are so few that some are usual."""
        values = self.values
        return None if values is None or self.seen < 5 or len(values) > max(4, self.seen // 4) else values

    def rarity(self, value: object, top: int) -> float:
        """0 for the usual, towards 1 for a value that few others have where one, seen ``top`` times, rules."""
        # one met after the study is newer than all that is known
        count = (self.values.get(value, 0) if self.values else 0) or 1
        if count == top or count > 0.2 * self.seen:
            return 0.0
        return math.log(self.seen / count) / math.log(self.seen + 1) * (0.3 + 0.7 * top / self.seen)

    @property
    def has_extremes(self) -> bool:
        """Whether its lowest and highest number say something: those of a counter are its ends."""
        return self.numbers >= 8 and self.lowest != self.highest and 0.05 < self.rising / self.numbers < 0.95

    def stands_out(self, number: float) -> bool:
        return not self.lowest < number < self.highest


@dataclass(frozen=True, slots=True)
class Look:
    """What can make a value of one field worth something; as long as nothing more is counted."""

    rare_in: Field | None
    top: int
    usual: bool
    numbers: Field | None
    failure: bool
    sure_failure: bool
    silent: bool = field(init=False)
    """Whatever its value, it is worth nothing."""
    known: dict[Any, float] = field(default_factory=dict)
    """The worth of values met before, but for true and false, which are equal to numbers."""

    def __post_init__(self) -> None:
        speaks = self.rare_in is not None or self.usual or self.numbers is not None or self.failure
        object.__setattr__(self, "silent", not speaks)

    def worth(self, value: Any) -> float:
        if value.__class__ not in _KEPT:
            return self._weigh(value)
        known = self.known.get(value)
        if known is None:
            known = self._weigh(value)
            if len(self.known) < KNOWN_EACH:
                self.known[value] = known
        return known

    def worths(self, column: Sequence[Any]) -> list[float]:
        kinds = {*map(type, column)}
        if kinds <= _KEPT:
            known = [*map(self.known.get, column)]
            if None not in known:
                return known  # type: ignore[return-value]
        elif len(kinds) == 1 and not CONTAINERS.isdisjoint(kinds):
            full, empty = (self._weigh(one) for one in ((_SOME, {}) if dict in kinds else ([0], [])))
            return [full if item else empty for item in column]
        return [*map(self.worth, column)]

    def _weigh(self, value: Any) -> float:
        worth = 0.0
        plain = counted_as(value)
        rare = self.rare_in.rarity(plain, self.top) if self.rare_in is not None else 0.0
        worth += rare
        usual = self.usual and rare == 0 and plain != LONG_TEXT
        if (
            self.numbers is not None
            and isinstance(value, int | float)
            and not isinstance(value, bool)
            and self.numbers.stands_out(value)
        ):
            worth += 0.35
        if usual:
            worth -= 0.15
        if not self.failure or value in _EMPTY or (not isinstance(value, bool) and plain in ("[]", "{}")):
            return worth
        worth += 0.5 if self.sure_failure and not usual else 0.15
        if isinstance(value, str) and FAILURE_VALUES.search(value.encode("utf-8", "replace")[:200]):
            worth += 0.2 if usual else 0.45
        return worth
