"""Opening a local store's index, and making it agree with the journal and the files again.

After a crash, beside a damaged index, without one: whatever was kept is found, and one process mends it for all.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from overspill.core.model import Call
from overspill.core.ports import Stored
from overspill.store import files
from overspill.store.handles import SHORT, code_of, shortest
from overspill.store.lines import LineCounter
from overspill.store.local_blobs import open_blob
from overspill.store.names import template_pattern, time_in_name
from overspill.store.tombstones import Tombstone

if TYPE_CHECKING:
    from overspill.store.index import Entry, Index
    from overspill.store.journal import Event, Kept, Removed
    from overspill.store.local import LocalStore

ASIDE = "index.broken"
NO_INODE = -1
_TAIL_BYTES = 256 * 1024


def connect(store: LocalStore, *, durable: str, writing: bool) -> Index:
    """The index, ready; built from journal and files when it is missing or broken."""
    import sqlite3

    from overspill.store.index import Index, OlderStore, is_corruption

    if writing or os.path.lexists(store.internals):
        files.require_directory(store.internals)
    if _is_missing(store.index_path) and (not store.journal.is_empty() or orphans(store, known=())):
        with contextlib.suppress(OSError, sqlite3.OperationalError):
            rebuild(store, broken_inode=inode_of(store.index_path))
    try:
        return _patiently(store, durable)
    except sqlite3.DatabaseError as error:
        if is_corruption(error):
            inode = inode_of(store.index_path)
            with contextlib.suppress(OSError, sqlite3.OperationalError):
                rebuild(store, broken_inode=inode)
                return _patiently(store, durable)
        if writing:
            raise
    except OSError:
        if writing:
            raise
    # Only reading, and the index can't be written: less and less, but never nothing.
    modes: tuple[Literal["read", "immutable"], ...] = ("read", "immutable")
    for mode in modes:
        with contextlib.suppress(sqlite3.DatabaseError, OSError, OlderStore):
            index = Index(store.index_path, store.root, mode=mode)
            index.totals()
            return index
    return _fill(Index(None, store.root, mode="memory"), store)


def _patiently(store: LocalStore, durable: str) -> Index:
    """Several processes may be turning a new file into a WAL database at once; SQLite doesn't wait for that."""
    import sqlite3

    from overspill.store.index import Index

    for patience in range(200, -1, -1):
        try:
            return Index(store.index_path, store.root, durable=durable)
        except sqlite3.OperationalError as error:
            if not patience or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            with files.exclusive(store.internals / "lock"):
                pass
            os.sched_yield() if hasattr(os, "sched_yield") else None
    raise AssertionError


def index_fault(error: Exception) -> str:
    """SQLite's fault in words; empty when it is none of its."""
    sqlite3 = sys.modules.get("sqlite3")
    if sqlite3 is None:
        return ""
    from overspill.store.index import NewerStore

    if isinstance(error, NewerStore):
        return "it was written by a newer version of overspill; upgrade this one"
    if not isinstance(error, sqlite3.Error):
        return ""
    words = {
        sqlite3.SQLITE_FULL: "the disk is full",
        sqlite3.SQLITE_READONLY: "it is read-only",
        sqlite3.SQLITE_CANTOPEN: "its index can't be opened (permission denied, or removed meanwhile)",
        sqlite3.SQLITE_BUSY: "another process has been holding its index for too long",
        sqlite3.SQLITE_IOERR: "the disk refuses to read or write its index (full, or a size limit)",
        sqlite3.SQLITE_CORRUPT: "its index is damaged; `overspill doctor` says more",
        sqlite3.SQLITE_NOTADB: "its index is damaged; `overspill doctor` says more",
    }
    return words.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, f"its index says: {error}")


# -- rows and files that don't agree ------------------------------------------------------------------


def is_lost(store: LocalStore, entry: Entry) -> bool:
    return not os.path.lexists(store.file_of(entry))


def found_again(store: LocalStore, index: Index, code: str) -> Entry | None:
    """The row as it is now; where only its twin is there, plain or compressed, it names that."""
    from overspill.store.compress import SUFFIX

    if not index.writable:
        return index.by_code(code)
    with index.transaction():
        entry = index.by_code(code)
        if entry is not None and is_lost(store, entry):
            plain = entry.name.removesuffix(SUFFIX) if entry.encoding else entry.name
            if found := _whole_file(store, plain, entry.row.bytes):
                index.update(code, name=found.name, encoding=found.encoding, kept_bytes=found.kept_bytes)
                entry = index.by_code(code)
    return entry


def catch_up(store: LocalStore, index: Index) -> None:
    """Finishes what the journal tells and the index doesn't: a killed process's work, or one's that met a rebuild."""
    with index.transaction():
        told = _told(store.journal.latest(_TAIL_BYTES))
        for digest, kept in told.kept.items():
            current = index.by_code(code_of(digest))
            if current is not None:
                if current.row.times < kept.times:
                    created = max(current.row.created, kept.created)
                    index.seen_again(current.code, kept.call, created, times=kept.times)
            elif (row := _row(store, kept)) is not None and not index.has_name(row[1]):
                index.insert(row[0], row[1], b"", encoding=row[2])
                index.revive(code_of(digest))
        for digest, removed in told.removed.items():
            current = index.by_code(code_of(digest))
            if current is None:
                index.remember(code_of(digest), _stone(removed))
            elif is_lost(store, current):
                index.bury(current, _stone(removed))
        for digest, pinned in told.pinned.items():
            index.update(code_of(digest), pinned=pinned)


class _Told(NamedTuple):
    """What the journal's lines come to, each by the output's digest."""

    kept: dict[str, Kept]
    removed: dict[str, Removed]
    pinned: dict[str, bool]


def _told(events: Iterable[Event]) -> _Told:
    from overspill.store.journal import Kept, Removed

    told = _Told({}, {}, {})
    for event in events:
        if isinstance(event, Kept):
            # Counted, not timed: a clock that was put back puts lines into an earlier day.
            known = told.kept.get(event.digest)
            if known is None or known.times <= event.times:
                told.kept[event.digest] = event
            told.removed.pop(event.digest, None)
        elif isinstance(event, Removed):
            told.removed[event.digest] = event
            told.kept.pop(event.digest, None)
            told.pinned.pop(event.digest, None)
        else:
            told.pinned[event.digest] = event.pinned
    return told


def rebuild(store: LocalStore, *, broken_inode: int) -> None:
    """A new index from journal and files; the old one is moved aside. One process does it for all."""
    from overspill.store.index import Index

    with files.exclusive(store.internals / "lock"), _without_writers(store):
        now_there = inode_of(store.index_path)
        if now_there not in (broken_inode, NO_INODE):
            return  # Another process was faster.
        fresh = store.internals / "index.new"
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{fresh}{suffix}").unlink(missing_ok=True)
        index = Index(fresh, store.root)
        try:
            _fill(index, store)
        finally:
            index.close()
        # The index goes first: without it the next start rebuilds, without its log it would look sound and lack rows.
        # And the log must be gone before the new one comes: SQLite would apply it to that.
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{store.index_path}{suffix}", store.internals / f"{ASIDE}{suffix}")
        os.replace(fresh, store.index_path)
        # What others kept since the journal was read, if the old index could not keep them out.
        index = Index(store.index_path, store.root)
        try:
            catch_up(store, index)
        finally:
            index.close()


@contextlib.contextmanager
def _without_writers(store: LocalStore) -> Iterator[None]:
    """Nobody writes into the index meanwhile, as far as it can still say so."""
    import sqlite3

    from overspill.store.index import Index, Replaced

    with contextlib.ExitStack() as held:
        if not _is_missing(store.index_path):
            with contextlib.suppress(sqlite3.DatabaseError, OSError, Replaced):
                old = Index(store.index_path, store.root)
                held.callback(old.close)
                held.enter_context(old.transaction())
        yield


def _fill(index: Index, store: LocalStore) -> Index:
    told = _told(store.journal.events())
    names: set[str] = set()
    with index.transaction():
        for removed in told.removed.values():
            index.remember(code_of(removed.digest), _stone(removed))
        for digest, event in told.kept.items():
            found = _row(store, event, pinned=told.pinned.get(digest, False))
            if found is not None and found[1] not in names:
                names.add(found[1])
                index.insert(found[0], found[1], b"", encoding=found[2])
        for row, name, encoding in _adopted(store, names):
            if index.by_code(code_of(row.digest)) is None:
                index.insert(row, name, b"", encoding=encoding)
                index.revive(code_of(row.digest))
    return index


def _row(store: LocalStore, event: Kept, *, pinned: bool = False) -> tuple[Stored, str, str] | None:
    """The row of a journal line, when its file is there whole."""
    if (found := _whole_file(store, event.name, event.bytes)) is None:
        return None
    row = Stored(
        handle=event.handle, digest=event.digest, bytes=event.bytes, lines=event.lines, created=event.created,
        read=event.created, call=event.call, pinned=pinned, times=event.times, kept_bytes=found.kept_bytes,
        path=None if found.encoding else str(store.root / found.name),
    )  # fmt: skip
    return row, found.name, found.encoding


class _File(NamedTuple):
    name: str
    encoding: str
    kept_bytes: int | None


def _whole_file(store: LocalStore, plain: str, size: int) -> _File | None:
    """The file of an output, plain or else compressed, when it is there whole."""
    from overspill.store.compress import SUFFIX

    if os.path.basename(plain) != plain:
        return None
    for name, encoding in ((plain, ""), (plain + SUFFIX, "zstd")):
        try:
            found = os.lstat(store.root / name)
        except (OSError, ValueError):
            continue
        if is_regular(found) and (encoding or found.st_size == size):
            return _File(name, encoding, found.st_size if encoding else None)
    return None


def orphans(store: LocalStore, *, known: Iterable[str]) -> list[Path]:
    """Files that look like outputs of this store and have no row."""
    pattern, names = template_pattern(store.naming), set(known)
    try:
        entries = list(os.scandir(store.root))
    except FileNotFoundError:
        return []
    named = [entry.path for entry in entries if entry.name not in names and pattern.fullmatch(entry.name)]
    return [Path(path) for path in named if files.is_private_file(path)]


def twins(store: LocalStore, *, known: Collection[str]) -> list[Path]:
    """Files that no row names because it names the same output's other file, plain or compressed."""
    from overspill.store.compress import SUFFIX

    return [
        path
        for path in orphans(store, known=known)
        if (path.name.removesuffix(SUFFIX) if path.name.endswith(SUFFIX) else path.name + SUFFIX) in known
    ]


def _adopted(store: LocalStore, known: Iterable[str]) -> Iterator[tuple[Stored, str, str]]:
    """Outputs that the journal has lost: read whole, and believed where their name agrees with their content."""
    for path in sorted(orphans(store, known=known)):
        encoding = "zstd" if path.suffix == ".zst" else ""
        try:
            found = os.lstat(path)
            blob = open_blob(str(path), encoding)
        except (OSError, ValueError):
            continue
        sha256, counter = hashlib.sha256(), LineCounter()
        try:
            for start in range(0, blob.size, 1 << 20):
                data = blob.read(start, 1 << 20)
                sha256.update(data)
                counter.feed(data)
        finally:
            blob.close()
        code, stem = code_of(sha256.hexdigest()), path.name.split(".")[0]
        handle = shortest(code, ())
        if "{handle}" in store.naming:
            if f"ovs_{code[:SHORT]}" not in path.name:
                continue
            handle = stem if store.naming == "{handle}.txt" and code.startswith(stem[4:]) else handle
        created = time_in_name(store.naming, path.name) or found.st_mtime
        row = Stored(
            handle=handle, digest=sha256.hexdigest(), bytes=counter.size, lines=counter.lines, created=created,
            read=created, call=Call(), kept_bytes=found.st_size if encoding else None,
        )  # fmt: skip
        yield row, path.name, encoding


def _stone(event: Removed) -> Tombstone:
    return Tombstone(
        handle=event.handle, digest=event.digest, removed=event.removed, reason=event.reason, bytes=event.bytes,
        lines=event.lines, call=event.call,
    )  # fmt: skip


def is_regular(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode)


def inode_of(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return NO_INODE


def _is_missing(path: Path) -> bool:
    """Not there, or empty: a crash of the machine can leave the name without the content."""
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return True
