"""What a view offers: its spans in order, best first, several kinds of them sharing the room; and words about the rest.

Guarantees the same order at every fill, however far an earlier one went.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Generic, TypeVar

from overspill.core.model import Budget, Gap, Span
from overspill.core.ports import Excerpt

REFUSALS = 40
"""Spans that did not fit after which a view stops offering."""
Offered = TypeVar("Offered")
ASKED_SHARE = 0.9
"""Of the room, what goes to the passages that speak to the question; the rest to the outline."""


def counted(number: int, thing: str, things: str = "") -> str:
    """A number of things in words: ``1 file``, ``2 files``."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"


def room_bytes(room: Budget) -> int:
    """About how much text fits into a room, for deciding how far to look ahead."""
    sizes = [
        room.max_bytes,
        room.max_tokens and room.max_tokens * 4,
        room.max_chars and room.max_chars * 2,
        room.max_lines and room.max_lines * 120,
    ]
    return min(size for size in sizes if size)


def pool_bytes(room: Budget) -> int:
    """How much of the source a view may hold back."""
    return max(256 * 1024, min(8 * room.bytes_ceiling, 2 * 1024 * 1024))


class Replay(Generic[Offered]):
    """An order that is worked out once, as far as somebody asks, and told again at every fill."""

    def __init__(self, offers: Iterable[Offered]) -> None:
        self._rest, self._told = iter(offers), list[Offered]()

    def __iter__(self) -> Iterator[Offered]:
        for at in count():
            if at == len(self._told):
                offer = next(self._rest, None)
                if offer is None:
                    return
                self._told.append(offer)
            yield self._told[at]


def interleave(*ranked: tuple[float, Iterable[Span]]) -> Iterator[Span]:
    """Several ranked lists as one, each getting its share of the bytes for as long as it has something."""
    sources = [[0.0, index, share, iter(spans)] for index, (share, spans) in enumerate(ranked) if share > 0]
    seen: set[tuple[int, int]] = set()
    while sources:
        source = min(sources, key=lambda entry: (entry[0], entry[1]))
        span = next(source[3], None)  # type: ignore[call-overload]
        if span is None:
            sources.remove(source)
            continue
        if (span.start, span.end) in seen:
            continue
        seen.add((span.start, span.end))
        source[0] += (len(span.data) + 40) / source[2]  # type: ignore[operator]
        yield span


def nothing_to_say(gap: Gap) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class ViewSelection:
    """What a view found: its ranked spans, and what it can say about the rest."""

    kind: str
    headline: str
    ranked: Callable[[Budget], Iterable[Span]]
    describe_gap: Callable[[Gap], str] = nothing_to_say

    def fill(self, excerpt: Excerpt) -> None:
        """Adds the spans, best first, until the room is as good as full."""
        refused = 0
        for span in self.ranked(excerpt.room):
            if excerpt.add(span):
                continue
            refused += 1
            if refused > REFUSALS or excerpt.left < 0.01:
                break

    def describe(self, gap: Gap) -> str:
        return self.describe_gap(gap)

    def mark(self, gap: Gap, words: str) -> str | None:
        return None
