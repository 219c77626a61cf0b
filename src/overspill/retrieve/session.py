"""What one session has been shown, so that no line is paid for twice.

A session remembers stretches of bytes for each handle, from excerpts and from answers; it holds no
text.  Forgetting is safe: what is not remembered is shown again.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from overspill.core.model import Bounded

MOST_HANDLES = 1_000


class Session:
    """Thread-safe; as long-lived as the conversation it stands for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: dict[str, Stretches] = {}

    def note(self, handle: str, stretches: Iterable[tuple[int, int]]) -> None:
        """These bytes (the end exclusive) have been shown."""
        with self._lock:
            known = self._shown.pop(handle, None) or Stretches()
            for start, end in stretches:
                known.add(start, end)
            self._shown[handle] = known
            while len(self._shown) > MOST_HANDLES:
                del self._shown[next(iter(self._shown))]

    def note_bounded(self, bounded: Bounded) -> None:
        """What the excerpt of a bounded output shows."""
        if bounded.handle:
            kept = [(part.span.start, part.span.end) for part in bounded.parts if part.span is not None]
            self.note(bounded.handle, kept)

    def forget(self, handle: str | None = None) -> None:
        """After the host dropped older messages, say: of one handle, or everything."""
        with self._lock:
            if handle is None:
                self._shown.clear()
            else:
                self._shown.pop(handle, None)

    def has_shown(self, handle: str, start: int, end: int) -> bool:
        with self._lock:
            known = self._shown.get(handle)
            return known is not None and known.covers(start, end)

    def not_shown(self, handle: str, size: int) -> list[tuple[int, int]]:
        """The stretches of an output of that size that have not been shown."""
        with self._lock:
            known = self._shown.get(handle)
            return known.missing(size) if known else [(0, size)]


class Stretches:
    """A set of numbers kept as its runs."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        if start >= end:
            return
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]

    def covers(self, start: int, end: int) -> bool:
        place = bisect_right(self._starts, start) - 1
        return start >= end or (place >= 0 and end <= self._ends[place])

    def missing(self, size: int) -> list[tuple[int, int]]:
        found, at = [], 0
        for start, end in zip(self._starts, self._ends, strict=True):
            if at < start:
                found.append((at, min(start, size)))
            at = end
        if at < size:
            found.append((at, size))
        return found
