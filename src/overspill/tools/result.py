"""What goes into a tool and what comes out of it, as values.

``outcome`` gives the bounded form of an output in two types that a checker tells apart by ``truncated``:
only the one that was cut has a path and counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from overspill.core.model import Bounded


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as the model asked for it."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    """A mapping, or the JSON text of one as the chat protocols carry it."""
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a call gave."""

    content: Any
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Holds ``truncated`` once somebody has decided; then nobody cuts again."""
    is_error: bool = False
    tool: str = ""
    call_id: str = ""

    @property
    def text(self) -> str:
        """The content as a text message carries it."""
        return text_of(self.content)

    @property
    def truncated(self) -> bool:
        return bool(self.metadata.get("truncated"))

    def with_metadata(self, **more: Any) -> ToolResult:
        return replace(self, metadata={**self.metadata, **more})


def text_of(content: Any) -> str:
    from overspill.core.measure import readable
    from overspill.source import chunks_of

    if isinstance(content, str):
        return content
    return "" if content is None else readable(b"".join(chunks_of(content)))


def metadata_of(bounded: Bounded) -> dict[str, Any]:
    """What a result's metadata gains."""
    if not bounded.truncated:
        return {"truncated": False}
    return {
        "truncated": True,
        "path": bounded.path,
        "handle": bounded.handle,
        "removed_lines": bounded.omitted_lines,
        "removed_bytes": bounded.omitted_bytes,
    } | ({"unsaved": bounded.unsaved} if bounded.unsaved else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """An output that was not cut."""

    content: str
    truncated: Literal[False] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated:
    """An output that was cut."""

    content: str
    path: str | None
    """Where the whole is; None when it could not be saved, or the store keeps no files."""
    handle: str | None
    removed_lines: int
    removed_bytes: int
    original_bytes: int
    original_lines: int
    shown_bytes: int
    truncated: Literal[True] = True


def outcome(bounded: Bounded) -> Passed | Truncated:
    if not bounded.truncated:
        return Passed(content=bounded.text)
    return Truncated(
        content=bounded.text,
        path=bounded.path,
        handle=bounded.handle,
        removed_lines=bounded.omitted_lines,
        removed_bytes=bounded.omitted_bytes,
        original_bytes=bounded.total_bytes,
        original_lines=bounded.total_lines,
        shown_bytes=len(bounded.text.encode("utf-8", "replace")),
    )
