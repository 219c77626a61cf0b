"""What happened to an output, as a value for callbacks, metrics and logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from overspill.core.model import Call

EventKind = Literal["truncated", "skipped", "error"]


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

    @property
    def percent_less(self) -> float:
        return 100 * (1 - self.bytes_after / self.bytes_before) if self.bytes_before else 0.0


Listener = Callable[[Event], None]
