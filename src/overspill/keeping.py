"""An output's way into a store, which may fail: the fault becomes the notice's sentence, never the caller's exception.

A store may be the user's own, so every one of its answers is looked at, and everything may be raised.
"""

from __future__ import annotations

from contextlib import suppress

from overspill.core import notice
from overspill.core.line_starts import LineStarts
from overspill.core.measure import encode, readable
from overspill.core.model import Bounded, Call
from overspill.core.notice import Kept
from overspill.core.ports import Spill, Store, Strategy
from overspill.errors import StoreUnavailable
from overspill.source import said

_NO_STORE = "no store is configured"


class Keeping:
    """One output's; the spill begins with the first write."""

    def __init__(self, store: Store | None, call: Call) -> None:
        self._store = store
        self._call = call
        self._spill: Spill | None = None
        self._fault: BaseException | None = None

    def write(self, data: bytes, lines: LineStarts) -> None:
        if self._store is None or self._fault:
            return
        try:
            if self._spill is None:
                self._spill = self._store.spill(self._call)
                lines.offer(self._spill)
            self._spill.write(data)
        except (Exception, SystemExit) as fault:  # a user's store may raise anything
            self._fail(fault)

    def spooled(self) -> str | None:
        if self._fault:
            return None
        try:
            flush = getattr(self._spill, "flush", None)
            if flush is None:
                return None
            flush()
            return str(getattr(self._spill, "path", "")) or None
        except (Exception, SystemExit) as fault:
            self._fail(fault)
            return None

    def commit(self, call: Call) -> tuple[Kept, BaseException | None]:
        if self._spill and not self._fault:
            try:
                stored = self._spill.commit(call)
                if not (isinstance(stored.handle, str) and notice.HANDLE.fullmatch(stored.handle)):
                    raise ValueError(f"the store's name for it, {said(stored.handle)[:30]!r}, is no handle")
                return Kept(stored.handle, stored.path), None
            except (Exception, SystemExit) as fault:
                self._fail(fault)
        reason = _reason(self._fault) if self._fault else _NO_STORE
        return Kept(None, unsaved=reason), self._fault

    def remember(self, bounded: Bounded, *, by: Strategy) -> None:
        """For the store's index: how it was cut. One that has no place for it, or no time, goes without."""
        with suppress(Exception, SystemExit):
            if bounded.handle and (annotate := getattr(self._store, "annotate", None)):
                shown = len(bounded.text.encode("utf-8", "replace"))
                annotate(bounded.handle, kind=bounded.kind, cut=by.name, shown_bytes=shown)

    def discard(self) -> None:
        if self._spill:
            with suppress(Exception, SystemExit):
                self._spill.discard()

    def _fail(self, fault: BaseException) -> None:
        self._fault = fault
        self.discard()


def _reason(fault: BaseException) -> str:
    if isinstance(fault, StoreUnavailable):
        return readable(encode(fault.reason))
    return readable(encode(said(fault))) or type(fault).__name__
