"""A long text of a message, read from its JSON slice by slice: it is never decoded as one value.

Guarantees: the slices joined are the text that the JSON means, whatever stands where two of them meet; only
one slice is held beside the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from overspill.mcp import wire
from overspill.mcp.wire import Raw

LONG_BYTES = 1 << 20
"""A text whose JSON takes more is read in slices."""
_SLICE_BYTES = 1 << 18
_CODE_POINT_BYTES = 4
_HIGH_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
_ESCAPE_BYTES = 6


class Long:
    """``raw`` is the JSON of a text, quotes included."""

    __slots__ = ("_raw", "_slice_bytes")

    def __init__(self, raw: Raw, *, slice_bytes: int = _SLICE_BYTES) -> None:
        self._raw = raw
        self._slice_bytes = slice_bytes

    def __len__(self) -> int:
        """Of its JSON: never fewer than the characters that it means."""
        return len(self._raw) - 2

    def slices(self) -> Iterator[str]:
        data = memoryview(self._raw)[1:-1]
        at = 0
        while at < len(data):
            end = _safe_end(data, at, min(at + self._slice_bytes, len(data)))
            text = wire.decoded(b"".join((b'"', data[at:end], b'"')))
            if not isinstance(text, str):
                raise ValueError("this text is no JSON")
            yield text
            at = end

    def whole(self) -> str:
        return str(wire.decoded(self._raw))

    def is_the_same_json_as(self, other: Raw) -> bool:
        mine, its = memoryview(self._raw), memoryview(other)
        if len(mine) != len(its):
            return False
        steps = range(0, len(mine), _SLICE_BYTES)
        return all(bytes(mine[at : at + _SLICE_BYTES]) == bytes(its[at : at + _SLICE_BYTES]) for at in steps)


def is_text(raw: Raw) -> bool:
    data = memoryview(raw)
    return len(data) > 1 and data[0] == data[-1] == ord('"')


def chars_of(text: str | Long) -> int:
    return len(text) if isinstance(text, str) else sum(map(len, text.slices()))


def slices_of(text: str | Long) -> Iterator[str]:
    if isinstance(text, Long):
        return text.slices()
    return (text[at : at + _SLICE_BYTES] for at in range(0, len(text), _SLICE_BYTES))


def whole(text: str | Long) -> str:
    return text if isinstance(text, str) else text.whole()


def _safe_end(data: memoryview, start: int, end: int) -> int:
    """Not after ``end``, and in no code point, escape or pair of surrogates."""
    if end == len(data):
        return end
    for back in range(_CODE_POINT_BYTES):
        if not 0x80 <= data[end - back] < 0xC0:
            end -= back
            break
    window = bytes(data[max(start, end - _ESCAPE_BYTES) : end])
    lone = window.rfind(b"\\")
    if lone >= 0 and _begins_escape(data, start, end - len(window) + lone):
        escape = end - len(window) + lone
        after = escape + (_ESCAPE_BYTES if data[escape + 1] == ord("u") else 2)
        end = end if after <= end else escape
    before = end - _ESCAPE_BYTES
    is_high = before >= start and _HIGH_SURROGATE.fullmatch(bytes(data[before:end]))
    return before if is_high and _begins_escape(data, start, before) else end


def _begins_escape(data: memoryview, start: int, at: int) -> bool:
    """Of backslashes in a row every second one is only what the one before it means."""
    window = 64
    while True:
        low = max(start, at + 1 - window)
        run = bytes(data[low : at + 1])
        length = len(run) - len(run.rstrip(b"\\"))
        if length < len(run) or low == start:
            return length % 2 == 1
        window *= 16
