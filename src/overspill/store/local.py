"""The local store: plain files a file tool can open, one SQLite index, safe between processes.

Outputs lie in the store's directory under their names, everything else below ``.store``.  An output is
written to a locked temporary file while the tool runs and gets its name, its journal line and its row
in one transaction: after a crash it is there whole or not at all.  Nothing touches the disk before
the first spill or lookup.  Every fault is a ``StoreError``.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from overspill.core.model import Call
from overspill.core.ports import Blob, Stored
from overspill.errors import ExpiredHandle, PolicyError, StoreError, StoreUnavailable
from overspill.store import recovery, upkeep
from overspill.store.commit import commit
from overspill.store.files import (
    abandoned,
    in_words,
    private_directory,
    require_directory,
    sync_directory,
    write_private,
)
from overspill.store.handles import typed, unknown
from overspill.store.lines import WORTH_BYTES, LineCounter, nearest
from overspill.store.local_blobs import LocalSpill, open_blob
from overspill.store.names import DEFAULT, checked_template
from overspill.store.quantities import duration_days
from overspill.store.retention import Doomed, Retention
from overspill.store.tombstones import Tombstone

if TYPE_CHECKING:
    from overspill.store.index import Entry, Index
    from overspill.store.journal import Journal
    from overspill.store.tally import Tallied

T = TypeVar("T")

INTERNALS = ".store"
MOST_TIMES_REPLACED = 50
READ_SECONDS = 60
"""Reading is noted this often at most, so that readers are not writers all the time."""

README = b"""This directory belongs to overspill: it keeps whole tool outputs of which a model saw an excerpt.

Each ovs_... file is one output, byte for byte. `overspill ls` lists them, `overspill gc` removes what is
over the limits, and the directory can be deleted at any time: only the outputs are lost. `.store` holds
the index (rebuilt by itself when damaged). Nothing here belongs under version control.
"""

_parted: list[object] = []
"""Connections of a parent process: closing them in a forked child could harm the parent's."""


class LocalStore:
    """Whole outputs in one directory of this machine."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        retention_days: float | str | None = 7,
        max_total_bytes: int | str | None = "2 GB",
        max_outputs: int | None = None,
        max_per_session: int | None = None,
        naming: str = DEFAULT,
        compress_after: float | str | None = None,
        durable: Literal["process", "power"] = "process",
        clock: Callable[[], float] = time.time,
    ) -> None:
        if durable not in ("process", "power"):
            raise PolicyError(
                "store.durable", durable, '"process" (survives its crash) or "power" (survives a power cut)'
            )
        self.root, self._misplaced = _placed(root)
        self.where = str(self.root)
        self.naming = checked_template(naming)
        self.retention = Retention.of(
            retention_days=retention_days,
            max_total_bytes=max_total_bytes,
            max_outputs=max_outputs,
            max_per_session=max_per_session,
        )
        self.compress_after_days = (
            None if compress_after is None else duration_days(compress_after, setting="store.compress_after")
        )
        self.clock = clock
        self.internals = self.root / INTERNALS
        self.index_path = self.internals / "index.sqlite"
        self.temporary = self.internals / "tmp"
        self.journal_path = self.internals / "journal"
        self._durable = durable
        self._index: Index | None = None
        self._journal: Journal | None = None
        self._opening = threading.RLock()
        self._pid = os.getpid()
        self._written = 0
        self._kept_up = False
        self.named_at = 0.0

    # -- the Store protocol ------------------------------------------------------------------------

    def spill(self, call: Call) -> LocalSpill:
        with self._faults():
            try:
                require_directory(self.temporary)
            except FileNotFoundError:
                self._make_directories()
            try:
                return LocalSpill(self, str(self.temporary))
            except FileNotFoundError:
                # Deleted between the two steps.
                self._make_directories()
                return LocalSpill(self, str(self.temporary))

    def stored(self, handle: str) -> Stored:
        return self.entry(handle).row

    def open(self, handle: str) -> Blob:
        entry = self.entry(handle)
        with self._faults():
            blob = self._open_entry(entry)
        now = self.clock()
        if abs(now - entry.row.read) > READ_SECONDS:
            with suppress(StoreError):
                self.run(lambda index: index.update(entry.code, read=now))
        return blob

    def outputs(self) -> Iterator[Stored]:
        for entry in self.entries():
            yield entry.row

    def remove(self, handle: str, *, reason: str) -> None:
        entry = self.entry(handle)
        self.run(lambda index: upkeep.remove(self, index, [(entry, reason)], by="hand"), writing=True)

    # -- richer verbs ------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Makes the directories, for those who keep something beside the outputs."""
        with self._faults():
            self._make_directories()

    def pin(self, handle: str) -> Stored:
        """Retention leaves it alone until ``unpin``."""
        return self._set_pinned(handle, 1)

    def unpin(self, handle: str) -> Stored:
        return self._set_pinned(handle, 0)

    def annotate(self, handle: str, *, kind: str = "", cut: str = "", shown_bytes: int | None = None) -> None:
        """Remembers what an output was taken for and how it was shown."""
        code = self.entry(handle).code
        self.run(lambda index: index.update(code, kind=kind, cut=cut, shown_bytes=shown_bytes), writing=True)

    @contextmanager
    def lease(self, handle: str, *, seconds: float = 600) -> Iterator[Stored]:
        """While open, and for ``seconds`` at most, retention leaves the output alone."""
        entry = self.entry(handle)
        token = os.urandom(12).hex()
        with suppress(StoreError):
            self.run(lambda index: index.lease(token, entry.code, self.clock() + seconds))
        try:
            yield entry.row
        finally:
            with suppress(StoreError):
                self.run(lambda index: index.end_lease(token))

    def line_offset(self, handle: str, *, line: int) -> tuple[int, int]:
        """The nearest known line at or before ``line``, and the byte offset at which it starts."""
        entry = self.entry(handle)
        if entry.row.bytes < WORTH_BYTES:
            return 1, 0
        packed = self.run(lambda index: index.line_starts(entry.code))
        if not packed:
            packed = self._scan_lines(entry)
            with suppress(StoreError):
                self.run(lambda index: index.set_line_starts(entry.code, packed))
        return nearest(packed, line)

    def plan_gc(self) -> list[Doomed]:
        """What ``gc`` would remove now, and why; changes nothing."""
        if not self._is_there():
            return []
        return self.run(lambda index: [doomed for _, doomed in upkeep.plan(self, index)])

    def gc(self) -> list[Doomed]:
        """Removes what retention dooms and remains of crashes, compresses what is cold; what went."""
        if not self._is_there():
            return []
        return self.run(lambda index: upkeep.whole_pass(self, index), writing=True)

    def remains(self) -> dict[str, int]:
        """What crashes left unfinished, with its bytes: ``gc`` sweeps it."""
        try:
            return {path.name: path.lstat().st_size for path in abandoned(self.temporary)}
        except OSError:  # nothing was ever kept here, or somebody else is sweeping
            return {}

    def totals(self) -> tuple[int, int]:
        """How many outputs there are and how many bytes they take."""
        if not self._is_there():
            return 0, 0
        return self.run(lambda index: index.totals()[:2])

    def tombstones(self) -> list[Tombstone]:
        """What was removed of late, the latest first."""
        return list(self.run(lambda index: index.tombstones())) if self._is_there() else []

    def rebuild_index(self) -> None:
        """Builds the index anew from journal and files; the old one is moved aside."""
        with self._faults():
            self._drop_index()
            recovery.rebuild(self, broken_inode=recovery.inode_of(self.index_path))

    def close(self) -> None:
        """Lets go of the index; the next call opens it again."""
        self._drop_index()

    # -- for the store's own modules ---------------------------------------------------------------

    @property
    def journal(self) -> Journal:
        if self._journal is None:
            from overspill.store.journal import Journal

            self._journal = Journal(self.journal_path)
        return self._journal

    def entry(self, handle: str) -> Entry:
        start = typed(handle)
        if not self._is_there():
            raise unknown(handle)
        return self.run(lambda index: index.entry(start, asked=handle))

    def entries(self) -> Iterator[Entry]:
        if not self._is_there():
            return
        # By pages, each of its own: stopping early is cheap, and the index may be replaced between two.
        page = self._page(None)
        while page:
            yield from page
            page = self._page(page[-1])

    def _page(self, after: Entry | None) -> list[Entry]:
        return self.run(lambda index: index.page(after))

    def file_of(self, entry: Entry) -> str:
        """Where the bytes lie; an index that names anything outside the directory is not believed."""
        name = entry.name
        if os.path.basename(name) != name or name in ("", ".", "..") or "\\" in name or "\0" in name:
            raise StoreUnavailable(self.where, f"its index names the file {name!r}: run `overspill doctor`")
        return os.path.join(self.where, name)

    def run(self, work: Callable[[Index], T], *, writing: bool = False) -> T:
        """Work on the index, again from its beginning where another process has put a new one in its place.

        A broken index is built from the files first, once.
        """
        import sqlite3

        from overspill.store.index import Replaced, is_corruption

        mended, times = False, 0
        with self._faults():
            while True:
                times += 1
                index = self._connected(writing)
                try:
                    done = work(index)
                    break
                except Replaced:
                    if times > MOST_TIMES_REPLACED:
                        raise StoreUnavailable(self.where, "its index is another one at every look") from None
                except sqlite3.DatabaseError as error:
                    # Another thread may have found the index replaced, and closed this one.
                    closed = isinstance(error, sqlite3.ProgrammingError) and self._index is not index
                    if not closed and (mended or not is_corruption(error)):
                        raise
                    if not closed:
                        mended = True
                        self._drop_index()
                        recovery.rebuild(self, broken_inode=index.inode)
        if writing and not index.is_current:
            # Too damaged to keep its writers out while it was replaced: the journal has what went into it.
            self.run(lambda index: recovery.catch_up(self, index), writing=True)
        return done

    # -- inside ------------------------------------------------------------------------------------

    def _keep(self, spill: LocalSpill, tallied: Tallied, call: Call) -> Stored:
        if self._durable == "power":
            with self._faults():
                spill.sync()
        row = self.run(lambda index: commit(self, index, spill, tallied, call), writing=True)
        if self._durable == "power":
            with self._faults():
                sync_directory(self.root)
        self._written += tallied.size
        tenth = (self.retention.max_total_bytes or 0) // 10
        if not self._kept_up or 0 < tenth < self._written:
            # Upkeep is a courtesy here: its faults must not cost the output that was just kept.
            self._kept_up, self._written = True, 0
            with suppress(StoreError):
                self.run(lambda index: upkeep.light_pass(self, index), writing=True)
        return row

    def _open_entry(self, entry: Entry) -> Blob:
        try:
            blob = open_blob(self.file_of(entry), entry.encoding)
        except FileNotFoundError:
            # Compressed or removed since the row was read: one more look tells.
            entry = self.run(lambda index: recovery.found_again(self, index, entry.code) or index.entry(entry.code))
            try:
                blob = open_blob(self.file_of(entry), entry.encoding)
            except FileNotFoundError:
                stone = Tombstone.of(entry.row, reason="its file was deleted from outside", now=self.clock())
                raise ExpiredHandle(entry.row.handle, stone.words) from None
        except ValueError as error:
            raise StoreUnavailable(self.where, f"{entry.name}: {error}; run `overspill doctor`") from error
        if blob.size != entry.row.bytes:
            size = blob.size
            blob.close()
            raise StoreUnavailable(
                self.where,
                f"{entry.name} has {size:,} bytes instead of {entry.row.bytes:,}: it was changed from outside; "
                f"`overspill rm {entry.row.handle}` removes it",
            )
        return blob

    def _scan_lines(self, entry: Entry) -> bytes:
        counter = LineCounter()
        with self._faults():
            blob = self._open_entry(entry)
        try:
            for start in range(0, blob.size, 1 << 20):
                counter.feed(blob.read(start, 1 << 20))
        finally:
            blob.close()
        return counter.packed()

    def _set_pinned(self, handle: str, pinned: int) -> Stored:
        from overspill.store.journal import Pinned

        entry = self.entry(handle)

        def work(index: Index) -> Stored:
            with index.transaction():
                self.journal.append(Pinned(digest=entry.row.digest, pinned=bool(pinned)), now=self.clock())
                index.update(entry.code, pinned=pinned)
            return index.entry(entry.code).row

        return self.run(work, writing=True)

    def _connected(self, writing: bool) -> Index:  # noqa: FBT001
        if self._pid != os.getpid():
            self._begin_anew()
        with self._opening:
            index = self._index
            if index is not None:
                if not index.is_current:
                    self._drop_index()
                elif index.writable or not writing:
                    return index
            if writing:
                self._make_directories()
            self._drop_index()
            self._index = recovery.connect(self, durable=self._durable, writing=writing)
            return self._index

    def _begin_anew(self) -> None:
        """In a forked child: neither the parent's connection nor a lock that one of its threads held is ours."""
        _parted.append(self._index)
        self._pid, self._index, self._opening = os.getpid(), None, threading.RLock()

    def _drop_index(self) -> None:
        if self._pid != os.getpid():
            self._begin_anew()
        with self._opening:
            index, self._index = self._index, None
            if index is not None:
                index.close()

    def _is_there(self) -> bool:
        with self._faults():
            try:
                os.stat(self.where)
            except (FileNotFoundError, NotADirectoryError):
                return False
            return True

    def _make_directories(self) -> None:
        if not self.root.is_dir():
            self.root.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                self.root.mkdir(mode=0o700)
        for directory in (self.internals, self.temporary, self.journal_path):
            private_directory(directory)
        write_private(self.root / ".gitignore", b"*\n", by_way_of=self.temporary)
        write_private(self.root / "README.txt", README, by_way_of=self.temporary)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Whatever the disk or the index says becomes one sentence."""
        if self._misplaced:
            raise StoreUnavailable(self.where, self._misplaced)
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            raise StoreUnavailable(self.where, in_words(error)) from error
        except Exception as error:
            if words := recovery.index_fault(error):
                raise StoreUnavailable(self.where, words) from error
            raise


def _placed(root: str | os.PathLike[str]) -> tuple[Path, str]:
    """The absolute path of a store, and why there can't be one: a tool that is given such a store must not fail."""
    path = Path(os.path.expanduser(root))
    try:
        if b"\0" in os.fsencode(path):
            return path, "a path can't hold a NUL character; name another"
        return path.absolute(), ""
    except UnicodeError:
        return path, "its path has characters that no file name can have; name another"
    except OSError:
        return path, "its path is relative and the working directory is gone; name an absolute path"
