"""Structured content cut down to a budget by its schema, with words that say what was left out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from overspill.bounder import Bounder
from overspill.core.access import Rest, worded
from overspill.core.measure import Measure, cut_before, encode
from overspill.core.model import UNITS, Bounded, Budget
from overspill.core.notice import one_line
from overspill.errors import PolicyError
from overspill.mcp import wire
from overspill.mcp.schema import LEAST_STRING_BYTES, NOTICE_MEMBER, Limits, Trimming
from overspill.mcp.twice import Twin
from overspill.source import json_text

_FIRST_ELEMENTS = 3
"""Texts inside are cut further before fewer elements than this are shown."""

Cut = Callable[[str, Budget], Bounded]
Cutter = Callable[[str, int, float], str]


@dataclass(frozen=True)
class Cutting:
    """Structured content of which a valid, shorter form was promised."""

    trimming: Trimming
    value: Any
    twin: Twin | None
    """The text part that says the same: it is kept in the store as it stands."""
    came_bytes: int
    """Of its JSON as the server wrote it."""

    @cached_property
    def serialised(self) -> str:
        return wire.encoded(self.value).decode()

    def is_small(self, room: Budget) -> bool:
        return self.came_bytes <= 8 * 4 * room.bytes_ceiling and len(self.serialised) <= 4 * room.bytes_ceiling

    def within(self, budget: Budget, bounder: Bounder, cut: Cut) -> Any:
        """The largest form that fits; None when there is no room even for the least."""
        measure = Measure(bounder.policy.counter)

        def fits(value: Any) -> bool:
            return measure.fits(wire.encoded(value).decode(), budget)

        if self.is_small(budget) and measure.fits(self.serialised, budget):
            return self.value
        notice = self._notice(budget, bounder, cut) if self.trimming.takes_notice else None
        search = _Search(self, notice, fits)
        found = search.best(budget.bytes_ceiling)
        if found is not None:
            return search.worded(*found, _excerpts(bounder, budget, cut))
        least = search.least()
        return least if fits(least) else None

    def least(self) -> Any:
        return self.trimming.trimmed(self.value, Limits(0, _prefix(LEAST_STRING_BYTES), keeps_optional=False))

    def _notice(self, budget: Budget, bounder: Bounder, cut: Cut) -> Notice | None:
        bounded = cut(json_text(self.value) if self.twin is None else self.twin.text, budget)
        return Notice(bounded, bounder, "" if self.twin is None else self.twin.member)


@dataclass(frozen=True, slots=True)
class _Search:
    """How many elements, and how much of each text: the most that fits."""

    cutting: Cutting
    notice: Notice | None
    fits: Callable[[Any], bool]

    def best(self, room_bytes: int) -> tuple[int, int] | None:
        """Elements, and bytes of a text."""
        string_bytes = room_bytes
        while True:
            if self._is_good(_FIRST_ELEMENTS, string_bytes):
                return self._fuller(self._most_elements(string_bytes), string_bytes)
            if string_bytes == LEAST_STRING_BYTES:
                return (0, string_bytes) if self._is_good(0, string_bytes) else None
            string_bytes = max(LEAST_STRING_BYTES, string_bytes * 2 // 3)

    def worded(self, elements: int, string_bytes: int, excerpts: Callable[[int], Cutter]) -> Any:
        """The same with excerpts in the place of long texts, where excerpts are possible."""
        value = self._attempt(elements, excerpts(string_bytes))
        return value if self.fits(value) else self._attempt(elements, _prefix(string_bytes))

    def least(self) -> Any:
        """Without what may be left out: for members under rules that are not understood."""
        return self._attempt(0, _prefix(LEAST_STRING_BYTES), keeps_optional=False)

    def _most_elements(self, string_bytes: int) -> int:
        low, high = _FIRST_ELEMENTS, _FIRST_ELEMENTS * 2
        most = _longest(self.cutting.value)
        while low < most and self._is_good(high, string_bytes):
            low, high = high, high * 2
        while high - low > 1 and low < most:
            middle = (low + high) // 2
            low, high = (middle, high) if self._is_good(middle, string_bytes) else (low, middle)
        return low

    def _fuller(self, elements: int, string_bytes: int) -> tuple[int, int]:
        """Longer texts, as long as they cost no element."""
        low, high = string_bytes, string_bytes * 3 // 2
        while high - low > max(16, low // 50):
            middle = (low + high) // 2
            low, high = (middle, high) if self._is_good(elements, middle) else (low, middle)
        return elements, low

    def _is_good(self, elements: int, string_bytes: int) -> bool:
        return self.fits(self._attempt(elements, _prefix(string_bytes)))

    def _attempt(self, elements: int, cutter: Cutter, *, keeps_optional: bool = True) -> Any:
        limits = Limits(elements, cutter, keeps_optional=keeps_optional)
        value = self.cutting.trimming.trimmed(self.cutting.value, limits)
        if self.notice is None or not isinstance(value, dict) or (not limits.left_out and _is_told_inside(value)):
            return value
        return {NOTICE_MEMBER: self.notice.words(limits.left_out), **value}


@dataclass(frozen=True, slots=True)
class Notice:
    bounded: Bounded
    bounder: Bounder
    member: str
    """What is kept is the value of this member alone."""

    def words(self, left_out: dict[str, tuple[int, int]]) -> str:
        counted = ", ".join(
            f"{kept} of {total} {one_line(name, 40)}" for name, (kept, total) in list(left_out.items())[:3]
        )
        what = f"{counted} shown" if counted else "texts cut"
        bounded = self.bounded
        if not bounded.handle:
            reason = one_line(bounded.unsaved, 80)
            return f"[overspill: {what}; the rest could NOT be saved ({reason})]"
        access = self.bounder.policy.access
        rest = Rest(bounded.handle, bounded.path, 1, bounded.total_lines, 0)
        first = next(iter(left_out.items()), None)
        query = ""
        if first is not None and re.fullmatch(r"\w+", first[0], re.ASCII):
            name, (kept, total) = first
            place = "" if name == self.member else name
            query = worded(access, "query", rest, query=f"{place}[{kept}:{min(2 * kept + 10, total)}]")
        return (
            f"[overspill {bounded.handle}: {what}. For the rest: {query or access.read(rest)} or {access.grep(rest)}]"
        )


def _is_told_inside(value: Any) -> bool:
    """Does a text in it begin with a header?"""
    return b'"[overspill' in wire.encoded(value)


def _prefix(most_bytes: int) -> Cutter:
    """The start of a text, so long as JSON writes it; never shorter than the schema wants it."""

    def cut(text: str, least_chars: int, most_chars: float) -> str:
        if len(text) * 6 <= most_bytes or len(wire.encoded(text)) - 2 <= most_bytes:
            return text
        data = encode(text[:most_bytes])
        size = most_bytes - 3
        while True:
            start = data[: cut_before(data, size)].decode("utf-8", "replace")
            over = len(wire.encoded(start)) + 1 - most_bytes
            if over <= 0:
                break
            size = max(0, size - max(over // 2, 1))
            if not size:
                start = ""
                break
        if len(start) < least_chars:
            return text[:least_chars]
        return start + "…" if len(start) + 1 <= most_chars else start

    return cut


def _excerpts(bounder: Bounder, budget: Budget, cut_text: Cut) -> Callable[[int], Cutter]:
    """By their size, what makes excerpts that are no larger than the start of the text would be."""

    def of(most_bytes: int) -> Cutter:
        prefix = _prefix(most_bytes)

        def cut(text: str, least_chars: int, most_chars: float) -> str:
            start = prefix(text, least_chars, most_chars)
            if start is text:
                return text
            size = bounder.policy.measure.size(start, budget)
            named = {unit: f"max_{unit}" for unit in UNITS if getattr(budget, f"max_{unit}")}
            try:
                excerpt = cut_text(text, Budget(**{name: getattr(size, unit) for unit, name in named.items()})).text
            except PolicyError:
                return start
            return excerpt if least_chars <= len(excerpt) <= most_chars else start

        return cut

    return of


def _longest(value: Any) -> int:
    """Of all arrays and maps inside."""
    most, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict | list):
            most = max(most, len(item))
            waiting += item.values() if isinstance(item, dict) else item
    return most
