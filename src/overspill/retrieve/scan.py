"""Streams an output past a pattern: how many lines match, and where the first do, in memory that doesn't depend on it.

Lines up to ``WHOLE_LINE_BYTES`` are searched whole.  In a longer one matches are found piece by
piece, and one longer than ``OVERLAP_BYTES`` can be missed.  Chunks are read ahead and searched in threads: the
engine lets the other go on meanwhile.  Lines that match one after the other are counted by one call of it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from threading import Lock
from typing import Literal, NamedTuple

from overspill.retrieve.pattern import Pattern
from overspill.retrieve.source import Source

CHUNK_BYTES = 1 << 20
WHOLE_LINE_BYTES = 4 << 20
OVERLAP_BYTES = 1 << 18
ONCE = 1 << 62
"""As the length of a long line: every line counts once, however long."""
_AHEAD = 3
_LARGE_BYTES = 24 << 20
_TRIES = 64
"""More places than this in a block that could match and don't: it is searched as a whole, not around each of them."""
_FEW = 16
_CLOCKED = 1 << 12

Kind = Literal["matching", "others"]


class Hit(NamedTuple):
    """A match, with the line that it is in; of a line without one, its start."""

    start: int
    end: int
    line_start: int
    line_end: int
    """Behind its line end; of a line searched in pieces, behind the piece."""


class Stopped(Exception):
    """The time for a search is over."""


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


class _Chunk(NamedTuple):
    """A piece of the bytes as they are read, and what was found in the lines that are whole in it."""

    start: int
    data: bytes
    first: int
    last: int
    found: Tally


def tally(
    source: Source,
    pattern: Pattern,
    start: int,
    end: int,
    *,
    most: int,
    kind: Kind = "matching",
    long_line: int = ONCE,
    enough: int = 1 << 62,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Tally:
    """Every line that matches, by its first match (or those that don't); in a line longer than ``long_line`` every
    match.  The first ``most`` come with their places; with ``enough`` of them the rest is left alone."""
    until = clock() + seconds
    found, turn = Tally(), Lock()

    def check() -> None:
        if clock() > until:
            raise Stopped

    def search() -> Search:
        return Search(pattern, kind, most - len(found.shown), ONCE if kind == "others" else long_line, check, turn)

    at = start
    try:
        for part, done in _tallies(source, search, start, end):
            found.extend(part, most)
            at = done
            if found.total >= enough:
                break
            search().check()
    except Stopped:
        found.stopped = at
    return found


def _tallies(source: Source, search: Callable[[], Search], start: int, end: int) -> Iterator[tuple[Tally, int]]:
    """What is found, from the start to the end, with the place up to which everything is: in the lines of each
    chunk, and in those across their borders."""
    line_start = _entered_line(source, start)
    long = _LongLine(line_start, first=1) if line_start >= 0 else None
    held, base = ([source.read(start - 1, 1)], start - 1) if long else ([], start)
    """What is read of a line and not yet searched, and where it stands."""
    for chunk in _chunks(source, search, start, end, enters=long is not None):
        if not chunk.last:
            held.append(chunk.data)
            if long is None and sum(map(len, held)) >= WHOLE_LINE_BYTES:
                long = _LongLine(base, first=0)
            if long is not None:
                joined = b"".join(held)
                yield long.piece(joined, base, search())
                held, base = [joined[-OVERLAP_BYTES - 1 :]], base + max(0, len(joined) - OVERLAP_BYTES - 1)
            continue
        line = b"".join((*held, chunk.data[: chunk.first]))
        if long is not None:
            yield long.ended(line, base, search())
        elif line:
            yield in_block(Block(line, base, 0, len(line) - 1, len(line), -1), search()), base + len(line)
        long, base = None, chunk.start + chunk.last
        held = [chunk.data[chunk.last :]] if chunk.last < len(chunk.data) else []
        yield chunk.found, base
    line = b"".join(held)
    if long is not None:
        yield long.ended(line, base, search())
    elif line:
        yield in_block(Block(line, base, 0, len(line), len(line) + 1, -1), search()), end


def _chunks(source: Source, search: Callable[[], Search], start: int, end: int, *, enters: bool) -> Iterator[_Chunk]:
    """The bytes in order, read and searched ahead."""

    def load(at: int) -> _Chunk:
        data = source.read(at, min(CHUNK_BYTES, end - at))
        first = data.find(b"\n") + 1 if at > start or enters else 0
        last = data.rfind(b"\n", first) + 1
        if last <= first:
            return _Chunk(at, data, first, first, Tally())
        return _Chunk(at, data, first, last, in_block(Block(data, at, first, last - 1, last, -1), search()))

    if end - start <= CHUNK_BYTES:
        if start < end:
            yield load(start)
        return
    # Glibc gives a freed chunk back to the system, to be faulted in anew page by page, unless a larger block was freed.
    bytes(_LARGE_BYTES)
    waiting: deque[Future[_Chunk]] = deque()
    with ThreadPoolExecutor(2, thread_name_prefix="overspill-read-ahead") as pool:
        try:
            for at in range(start, end, CHUNK_BYTES):
                waiting.append(pool.submit(load, at))
                if len(waiting) > _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


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


class _LongLine:
    """One long line, searched piece by piece: each begins with the overlap, and one byte before it as context."""

    def __init__(self, start: int, *, first: int) -> None:
        self._start, self._first = start, first
        self._behind = -1
        """No match begins before it any more."""
        self._has_matched = False

    def piece(self, data: bytes, start: int, search: Search) -> tuple[Tally, int]:
        # The last byte is context only: where it is searched to is not the line's end.
        accept = len(data) - OVERLAP_BYTES
        found = self._found(Block(data, start, self._first, len(data) - 1, accept, self._start), search)
        self._first = 1
        return found, max(start + accept, self._behind)

    def ended(self, data: bytes, start: int, search: Search) -> tuple[Tally, int]:
        last, end = len(data) - data.endswith(b"\n"), start + len(data)
        found = self._found(Block(data, start, self._first, last, last + 1, self._start), search)
        if search.kind == "others" and not self._has_matched:
            found.add(Hit(self._start, self._start, self._start, end), search.most)
        return found, end

    def _found(self, block: Block, search: Search) -> Tally:
        found = Tally()
        looking = Looking(block, search, self._behind - block.start)
        while not (self._has_matched and search.long_line == ONCE) and (hit := looking.next()) is not None:
            self._behind, self._has_matched = max(hit.end, hit.start + 1), True
            if search.kind == "matching":
                found.add(hit, search.most)
        return found


def _entered_line(source: Source, start: int) -> int:
    """Where the line starts that ``start`` is in the middle of; -1 when a line starts there."""
    if start == 0 or source.read(start - 1, 1) == b"\n":
        return -1
    return source.line_start(source.line_at(start))
