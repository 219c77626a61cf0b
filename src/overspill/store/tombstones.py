"""What remains of an output that was removed: enough to say when and why it went, and how to make it again."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from overspill.core.model import Call
from overspill.core.ports import Stored

KEPT_DAYS = 90
"""Tombstones go in their turn: a handle from a transcript of last season is simply unknown."""

MOST_TOMBSTONES = 10_000

_SHOWN_COMMAND = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """When an output went, why, and the tool call that had made it."""

    handle: str
    digest: str
    removed: float
    reason: str
    bytes: int
    lines: int
    call: Call

    @classmethod
    def of(cls, row: Stored, *, reason: str, now: float) -> Tombstone:
        return cls(
            handle=row.handle,
            digest=row.digest,
            removed=now,
            reason=reason,
            bytes=row.bytes,
            lines=row.lines,
            call=row.call,
        )

    @property
    def words(self) -> str:
        """ "removed on 3 May … (older than 7 days). To have it again, run: make test"."""
        when = datetime.datetime.fromtimestamp(self.removed, datetime.UTC)
        went = f"{self.bytes:,} bytes, removed {when:%Y-%m-%d %H:%M} UTC ({self.reason})"
        if command := self.call.command:
            shown = command if len(command) <= _SHOWN_COMMAND else command[:_SHOWN_COMMAND] + " …"
            return f"{went}. To have it again, run: {shown}"
        if self.call.tool:
            again = f"call the tool {self.call.tool} again"
            return f"{went}. To have it again, {again}{f' (as in call {self.call.id})' if self.call.id else ''}."
        return f"{went}. To have it again, repeat the call that made it."
