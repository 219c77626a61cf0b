"""What tools return, as chunks of source bytes: the one place that knows Python's types.

Text is UTF-8 (a lone surrogate keeps its number), bytes are themselves, an iterator is a
stream of either, and anything else is JSON with one element or member to a line, so that
lines can be addressed.  Nothing raises: what JSON can't say is said as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from overspill.core.measure import encode, readable

_MOST_BITS = 14_000
"""Python refuses to write numbers of more than 4,300 digits."""
_LINED_DEPTH = 2
"""Down to this depth elements stand on lines of their own; below, JSON is compact: it costs fewer tokens."""
MOST_DEPTH = 200
"""Deeper nesting is shown as a text: readers of JSON give up on it."""


def chunks_of(output: Any) -> Iterable[bytes]:
    if isinstance(output, str):
        return (encode(output),)
    if isinstance(output, bytes | bytearray | memoryview):
        return (bytes(output),)
    if isinstance(output, Iterator):
        return map(chunk_of, output)
    return (encode(json_text(output)),)


def chunk_of(chunk: Any) -> bytes:
    if isinstance(chunk, str):
        return encode(chunk)
    if isinstance(chunk, bytes | bytearray | memoryview):
        return bytes(chunk)
    return encode(json_text(chunk)) + b"\n"


def json_text(value: Any) -> str:
    """JSON of any object: keys keep their order, every element of the outer levels has its line."""
    try:
        return _lined(value, 0)
    except (Exception, SystemExit):  # what a value's own methods raise is no concern of the caller's
        return _lined(plain(value), 0)


def plain(value: Any, *, _above: tuple[int, ...] = ()) -> Any:
    """The value as JSON has it; a circle, a number that is none and anything unknown become a text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value) if value.bit_length() < _MOST_BITS else hex(value)
    if isinstance(value, float):
        return float(value) if value - value == 0 else str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return readable(bytes(value))
    if id(value) in _above:
        return "<circular>"
    if len(_above) >= MOST_DEPTH:
        return "<nested too deeply>"
    above = (*_above, id(value))
    try:
        members = value if isinstance(value, list | tuple) else _members(value)
        if isinstance(members, str):
            return members
        if not isinstance(members, dict):
            return [plain(item, _above=above) for item in members]
        return {_key(key): plain(item, _above=above) for key, item in members.items()}
    except (Exception, SystemExit):
        return said(value)


def _members(value: object) -> dict[Any, Any] | list[Any] | str:
    """What JSON has no form of its own for, by its members where it has some, else as a text."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return _in_order(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return readable(bytes(value))
    if isinstance(value, type):
        return str(value)
    if callable(dump := getattr(value, "model_dump", None)):  # pydantic's
        return dict(dump(mode="json"))
    if fields := getattr(value, "__dataclass_fields__", None):
        return {name: getattr(value, name) for name in fields}
    return str(value)


def _in_order(value: set[Any] | frozenset[Any]) -> list[Any]:
    """Equal sets give equal texts, in every process."""
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=repr)


def said(value: object) -> str:
    """``str`` of anything, whatever it raises."""
    try:
        return str(value)
    except (Exception, SystemExit) as error:
        return f"<{type(value).__name__} that raised {type(error).__name__}>"


def _lined(value: Any, depth: int) -> str:
    if not isinstance(value, dict | list | tuple | str | int | float | None):
        value = _members(value)
    if depth == _LINED_DEPTH or not isinstance(value, dict | list | tuple) or not value:
        return _compact(value)
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        lines = [f"{pad}{_compact(_key(key))}: {_lined(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + " " * depth + "}"
    return "[\n" + ",\n".join(pad + _lined(item, depth + 1) for item in value) + "\n" + " " * depth + "]"


def _key(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    return _compact(key) if key is None or isinstance(key, bool) else said(key)


def _compact(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_members)
