"""The table of contents of a gap: what kinds of trouble it holds, and in which lines.

Guarantees that every count and every line number is that of the source; says nothing rather than something inexact.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from overspill.core.model import Gap


class Contents:
    """Where the severe lines of an output stand."""

    def __init__(self, severe: Sequence[tuple[int, int, str]], *, complete: bool) -> None:
        """``severe``: (byte offset, line, level's name) in order; ``complete``: none of the output's is missing."""
        self._starts = [start for start, _, _ in severe]
        self._severe = severe
        self._complete = complete

    def describe(self, gap: Gap, *, listed: int = 2) -> str:
        """The severe lines of a gap, by level, with the numbers of the first ``listed``."""
        first = bisect_left(self._starts, gap.start)
        last = bisect_left(self._starts, gap.end)
        by_name: dict[str, list[int]] = {}
        for _, line, name in self._severe[first:last]:
            lines = by_name.setdefault(name, [])
            if not lines or lines[-1] != line:
                lines.append(line)
        items = [
            _item(name, by_name[name], listed, complete=self._complete)
            for name in ("fatal", "error", "warning")
            if name in by_name
        ]
        return "; ".join(items)


def _item(name: str, lines: list[int], listed: int, *, complete: bool) -> str:
    numbers = ", ".join(map(str, lines[:listed]))
    count = len(lines)
    if count == 1 and complete:
        return f"{name} in {numbers}"
    return f"{count}{'' if complete else '+'} {name}s: {numbers}{', …' if count > listed or not complete else ''}"
