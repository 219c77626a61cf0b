"""One budget that several texts of `run` share: what it shows when the command ends, its last line, what comes later.

Room is set aside before it is needed: for the line on how it ended, for marks that stand on both streams,
and, where something in the background may go on writing, for at least the one line that names what came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from overspill.core.measure import Size, within
from overspill.core.model import UNITS, Bounded, Budget, Totals
from overspill.core.notice import Kept, short_header
from overspill.core.policy import Policy

_MARKS_PART = 10
_LATER_PART = 5
_MANY = 10**9
_REASON_CHARS = range(80, 3, -4)
_JOINT_TOKENS = 2
"""A text may have so many more than its two halves."""


class _Part(Policy):
    """A policy for a part of a text: what a notice needs at least was asked of the whole."""

    def __post_init__(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Room:
    """The budget of a whole, and what of it is taken already."""

    whole: Policy
    shown: Mapping[int, str] = field(default_factory=dict)
    """What each stream shows already."""

    def part(self, last_line: str = "", *, two_streams: bool = False, goes_on: bool = False) -> Policy:
        """What may be shown now beside the last line, marks that stand twice, and what comes later."""
        taken = _sum((self._taken(), self._size_of_line(last_line), Size(_JOINT_TOKENS if self.shown else 0, 0, 0, 0)))
        sizes: dict[str, int] = {}
        above: dict[str, int] = {}
        for unit, used, later in zip(UNITS, taken, self._later, strict=True):
            most = getattr(self.whole.budget, f"max_{unit}")
            if most is not None:
                rest = most - used
                above[f"max_{unit}"] = max(rest, 1)
                rest -= rest // _MARKS_PART if two_streams else 0
                rest -= max(rest // _LATER_PART, later) if goes_on else 0
                sizes[f"max_{unit}"] = max(rest, 1)
        shared = goes_on or bool(self.shown)
        values = {of.name: getattr(self.whole, of.name) for of in fields(self.whole)}
        # What is to be followed by more, or follows, is cut above its share, whatever the limit is. Else what needs
        # no marks may take the room that is set aside for them.
        limit = None if shared else self.whole.limit or Budget(**above)
        return _Part(**{**values, "budget": Budget(**sizes), "limit": limit})

    def fits(self, *texts: str, goes_on: bool = False) -> bool:
        """Do these fit beside what is shown, and the line for what comes later if need be?"""
        taken = _sum((self._taken(*texts), self._later)) if goes_on else self._taken(*texts)
        return within(taken, self.whole.budget)

    def lead(self, stream: int) -> str:
        """What a notice on that stream begins with, to stand on a line of its own."""
        return "" if (self.shown.get(stream) or "\n").endswith("\n") else "\n"

    def least(self, bounded: Bounded) -> str:
        """The one line for an output of which nothing else can be shown."""
        kept = Kept(bounded.handle, bounded.path, bounded.unsaved)
        for reason_chars in _REASON_CHARS:
            line = self._line(kept, Totals(bounded.total_bytes, bounded.total_lines), reason_chars)
            if self.fits(line):
                break
        return line

    def _taken(self, *texts: str) -> Size:
        """Of all of them, whether the two streams meet in one place or not."""
        shown = [text + self.lead(stream) for stream, text in self.shown.items()]
        parts = [text for text in (*shown, *texts) if text]
        apart = [self.whole.measure.size(text, self.whole.budget) for text in parts]
        together = self.whole.measure.size("".join(parts), self.whole.budget)
        return Size(*map(max, _sum(apart), together))

    @property
    def _later(self) -> Size:
        """Of the line that must fit when more comes than can be shown."""
        kept, unsaved = Kept("ovs_" + "x" * 8), Kept(None, unsaved="x" * _REASON_CHARS[-1])
        lines = [self._line(one, Totals(_MANY, _MANY), _REASON_CHARS[-1]) for one in (kept, unsaved)]
        return Size(*map(max, *map(self._size_of_line, lines)))

    def _size_of_line(self, line: str) -> Size:
        """Of one more line, below a text that may not end its own."""
        size = self.whole.measure.size(line and "\n" + line, self.whole.budget)
        return size._replace(lines=1, tokens=size.tokens + _JOINT_TOKENS) if line else size

    def _line(self, kept: Kept, totals: Totals, reason_chars: int) -> str:
        return short_header(kept, totals=totals, shown_lines=0, language=self.whole.language, reason_chars=reason_chars)


def ended(text: str, line: str) -> str:
    """A text with one more line."""
    return text + ("" if not text or text.endswith("\n") else "\n") + line


def _sum(sizes: Iterable[Size]) -> Size:
    found = list(sizes)
    return Size(*map(sum, zip(*found, strict=True))) if found else Size(0, 0, 0, 0)
