"""Streams an output past a pattern: which lines match, and where, in memory that does not depend on it.

Lines up to ``WHOLE_LINE_BYTES`` are searched whole.  In a longer one matches are found piece by
piece, and one longer than ``OVERLAP_BYTES`` can be missed.  Chunks are read ahead in threads, which also
see whether they can hold a match: by what every match must hold, else by the engine.
"""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

from overspill.retrieve.pattern import Pattern
from overspill.retrieve.source import Source

CHUNK_BYTES = 1 << 20
WHOLE_LINE_BYTES = 4 << 20
OVERLAP_BYTES = 1 << 18
_AHEAD = 3
_DENSE = 64
"""More candidates than this in a block: it is searched as a whole, not around each of them."""
_WORTH_BYTES = 4096
_MOST_PART_BYTES = 64
"""A C library may search in time that grows with the part's length."""
_MOST_ZEROS = 16
"""In data with more zero bytes than this, Python's own search is faster."""


class Hit(NamedTuple):
    """A match, with the line that it is in."""

    start: int
    end: int
    line_start: int
    line_end: int
    """Behind its line end; of a line searched in pieces, behind the piece."""


class Stopped(Exception):
    """The time for a search is over; ``at`` is how far it came."""

    def __init__(self, at: int) -> None:
        self.at = at


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


class Chunk(NamedTuple):
    """A piece of the bytes as they are read, wherever lines end."""

    data: bytes
    may: bool
    """A match may be in it, or in a line that it is a part of."""
    inner_may: bool
    """A match may be in the lines that are whole in it."""


def hits(
    source: Source,
    pattern: Pattern,
    start: int,
    end: int,
    *,
    long_line: int,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Hit]:
    """Every line that matches, by its first match; in a line longer than ``long_line`` every match."""
    until, at = clock() + seconds, -1
    for block in _blocks(source, start, end, pattern):
        if clock() > until:
            raise Stopped(block.start)
        for number, hit in enumerate(_in_block(block, pattern, long_line)):
            if number & 0xFF == 0xFF and clock() > until:
                raise Stopped(hit.start)
            if hit.start < at:
                continue  # found by the piece before already
            yield hit
            at = max(hit.end, hit.start + 1)


def count_lines(
    source: Source,
    pattern: Pattern,
    start: int,
    end: int,
    *,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """How many lines match."""
    count, line = 0, -1
    for hit in hits(source, pattern, start, end, long_line=1 << 62, seconds=seconds, clock=clock):
        count += hit.line_start != line
        line = hit.line_start
    return count


def _in_block(block: Block, pattern: Pattern, long_line: int) -> Iterator[Hit]:
    data, at, last = block.data, block.first, block.last
    sparse = bool(pattern.required) and pattern.literal is None and block.line_start < 0
    engine_tries = line_at = line_stop = 0
    while at <= last:
        if sparse:
            # Around each place that can match, as long as these are few.
            found = min((place for part in pattern.required if (place := find(data, part, at, last)) >= 0), default=-1)
            if found < 0:
                return
            stop = data.find(b"\n", found, last)
            stop = last if stop < 0 else stop
            start, end = pattern.search(data, max(at, data.rfind(b"\n", at, found) + 1), stop)
            engine_tries += 1
            sparse = engine_tries < _DENSE and len(pattern.required) == 1
            if start < 0:
                at = stop + 1
                continue
        else:
            start, end = pattern.search(data, at, last)
        if start < 0 or start >= block.accept:
            return
        if not line_stop or line_stop <= start < len(
            data
        ):  # else in the line of the match before, whose ends are known
            line_at = data.rfind(b"\n", line_stop, start) + 1 or line_stop
            line_stop = data.find(b"\n", end) + 1 or len(data)
        line_start = block.line_start if block.line_start >= 0 else block.start + line_at
        yield Hit(block.start + start, block.start + end, line_start, block.start + line_stop)
        is_short = block.line_start < 0 and line_stop - line_at <= long_line
        at = line_stop if is_short else max(end, start + 1)
        if is_short and at >= len(data):
            return


def _blocks(source: Source, start: int, end: int, pattern: Pattern) -> Iterator[Block]:
    """The stretch as whole lines, a very long line as pieces; blocks that can't match are left out."""
    required = pattern.required
    held: list[bytes] = []
    base, may = start, False
    line_start = _entered_line(source, start)
    """Where the line starts that is being searched in pieces, -1 when none is."""
    if line_start >= 0:
        held, base = [source.read(start - 1, 1)], start - 1
    for (data, chunk_may, inner_may), seam_may in _seams(_chunks(source, start, end, pattern), required):
        if line_start >= 0:
            joined = held[0] + data
            line_end = joined.find(b"\n") + 1
            if not line_end:
                yield _piece(joined, base, line_start)
                held, base = _overlap(joined, base)
                continue
            yield Block(joined[:line_end], base, 1, line_end - 1, line_end, line_start)
            held, base, may, line_start, data = [], base + line_end, True, -1, joined[line_end:]
            inner_may = True
        held_bytes = sum(map(len, held))
        stop = data.rfind(b"\n") + 1
        may = may or chunk_may or seam_may or not required
        if not stop:
            held.append(data)
            if held_bytes + len(data) >= WHOLE_LINE_BYTES:
                joined, line_start = b"".join(held), base
                yield _piece(joined, base, line_start)
                held, base = _overlap(joined, base)
            continue
        first = data.find(b"\n") + 1 if held else 0
        if held and may:
            joined = b"".join((*held, data[:first]))
            yield Block(joined, base, 0, len(joined) - 1, len(joined), -1)
        if first < stop and inner_may:
            yield Block(data, base + held_bytes, first, stop - 1, stop, -1)
        base += held_bytes + stop
        held, may = ([data[stop:]] if stop < len(data) else []), chunk_may
    whole = b"".join(held)
    if whole and (line_start >= 0 or may or not required):
        last = len(whole) - whole.endswith(b"\n")
        yield Block(whole, base, int(line_start >= 0), last, last + 1, line_start)


def _entered_line(source: Source, start: int) -> int:
    """Where the line starts that ``start`` is in the middle of; -1 when a line starts there."""
    if start == 0 or source.read(start - 1, 1) == b"\n":
        return -1
    return source.line_start(source.line_at(start))


def _piece(data: bytes, start: int, line_start: int) -> Block:
    """The last byte is context only: where it is searched to is not the line's end."""
    return Block(data, start, int(start > line_start), len(data) - 1, len(data) - OVERLAP_BYTES, line_start)


def _overlap(data: bytes, start: int) -> tuple[list[bytes], int]:
    """What the next piece begins with: the overlap, and one byte before it as context."""
    keep = min(OVERLAP_BYTES + 1, len(data))
    return [data[-keep:]], start + len(data) - keep


def _seams(chunks: Iterator[Chunk], required: Sequence[bytes]) -> Iterator[tuple[Chunk, bool]]:
    """Chunks, and whether what is required stands across the border to the one before."""
    reach = max(map(len, required), default=1) - 1
    tail = b""
    for chunk in chunks:
        data = chunk.data
        seam = tail + data[:reach]
        yield chunk, reach > 0 and any(part in seam for part in required)
        tail = (tail + data[-reach:])[-reach:] if reach > 0 else b""


def _chunks(source: Source, start: int, end: int, pattern: Pattern) -> Iterator[Chunk]:
    """The bytes in order, read ahead; with each chunk, whether matches may be in it.

    Whether it may be in lines that are whole in the chunk is seen by searching them, and whether in the line that
    goes on in the next chunk, by what a match must hold. The engine lets other threads go on meanwhile.
    """
    required = pattern.required

    def load(at: int) -> Chunk:
        data = source.read(at, min(CHUNK_BYTES, end - at))
        held = not required or any(find(data, part, 0, len(data)) >= 0 for part in required)
        if not held or pattern.literal is not None:
            return Chunk(data, held, held)
        first = 0 if at == start else data.find(b"\n") + 1
        last = data.rfind(b"\n", first)
        lines = Block(data, at, first, last, len(data), -1)
        return Chunk(data, held, last < first or next(_in_block(lines, pattern, 1 << 62), None) is not None)

    if end - start <= CHUNK_BYTES:
        if start < end:
            yield load(start)
        return
    waiting: deque[Future[Chunk]] = deque()
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


def find(data: bytes, part: bytes, start: int, end: int) -> int:
    """``data.find`` by the C library's ``strstr``: many times as fast, and other threads go on meanwhile."""
    search = _strstr()
    if search is None or end - start < _WORTH_BYTES or len(part) > _MOST_PART_BYTES or b"\0" in part:
        return data.find(part, start, end)
    base = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
    at = start
    for _ in range(_MOST_ZEROS):
        # It stops at the first zero byte: every bytes object has one behind its end.
        found = search(base + at, part)
        if found:
            return found - base if found - base + len(part) <= end else -1
        at = data.find(b"\0", at, end) + 1
        if not at:
            return -1
    return data.find(part, at, end)


@lru_cache(maxsize=1)
def _strstr() -> Callable[[int, bytes], int | None] | None:
    try:
        strstr = ctypes.CDLL(None).strstr
    except (AttributeError, OSError, TypeError):
        return None
    strstr.restype = ctypes.c_void_p
    strstr.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    return strstr
