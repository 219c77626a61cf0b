"""What structured content and the parts beside it both say: servers send most results twice.

Guarantees: nothing is taken for said that is not there as it stands; what is left of a value says where
the rest is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from overspill.core.measure import encode
from overspill.mcp import wire

LONG_CHARS = 200
"""A shorter text is said again rather than pointed at."""
POINTER = "[overspill: as in the part beside this one]"


@dataclass(frozen=True, slots=True)
class Twin:
    """A text part that says the same as the structured content, or as its one member."""

    text: str
    member: str = ""
    """The member whose value the text is as JSON; empty when it is that of the whole."""


def twin_of(value: Any, texts: Iterable[str]) -> Twin | None:
    """Libraries wrap what is no object: ``{"result": [1, 2]}`` stands beside ``[1, 2]``."""
    items = list(value.items()) if isinstance(value, dict) else []
    member, inner = items[0] if len(items) == 1 else ("", None)
    for text in texts:
        if text == inner:
            return Twin(text)
        if text[:1] in ("{", "[", " ", "\n"):
            said = wire.decoded(encode(text))
            if said == value:
                return Twin(text)
            if member and isinstance(inner, list | dict) and said == inner:
                return Twin(text, member)
    return None


def left_of(value: Any, said: set[str]) -> Any:
    """The value with a pointer in the place of each long text that is said beside it."""
    if isinstance(value, str):
        return POINTER if len(value) > LONG_CHARS and value in said else value
    if isinstance(value, list):
        return [left_of(item, said) for item in value]
    if isinstance(value, dict):
        return {name: left_of(item, said) for name, item in value.items()}
    return value
