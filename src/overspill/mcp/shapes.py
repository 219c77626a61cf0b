"""Answers to a call in whatever shape: a result and its parts, or an error and its words.

Guarantees: what is large of an answer is a text, also where no version of the protocol has one: members
of unknown names, a string in the place of the parts, of the result or of the error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from overspill.core.measure import Measure
from overspill.core.model import Budget
from overspill.mcp import wire
from overspill.mcp.room import fraction
from overspill.mcp.wire import Raw
from overspill.source import json_text

_COMPLETE = b'"complete"'


def result_in(outer: Mapping[str, Raw], member: str) -> tuple[dict[str, Raw], list[Raw]] | None:
    """A tool's result and its parts; None for a task that was begun, a question back, resources without any."""
    if "result" not in outer:
        return None
    result, is_of_tool = wire.members(outer["result"]), member == "content"
    if result is None:
        return ({}, [_part_of(outer["result"])]) if is_of_tool else None
    if member not in result:
        is_other = "task" in result or bytes(result.get("resultType", _COMPLETE)) != _COMPLETE
        return (result, []) if "structuredContent" in result or (is_of_tool and not is_other) else None
    parts = wire.elements(result[member])
    if parts is None:
        return (result, [_part_of(result[member])]) if is_of_tool else None
    return result, parts


def large_among(unknown: Mapping[str, Raw], budget: Budget, counter: Callable[[str], int]) -> dict[str, Raw]:
    """The members that are too large to stay; all of them when they are too many."""
    large = {name: raw for name, raw in unknown.items() if len(raw) > budget.bytes_ceiling // 4}
    rest = wire.encoded({name: raw for name, raw in unknown.items() if name not in large})
    fits = Measure(counter).fits(rest.decode("utf-8", "replace"), fraction(budget, 0.25))
    return large if fits else dict(unknown)


def error_and_words(raw: Raw, budget: Budget, counter: Callable[[str], int]) -> tuple[dict[str, Raw], str]:
    """The members of an error that stay beside its message, and the message with all that is large."""
    error = wire.members(raw)
    if error is None:
        return {"code": Raw(b"-32603")}, _text_of(wire.decoded(raw))
    words = _text_of(wire.decoded(error.get("message", Raw(b'""'))))
    beside = {name: value for name, value in error.items() if name not in ("code", "message")}
    large = {name: wire.decoded(value) for name, value in large_among(beside, budget, counter).items()}
    rest = {name: value for name, value in error.items() if name != "message" and name not in large}
    if not large:
        return rest, words
    return rest, f"{words}\n{json_text(large['data'] if list(large) == ['data'] else large)}"


def _part_of(raw: Raw) -> Raw:
    value = wire.decoded(raw)
    return raw if isinstance(value, dict) else Raw(wire.encoded({"type": "text", "text": _text_of(value)}))


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)
