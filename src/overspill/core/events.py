"""What happened to an output, as a value for callbacks, metrics and logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from overspill.core.model import Call

EventKind = Literal["truncated", "skipped", "error", "summarised"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    kind: EventKind
    call: Call
    bytes_before: int
    bytes_after: int
    handle: str | None = None
    path: str | None = None
    seconds: float = 0.0
    reason: str = ""
    """Why it was skipped, or what failed."""
    tokens_in: int = 0
    """What a summary cost: tokens that the model read,"""
    tokens_out: int = 0
    """and tokens that it wrote."""

    @property
    def percent_less(self) -> float:
        return 100 * (1 - self.bytes_after / self.bytes_before) if self.bytes_before else 0.0


Listener = Callable[[Event], None]
