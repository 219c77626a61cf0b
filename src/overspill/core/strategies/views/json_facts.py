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

    def rarity(self, value: object) -> float:
        """0 for the usual, towards 1 for a value that few others have where one value rules."""
        values = self.values
        if values is None or self.seen < 5 or len(values) > max(4, self.seen // 4):
            return 0.0
        count = values.get(value, 0)
        top = max(values.values())
        if not count:
            # met after the study: newer than all that is known
            count = 1
        if count == top or count > 0.2 * self.seen:
            return 0.0
        return math.log(self.seen / count) / math.log(self.seen + 1) * (0.3 + 0.7 * top / self.seen)

    def stands_out(self, number: float) -> bool:
        if self.numbers < 8 or self.lowest == self.highest or self.lowest < number < self.highest:
            return False
        return 0.05 < self.rising / self.numbers < 0.95


class Facts:
    """Gathers while the document flows."""

    def __init__(self) -> None:
        import msgspec

        self._decode = msgspec.json.Decoder().decode
        self._undecodable = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
        self.fields: dict[tuple[int, str], Field] = {}
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
        if isinstance(value, list | dict) or (isinstance(value, str) and len(value) > TEXT_BYTES):
            return self._worth(depth, key, value)
        where = (depth, key, value, type(value))
        known = self._known.get(where)
        if known is None:
            known = self._worth(depth, key, value)
            if len(self._known) < KNOWN_KEPT:
                self._known[where] = known
        return known

    def _worth(self, depth: int, key: str, value: Any) -> float:
        here = self.fields.get((depth, key))
        worth = 0.0
        plain = value
        if isinstance(value, list):
            plain = "[…]" if value else "[]"
        elif isinstance(value, dict):
            plain = "{…}" if value else "{}"
        elif isinstance(value, str) and len(value) > TEXT_BYTES:
            plain = LONG_TEXT
        usual = False
        if here is not None:
            rare = here.rarity(plain)
            worth += rare
            usual = (
                plain != LONG_TEXT
                and rare == 0
                and here.seen > 20
                and here.values is not None
                and len(here.values) <= 4
            )
            if isinstance(value, int | float) and not isinstance(value, bool) and here.stands_out(value):
                worth += 0.35
        if usual:
            worth -= 0.15
        if value in _EMPTY or (not isinstance(value, bool) and plain in ("[]", "{}")):
            return worth
        if FAILURE_KEYS.search(key):
            worth += 0.5 if _SURE_FAILURE_KEYS.search(key) and not usual else 0.15
            if isinstance(value, str) and FAILURE_VALUES.search(value.encode("utf-8", "replace")[:200]):
                worth += 0.2 if usual else 0.45
        return worth

    def best_worth(self, value: Any, depth: int, name: str) -> float:
        """The worth of the best value anywhere inside."""
        if isinstance(value, dict):
            items = list(value.items())
        elif isinstance(value, list):
            items = [(name, item) for item in value]
        else:
            return 0.0
        best = 0.0
        for key, item in items:
            best = max(best, self.worth(depth, key, item))
            if isinstance(item, dict | list) and item:
                best = max(best, self.best_worth(item, depth + 1, key))
        return best

    def study_is_over(self) -> None:
        """From now on a glance must do: at the fields that have few values, and at numbers."""
        ranked = sorted(self.fields.items(), key=lambda entry: (-entry[1].seen, entry[0]))
        watched: dict[bytes, tuple[int, str]] = {}
        for (depth, key), here in ranked:
            few = here.values is not None and len(here.values) <= 8
            if len(watched) < WATCHED and here.seen >= 20 and (few or here.numbers > 0.9 * here.seen):
                watched.setdefault(key.encode("utf-8", "replace"), (depth, key))
        self._watched = watched
        names = b"|".join(re.escape(key) for key in watched) or b"(?!)"
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
        for pair in self._glance(run.data):
            worth = known.get(pair)
            if worth is None:
                worth = self._worth(*self._watched[pair[0]], self._value_of(pair[1]))
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
