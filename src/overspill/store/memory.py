"""A store in this process's memory: the same promises, bounded by bytes, without files.

Safe to share between threads.  What it holds goes with the process, and the least recently read output
makes room when the bound is reached; handles that went are answered with a tombstone.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from overspill.core.model import Call
from overspill.core.ports import Stored
from overspill.errors import AmbiguousHandle, ExpiredHandle, StoreUnavailable
from overspill.store.handles import PREFIX, code_of, code_range, shortest, typed, unknown
from overspill.store.lines import nearest
from overspill.store.quantities import size_bytes
from overspill.store.retention import Doomed, Retention, doomed
from overspill.store.tally import Tallied, Tally
from overspill.store.tombstones import MOST_TOMBSTONES, Tombstone

if TYPE_CHECKING:
    from overspill.core.line_starts import LineStarts


class BytesBlob:
    """Bytes at hand, as a ``Blob``."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        return len(self._data)

    def read(self, start: int, length: int) -> bytes:
        return self._data[start : start + length] if start >= 0 and length > 0 else b""

    def close(self) -> None:
        pass


class MemoryStore:
    """Whole outputs in memory, at most ``max_total_bytes`` of them."""

    path = None
    where = "memory"

    def __init__(
        self,
        *,
        max_total_bytes: int | str = "256 MB",
        max_outputs: int | None = None,
        max_per_session: int | None = None,
        retention_days: float | str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._retention = Retention.of(
            retention_days=retention_days,
            max_total_bytes=max_total_bytes,
            max_outputs=max_outputs,
            max_per_session=max_per_session,
        )
        self._max_bytes = size_bytes(max_total_bytes, setting="store.max_total_bytes")
        self._clock = clock
        self._lock = threading.RLock()
        self._rows: dict[str, Stored] = {}
        self._data: dict[str, tuple[bytes, bytes]] = {}
        self._codes: list[str] = []
        self._tombstones: dict[str, Tombstone] = {}
        self._leases: dict[str, int] = {}
        self._total = 0

    def spill(self, call: Call) -> MemorySpill:
        return MemorySpill(self, self._max_bytes)

    def stored(self, handle: str) -> Stored:
        with self._lock:
            return self._rows[self._resolve(handle)]

    def open(self, handle: str) -> BytesBlob:
        with self._lock:
            code = self._resolve(handle)
            self._rows[code] = replace(self._rows[code], read=self._clock())
            return BytesBlob(self._data[code][0])

    def outputs(self) -> Iterator[Stored]:
        with self._lock:
            rows = sorted(self._rows.values(), key=lambda row: (row.created, row.handle), reverse=True)
        return iter(rows)

    def remove(self, handle: str, *, reason: str) -> None:
        with self._lock:
            self._bury(self._resolve(handle), reason)

    def line_offset(self, handle: str, *, line: int) -> tuple[int, int]:
        """The nearest known line at or before ``line``, and the byte offset at which it starts."""
        with self._lock:
            return nearest(self._data[self._resolve(handle)][1], line)

    def annotate(self, handle: str, *, kind: str = "", cut: str = "", shown_bytes: int | None = None) -> None:
        """Remembers what an output was taken for and how it was shown."""
        with self._lock:
            code = self._resolve(handle)
            self._rows[code] = replace(self._rows[code], kind=kind, cut=cut, shown_bytes=shown_bytes)

    def pin(self, handle: str) -> Stored:
        return self._set_pinned(handle, True)

    def unpin(self, handle: str) -> Stored:
        return self._set_pinned(handle, False)

    @contextmanager
    def lease(self, handle: str, *, seconds: float = 600) -> Iterator[Stored]:
        """While open, retention leaves the output alone."""
        with self._lock:
            code = self._resolve(handle)
            row = self._rows[code]
            self._leases[code] = self._leases.get(code, 0) + 1
        try:
            yield row
        finally:
            with self._lock:
                self._leases[code] -= 1
                if not self._leases[code]:
                    del self._leases[code]

    def plan_gc(self) -> list[Doomed]:
        """What ``gc`` would remove now, and why."""
        with self._lock:
            leased = {self._rows[code].handle for code in self._leases if code in self._rows}
            return doomed(self._rows.values(), self._retention, now=self._clock(), leased=leased)

    def gc(self) -> list[Doomed]:
        with self._lock:
            plan = self.plan_gc()
            for row, reason in plan:
                self._bury(code_of(row.digest), reason)
            return plan

    def totals(self) -> tuple[int, int]:
        """How many outputs there are and how many bytes they take."""
        with self._lock:
            return len(self._rows), self._total

    def tombstones(self) -> list[Tombstone]:
        """What was removed of late, the latest first."""
        with self._lock:
            return list(reversed(self._tombstones.values()))

    def close(self) -> None:
        """Nothing to close; here so that every store of ours has it."""

    def _set_pinned(self, handle: str, pinned: bool) -> Stored:  # noqa: FBT001
        with self._lock:
            code = self._resolve(handle)
            self._rows[code] = replace(self._rows[code], pinned=pinned)
            return self._rows[code]

    def _resolve(self, handle: str) -> str:
        start = typed(handle)
        first, last = code_range(start)
        codes = self._codes[bisect_left(self._codes, first) : bisect_left(self._codes, last)]
        if len(codes) == 1:
            return codes[0]
        for code in codes:
            if self._rows[code].handle == PREFIX + start:
                return code
        if codes:
            raise AmbiguousHandle(PREFIX + start, [self._rows[code].handle for code in codes])
        tombstone = next((t for c, t in self._tombstones.items() if c.startswith(start)), None)
        if tombstone is not None:
            raise ExpiredHandle(tombstone.handle, tombstone.words)
        raise unknown(handle)

    def _keep(self, data: bytes, tallied: Tallied, call: Call) -> Stored:
        code = code_of(tallied.digest)
        now = self._clock()
        with self._lock:
            known = self._rows.get(code)
            if known is not None:
                call = call.filled_from(known.call)
                row = replace(known, call=call, created=now, read=now, times=known.times + 1)
            else:
                row = Stored(
                    handle=self._handle_for(code),
                    digest=tallied.digest,
                    bytes=len(data),
                    lines=tallied.lines,
                    created=now,
                    read=now,
                    call=call,
                )
                self._make_room(len(data))
                self._data[code] = (data, tallied.line_starts)
                self._codes.insert(bisect_left(self._codes, code), code)
                self._total += len(data)
                self._tombstones.pop(code, None)
            self._rows[code] = row
            if self._retention.max_outputs or self._retention.max_per_session or self._retention.days is not None:
                self.gc()
            return row

    def _handle_for(self, code: str) -> str:
        if code in self._tombstones:
            return self._tombstones[code].handle
        first, last = code_range(code[: len(shortest(code, ())) - len(PREFIX)])
        near = self._codes[bisect_left(self._codes, first) : bisect_left(self._codes, last)]
        near += [other for other in self._tombstones if first <= other < last]
        return shortest(code, near)

    def _make_room(self, coming: int) -> None:
        if self._total + coming <= self._max_bytes:
            return
        for code, row in sorted(self._rows.items(), key=lambda item: item[1].read):
            if self._total + coming <= self._max_bytes:
                return
            if not row.pinned and code not in self._leases:
                self._bury(code, f"over {self._max_bytes:,} bytes, least recently read")
        if self._total + coming > self._max_bytes:
            raise StoreUnavailable(self.where, f"{coming:,} bytes don't fit beside what is pinned or being read")

    def _bury(self, code: str, reason: str) -> None:
        row = self._rows.pop(code)
        self._total -= len(self._data.pop(code)[0])
        del self._codes[bisect_left(self._codes, code)]
        self._tombstones[code] = Tombstone.of(row, reason=reason, now=self._clock())
        while len(self._tombstones) > MOST_TOMBSTONES:
            del self._tombstones[next(iter(self._tombstones))]


class MemorySpill:
    """An output on its way into a ``MemoryStore``."""

    def __init__(self, store: MemoryStore, max_bytes: int) -> None:
        self._store = store
        self._max_bytes = max_bytes
        self._data = bytearray()
        self._tally = Tally(store.where)
        self._ended = False

    def counted_by(self, lines: LineStarts) -> None:
        self._tally.counted_by(lines)

    def write(self, data: bytes) -> None:
        if self._ended:
            raise StoreUnavailable(self._store.where, "this spill has ended")
        if len(self._data) + len(data) > self._max_bytes:
            self.discard()
            raise StoreUnavailable(self._store.where, f"it holds at most {self._max_bytes:,} bytes")
        self._data += data
        self._tally.feed(data)

    def commit(self, call: Call) -> Stored:
        if self._ended:
            raise StoreUnavailable(self._store.where, "this spill has ended")
        self._ended = True
        data, self._data = bytes(self._data), bytearray()
        return self._store._keep(data, self._tally.finish(), call)

    def discard(self) -> None:
        self._ended = True
        self._data = bytearray()
