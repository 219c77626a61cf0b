"""The index of a local store: SQLite in WAL mode, derived from the files and the journal.

One connection, guarded by a lock, for all threads of a process; transactions take the write lock at
once, so that what is looked up in one stays true until it ends.  Faults come out as SQLite's own
exceptions: the store translates them.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from overspill.core.model import Call
from overspill.core.ports import Stored
from overspill.errors import AmbiguousHandle, ExpiredHandle
from overspill.store.files import make_private
from overspill.store.handles import PREFIX, SHORT, code_of, code_range, shortest, unknown
from overspill.store.journal import decoded, encoded
from overspill.store.tombstones import Tombstone

BUSY_SECONDS = 60.0
PAGE_ROWS = 200
LONGEST_PATH_BYTES = 512 - len("-journal")
"""SQLite's usual limit; it reports no more than a file that can't be opened."""

# Append only: a store in the field may be at any of these.
MIGRATIONS = (
    """
    CREATE TABLE outputs (
        id INTEGER PRIMARY KEY,
        code TEXT NOT NULL UNIQUE,
        digest TEXT NOT NULL,
        handle TEXT NOT NULL,
        name TEXT NOT NULL UNIQUE,
        encoding TEXT NOT NULL DEFAULT '',
        bytes INTEGER NOT NULL,
        kept_bytes INTEGER,
        lines INTEGER NOT NULL,
        created REAL NOT NULL,
        read REAL NOT NULL,
        pinned INTEGER NOT NULL DEFAULT 0,
        times INTEGER NOT NULL DEFAULT 1,
        tool TEXT NOT NULL DEFAULT '',
        session TEXT NOT NULL DEFAULT '',
        call TEXT NOT NULL,
        kind TEXT NOT NULL DEFAULT '',
        cut TEXT NOT NULL DEFAULT '',
        shown_bytes INTEGER
    );
    CREATE INDEX outputs_by_age ON outputs (created);
    CREATE TABLE line_starts (code TEXT PRIMARY KEY, packed BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE tombstones (
        code TEXT PRIMARY KEY, handle TEXT NOT NULL, digest TEXT NOT NULL, removed REAL NOT NULL,
        reason TEXT NOT NULL, bytes INTEGER NOT NULL, lines INTEGER NOT NULL, call TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE leases (token TEXT PRIMARY KEY, code TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
    """,
)

_FIELDS = (
    "id, code, digest, handle, name, encoding, bytes, kept_bytes, lines, created, read, pinned, times, call, "
    "kind, cut, shown_bytes"
)
_SELECT = f"SELECT {_FIELDS} FROM outputs"


class Entry(NamedTuple):
    """A row as the index has it: the public part, and where the bytes are."""

    row: Stored
    code: str
    name: str
    encoding: str
    id: int


class NewerStore(Exception):
    """The index was written by a newer version."""


class Replaced(Exception):
    """Another process has built the index anew: the work begins again on that one."""


class OlderStore(Exception):
    """The index was written by an older version, and can't be brought up to date where nothing can be written."""


class Index:
    """Rows, tombstones and leases of one store."""

    def __init__(
        self,
        path: Path | None,
        root: Path,
        *,
        mode: Literal["write", "read", "immutable", "memory"] = "write",
        durable: str = "process",
    ) -> None:
        self._root = str(root)
        self._path = str(path)
        self.inode = 0
        self.writable = mode == "write"
        self.lock = threading.RLock()
        self.pid = os.getpid()
        query = {"write": "mode=rwc", "read": "mode=ro", "immutable": "mode=ro&immutable=1", "memory": ""}[mode]
        if path is not None and path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        if mode == "write" and path:
            # SQLite gives the files beside it the modes of this one.
            make_private(path)
        try:
            self._db = sqlite3.connect(
                f"{_address(path)}?{query}" if path else ":memory:",
                uri=True,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.OperationalError:
            if path and len(os.fsencode(path)) > LONGEST_PATH_BYTES:
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), str(path)) from None
            raise
        try:
            self._prepare(durable, is_new=path is None)
            # A snapshot has no file whose replacement would have to be noticed.
            self.inode = os.stat(path).st_ino if path and mode in ("write", "read") else 0
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, durable: str, *, is_new: bool) -> None:
        run = self._db.execute
        if self.writable:
            if run("PRAGMA journal_mode").fetchone()[0] != "wal":
                run("PRAGMA journal_mode=WAL")
            run(f"PRAGMA synchronous={'FULL' if durable == 'power' else 'OFF'}")
            run("PRAGMA wal_autocheckpoint=2000")
        version = run("PRAGMA user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            raise NewerStore
        if version < len(MIGRATIONS):
            if not (self.writable or is_new):
                raise OlderStore
            with self.transaction():
                version = run("PRAGMA user_version").fetchone()[0]
                for number, script in enumerate(MIGRATIONS[version:], version + 1):
                    for statement in script.split(";"):
                        run(statement)
                    run(f"PRAGMA user_version={number}")

    def close(self) -> None:
        with self.lock:
            self._db.close()

    def __del__(self, _pid: Callable[[], int] = os.getpid) -> None:
        # Stores are rarely closed by hand, and an open connection is complained about from Python 3.13 on.
        # After a fork it is the parent's. At the interpreter's exit this module's own names may be None.
        db = getattr(self, "_db", None)
        if db is not None and self.pid == _pid():
            db.close()

    @property
    def is_current(self) -> bool:
        """Is it the index that others use? One made in memory or read as a snapshot has no file to compare."""
        try:
            return not self.inode or os.stat(self._path).st_ino == self.inode
        except OSError:
            return False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, alone among all writers of all processes, on the index that they all use."""
        with self.lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                if not self.is_current:
                    raise Replaced
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def entry(self, start: str, *, asked: str = "") -> Entry:
        """The one output whose code begins so; an exact handle goes before longer ones."""
        first, last = code_range(start)
        with self.lock:
            found = self._db.execute(f"{_SELECT} WHERE code >= ? AND code < ? LIMIT 20", (first, last)).fetchall()
            if len(found) == 1:
                return self._entry(found[0])
            entries = [self._entry(values) for values in found]
            for entry in entries:
                if entry.row.handle == PREFIX + start:
                    return entry
            if entries:
                raise AmbiguousHandle(PREFIX + start, [entry.row.handle for entry in entries])
            gone = self._db.execute(
                "SELECT handle, digest, removed, reason, bytes, lines, call FROM tombstones "
                "WHERE code >= ? AND code < ? ORDER BY handle = ? DESC, removed DESC LIMIT 1",
                (first, last, PREFIX + start),
            ).fetchone()
        if gone:
            raise ExpiredHandle(gone[0], _tombstone(gone).words)
        raise unknown(asked or PREFIX + start)

    def by_code(self, code: str) -> Entry | None:
        with self.lock:
            found = self._db.execute(f"{_SELECT} WHERE code = ?", (code,)).fetchone()
        return self._entry(found) if found else None

    def page(self, after: Entry | None) -> list[Entry]:
        """The next outputs, newest first; nothing when there are no more."""
        created, id_ = (after.row.created, after.id) if after else (float("inf"), 0)
        query = (
            f"{_SELECT} WHERE created <= :created AND (created < :created OR id < :id) "
            "ORDER BY created DESC, id DESC LIMIT :rows"
        )
        values = {"created": created, "id": id_, "rows": PAGE_ROWS}
        with self.lock:
            return [self._entry(found) for found in self._db.execute(query, values).fetchall()]

    def entries(self) -> Iterator[Entry]:
        """All of them, newest first."""
        page = self.page(None)
        while page:
            yield from page
            page = self.page(page[-1])

    def totals(self) -> tuple[int, int, float | None]:
        """Outputs, the bytes they take, and when the oldest was made."""
        with self.lock:
            count, size, oldest = self._db.execute(
                "SELECT COUNT(*), COALESCE(SUM(COALESCE(kept_bytes, bytes)), 0), MIN(created) FROM outputs"
            ).fetchone()
        return count, size, oldest

    def near(self, code: str) -> set[str]:
        """The codes, of outputs and of removed ones, whose shortest handle would be the same; itself among them."""
        first, end = code_range(code[:SHORT])
        rows = self._db.execute(
            "SELECT code FROM outputs WHERE code >= :first AND code < :end "
            "UNION ALL SELECT code FROM tombstones WHERE code >= :first AND code < :end",
            {"first": first, "end": end},
        ).fetchall()
        return {row[0] for row in rows}

    def handle_for(self, code: str, near: set[str]) -> str:
        """The shortest handle that is free for a new output; a removed one's stays its own."""
        if not near:
            return PREFIX + code[:SHORT]
        own = self._db.execute("SELECT handle FROM tombstones WHERE code = ?", (code,)).fetchone()
        return str(own[0]) if own else shortest(code, near)

    def has_name(self, name: str) -> bool:
        return self._db.execute("SELECT 1 FROM outputs WHERE name = ?", (name,)).fetchone() is not None

    def insert(self, row: Stored, name: str, line_starts: bytes, *, encoding: str = "") -> None:
        code = code_of(row.digest)
        self._db.execute(
            "INSERT INTO outputs (code, digest, handle, name, encoding, bytes, kept_bytes, lines, created, read, "
            "pinned, times, tool, session, call) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                code, row.digest, row.handle, name, encoding, row.bytes, row.kept_bytes, row.lines, row.created,
                row.read, row.pinned, row.times, _said(row.call.tool), _said(row.call.session), _call_text(row.call),
            ),
        )  # fmt: skip
        if line_starts:
            self._db.execute("INSERT OR REPLACE INTO line_starts VALUES (?, ?)", (code, line_starts))

    def revive(self, code: str) -> None:
        """What was removed is here again."""
        self._db.execute("DELETE FROM tombstones WHERE code = ?", (code,))

    def seen_again(self, code: str, call: Call, now: float, *, times: int) -> None:
        self._db.execute(
            "UPDATE outputs SET times = ?, created = ?, read = ?, tool = ?, session = ?, call = ? WHERE code = ?",
            (times, now, now, _said(call.tool), _said(call.session), _call_text(call), code),
        )

    def update(self, code: str, /, **values: Any) -> None:
        """Sets columns of one row by their names."""
        columns = ", ".join(f"{column} = ?" for column in values)
        with self.lock:
            self._db.execute(f"UPDATE outputs SET {columns} WHERE code = ?", (*values.values(), code))

    def bury(self, entry: Entry, tombstone: Tombstone) -> None:
        self._db.execute("DELETE FROM outputs WHERE code = ?", (entry.code,))
        self._db.execute("DELETE FROM line_starts WHERE code = ?", (entry.code,))
        self.remember(entry.code, tombstone)

    def remember(self, code: str, tombstone: Tombstone) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO tombstones VALUES (?,?,?,?,?,?,?,?)",
            (
                code, tombstone.handle, tombstone.digest, tombstone.removed, tombstone.reason, tombstone.bytes,
                tombstone.lines, _call_text(tombstone.call),
            ),
        )  # fmt: skip

    def forget(self, *, removed_before: float, most: int, now: float) -> None:
        """Drops tombstones of long ago, those over ``most``, and leases that ran out."""
        self._db.execute("DELETE FROM tombstones WHERE removed < ?", (removed_before,))
        if self._db.execute("SELECT COUNT(*) FROM tombstones").fetchone()[0] > most:
            self._db.execute(
                "DELETE FROM tombstones WHERE code IN "
                "(SELECT code FROM tombstones ORDER BY removed DESC LIMIT -1 OFFSET ?)",
                (most,),
            )
        self._db.execute("DELETE FROM leases WHERE until < ?", (now,))

    def oldest_told(self) -> float | None:
        """When the oldest thing that it tells of happened."""
        query = "SELECT MIN(at) FROM (SELECT MIN(created) AS at FROM outputs UNION SELECT MIN(removed) FROM tombstones)"
        with self.lock:
            found: float | None = self._db.execute(query).fetchone()[0]
        return found

    def most_of_a_session(self) -> int:
        """How many outputs the session has that has the most."""
        query = "SELECT COUNT(*) FROM outputs WHERE session != '' GROUP BY session ORDER BY 1 DESC LIMIT 1"
        with self.lock:
            found = self._db.execute(query).fetchone()
        return found[0] if found else 0

    def tombstones(self) -> Iterable[Tombstone]:
        with self.lock:
            found = self._db.execute(
                "SELECT handle, digest, removed, reason, bytes, lines, call FROM tombstones ORDER BY removed DESC"
            ).fetchall()
        return [_tombstone(values) for values in found]

    def lease(self, token: str, code: str, until: float) -> None:
        with self.lock:
            self._db.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (token, code, until))

    def end_lease(self, token: str) -> None:
        with self.lock:
            self._db.execute("DELETE FROM leases WHERE token = ?", (token,))

    def leased(self, now: float) -> set[str]:
        """The codes that someone is reading."""
        with self.lock:
            return {row[0] for row in self._db.execute("SELECT code FROM leases WHERE until >= ?", (now,))}

    def line_starts(self, code: str) -> bytes:
        with self.lock:
            found = self._db.execute("SELECT packed FROM line_starts WHERE code = ?", (code,)).fetchone()
        return found[0] if found else b""

    def set_line_starts(self, code: str, packed: bytes) -> None:
        with self.lock:
            self._db.execute("INSERT OR REPLACE INTO line_starts VALUES (?, ?)", (code, packed))

    def problems(self) -> list[str]:
        """What SQLite's own check finds."""
        with self.lock:
            return [row[0] for row in self._db.execute("PRAGMA quick_check(5)") if row[0] != "ok"]

    def _entry(self, values: tuple[Any, ...]) -> Entry:
        (
            id_, code, digest, handle, name, encoding, size, kept_bytes, lines, created, read, pinned, times, call,
            kind, cut, shown_bytes,
        ) = values  # fmt: skip
        row = Stored(
            handle=handle,
            digest=digest,
            bytes=size,
            lines=lines,
            created=created,
            read=read,
            call=_call(call),
            path=None if encoding else os.path.join(self._root, name),
            pinned=bool(pinned),
            shown_bytes=shown_bytes,
            kind=kind,
            cut=cut,
            times=times,
            kept_bytes=kept_bytes,
        )
        return Entry(row, code, name, encoding, id_)


def is_corruption(error: sqlite3.Error) -> bool:
    """Is the file itself broken, as against busy, full or missing?"""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


_decode = msgspec.json.Decoder(Call).decode
_NO_CALL = Call()


def _call_text(call: Call) -> str:
    return encoded(call).decode()


def _said(text: str) -> str:
    """A column to search by: SQLite takes no lone surrogates, the exact words are in the call."""
    return text.encode("utf-8", "replace").decode()


def _call(text: str) -> Call:
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return decoded(text, Call) or _NO_CALL


def _tombstone(values: tuple[Any, ...]) -> Tombstone:
    handle, digest, removed, reason, size, lines, call = values
    return Tombstone(
        handle=handle, digest=digest, removed=removed, reason=reason, bytes=size, lines=lines, call=_call(call)
    )


def _address(path: Path) -> str:
    """The path as SQLite takes it with options; ``Path.as_uri`` would import urllib on the way to the first spill."""
    text = path.absolute().as_posix()
    quoted = "".join(
        chr(byte) if 0x20 < byte < 0x7F and byte not in b"%?#" else f"%{byte:02x}" for byte in os.fsencode(text)
    )
    return f"file://{'' if text.startswith('/') else '/'}{quoted}"
