"""One kept output, opened for reading: where its lines start, and its bytes in order.

Guarantees memory that does not depend on the output: what is read is read by ranges.  Lines are
numbered from 1, offsets from 0; a store that keeps an index of line starts is asked for the
nearest one, for any other the bytes are scanned.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from overspill.core.access import Rest
from overspill.core.ports import Store
from overspill.retrieve.address import RangeLike, parse_range

SCAN_BYTES = 256 * 1024
_NEAR_BYTES = 1 << 20
"""Lines in so few bytes are counted sooner than a nearer start is asked for."""


@runtime_checkable
class LineIndexed(Protocol):
    """A store that remembers where some lines start."""

    def line_offset(self, handle: str, *, line: int) -> tuple[int, int]:
        """The nearest known line at or before ``line``, and the byte offset at which it starts."""


class Source:
    """A context manager: the blob is closed at its end."""

    def __init__(self, store: Store, handle: str) -> None:
        self._store = store
        self.stored = store.stored(handle)
        self.handle = self.stored.handle
        self.lines = self.stored.lines
        self._blob = store.open(self.handle)
        self.size = self._blob.size
        self._starts: dict[int, int] = {}
        self._lines_at: dict[int, int] = {}

    def read(self, start: int, length: int) -> bytes:
        return self._blob.read(start, length)

    def line_start(self, line: int) -> int:
        """Where a line starts; the size of the output for the line after the last."""
        if line <= 1:
            return 0
        if line > self.lines:
            return self.size
        if line not in self._starts:
            known, at = self._nearest(line)
            self._starts[line] = self._skip(at, line - known)
        return self._starts[line]

    def line_end(self, offset: int) -> int:
        """Just behind the line end of the line that ``offset`` is in."""
        while offset < self.size:
            data = self._blob.read(offset, SCAN_BYTES)
            found = data.find(b"\n")
            if found >= 0:
                return offset + found + 1
            offset += len(data)
        return self.size

    def line_at(self, offset: int) -> int:
        """The number of the line that a byte is in."""
        offset = min(offset, max(self.size - 1, 0))
        if offset not in self._lines_at:
            self._lines_at[offset] = self._line_at(offset)
        return self._lines_at[offset]

    def _line_at(self, offset: int) -> int:
        line, at = self._nearest_before(offset)
        while at < offset:
            data = self._blob.read(at, min(SCAN_BYTES, offset - at))
            line += data.count(b"\n")
            at += len(data)
        return line

    def char_offset(self, line: int, char: int) -> int:
        """The offset behind the first ``char`` characters of a line, or of its end when it has fewer.

        Characters are counted by the bytes that begin one: those of valid UTF-8 are its code points.
        """
        at, end, left = self.line_start(line), self.line_end(self.line_start(line)), char
        while at < end:
            data = self._blob.read(at, min(SCAN_BYTES, end - at))
            begins = len(data.translate(None, _CONTINUATION))
            if begins > left:
                return at + _nth_begin(data, left)
            left -= begins
            at += len(data)
        return end

    def char_count(self, start: int, end: int) -> int:
        """How many characters begin in a stretch."""
        return sum(len(data.translate(None, _CONTINUATION)) for data in self.chunks(start, end))

    def chunks(self, start: int, end: int, size: int = 1 << 20) -> Iterator[bytes]:
        for at in range(start, end, size):
            yield self._blob.read(at, min(size, end - at))

    def beyond(self, lines: RangeLike) -> str:
        """The sentence for a range that begins behind the last line; empty when it doesn't."""
        line = 1 if lines is None else parse_range("lines", lines).first.line
        if line <= max(self.lines, 1):
            return ""
        return f"there is no line {line}; the output has {self.lines} line{'s' if self.lines != 1 else ''}"

    def rest(self, first_line: int = 1, last_line: int = 0, column: int = 0) -> Rest:
        return Rest(self.handle, self.stored.path, first_line, last_line or self.lines, column)

    def close(self) -> None:
        self._blob.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _nearest(self, line: int) -> tuple[int, int]:
        if isinstance(self._store, LineIndexed):
            return self._store.line_offset(self.handle, line=line)
        return 1, 0

    def _nearest_before(self, offset: int) -> tuple[int, int]:
        """The last known line that starts at or before an offset."""
        if not isinstance(self._store, LineIndexed) or offset < SCAN_BYTES:
            return 1, 0
        (line, at), (behind, stop), asked = (1, 0), (self.lines + 1, self.size), 1
        by_share = True
        while offset - at > _NEAR_BYTES and behind - asked > 1:
            # Where lines are about as long as one another, the first guess is nearly right.
            guess = line + (behind - line) * (offset - at) // (stop - at) if by_share else (asked + behind) // 2
            by_share = not by_share
            guess = min(max(guess, asked + 1), behind - 1)
            known, start = self._nearest(guess)
            if start > offset:
                behind, stop = known, start
            else:
                line, at, asked = known, start, guess
        return line, at

    def _skip(self, at: int, newlines: int) -> int:
        """The offset behind as many line ends."""
        while newlines:
            data = self._blob.read(at, SCAN_BYTES)
            if not data:
                return self.size
            there = data.count(b"\n")
            if there < newlines:
                newlines -= there
                at += len(data)
                continue
            found = -1
            for _ in range(newlines):
                found = data.index(b"\n", found + 1)
            return at + found + 1
        return at


_CONTINUATION = bytes(range(0x80, 0xC0))


def _nth_begin(data: bytes, count: int) -> int:
    """The offset of the byte that begins character number ``count`` (from 0)."""
    low, high = 0, len(data)
    while high - low > 64:
        middle = (low + high) // 2
        begins = len(data[low:middle].translate(None, _CONTINUATION))
        if begins > count:
            high = middle
        else:
            low, count = middle, count - begins
    for at in range(low, len(data)):
        if data[at] & 0xC0 != 0x80:
            if count == 0:
                return at
            count -= 1
    return len(data)
