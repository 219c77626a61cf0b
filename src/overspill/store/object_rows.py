"""The rows of an object store: one small JSON object per output, changed only under the condition that it is the same.

``rows/…`` holds the row; emptied, under that condition again, it says that the output was removed, so that nobody's
new output of the same content can go with the old one.  ``gone/…`` then holds the tombstone.  A row of a newer
version is never touched.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from overspill.core.model import Call
from overspill.core.ports import Stored
from overspill.errors import AmbiguousHandle, ExpiredHandle, StoreUnavailable
from overspill.store.handles import PREFIX, SHORT, code_of, shortest, typed, unknown
from overspill.store.journal import decoded, encoded
from overspill.store.object_bucket import Bucket, Found
from overspill.store.tombstones import Tombstone

VERSION = 1
MOST_CANDIDATES = 20


class Row(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """What is known of an output, and the key that its bytes have."""

    digest: str
    handle: str
    blob: str
    bytes: int
    lines: int
    created: float
    read: float
    call: Call
    times: int = 1
    pinned: bool = False
    kind: str = ""
    cut: str = ""
    shown_bytes: int | None = None
    version: int = VERSION

    @property
    def code(self) -> str:
        return code_of(self.digest)

    def stored(self) -> Stored:
        return Stored(
            handle=self.handle,
            digest=self.digest,
            bytes=self.bytes,
            lines=self.lines,
            created=self.created,
            read=self.read,
            call=self.call,
            pinned=self.pinned,
            shown_bytes=self.shown_bytes,
            kind=self.kind,
            cut=self.cut,
            times=self.times,
        )


class Read(NamedTuple):
    """A row as it was read; None in its place when the output was removed, or the object is damaged."""

    row: Row | None
    found: Found


class Rows:
    """The rows below one prefix, and the tombstones beside them."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, Row | None]] = {}

    def read(self, code: str) -> Read | None:
        found = self._bucket.get(key("rows", code))
        return None if found is None else Read(self._row(found.data), found)

    def find(self, handle: str) -> Row:
        """The output of a handle, or of a unique prefix of one."""
        start = typed(handle)
        listed = [(code_in(each.path), each.size) for each in self._below("rows", start)]
        codes = [code for code, size in listed if size]
        rows = [read.row for code in codes[:MOST_CANDIDATES] if (read := self.read(code)) is not None and read.row]
        for row in rows:
            if row.handle == PREFIX + start or len(codes) == 1:
                return row
        if rows:
            raise AmbiguousHandle(PREFIX + start, [row.handle for row in rows])
        for each in self._below("gone", start):
            if stone := self._stone(each.path):
                raise ExpiredHandle(stone.handle, stone.words)
        if codes:
            raise StoreUnavailable(self._bucket.where, f"the row of {PREFIX}{codes[0]} is damaged")
        if listed:
            raise ExpiredHandle(PREFIX + start, "removed")
        raise unknown(handle)

    def put(self, row: Row, *, instead_of: Found | None) -> bool:
        """A first row, in place of nothing or of one that is over; False when somebody was faster."""
        done = self._bucket.put(key("rows", row.code), encoded(row), when=instead_of or "absent")
        if done:
            self._bucket.delete([key("gone", row.code)])
        return done

    def change(self, code: str, values: Callable[[Row], dict[str, Any]]) -> Row | None:
        """The row with other values, however many change it at once; None when it is gone."""
        while True:
            read = self.read(code)
            if read is None or read.row is None:
                return None
            changed: Row = msgspec.structs.replace(read.row, **values(read.row))
            if self._bucket.put(key("rows", code), encoded(changed), when=read.found):
                return changed

    def retire(self, code: str, *, reason: str, now: float, still: Callable[[Row], bool]) -> Row | None:
        """Turns a row into a tombstone while ``still`` says so of what it is by then; the row that went."""
        told = False
        while True:
            read = self.read(code)
            if read is None or read.row is None:
                return None
            if not still(read.row):
                if told:
                    self._bucket.delete([key("gone", code)])
                return None
            stone = Tombstone.of(read.row.stored(), reason=reason, now=now)
            told = self._bucket.put(key("gone", code), encoded(stone))
            if self._bucket.put(key("rows", code), b"", when=read.found):
                return read.row

    def all(self) -> list[Row]:
        """Every row; only those that changed since the last time are fetched."""
        return [row for row in self._fetched().values() if row is not None]

    def damaged(self) -> list[str]:
        """The paths of rows that can't be read."""
        return [path for path, row in self._fetched().items() if row is None]

    def clear(self, path: str) -> None:
        """Empties a damaged row, unless somebody has mended it."""
        found = self._bucket.get(path)
        if found is not None and self._row(found.data) is None:
            self._bucket.put(path, b"", when=found)

    def handle_for(self, code: str) -> str:
        """The shortest handle that is free for a new output; a removed one's stays its own."""
        gone = [code_in(each.path) for each in self._below("gone", code[:SHORT])]
        if code in gone and (stone := self._stone(key("gone", code))):
            return stone.handle
        return shortest(code, [*gone, *(code_in(each.path) for each in self._below("rows", code[:SHORT]))])

    def stones(self) -> list[Tombstone]:
        """What was removed of late, the latest first."""
        paths = [each.path for each in self._bucket.objects("gone")]
        stones = [stone for stone in self._bucket.at_once(self._stone, paths) if stone]
        return sorted(stones, key=lambda stone: stone.removed, reverse=True)

    def _fetched(self) -> dict[str, Row | None]:
        listed = {each.path: each.tag for each in self._bucket.objects("rows") if each.size}
        with self._lock:
            known = {path: found for path, found in self._known.items() if listed.get(path) == found[0]}
        missing = [path for path in listed if path not in known]
        for path, found in zip(missing, self._bucket.at_once(self._bucket.get, missing), strict=True):
            if found is not None and found.data:
                known[path] = (listed[path], self._row(found.data))
        with self._lock:
            self._known = known
        return {path: row for path, (_, row) in known.items()}

    def _below(self, kind: str, start: str) -> Iterator[Any]:
        """Objects by the beginning of their code, of which the first two characters are a segment of the path."""
        shard = f"{kind}/{start[:2]}" if len(start) >= 2 else kind
        return (each for each in self._bucket.objects(shard) if code_in(each.path).startswith(start))

    def _stone(self, path: str) -> Tombstone | None:
        found = self._bucket.get(path)
        stone = decoded(found.data, Tombstone) if found else None
        return stone if isinstance(stone, Tombstone) else None

    def _row(self, data: bytes) -> Row | None:
        row = decoded(data, Row) if data else None
        if isinstance(row, Row) and row.version <= VERSION:
            return row
        if _version(data) > VERSION:
            raise StoreUnavailable(
                self._bucket.where, "it was written by a newer version of overspill; upgrade this one"
            )
        return None


def key(kind: str, code: str) -> str:
    return f"{kind}/{code[:2]}/{code}"


def code_in(path: str) -> str:
    return path.rpartition("/")[2]


def _version(data: bytes) -> int:
    try:
        version = json.loads(data)["version"]
    except (ValueError, KeyError, TypeError):
        return 0
    return version if isinstance(version, int) else 0
