"""The object store: the same promises on S3-compatible services, Google Cloud Storage and Azure, by URL.

    s3://bucket/prefix?endpoint=http://…&region=…     gs://bucket/prefix     az://container/prefix

An output is streamed to a key of its own, in parts when it is large; a small JSON object per output is
its row, created under a condition, so that equal outputs of a whole fleet are kept once.  Reading fetches
ranges.  Retention works by listing, at most once an hour for all processes together.  Settings in the
URL's query are the service's own; credentials come from the environment.  Needs the extra ``s3``.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from overspill.core.model import Call
from overspill.core.ports import Stored
from overspill.errors import ExpiredHandle, MissingExtra, StoreError
from overspill.store.handles import code_of
from overspill.store.lines import WORTH_BYTES, nearest
from overspill.store.object_blobs import ObjectBlob, ObjectSpill, lines_key
from overspill.store.object_bucket import Bucket
from overspill.store.retention import DAY_SECONDS, Doomed, Retention, doomed
from overspill.store.tombstones import KEPT_DAYS, Tombstone

if TYPE_CHECKING:
    from overspill.store.object_rows import Read, Row, Rows

UPKEEP_SECONDS = 3600
ORPHAN_SECONDS = 86_400
READ_SECONDS = 3600
FRESH_SECONDS = 86_400
"""An output made again is uploaded again after this, so that rules of the bucket count its age from the latest call."""


class ObjectStore:
    """Whole outputs under one prefix of a bucket."""

    def __init__(
        self,
        url: str,
        *,
        retention_days: float | str | None = 7,
        max_total_bytes: int | str | None = "2 GB",
        max_outputs: int | None = None,
        max_per_session: int | None = None,
        timeout_seconds: float = 30,
        clock: Callable[[], float] = time.time,
    ) -> None:
        from importlib.util import find_spec

        if find_spec("obstore") is None:
            raise MissingExtra(f"a store at {url.partition(':')[0]}://", "s3")
        self.retention = Retention.of(
            retention_days=retention_days,
            max_total_bytes=max_total_bytes,
            max_outputs=max_outputs,
            max_per_session=max_per_session,
        )
        self.bucket = Bucket(url, timeout_seconds=timeout_seconds)
        self.where = self.bucket.where
        self.clock = clock
        self._rows_: Rows | None = None
        self._latest: Row | None = None
        self._touched: dict[str, float] = {}
        self._kept_up = False

    @property
    def rows(self) -> Rows:
        if self._rows_ is None:
            from overspill.store.object_rows import Rows

            self._rows_ = Rows(self.bucket)
        return self._rows_

    # -- the Store protocol ------------------------------------------------------------------------

    def spill(self, call: Call) -> ObjectSpill:
        return ObjectSpill(self)

    def stored(self, handle: str) -> Stored:
        return self._find(handle).stored()

    def open(self, handle: str) -> ObjectBlob:
        row = self._find(handle)
        now = self.clock()
        if abs(now - self._touched.get(row.code, 0)) > READ_SECONDS:
            self._touched[row.code] = now
            with suppress(StoreError), self.bucket.faults():
                self.bucket.put(f"read/{row.code[:2]}/{row.code}", b"")
        return ObjectBlob(self, row)

    def outputs(self) -> Iterator[Stored]:
        with self.bucket.faults():
            rows = sorted(self.rows.all(), key=lambda row: (row.created, row.handle), reverse=True)
        return (row.stored() for row in rows)

    def remove(self, handle: str, *, reason: str) -> None:
        row = self._find(handle)
        with self.bucket.faults():
            self._retire(row, reason, lambda _: True)

    # -- richer verbs ------------------------------------------------------------------------------

    def pin(self, handle: str) -> Stored:
        """Retention leaves it alone until ``unpin``."""
        return self._changed(handle, pinned=True)

    def unpin(self, handle: str) -> Stored:
        return self._changed(handle, pinned=False)

    def annotate(self, handle: str, *, kind: str = "", cut: str = "", shown_bytes: int | None = None) -> None:
        """Remembers what an output was taken for and how it was shown."""
        self._changed(handle, kind=kind, cut=cut, shown_bytes=shown_bytes)

    @contextmanager
    def lease(self, handle: str, *, seconds: float = 600) -> Iterator[Stored]:
        """While open, and for ``seconds`` at most, retention leaves the output alone."""
        row = self._find(handle)
        path = f"leases/{row.code}-{int(self.clock() + seconds) + 1}-{secrets.token_hex(6)}"
        with suppress(StoreError), self.bucket.faults():
            self.bucket.put(path, b"")
        try:
            yield row.stored()
        finally:
            with suppress(StoreError), self.bucket.faults():
                self.bucket.delete([path])

    def line_offset(self, handle: str, *, line: int) -> tuple[int, int]:
        """The nearest known line at or before ``line``, and the byte offset at which it starts."""
        row = self._find(handle)
        if row.bytes < WORTH_BYTES:
            return 1, 0
        with self.bucket.faults():
            found = self.bucket.get(lines_key(row.blob))
        return nearest(found.data, line) if found else (1, 0)

    def plan_gc(self) -> list[Doomed]:
        """What ``gc`` would remove now, and why; changes nothing."""
        with self.bucket.faults():
            return [found for _, found in self._plan()]

    def gc(self) -> list[Doomed]:
        """Removes what retention dooms, uploads that became nobody's, and tombstones of long ago."""
        with self.bucket.faults():
            planned = self._plan()
            taken = self.bucket.at_once(self._taken, planned)
            self._sweep()
        return [found for found in taken if found is not None]

    def remains(self) -> dict[str, int]:
        """What crashes left unfinished, with its bytes: ``gc`` sweeps it."""
        with self.bucket.faults():
            nobodys = set(self.unnamed())
            uploads = [each for kind in ("blobs", "lines") for each in self.bucket.objects(kind)] if nobodys else []
        return {each.path: each.size for each in uploads if each.path in nobodys}

    def totals(self) -> tuple[int, int]:
        """How many outputs there are and how many bytes they take."""
        with self.bucket.faults():
            rows = self.rows.all()
        return len(rows), sum(row.bytes for row in rows)

    def tombstones(self) -> list[Tombstone]:
        """What was removed of late, the latest first."""
        with self.bucket.faults():
            return self.rows.stones()

    def close(self) -> None:
        """Lets go of the connection; the next call opens it again."""
        self.bucket.close()

    # -- for the store's own modules ---------------------------------------------------------------

    def keep(self, spill: ObjectSpill, call: Call) -> Stored:
        """Makes an upload an output; the upload goes when the same bytes are here already."""
        with self.bucket.faults():
            while True:
                read = self.rows.read(code_of(spill.tallied.digest))
                row = self._again(spill, read.row, call) if read and read.row else self._first(spill, read, call)
                if row is not None:
                    break
            if spill.uploaded and row.blob != spill.key:
                self.bucket.delete([spill.key, lines_key(spill.key)])
        # What is said of an output right after it was kept needs no search for it.
        self._latest = row
        self._light_upkeep()
        return row.stored()

    def moved(self, row: Row) -> Row:
        """The row as it is now, when its bytes are not where they were; else it is gone."""
        with self.bucket.faults():
            read = self.rows.read(row.code)
        if read is None or read.row is None or read.row.blob == row.blob:
            reason = "while it was being read" if read is None or read.row is None else "its object was deleted"
            raise ExpiredHandle(row.handle, Tombstone.of(row.stored(), reason=reason, now=self.clock()).words)
        return read.row

    def unnamed(self) -> list[str]:
        """Uploads of a day ago that no row names."""
        # Listed before the rows: whatever gets its row meanwhile is named by then.
        uploads = [each for kind in ("blobs", "lines") for each in self.bucket.objects(kind) if _is_old(each.modified)]
        named = {path for row in self.rows.all() for path in (row.blob, lines_key(row.blob))}
        return [each.path for each in uploads if each.path not in named]

    def lost(self) -> list[Row]:
        """Rows whose bytes are not there, or not in their full length."""
        rows = self.rows.all()
        sizes = {each.path: each.size for each in self.bucket.objects("blobs")}
        return [row for row in rows if sizes.get(row.blob) != row.bytes]

    # -- inside ------------------------------------------------------------------------------------

    def _find(self, handle: str) -> Row:
        with self.bucket.faults():
            return self.rows.find(handle)

    def _changed(self, handle: str, **values: Any) -> Stored:
        latest = self._latest
        found = latest if latest is not None and latest.handle == handle else self._find(handle)
        with self.bucket.faults():
            row = self.rows.change(found.code, lambda _: values) or self.moved(found)
        return row.stored()

    def _first(self, spill: ObjectSpill, read: Read | None, call: Call) -> Row | None:
        """A row where there is none, or one that is over; None when somebody was faster."""
        from overspill.store.object_rows import Row

        spill.upload()
        now, whole = self.clock(), spill.tallied
        row = Row(
            digest=whole.digest, handle=self.rows.handle_for(code_of(whole.digest)), blob=spill.key, bytes=whole.size,
            lines=whole.lines, created=now, read=now, call=call,
        )  # fmt: skip
        return row if self.rows.put(row, instead_of=read.found if read else None) else None

    def _again(self, spill: ObjectSpill, known: Row, call: Call) -> Row | None:
        """The row of an output that was made again; None when it went meanwhile."""
        there = self.bucket.head(known.blob)
        fresh = there is not None and there.size == known.bytes and not _is_old(there.modified, FRESH_SECONDS)
        if not fresh:
            spill.upload()

        def values(current: Row) -> dict[str, Any]:
            now = self.clock()
            replaced = {} if fresh or current.blob != known.blob else {"blob": spill.key}
            told = call.filled_from(current.call)
            return {"call": told, "created": now, "read": now, "times": current.times + 1, **replaced}

        row = self.rows.change(known.code, values)
        if row is not None and row.blob == spill.key != known.blob:
            self.bucket.delete([known.blob, lines_key(known.blob)])
        return row

    def _retire(self, row: Row, reason: str, still: Callable[[Row], bool]) -> Row | None:
        def is_same(current: Row) -> bool:
            return current.created == row.created and still(current)

        gone = self.rows.retire(row.code, reason=reason, now=self.clock(), still=is_same)
        if gone is not None:
            self.bucket.delete([gone.blob, lines_key(gone.blob), f"read/{row.code[:2]}/{row.code}"])
        return gone

    def _taken(self, planned: tuple[Row, Doomed]) -> Doomed | None:
        row, found = planned
        return found if self._retire(row, found.reason, self._is_free) else None

    def _is_free(self, row: Row) -> bool:
        return not row.pinned and row.code not in self._leased()

    # -- upkeep ------------------------------------------------------------------------------------

    def _plan(self) -> list[tuple[Row, Doomed]]:
        import msgspec

        rows = {row.handle: row for row in self.rows.all()}
        reads = {each.path.rpartition("/")[2]: each.modified for each in self.bucket.objects("read")}
        leased = self._leased()
        for handle, row in rows.items():
            if (read := reads.get(row.code, 0)) > row.read:
                rows[handle] = msgspec.structs.replace(row, read=read)
        spared = {handle for handle, row in rows.items() if row.code in leased}
        found = doomed((row.stored() for row in rows.values()), self.retention, now=self.clock(), leased=spared)
        return [(rows[each.row.handle], each) for each in found]

    def _leased(self) -> set[str]:
        now = self.clock()
        return {code for _, code, until in self._leases() if until >= now}

    def _leases(self) -> Iterator[tuple[str, str, int]]:
        """Path, code and end of each."""
        for each in self.bucket.objects("leases"):
            code, _, rest = each.path.rpartition("/")[2].partition("-")
            if (until := rest.partition("-")[0]).isdecimal():
                yield each.path, code, int(until)

    def _light_upkeep(self) -> None:
        """Once per process, and at most once an hour among all of them; its faults cost nobody an output."""
        if self._kept_up:
            return
        self._kept_up = True
        with suppress(StoreError), self.bucket.faults():
            last, now = self.bucket.get("upkeep"), self.clock()
            if last is None or not last.data.isdigit() or abs(now - int(last.data)) > UPKEEP_SECONDS:
                self.bucket.put("upkeep", b"%d" % now)
                self.gc()

    def _sweep(self) -> None:
        """What became nobody's. Ages are by the service's clock."""
        for row in self.lost():
            self._retire(row, "its object was deleted", lambda current: self.bucket.head(current.blob) is None)
        for path in self.rows.damaged():
            self.rows.clear(path)
        kept_seconds = KEPT_DAYS * DAY_SECONDS
        old = [each.path for each in self.bucket.objects("gone") if _is_old(each.modified, kept_seconds)]
        for each in self.bucket.objects("rows"):
            # Looked at once more: its content may have been made again this moment.
            if not each.size and _is_old(each.modified, kept_seconds):
                now_there = self.bucket.head(each.path)
                old += [each.path] if now_there and not now_there.size else []
        old += [path for path, _, until in self._leases() if until < self.clock()]
        self.bucket.delete([*old, *self.unnamed()])


def _is_old(modified: float, seconds: float = ORPHAN_SECONDS) -> bool:
    return time.time() - modified > seconds
