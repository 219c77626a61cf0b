"""The storage interface ``save, read, cleanup, directory``: over any store of ours, or as one of a user's own.

``Storage`` gives a store these four; ``StorageStore`` makes a store of an object that has them.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Protocol, TypeVar

from overspill.core.model import Call, totals_of
from overspill.core.ports import Store, Stored
from overspill.errors import AmbiguousHandle, StoreError, StoreUnavailable
from overspill.source import said
from overspill.store.handles import PREFIX, code_of, shortest, typed, unknown
from overspill.store.memory import BytesBlob

T = TypeVar("T")

DAY_SECONDS = 86_400


class Storage:
    """A store in four verbs."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @property
    def directory(self) -> str:
        """Where outputs lie: a directory, or the store's URL."""
        return str(getattr(self.store, "where", ""))

    def save(self, content: str | bytes, *, tool: str = "", call_id: str = "") -> Stored:
        from overspill.core.measure import encode

        call = Call(tool=tool, id=call_id)
        spill = self.store.spill(call)
        try:
            spill.write(encode(content) if isinstance(content, str) else content)
        except BaseException:
            spill.discard()
            raise
        return spill.commit(call)

    def read(self, handle: str) -> bytes:
        blob = self.store.open(handle)
        try:
            return blob.read(0, blob.size)
        finally:
            blob.close()

    def cleanup(self, retention_days: float, *, now: float | None = None) -> list[Stored]:
        """Removes what is older; what went."""
        limit = (time.time() if now is None else now) - retention_days * DAY_SECONDS
        old = [row for row in self.store.outputs() if row.created <= limit and not row.pinned]
        for row in old:
            self.store.remove(row.handle, reason=f"older than {retention_days:g} days")
        return old


class UserStorage(Protocol):
    """What a user writes; ``save`` answers where it put the content."""

    directory: str

    def save(self, content: bytes, *, tool: str, call_id: str) -> str: ...

    def read(self, path: str) -> bytes: ...

    def cleanup(self, retention_days: float) -> object: ...


class StorageStore:
    """A store over a user's storage: whole outputs go there, what is known of them stays in memory.

    ``save`` gets its content whole, so an output is in memory until it is kept.
    """

    def __init__(
        self,
        storage: UserStorage,
        *,
        retention_days: float | None = 7,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.where = str(storage.directory)
        self._storage = storage
        self._retention_days = retention_days
        self._clock = clock
        self._cleaned = False
        self._lock = threading.Lock()
        self._rows: dict[str, Stored] = {}

    def spill(self, call: Call) -> _Spill:
        return _Spill(self)

    def stored(self, handle: str) -> Stored:
        start = typed(handle)
        with self._lock:
            found = [row for code, row in self._rows.items() if code.startswith(start)]
        if len(found) > 1:
            raise AmbiguousHandle(PREFIX + start, [row.handle for row in found])
        if not found:
            raise unknown(handle)
        return found[0]

    def open(self, handle: str) -> BytesBlob:
        path = self.stored(handle).path
        content = self._faults(lambda: self._storage.read(str(path)))
        if not isinstance(content, bytes | bytearray):
            raise StoreUnavailable(self.where, f"read() returned {type(content).__name__}, not bytes")
        return BytesBlob(bytes(content))

    def outputs(self) -> Iterator[Stored]:
        with self._lock:
            return iter(sorted(self._rows.values(), key=lambda row: row.created, reverse=True))

    def remove(self, handle: str, *, reason: str) -> None:
        """Forgets the output; its file goes with the storage's own clean-up."""
        row = self.stored(handle)
        with self._lock:
            self._rows.pop(code_of(row.digest), None)

    def _keep(self, data: bytes, call: Call) -> Stored:
        digest = hashlib.sha256(data).hexdigest()
        code, now = code_of(digest), self._clock()
        with self._lock:
            known = self._rows.get(code)
            handle = known.handle if known else shortest(code, self._rows)
        path = known.path if known else self._saved(data, call)
        size, lines = totals_of(data)
        row = Stored(
            handle=handle, digest=digest, bytes=size, lines=lines, created=now, read=now, call=call, path=path,
            times=known.times + 1 if known else 1,
        )  # fmt: skip
        with self._lock:
            self._rows[code] = row
        self._clean_once()
        return row

    def _saved(self, data: bytes, call: Call) -> str:
        path = self._faults(lambda: self._storage.save(data, tool=call.tool, call_id=call.id))
        if not isinstance(path, str | os.PathLike):
            raise StoreUnavailable(self.where, f"save() returned {type(path).__name__}, not a path")
        return os.fspath(path)

    def _clean_once(self) -> None:
        """A courtesy at the first output: its faults must not cost what was just kept."""
        if self._cleaned or self._retention_days is None:
            return
        self._cleaned = True
        with suppress(Exception, SystemExit):
            self._storage.cleanup(self._retention_days)

    def _faults(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except StoreError:
            raise
        except (Exception, SystemExit) as error:
            raise StoreUnavailable(self.where, said(error) or type(error).__name__) from error


class _Spill:
    def __init__(self, store: StorageStore) -> None:
        self._store, self._data = store, bytearray()

    def write(self, data: bytes) -> None:
        self._data += data

    def commit(self, call: Call) -> Stored:
        data, self._data = bytes(self._data), bytearray()
        return self._store._keep(data, call)

    def discard(self) -> None:
        self._data = bytearray()
