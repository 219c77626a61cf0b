"""The object store: the same promises on S3-compatible services, Google Cloud Storage and Azure, by URL.

    s3://bucket/prefix?endpoint=http://…&region=…     gs://bucket/prefix     az://container/prefix

An output is streamed to a key of its own, in parts when it is large; a small JSON object per output is
its row, created under a condition, so that equal outputs of a whole fleet are kept once.  Reading fetches
ranges.  Retention works by listing, at most once an hour for all processes together.  Settings in the
URL's query are the service's own; credentials come from the environment.  Needs the extra ``s3``.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from overspill.core.model import Call
from overspill.core.ports import Stored
from overspill.errors import (
    AmbiguousHandle,
    ExpiredHandle,
    MissingExtra,
    PolicyError,
    StoreError,
    StoreUnavailable,
    UnknownHandle,
)
from overspill.store.handles import PREFIX, code_of, shortest, typed
from overspill.store.lines import WORTH_BYTES, nearest
from overspill.store.object_blobs import ObjectBlob, ObjectSpill
from overspill.store.retention import DAY_SECONDS, Doomed, Retention, doomed
from overspill.store.tombstones import KEPT_DAYS, Tombstone

if TYPE_CHECKING:
    from overspill.store.object_rows import Row

UPKEEP_SECONDS = 3600
ORPHAN_SECONDS = 86_400
READ_SECONDS = 3600
REQUESTS_AT_ONCE = 16
MOST_RETRYING = timedelta(seconds=10)
"""A tool waits for its output to be saved: better an honest notice soon than a copy late."""


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
        parts = urlsplit(url)
        self.where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self.retention = Retention.of(
            retention_days=retention_days,
            max_total_bytes=max_total_bytes,
            max_outputs=max_outputs,
            max_per_session=max_per_session,
        )
        self.clock = clock
        self._query = dict(parse_qsl(parts.query))
        self._timeout = timedelta(seconds=timeout_seconds)
        self._bucket_: Any = None
        self._lock = threading.Lock()
        self._rows: dict[str, tuple[str, Row]] = {}
        self._touched: dict[str, float] = {}
        self._kept_up = False

    # -- the Store protocol ------------------------------------------------------------------------

    def spill(self, call: Call) -> ObjectSpill:
        return ObjectSpill(self)

    def stored(self, handle: str) -> Stored:
        return self._find(handle).stored()

    def open(self, handle: str) -> ObjectBlob:
        row = self._find(handle)
        with self.faults():
            blob = ObjectBlob(self, row.blob, row.bytes)
        now, code = self.clock(), code_of(row.digest)
        if now - self._touched.get(code, 0) > READ_SECONDS:
            self._touched[code] = now
            with suppress(StoreError), self.faults():
                self.put(_key("read", code), b"")
        return blob

    def outputs(self) -> Iterator[Stored]:
        rows = sorted(self._all_rows(), key=lambda row: (row.created, row.handle), reverse=True)
        return (row.stored() for row in rows)

    def remove(self, handle: str, *, reason: str) -> None:
        self._bury(self._find(handle), reason)

    # -- richer verbs ------------------------------------------------------------------------------

    def pin(self, handle: str) -> Stored:
        """Retention leaves it alone until ``unpin``."""
        return self._changed(self._find(handle), lambda _: {"pinned": True}).stored()

    def unpin(self, handle: str) -> Stored:
        return self._changed(self._find(handle), lambda _: {"pinned": False}).stored()

    def annotate(self, handle: str, *, kind: str = "", cut: str = "", shown_bytes: int | None = None) -> None:
        """Remembers what an output was taken for and how it was shown."""
        self._changed(self._find(handle), lambda _: {"kind": kind, "cut": cut, "shown_bytes": shown_bytes})

    @contextmanager
    def lease(self, handle: str, *, seconds: float = 600) -> Iterator[Stored]:
        """While open, and for ``seconds`` at most, retention leaves the output alone."""
        row = self._find(handle)
        path = f"leases/{code_of(row.digest)}-{int(self.clock() + seconds) + 1}-{secrets.token_hex(6)}"
        with suppress(StoreError), self.faults():
            self.put(path, b"")
        try:
            yield row.stored()
        finally:
            with suppress(StoreError), self.faults():
                self.delete([path])

    def line_offset(self, handle: str, *, line: int) -> tuple[int, int]:
        """The nearest known line at or before ``line``, and the byte offset at which it starts."""
        row = self._find(handle)
        if row.bytes < WORTH_BYTES:
            return 1, 0
        with self.faults():
            packed = self.get(_key("lines", code_of(row.digest)))
        return nearest(packed, line) if packed else (1, 0)

    def plan_gc(self) -> list[Doomed]:
        """What ``gc`` would remove now, and why; changes nothing."""
        return [found for _, found in self._plan()]

    def gc(self) -> list[Doomed]:
        """Removes what retention dooms, uploads that became nobody's, and tombstones of long ago."""
        gone = []
        for row, found in self._plan():
            current = self._row(code_of(row.digest))
            if current is not None and current.created == row.created and not current.pinned:
                self._bury(current, found.reason)
                gone.append(found)
        with self.faults():
            self._sweep()
        return gone

    def totals(self) -> tuple[int, int]:
        """How many outputs there are and how many bytes they take."""
        rows = self._all_rows()
        return len(rows), sum(row.bytes for row in rows)

    def tombstones(self) -> list[Tombstone]:
        """What was removed of late, the latest first."""
        with self.faults():
            stones = [_tombstone(data) for data in self._fetch([each["path"] for each in self._list("gone")]) if data]
        return sorted(stones, key=lambda stone: stone.removed, reverse=True)

    def close(self) -> None:
        """Lets go of the connection; the next call opens it again."""
        self._bucket_ = None

    # -- requests ----------------------------------------------------------------------------------

    @property
    def bucket(self) -> Any:
        """The service's client, made at the first request."""
        if self._bucket_ is None:
            from obstore import store as services
            from obstore.exceptions import UnknownConfigurationKeyError

            # Typed for each service apart, and here it is whichever the URL names.
            from_url: Any = services.from_url
            config: dict[str, Any] = dict(self._query)
            plain = config.get("endpoint", config.get("aws_endpoint", "")).startswith("http://")
            try:
                self._bucket_ = from_url(
                    self.where,
                    config=config,
                    client_options={"allow_http": plain, "timeout": self._timeout, "connect_timeout": "5s"},
                    retry_config={"max_retries": 2, "retry_timeout": min(self._timeout, MOST_RETRYING)},
                )
            except UnknownConfigurationKeyError as error:
                raise PolicyError(
                    "store", self.where, f"settings of the service in the URL's query ({error})"
                ) from None
        return self._bucket_

    def get(self, path: str) -> bytes | None:
        """A whole small object; None when it isn't there."""
        import obstore

        try:
            return bytes(obstore.get(self.bucket, path).bytes())
        except FileNotFoundError:
            return None

    def put(self, path: str, data: bytes, *, mode: Any = "overwrite") -> None:
        import obstore

        obstore.put(self.bucket, path, data, mode=mode, use_multipart=False)

    def delete(self, paths: list[str]) -> None:
        import obstore

        for path in paths:
            with suppress(FileNotFoundError):
                obstore.delete(self.bucket, path)

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Whatever the service says becomes one sentence."""
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            raise StoreUnavailable(self.where, _in_words(error)) from error
        except Exception as error:
            from obstore.exceptions import BaseError

            if isinstance(error, BaseError):
                raise StoreUnavailable(self.where, _in_words(error)) from error
            raise

    # -- rows --------------------------------------------------------------------------------------

    def keep(self, spill: ObjectSpill, call: Call) -> Stored:
        """Makes an upload an output; the upload goes when the same bytes are here already."""
        from overspill.store.object_rows import Row

        code, now = code_of(spill.digest), self.clock()
        with self.faults():
            while True:
                known = self._row(code)
                if known is None:
                    spill.upload()
                    row = Row(
                        digest=spill.digest, handle=self._handle_for(code), blob=spill.key, bytes=spill.size,
                        lines=spill.lines, created=now, read=now, call=call,
                    )  # fmt: skip
                    if self._created(code, row, spill.line_starts):
                        break
                    continue
                again = self._seen_again(known, call, now)
                if again is not None:
                    row = again
                    if spill.uploaded:
                        self.delete([spill.key])
                    break
        self._light_upkeep()
        return row.stored()

    def _created(self, code: str, row: Row, line_starts: bytes) -> bool:
        from obstore.exceptions import AlreadyExistsError, NotSupportedError

        from overspill.store.object_rows import encoded_row

        if line_starts:
            self.put(_key("lines", code), line_starts)
        try:
            self.put(_key("rows", code), encoded_row(row), mode="create")
        except AlreadyExistsError:
            return False
        except NotSupportedError:
            self.put(_key("rows", code), encoded_row(row))
        self.delete([_key("gone", code)])
        return True

    def _seen_again(self, known: Row, call: Call, now: float) -> Row | None:
        with suppress(UnknownHandle):
            return self._changed(known, lambda row: {"call": call, "created": now, "read": now, "times": row.times + 1})
        return None

    def _changed(self, row: Row, values: Callable[[Row], dict[str, Any]]) -> Row:
        """The row with other values, written under the condition that nobody else changed it meanwhile."""
        import msgspec
        import obstore
        from obstore.exceptions import NotSupportedError, PreconditionError

        from overspill.store.object_rows import decoded_row, encoded_row

        path = _key("rows", code_of(row.digest))
        with self.faults():
            while True:
                try:
                    found = obstore.get(self.bucket, path)
                except FileNotFoundError:
                    raise UnknownHandle(row.handle) from None
                current = decoded_row(bytes(found.bytes()))
                if current is None:
                    raise StoreUnavailable(self.where, f"the object {path} is damaged; delete it")
                changed: Row = msgspec.structs.replace(current, **values(current))
                try:
                    self.put(path, encoded_row(changed), mode={"e_tag": found.meta["e_tag"]})
                except PreconditionError:
                    continue
                except NotSupportedError:
                    self.put(path, encoded_row(changed))
                return changed

    def _row(self, code: str) -> Row | None:
        from overspill.store.object_rows import decoded_row

        data = self.get(_key("rows", code))
        return decoded_row(data) if data is not None else None

    def _find(self, handle: str) -> Row:
        start = typed(handle)
        with self.faults():
            codes = self._codes("rows", start)
            if len(codes) == 1 and (row := self._row(codes[0])) is not None:
                return row
            rows = [row for code in codes if (row := self._row(code)) is not None]
            for row in rows:
                if row.handle == PREFIX + start or len(rows) == 1:
                    return row
            if rows:
                raise AmbiguousHandle(PREFIX + start, [row.handle for row in rows])
            for code in self._codes("gone", start):
                if data := self.get(_key("gone", code)):
                    stone = _tombstone(data)
                    raise ExpiredHandle(stone.handle, stone.words)
        raise UnknownHandle(PREFIX + start)

    def _handle_for(self, code: str) -> str:
        start = code[:8]
        gone = self._codes("gone", start)
        if code in gone and (data := self.get(_key("gone", code))):
            return _tombstone(data).handle
        return shortest(code, [*self._codes("rows", start), *gone])

    def _codes(self, kind: str, start: str) -> list[str]:
        """The codes that begin so. Services list by whole path segments, so the first two characters are one."""
        shard = f"{kind}/{start[:2]}" if len(start) >= 2 else kind
        return [code for each in self._list(shard) if (code := _code_in(each["path"])).startswith(start)]

    def _list(self, prefix: str) -> Iterator[Any]:
        import obstore

        for page in obstore.list(self.bucket, prefix=prefix):
            yield from page

    def _all_rows(self) -> list[Row]:
        """Every row; only those that changed since the last time are fetched."""
        from overspill.store.object_rows import decoded_row

        with self.faults():
            listed = {each["path"]: str(each["e_tag"] or each["last_modified"]) for each in self._list("rows")}
            with self._lock:
                known = {path: found for path, found in self._rows.items() if listed.get(path) == found[0]}
            missing = [path for path in listed if path not in known]
            for path, data in zip(missing, self._fetch(missing), strict=True):
                row = decoded_row(data) if data is not None else None
                if row is not None:
                    known[path] = (listed[path], row)
            with self._lock:
                self._rows = known
        return [row for _, row in known.values()]

    def _fetch(self, paths: list[str]) -> list[bytes | None]:
        with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
            return list(pool.map(self.get, paths))

    def _bury(self, row: Row, reason: str) -> None:
        from overspill.store.object_rows import encoded_row

        code = code_of(row.digest)
        stone = Tombstone.of(row.stored(), reason=reason, now=self.clock())
        with self.faults():
            self.put(_key("gone", code), encoded_row(stone))
            self.delete([_key("rows", code), row.blob, _key("lines", code), _key("read", code)])

    # -- upkeep ------------------------------------------------------------------------------------

    def _plan(self) -> list[tuple[Row, Doomed]]:
        import msgspec

        now, rows = self.clock(), {row.handle: row for row in self._all_rows()}
        with self.faults():
            reads = {_code_in(each["path"]): each["last_modified"].timestamp() for each in self._list("read")}
            leases = [each["path"].rpartition("/")[2].split("-") for each in self._list("leases")]
        leased = {code for code, until, *_ in leases if int(until) >= now}
        for handle, row in rows.items():
            if (read := reads.get(code_of(row.digest), 0)) > row.read:
                rows[handle] = msgspec.structs.replace(row, read=read)
        spared = {handle for handle, row in rows.items() if code_of(row.digest) in leased}
        found = doomed((row.stored() for row in rows.values()), self.retention, now=now, leased=spared)
        return [(rows[each.row.handle], each) for each in found]

    def _light_upkeep(self) -> None:
        """Once per process, and at most once an hour among all of them; its faults cost nobody an output."""
        if self._kept_up:
            return
        self._kept_up = True
        with suppress(StoreError), self.faults():
            last = self.get("upkeep")
            if last is None or self.clock() - float(last) > UPKEEP_SECONDS:
                self.put("upkeep", f"{self.clock():.0f}".encode())
                self.gc()

    def _sweep(self) -> None:
        """Uploads of a day ago that no row names; leases that ran out; old tombstones. Ages are the service's."""
        now = time.time()
        named = {row.blob for row in self._all_rows()}
        old = [
            each["path"]
            for each in self._list("blobs")
            if each["path"] not in named and now - each["last_modified"].timestamp() > ORPHAN_SECONDS
        ]
        old += [
            each["path"]
            for each in self._list("gone")
            if now - each["last_modified"].timestamp() > KEPT_DAYS * DAY_SECONDS
        ]
        leases = [each["path"] for each in self._list("leases")]
        old += [path for path in leases if int(path.rpartition("/")[2].split("-")[1]) < self.clock()]
        self.delete(old)


def _key(kind: str, code: str) -> str:
    return f"{kind}/{code[:2]}/{code}"


def _code_in(path: str) -> str:
    return path.rpartition("/")[2]


def _tombstone(data: bytes) -> Tombstone:
    from overspill.store.journal import decoded

    stone = decoded(data, Tombstone)
    assert isinstance(stone, Tombstone)
    return stone


def _in_words(error: Exception) -> str:
    """What happened, for people and for models: the same fault in the same words, without times and addresses."""
    said, kind = str(error), type(error).__name__
    if kind in ("UnauthenticatedError", "PermissionDeniedError") or isinstance(error, PermissionError):
        return "the credentials are missing or not accepted"
    if isinstance(error, FileNotFoundError):
        return "there is no such bucket"
    if status := re.search(r"status code: (\d{3})", said):
        return f"the service answers with HTTP status {status[1]}"
    if re.search(r"error sending request|timed? ?out|connect|dns", said, re.IGNORECASE):
        return "the service does not answer"
    words = re.sub(r"https?://\S+|[\d.]+ ?[mµn]?s\b", "…", said.partition("\n")[0]).strip() or kind
    return words if len(words) <= 200 else words[:199] + "…"
