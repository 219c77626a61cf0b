"""A spill whose writing happens beside the reading: for streams that come as fast as a disk takes them.

At most ``MOST_WAITING`` chunks wait, so memory does not depend on the output.  A fault of the writing is
raised by the next call, ``commit`` at the latest: nothing is called kept before it is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

from overspill.core.line_starts import LineStarts
from overspill.core.model import Call
from overspill.core.ports import Blob, Spill, Store, Stored

MOST_WAITING = 16


class WriteBehind:
    """A store whose spills are written by a thread of their own; everything else is the store's."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def spill(self, call: Call) -> Spill:
        return _Spill(self._store.spill(call))

    def stored(self, handle: str) -> Stored:
        return self._store.stored(handle)

    def open(self, handle: str) -> Blob:
        return self._store.open(handle)

    def outputs(self) -> Iterator[Stored]:
        return self._store.outputs()

    def remove(self, handle: str, *, reason: str) -> None:
        self._store.remove(handle, reason=reason)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _Spill:
    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._waiting: SimpleQueue[bytes | None] = SimpleQueue()
        self._free = threading.Semaphore(MOST_WAITING)
        self._fault: BaseException | None = None
        self._thread: threading.Thread | None = None

    @property
    def path(self) -> str:
        return str(getattr(self._spill, "path", ""))

    def counted_by(self, lines: LineStarts) -> None:
        lines.offer(self._spill)

    def write(self, data: bytes) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        self._free.acquire()
        self._raise_fault()
        self._waiting.put(data)

    def flush(self) -> None:
        self._end_thread()
        self._raise_fault()
        if flush := getattr(self._spill, "flush", None):
            flush()

    def commit(self, call: Call) -> Stored:
        self._end_thread()
        self._raise_fault()
        return self._spill.commit(call)

    def discard(self) -> None:
        self._end_thread()
        self._spill.discard()

    def _work(self) -> None:
        while (data := self._waiting.get()) is not None:
            if self._fault is None:
                try:
                    self._spill.write(data)
                except BaseException as fault:  # raised again where the caller is
                    self._fault = fault
            del data
            self._free.release()

    def _end_thread(self) -> None:
        """Waits until all is written; the next write begins a new thread."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise self._fault
