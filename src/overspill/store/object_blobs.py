"""One output of an object store: on its way up, in parts when it is large, and read back by ranges."""

from __future__ import annotations

import secrets
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any

from overspill.core.model import Call
from overspill.core.ports import Stored
from overspill.errors import StoreUnavailable
from overspill.store.tally import Tallied, Tally

if TYPE_CHECKING:
    from overspill.core.line_starts import LineStarts
    from overspill.store.object import ObjectStore
    from overspill.store.object_rows import Row

PART_BYTES = 8 * 1024 * 1024
"""What is smaller goes up in one request; what is larger in parts of this size, while the tool runs."""

BLOCK_BYTES = 1024 * 1024
MOST_BLOCKS = 8


def lines_key(blob: str) -> str:
    """Where the line index of an upload lies."""
    return "lines/" + blob.removeprefix("blobs/")


class ObjectSpill:
    """Holds at most a few parts; nothing is visible to anyone before ``commit``."""

    def __init__(self, store: ObjectStore) -> None:
        token = secrets.token_hex(16)
        self.key = f"blobs/{token[:2]}/{token}"
        self.uploaded = False
        self._store = store
        self._gathered = bytearray()
        self._writer: Any = None
        self._tally = Tally(store.where)
        self._ended = False

    def counted_by(self, lines: LineStarts) -> None:
        self._tally.counted_by(lines)

    @cached_property
    def tallied(self) -> Tallied:
        """What is known of the whole: asked for when all is written."""
        return self._tally.finish()

    def write(self, data: bytes) -> None:
        if self._ended:
            raise StoreUnavailable(self._store.where, "this spill has ended")
        self._tally.feed(data)
        rest = memoryview(data)
        while len(self._gathered) + len(rest) >= PART_BYTES:
            room = PART_BYTES - len(self._gathered)
            self._gathered += rest[:room]
            rest = rest[room:]
            try:
                with self._store.bucket.faults():
                    self._send()
            except BaseException:
                self.discard()
                raise
        self._gathered += rest

    def commit(self, call: Call) -> Stored:
        if self._ended:
            raise StoreUnavailable(self._store.where, "this spill has ended")
        self._ended = True
        with self._store.bucket.faults():
            if self._writer is not None:
                self._send()
                self._writer.close()
                self._writer = None
                self.uploaded = True
        return self._store.keep(self, call)

    def upload(self) -> None:
        """Sends what could wait until it is known that it is needed: small outputs, and the line index."""
        if not self.uploaded:
            self._store.bucket.put(self.key, bytes(self._gathered))
            self._gathered.clear()
            self.uploaded = True
        if line_starts := self.tallied.line_starts:
            self._store.bucket.put(lines_key(self.key), line_starts)

    def discard(self) -> None:
        """Ends it. Parts that were sent never become an object; a rule of the bucket removes them."""
        self._ended = True
        self._gathered.clear()
        self._writer = None

    def _send(self) -> None:
        if self._writer is None:
            self._writer = self._store.bucket.writer(self.key, part_bytes=PART_BYTES)
        self._writer.write(bytes(self._gathered))
        self._gathered.clear()


class ObjectBlob:
    """Ranges of an object; small reads near each other share one request."""

    def __init__(self, store: ObjectStore, row: Row) -> None:
        self._store = store
        self._row = row
        self._blocks: dict[int, bytes] = {}
        self._lock = threading.Lock()
        self.fetched_bytes = 0
        """What was asked of the service so far."""
        self.requests = 0

    @property
    def size(self) -> int:
        return self._row.bytes

    def read(self, start: int, length: int) -> bytes:
        if start < 0 or length <= 0 or start >= self.size:
            return b""
        end = min(start + length, self.size)
        if end - start > BLOCK_BYTES:
            return self._fetch(start, end)
        first = start // BLOCK_BYTES * BLOCK_BYTES
        data = self._block(first)[start - first : end - first]
        if end > first + BLOCK_BYTES:
            data += self._block(first + BLOCK_BYTES)[: end - first - BLOCK_BYTES]
        return data

    def close(self) -> None:
        self._blocks.clear()

    def _block(self, first: int) -> bytes:
        with self._lock:
            if first in self._blocks:
                return self._blocks[first]
        data = self._fetch(first, min(first + BLOCK_BYTES, self.size))
        with self._lock:
            self._blocks[first] = data
            while len(self._blocks) > MOST_BLOCKS:
                del self._blocks[next(iter(self._blocks))]
        return data

    def _fetch(self, start: int, end: int) -> bytes:
        self.requests += 1
        with self._store.bucket.faults():
            try:
                data = self._store.bucket.get_range(self._row.blob, start, end)
            except FileNotFoundError:
                # Made again meanwhile, the same bytes can have another key.
                self._row = self._store.moved(self._row)
                return self._fetch(start, end)
        self.fetched_bytes += len(data)
        if len(data) != end - start:
            raise StoreUnavailable(self._store.where, f"the service sent {len(data):,} bytes of {end - start:,}")
        return data
