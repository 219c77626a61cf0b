"""What matches in a stretch of bytes that is in memory: the first hits, and the number of all.

Places that can't match are passed over by what every match must hold.  Lines that match one after the other are
counted by one call of the engine, not each by one of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, NamedTuple

from overspill.retrieve.pattern import Pattern

ONCE = 1 << 62
"""As the length of a long line: every line counts once, however long."""
_FEW = 16
_TRIES = 64
"""More places than this in a block that could match and don't: it is searched as a whole, not around each of them."""
_CLOCKED = 1 << 12

Kind = Literal["matching", "others"]


class Hit(NamedTuple):
    """A match, with the line that it is in; of a line without one, its start."""

    start: int
    end: int
    line_start: int
    line_end: int
    """Behind its line end; of a line searched in pieces, behind the piece."""


@dataclass(slots=True)
class Tally:
    """What a search found: the first hits, and the number of all."""

    shown: list[Hit] = field(default_factory=list)
    total: int = 0
    last: int = -1
    """In the line of the last hit."""
    stopped: int = -1
    """How far the search came when its time was over, -1 when it came to the end."""

    def add(self, hit: Hit, most: int) -> None:
        if len(self.shown) < most:
            self.shown.append(hit)
        self.total += 1
        self.last = hit.start

    def add_lines(self, count: int, last: int) -> None:
        if count:
            self.total += count
            self.last = last

    def extend(self, other: Tally, most: int) -> None:
        self.shown += other.shown[: max(0, most - len(self.shown))]
        self.add_lines(other.total, other.last)


class Block(NamedTuple):
    """A stretch of whole lines, or a piece of one long line with the bytes around it as context."""

    data: bytes
    start: int
    first: int
    """Where in the data the search begins."""
    last: int
    """Where it ends."""
    accept: int
    """A match that starts here or behind belongs to the next piece."""
    line_start: int
    """Of a piece: where its line starts, or -1."""


class Search(NamedTuple):
    """What is looked for, and how it is counted."""

    pattern: Pattern
    kind: Kind
    most: int
    """As many hits are kept."""
    long_line: int
    """In a longer line every match counts."""
    check: Callable[[], None]
    """Raises ``Stopped`` when the time is over."""
    turn: AbstractContextManager[object] = nullcontext()
    """Held where much is found: threads that call the engine again and again only hinder one another."""


def in_block(block: Block, search: Search) -> Tally:
    """What is found in a stretch of whole lines."""
    if search.kind == "others":
        with search.turn:
            return _others(block, search)
    looking, found = Looking(block, search), Tally()
    for _ in range(_FEW):
        if (hit := looking.next()) is None:
            return found
        found.add(hit, search.most)
    with search.turn:
        while True:
            if len(found.shown) >= search.most:
                for start, end in looking.short_runs():
                    found.add_lines(_line_count(block.data, start, end), block.start + end - 1)
            if (hit := looking.next()) is None:
                return found
            found.add(hit, search.most)


def _others(block: Block, search: Search) -> Tally:
    """The lines that hold no match: those between the runs of lines that do."""
    found, data, at = Tally(), block.data, block.first
    stop = min(block.last + 1, len(data))
    may = not search.pattern.required or search.pattern.candidate(data, at, block.last) >= 0
    for start, end in chain(_runs(search.pattern, data, at, stop) if may else (), [(stop, stop)]):
        while at < start and len(found.shown) < search.most:
            line_end = data.find(b"\n", at, start) + 1 or start
            found.add(Hit(block.start + at, block.start + at, block.start + at, block.start + line_end), search.most)
            at = line_end
        if at < start:
            found.add_lines(_line_count(data, at, start), block.start + start - 1)
        at = end
    return found


def _line_count(data: bytes, start: int, end: int) -> int:
    return data.count(b"\n", start, end - 1) + 1


def _runs(pattern: Pattern, data: bytes, at: int, stop: int) -> Iterator[tuple[int, int]]:
    """Lines that match one after the other: where they start and end; both offsets given are those of lines."""
    run_end = pattern.run_end()
    last = stop - data.endswith(b"\n", 0, stop)
    while at < stop:
        start, end = pattern.search(data, at, last)
        if start < 0:
            return
        line = data.rfind(b"\n", at, start) + 1 or at
        at = run_end(data, line, stop)
        if at <= line:
            at = data.find(b"\n", end, stop) + 1 or stop
        yield line, at


class Looking:
    """The matches in a block, one after the other."""

    def __init__(self, block: Block, search: Search, at: int = 0) -> None:
        self.block = block
        self.at = max(block.first, at)
        """Where the search goes on."""
        self._pattern, self._long_line, self._check = search.pattern, search.long_line, search.check
        self._line_at = self._line_stop = 0
        self._until_check = _CLOCKED
        self._short_until = block.first
        """No line before it is a long one."""
        self._tries = 0
        if search.pattern.required:
            self._skip_to_candidate()

    def next(self) -> Hit | None:
        block = self.block
        data = block.data
        if self.at > block.last:
            return None
        start, end = self._around_candidates() if self._tries else self._pattern.search(data, self.at, block.last)
        if start < 0 or start >= block.accept:
            self.at = len(data) + 1
            return None
        if not self._line_stop or self._line_stop <= start < len(data):
            # Else in the line of the match before, whose ends are known.
            self._line_at = data.rfind(b"\n", self._line_stop, start) + 1 or self._line_stop
            self._line_stop = data.find(b"\n", end) + 1 or len(data)
        in_piece = block.line_start >= 0
        hit = Hit(
            block.start + start,
            block.start + end,
            block.line_start if in_piece else block.start + self._line_at,
            block.start + self._line_stop,
        )
        is_short = not in_piece and self._line_stop - self._line_at <= self._long_line
        self.at = self._line_stop if is_short else max(end, start + 1)
        if is_short and self.at >= len(data):
            self.at = len(data) + 1
        self._until_check -= 1
        if not self._until_check:
            self._until_check = _CLOCKED
            self._check()
        return hit

    def short_runs(self) -> Iterator[tuple[int, int]]:
        """The runs of lines that match from here up to a long one."""
        data = self.block.data
        if self.at != self._line_stop or self.at >= (stop := self._before_long(self.at)):
            return
        yield from _runs(self._pattern, data, self.at, stop)
        self.at = self._line_at = self._line_stop = stop
        if stop >= len(data):
            self.at = len(data) + 1

    def _before_long(self, at: int) -> int:
        """Where the next long line starts, or the block ends."""
        data, stop, length = self.block.data, min(self.block.last + 1, len(self.block.data)), self._long_line
        if at >= self._short_until:
            while stop - at > length and (end := data.rfind(b"\n", at, at + length) + 1):
                at = end
            at = at if stop - at > length else stop
            self._short_until = at
        return self._short_until

    def _skip_to_candidate(self) -> None:
        data, pattern = self.block.data, self._pattern
        place = pattern.candidate(data, self.at, self.block.last)
        if place < 0:
            self.at = len(data) + 1
        elif self.block.line_start < 0:
            self.at = max(self.at, data.rfind(b"\n", self.at, place) + 1)
            if pattern.literal is None:
                self._tries = _TRIES if len(pattern.required) == 1 else 1

    def _around_candidates(self) -> tuple[int, int]:
        """Around each place that can match, as long as few of them don't."""
        data, at, last = self.block.data, self.at, self.block.last
        while self._tries:
            place = self._pattern.candidate(data, at, last)
            if place < 0:
                return -1, -1
            stop = data.find(b"\n", place, last)
            stop = last if stop < 0 else stop
            start, end = self._pattern.search(data, max(at, data.rfind(b"\n", at, place) + 1), stop)
            if start >= 0:
                return start, end
            at = stop + 1
            self._tries -= 1
        return self._pattern.search(data, at, last) if at <= last else (-1, -1)
