"""What holds for one server, decided once before its first message; and for one result, when it has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from overspill.bounder import Bounder
from overspill.core.model import Bounded, Call
from overspill.errors import PolicyError
from overspill.mcp.schema import Trimming

Structured = Literal["keep", "trim", "text"]
Media = Literal["spill", "keep"]
Reading = Literal["bound", "pass"]

Plan = Trimming | Literal["text", "keep"]
"""What was promised of a tool's structured content: cut it so, drop it when it is large, leave it."""

STRUCTURED: tuple[Structured, ...] = ("keep", "trim", "text")
MEDIA_BYTES = 256 * 1024
"""Base64 of a screenshot is less; a photograph is more."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    bounder: Callable[[str], Bounder | None]
    """By a tool's name, what bounds its results; None lets them through whole."""
    structured: Structured = "trim"
    """What becomes of large structured content: ``trim`` cuts it where its schema allows that and is ``text``
    elsewhere; ``text`` takes the schemas out of `tools/list` and drops it; ``keep`` never touches it."""
    media: Media = "spill"
    media_bytes: int = MEDIA_BYTES
    """Images and audio of more bytes (as base64) spill."""
    resources: Reading = "pass"
    """Are the results of `resources/read` bounded too?"""

    def __post_init__(self) -> None:
        if self.structured not in STRUCTURED:
            raise PolicyError("structured", self.structured, ", ".join(STRUCTURED))
        if self.media not in ("spill", "keep"):
            raise PolicyError("media", self.media, "spill or keep")
        if self.media_bytes < 1:
            raise PolicyError("media_bytes", self.media_bytes, "a whole number, 1 or more")
        if self.resources not in ("bound", "pass"):
            raise PolicyError("resources", self.resources, "bound or pass")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a result is bounded by."""

    bounder: Bounder
    rules: Rules
    call: Call
    plan: Plan = "text"
    max_result_chars: int | None = None
    """The size that the tool declares for its results: up to it they pass."""
    shown: Callable[[Bounded], None] = lambda bounded: None
