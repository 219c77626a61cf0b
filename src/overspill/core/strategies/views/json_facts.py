"""What the values of a JSON document are like, field by field: which are rare, extreme, or speak of failure.

A field is a key at a depth; counts are exact for what was seen, and forgotten for fields of
many values.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from overspill.core.strategies.views.json_scan import Run

VALUES_KEPT = 32
FIELDS_KEPT = 4_000
TEXT_BYTES = 48
LONG_TEXT = "…"
"""What stands for a text of more bytes: each may be another one."""
KNOWN_KEPT = 20_000
WATCHED = 24

FAILURE_KEYS = re.compile(
    r"(?:error|exception|fail|fault|reason|message|msg|stack|trace|warning|violation|problem|denied|deprecat|yanked|"
    r"vulnerab|critical|fatal|exit_?code|status_?code|status|state|phase|conclusion|outcome|verdict|severity|level|result)",
    re.IGNORECASE,
)
_SURE_FAILURE_KEYS = re.compile(
    r"(?:error|exception|fail|fault|stack|trace|violation|denied|fatal|yanked|vulnerab)", re.IGNORECASE
)
FAILURE_VALUES = re.compile(
    rb"(?i)\b(?:error|fail(?:ed|ure|ing)?|fatal|critical|high|panic|exception|crash\w*|denied|timed?[ _-]?out|"
    rb"unhealthy|down|degraded|firing|oom\w*|evicted|rejected|refused|unavailable|killed|abort(?:ed)?|missing|invalid|expired)\b"
)
IDENTITY_KEYS = re.compile(
    r"(?:^|_|\b)(?:id|name|key|title|version|type|kind|path|file|target|uid|sha|code|label|url|created|date|count|total|size)s?$|Id$|ID$|Name$",
    re.IGNORECASE,
)
_GLANCED_FAILURE = re.compile(
    rb'"(?:error|exception|failure|failed|fault|fatal|denied|yanked|deprecated)[A-Za-z_]*"\s*:\s*(?:"[^"]|[1-9{t]|\[\s*[^\]\s])'
)
_EMPTY = (None, "", False, 0)
_CONTAINERS = (dict, list)


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
class _Look:
    """What can make a value of one field worth something; as long as nothing more is counted."""

    rare_in: Field | None
    top: int
    usual: bool
    numbers: Field | None
    failure: bool
    sure_failure: bool
    silent: bool = field(init=False)
    """Whatever its value, it is worth nothing."""

    def __post_init__(self) -> None:
        speaks = self.rare_in is not None or self.usual or self.numbers is not None or self.failure
        object.__setattr__(self, "silent", not speaks)


class Facts:
    """Gathers while the document flows."""

    def __init__(self) -> None:
        import msgspec

        self._decode = msgspec.json.Decoder().decode
        self._undecodable = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
        self.fields: dict[tuple[int, str], Field] = {}
        self._looks: dict[tuple[int, str], _Look] = {}
        self._known: dict[tuple[int, str, Any, type], float] = {}
        self._glance: Callable[[bytes], list[tuple[bytes, bytes]]] | None = None
        self._glanced: dict[tuple[bytes, bytes], float] = {}

    def parsed(self, run: Run) -> Any:
        """The members of a run as Python values, or None when they are not valid JSON."""
        body = run.data.strip().removesuffix(b",")
        try:
            if run.frame.kind == "{":
                return self._decode(b"{" + body + b"}")
            if run.frame.kind == "[":
                return self._decode(b"[" + body + b"]")
            return [self._decode(line) for line in body.split(b"\n") if line.strip()]
        except self._undecodable:
            return None

    def see(self, run: Run, field_name: str) -> None:
        """Counts the values of a run."""
        parsed = self.parsed(run)
        if parsed is not None:
            self._known.clear()
            self._looks.clear()
            self._walk(parsed, run.frame.depth, field_name)

    def _walk(self, value: Any, depth: int, name: str) -> None:
        items: Iterable[tuple[str, Any]]
        if isinstance(value, dict):
            items = value.items()
        elif isinstance(value, list):
            items = ((name, item) for item in value)
        else:
            return
        fields = self.fields
        for key, item in items:
            kind = type(item)
            if kind is dict:
                self._count(fields, (depth, key), "{…}" if item else "{}")
                self._walk(item, depth + 1, key)
            elif kind is list:
                self._count(fields, (depth, key), "[…]" if item else "[]")
                self._walk(item, depth + 1, key)
            elif kind is str:
                self._count(fields, (depth, key), item if len(item) <= TEXT_BYTES else LONG_TEXT)
            else:
                here = self._count(fields, (depth, key), item)
                if here is not None and kind is not bool and item is not None:
                    here.numbers += 1
                    here.rising += item >= here.last
                    here.last = item
                    if item < here.lowest:
                        here.lowest = item
                    if item > here.highest:
                        here.highest = item

    def _count(self, fields: dict[tuple[int, str], Field], where: tuple[int, str], value: Any) -> Field | None:
        here = fields.get(where)
        if here is None:
            if len(fields) >= FIELDS_KEPT:
                return None
            here = fields[where] = Field()
        here.seen += 1
        values = here.values
        if values is not None:
            values[value] += 1
            if len(values) > VALUES_KEPT:
                here.values = None
        return here

    def worth(self, depth: int, key: str, value: Any) -> float:
        """How much one value is worth showing to someone who asked nothing."""
        look = self._looks.get((depth, key)) or self._look(depth, key)
        if look.silent:
            return 0.0
        if isinstance(value, list | dict) or (isinstance(value, str) and len(value) > TEXT_BYTES):
            return self._worth(look, value)
        where = (depth, key, value, type(value))
        known = self._known.get(where)
        if known is None:
            known = self._worth(look, value)
            if len(self._known) < KNOWN_KEPT:
                self._known[where] = known
        return known

    def _look(self, depth: int, key: str) -> _Look:
        here = self.fields.get((depth, key))
        counts = here.few_values if here is not None else None
        failure = FAILURE_KEYS.search(key) is not None
        look = _Look(
            rare_in=here if counts else None,
            top=max(counts.values()) if counts else 0,
            usual=here is not None and here.seen > 20 and here.values is not None and len(here.values) <= 4,
            numbers=here if here is not None and here.has_extremes else None,
            failure=failure,
            sure_failure=failure and _SURE_FAILURE_KEYS.search(key) is not None,
        )
        if len(self._looks) < KNOWN_KEPT:
            self._looks[(depth, key)] = look
        return look

    def _worth(self, look: _Look, value: Any) -> float:
        worth = 0.0
        plain = value
        if isinstance(value, list):
            plain = "[…]" if value else "[]"
        elif isinstance(value, dict):
            plain = "{…}" if value else "{}"
        elif isinstance(value, str) and len(value) > TEXT_BYTES:
            plain = LONG_TEXT
        rare = look.rare_in.rarity(plain, look.top) if look.rare_in is not None else 0.0
        worth += rare
        usual = look.usual and rare == 0 and plain != LONG_TEXT
        if (
            look.numbers is not None
            and isinstance(value, int | float)
            and not isinstance(value, bool)
            and look.numbers.stands_out(value)
        ):
            worth += 0.35
        if usual:
            worth -= 0.15
        if not look.failure or value in _EMPTY or (not isinstance(value, bool) and plain in ("[]", "{}")):
            return worth
        worth += 0.5 if look.sure_failure and not usual else 0.15
        if isinstance(value, str) and FAILURE_VALUES.search(value.encode("utf-8", "replace")[:200]):
            worth += 0.2 if usual else 0.45
        return worth

    def best_worth(self, value: Any, depth: int, name: str) -> float:
        """The worth of the best value anywhere inside."""
        items: Iterable[tuple[str, Any]]
        if isinstance(value, dict):
            items = value.items()
        elif isinstance(value, list):
            items = zip(repeat(name), value, strict=False)
        else:
            return 0.0
        best = 0.0
        looks = self._looks
        for key, item in items:
            look = looks.get((depth, key)) or self._look(depth, key)
            if not look.silent:
                worth = self.worth(depth, key, item)
                if worth > best:
                    best = worth
            if item.__class__ in _CONTAINERS and item:
                worth = self.best_worth(item, depth + 1, key)
                if worth > best:
                    best = worth
        return best

    def study_is_over(self) -> None:
        """From now on a glance must do: at the fields that have few values, and at numbers."""
        ranked = sorted(self.fields.items(), key=lambda entry: (-entry[1].seen, entry[0]))
        watched: dict[bytes, _Look] = {}
        for (depth, key), here in ranked:
            few = here.values is not None and len(here.values) <= 8
            if len(watched) < WATCHED and here.seen >= 20 and (few or here.numbers > 0.9 * here.seen):
                watched.setdefault(key.encode("utf-8", "replace"), self._look(depth, key))
        self._watched = watched
        names = b"|".join(re.escape(key) for key, look in watched.items() if not look.silent) or b"(?!)"
        self._glance = re.compile(
            rb'"(' + names + rb')"\s*:\s*("[^"\\]{0,48}"|-?\d[\d.eE+-]*|true|false|null|\{\}|\[\]|[\[{])'
        ).findall

    def oddness(self, run: Run, field_name: str) -> float:
        """The worth of the oddest value of a run, by its values or, after the study, by a glance."""
        if self._glance is None:
            parsed = self.parsed(run) if len(run.data) < 8_000 else None
            return self.best_worth(parsed, run.frame.depth, field_name) if parsed is not None else 0.2
        best = 0.6 if _GLANCED_FAILURE.search(run.data) else 0.0
        known = self._glanced
        for pair in {*self._glance(run.data)}:
            worth = known.get(pair)
            if worth is None:
                worth = self._worth(self._watched[pair[0]], self._value_of(pair[1]))
                if len(known) < KNOWN_KEPT:
                    known[pair] = worth
            if worth > best:
                best = worth
        return best

    def _value_of(self, raw: bytes) -> Any:
        if raw in (b"[", b"{"):
            return [0] if raw == b"[" else {"": 0}
        try:
            return self._decode(raw)
        except self._undecodable:
            return None
