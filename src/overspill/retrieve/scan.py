"""Streams an output past a pattern: how many lines match, and where the first do, in memory that doesn't depend on it.

Lines up to ``WHOLE_LINE_BYTES`` are searched whole.  In a longer one matches are found piece by
piece, and one longer than ``OVERLAP_BYTES`` can be missed.  Chunks are read ahead and searched in threads: the
engine lets the other go on meanwhile.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import NamedTuple

from overspill.retrieve.block import ONCE, Block, Hit, Kind, Looking, Search, Tally, in_block
from overspill.retrieve.pattern import Pattern
from overspill.retrieve.source import Source

CHUNK_BYTES = 1 << 20
WHOLE_LINE_BYTES = 4 << 20
OVERLAP_BYTES = 1 << 18
_AHEAD = 3
_LARGE_BYTES = 4 << 20


class Stopped(Exception):
    """The time for a search is over."""


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
