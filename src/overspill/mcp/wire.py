"""The wire: lines and events in any chunks, and what of a JSON-RPC message must be known to pass it on.

Guarantees: whatever is split here and joined again is the very same bytes, also of what is no JSON;
members that nobody asks for are never decoded.  What a message means is the business of ``messages``.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

Raw = msgspec.Raw
NOTHING = Raw()
BOM = b"\xef\xbb\xbf"
"""What some programs write before UTF-8; JSON and event streams are read without it."""


class Envelope(msgspec.Struct):
    """The members of a message; one that is absent is empty."""

    id: Raw = NOTHING
    method: Any = None
    params: Raw = NOTHING
    result: Raw = NOTHING
    error: Raw = NOTHING

    @property
    def key(self) -> object:
        """The id as a value, to be compared: servers write it with spaces and escapes of their own."""
        value = decoded(self.id) if len(self.id) else None
        return bytes(self.id) if isinstance(value, dict | list) else value

    @property
    def is_request(self) -> bool:
        return isinstance(self.method, str) and bytes(self.id) not in (b"", b"null")

    @property
    def is_response(self) -> bool:
        return self.method is None and bytes(self.id) != b""


_BLANK_LINE = re.compile(rb"\n\n|\r\n\r\n|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_ENVELOPE = msgspec.json.Decoder(Envelope)
_MEMBERS = msgspec.json.Decoder(dict[str, Raw])
_ELEMENTS = msgspec.json.Decoder(list[Raw])


def envelope(message: bytes | Raw) -> Envelope | None:
    """None for what is no JSON object: it passes as it is."""
    try:
        return _ENVELOPE.decode(message)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Lone surrogates in an escape are JSON to everybody else.
        found = members(message)
        if found is None:
            return None
        known = {name: found[name] for name in ("id", "params", "result", "error") if name in found}
        return Envelope(method=decoded(found["method"]) if "method" in found else None, **known)


def members(value: bytes | Raw) -> dict[str, Raw] | None:
    """An object's members in order, each as the bytes it was; None when it is no object."""
    try:
        return _MEMBERS.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        found = decoded(value)
        return {name: _again(item) for name, item in found.items()} if isinstance(found, dict) else None


def elements(value: bytes | Raw) -> list[Raw] | None:
    """An array's elements, each as the bytes it was; None when it is no array."""
    try:
        return _ELEMENTS.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        found = decoded(value)
        return [_again(item) for item in found] if isinstance(found, list) else None


def decoded(value: bytes | Raw) -> Any:
    """The value of a JSON text; None also for what is none."""
    try:
        return msgspec.json.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            return json.loads(bytes(value).decode("utf-8", "replace"), parse_float=_finite)
        except (ValueError, RecursionError):
            return None


def encoded(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_without_surrogates(value))


def on_one_line(message: bytes) -> bytes:
    """The same JSON without its line breaks, for a carrier that ends messages by them."""
    try:
        return msgspec.json.format(message, indent=-1)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return b" ".join(message.split(b"\n")).replace(b"\r", b" ")


def response(id: Raw | bytes, result: Any) -> bytes:
    """A whole message, without a line end."""
    return encoded({"jsonrpc": "2.0", "id": Raw(bytes(id)), "result": result})


def refusal(id: Raw | bytes, code: int, message: str) -> bytes:
    return encoded({"jsonrpc": "2.0", "id": Raw(bytes(id)), "error": {"code": code, "message": message}})


class Lines:
    """Chunks in, whole lines out, each with its line end; the rest of the stream is its last line."""

    def __init__(self) -> None:
        self._held = io.BytesIO()

    def feed(self, chunk: bytes) -> list[bytes]:
        last = chunk.rfind(b"\n") + 1
        if not last:
            self._held.write(chunk)
            return []
        whole = chunk if last == len(chunk) else chunk[:last]
        if self._held.tell():
            self._held.write(whole)
            whole = self.rest()
        if last < len(chunk):
            self._held.write(chunk[last:])
        if whole.find(b"\n") == len(whole) - 1:
            return [whole]
        return whole.splitlines(keepends=True) if whole.find(b"\r") < 0 else _at_newlines(whole)

    def rest(self) -> bytes:
        held, self._held = self._held.getvalue(), io.BytesIO()  # its very buffer, and no copy
        return held


class Events:
    """Chunks of an event stream in, whole events out: each with its fields and the bytes it was."""

    def __init__(self) -> None:
        self._held = io.BytesIO()
        self._searched = 0

    def feed(self, chunk: bytes) -> list[Event]:
        self._held.write(chunk)
        with self._held.getbuffer() as held:
            ends = list(_ends_of_events(held, self._searched))
        if not ends:
            self._searched = max(0, self._held.tell() - 3)
            return []
        whole = self.rest()
        self._held.write(whole[ends[-1] :])
        self._searched = max(0, self._held.tell() - 3)
        if ends == [len(whole)]:
            return [Event.of(whole)]  # large ones mostly come so, and are not copied
        return [Event.of(whole[start:end]) for start, end in zip([0, *ends], ends, strict=False)]

    def rest(self) -> bytes:
        held, self._held, self._searched = self._held.getvalue(), io.BytesIO(), 0
        return held


class Event(msgspec.Struct, frozen=True):
    raw: bytes
    data: bytes
    id: str = ""
    kind: str = ""
    retry_ms: int | None = None

    @classmethod
    def of(cls, raw: bytes) -> Event:
        data: list[bytes] = []
        fields: dict[str, str] = {}
        start = 0
        for end in _LINE_END.finditer(raw):
            colon = raw.find(b":", start, end.start())
            name = raw[start : colon if colon >= 0 else end.start()]
            name = name if start else name.removeprefix(BOM)
            value_at = end.start() if colon < 0 else colon + 1 + (raw[colon + 1] == ord(" "))
            value = raw[value_at : end.start()]
            start = end.end()
            if name == b"data":
                data.append(value)
            elif name:
                fields[name.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        retry = fields.get("retry", "")
        retry_ms = int(retry) if retry.isascii() and retry.isdecimal() and len(retry) < 10 else None
        return cls(raw, b"\n".join(data), fields.get("id", ""), fields.get("event", ""), retry_ms)

    def with_data(self, data: bytes) -> bytes:
        """The event as bytes, carrying other data."""
        if data == self.data:
            return self.raw
        head = b"".join(
            name + b": " + value.encode() + b"\n"
            for name, value in ((b"event", self.kind), (b"id", self.id), (b"retry", str(self.retry_ms or "")))
            if value
        )
        return head + b"".join(b"data: " + line + b"\n" for line in data.split(b"\n")) + b"\n"


def _ends_of_events(data: memoryview, start: int) -> Iterator[int]:
    """Just behind each blank line after ``start``."""
    return (found.end() for found in _BLANK_LINE.finditer(data, start))


def _at_newlines(data: bytes) -> list[bytes]:
    """``splitlines`` takes a lone carriage return for a line end; JSON-RPC over pipes does not."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]]


def _finite(text: str) -> float:
    value = float(text)
    return value if abs(value) <= sys.float_info.max else sys.float_info.max if value > 0 else -sys.float_info.max


def _again(value: Any) -> Raw:
    """Escaped, so that a lone surrogate keeps its number."""
    return Raw(json.dumps(value).encode())


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value
