"""What tools return, as chunks of source bytes: the one place that knows Python's types.

Text is UTF-8 (a lone surrogate keeps its number), bytes are themselves, an iterator is a
stream of either, and anything else is JSON with one element or member to a line, so that
lines can be addressed.  Nothing raises: what JSON can't say is shown by ``str`` or ``repr``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from overspill.core.measure import encode

_LINED_DEPTH = 2
"""Down to this depth elements stand on lines of their own; below, JSON is compact: it costs fewer tokens."""


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
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def _lined(value: Any, depth: int) -> str:
    if depth == _LINED_DEPTH or not isinstance(value, dict | list | tuple) or not value:
        return _compact(value)
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            return _compact(value)
        lines = [f"{pad}{_compact(key)}: {_lined(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + " " * depth + "}"
    return "[\n" + ",\n".join(pad + _lined(item, depth + 1) for item in value) + "\n" + " " * depth + "]"


def _compact(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)
