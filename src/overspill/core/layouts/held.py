"""The first and the last bytes of an output, exactly as many as asked for, and its size in every unit.

What is held follows from the number asked for; characters are counted while the output passes.  A byte
that is no UTF-8 counts as one character, a lone surrogate as one.
"""

from __future__ import annotations

import codecs
import re
from collections import deque

from overspill.core.measure import ESCAPE_BYTES, cut_after, cut_before
from overspill.core.model import Block, Gap, Span, Totals

_CONTEXT_BYTES = ESCAPE_BYTES + 64
"""Held beyond what is shown, so that a cut sees what it would break."""
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_ONE_CHARACTER = "\uffff".encode()
"""Three bytes as well, so that characters and bytes convert into one another."""


def characters(data: bytes) -> str:
    """One character for each that counts; ``bytes_of`` says how many bytes any part of it takes."""
    if not data.isascii():
        data = _SURROGATE.sub(_ONE_CHARACTER, data)
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


class Held:
    """Fed block by block; after ``end`` it answers for the start and the end of the output."""

    def __init__(self, hold_bytes: int) -> None:
        self._most = hold_bytes + _CONTEXT_BYTES
        self._head = bytearray()
        self._ring: deque[bytes] = deque()
        self._ring_bytes = 0
        self._newline_before = -1
        self._at = 0
        self._undecoded = b""
        self.chars = 0
        self.totals = Totals(0, 0)
        self.newlines = 0
        self.head = b""
        self.tail = b""

    def feed(self, block: Block) -> None:
        data = block.data
        self._at += len(data)
        self.newlines += data.count(b"\n")
        self._count(data)
        if len(self._head) < self._most:
            self._head += data[: self._most - len(self._head)]
        self._ring.append(data)
        self._ring_bytes += len(data)
        while self._ring_bytes - len(self._ring[0]) >= self._most:
            self._drop()

    def end(self, totals: Totals) -> None:
        self.totals = totals
        self.chars += len(characters(self._undecoded))
        self.head, self.tail = bytes(self._head), b"".join(self._ring)

    def first(self, size: int) -> Span:
        """The first ``size`` bytes, less what a cut there would break."""
        safe = cut_before(self.head, size)
        return Span(0, self.head[: safe or size], 1)

    def last(self, size: int) -> Span:
        """The last ``size`` bytes, less what a cut there would break."""
        at = max(0, len(self.tail) - size)
        safe = cut_after(self.tail, at)
        return self._placed(safe if safe < len(self.tail) else at)

    def first_chars(self, count: int) -> Span:
        return self.first(bytes_of(characters(self.head)[:count]))

    def last_chars(self, count: int) -> Span:
        return self.last(bytes_of(characters(self.tail)[-count:]) if count else 0)

    def from_line(self, start: int) -> Span:
        """From a byte of the tail that starts a line, by its offset in the tail, to the end."""
        return self._placed(start)

    @property
    def ends_line(self) -> bool:
        return self.tail.endswith(b"\n")

    def _placed(self, at: int) -> Span:
        before, data = self.tail[:at], self.tail[at:]
        start = self._at - len(data)
        newline = before.rfind(b"\n")
        line_start = (self._at - len(self.tail) + newline if newline >= 0 else self._newline_before) + 1
        return Span(start, data, self.newlines - data.count(b"\n") + 1, start - line_start)

    def _drop(self) -> None:
        dropped_at = self._at - self._ring_bytes
        dropped = self._ring.popleft()
        self._ring_bytes -= len(dropped)
        newline = dropped.rfind(b"\n")
        if newline >= 0:
            self._newline_before = dropped_at + newline

    def _count(self, data: bytes) -> None:
        if not self._undecoded and data.isascii():
            self.chars += len(data)
            return
        data = _SURROGATE.sub(_ONE_CHARACTER, self._undecoded + data)
        # A lone surrogate cut in two by the border of a block waits for its rest.
        waiting = 2 if len(data) > 1 and data[-2] == 0xED and 0xA0 <= data[-1] <= 0xBF else 0
        whole = data[: len(data) - waiting]
        text, consumed = codecs.utf_8_decode(whole, "surrogateescape", False)
        self.chars += len(text)
        self._undecoded = data[consumed:]


def gap_between(first: Span | None, last: Span | None, totals: Totals) -> Gap | None:
    from overspill.core.excerpt import gaps_between

    gaps = gaps_between([span for span in (first, last) if span and span.data], totals)
    return gaps[0] if gaps else None
