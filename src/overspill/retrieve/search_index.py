"""The full-text index of a store's outputs: a file of its own that may be deleted at any time.

Outputs are indexed when somebody first searches, newest first, in pieces of a few kilobytes; the index
holds no text of theirs beyond its trigrams.  Safe with several processes; a damaged file is made anew.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from overspill.core.ports import Store, Stored
from overspill.errors import OverspillError
from overspill.retrieve.source import Source

FILE = "search.sqlite"
VERSION = 1
PIECE_BYTES = 4096
MOST_BYTES = 16 << 20
"""Of a larger output only the first bytes are indexed, up to here."""
_BINARY_SAMPLE = 8192
_REACH = 128

_SCHEMA = f"""
create table outputs (number integer primary key, digest text unique not null, bytes integer not null, note text);
create table pieces (number integer primary key, output integer not null, start integer, length integer);
create virtual table texts using fts5(text, content='', tokenize='trigram');
pragma user_version = {VERSION};
"""


class Piece(NamedTuple):
    """A stretch of an output that the words may be in."""

    digest: str
    start: int
    length: int
    rank: float


class SearchIndex:
    """Opened for one search; ``place`` is the file, or None for one in memory."""

    def __init__(self, place: Path | None) -> None:
        self._place = place
        self.unread = 0
        """Outputs that could not be read: they are tried again by the next search."""
        self._connection = self._opened()

    def update(self, store: Store, rows: Sequence[Stored], *, until: float, clock: Callable[[], float]) -> list[Stored]:
        """Indexes what is not yet, newest first; those for which there was no time come back."""
        known = {digest for (digest,) in self._connection.execute("select digest from outputs")}
        waiting = [row for row in rows if row.digest not in known]
        for place, row in enumerate(waiting):
            if place and clock() > until:
                return waiting[place:]
            try:
                self._add(store, row)
            except LookupError:
                continue  # removed meanwhile
            except OverspillError:
                self.unread += 1
        self._drop_stale(known, rows)
        return []

    def partly(self) -> dict[str, str]:
        """Digests of outputs that are not indexed whole, and why."""
        return dict(self._connection.execute("select digest, note from outputs where note != ''"))

    def pieces(self, expression: str, most: int) -> list[Piece]:
        """The best pieces for an FTS5 expression, best first."""
        found = self._connection.execute(
            "select o.digest, p.start, p.length, bm25(texts) from texts join pieces p on p.number = texts.rowid "
            "join outputs o on o.number = p.output where texts match ? order by bm25(texts) limit ?",
            (expression, most),
        )
        return [Piece(*row) for row in found]

    def close(self) -> None:
        self._connection.close()

    def _opened(self) -> sqlite3.Connection:
        if self._place is None:
            return _prepared(sqlite3.connect(":memory:", isolation_level=None))
        with suppress(FileExistsError):
            os.close(os.open(self._place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            return _prepared(sqlite3.connect(self._place, timeout=10, isolation_level=None))
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "lock" in str(error):
                raise
            self._remove()
            return _prepared(sqlite3.connect(self._place, timeout=10, isolation_level=None))

    def _remove(self) -> None:
        assert self._place is not None
        for suffix in ("", "-wal", "-shm"):
            self._place.with_name(self._place.name + suffix).unlink(missing_ok=True)

    def _add(self, store: Store, row: Stored) -> None:
        with Source(store, row.handle) as source:
            self._connection.execute("begin immediate")
            try:
                self._insert(source, row)
                self._connection.execute("commit")
            except BaseException:
                self._connection.execute("rollback")
                raise

    def _insert(self, source: Source, row: Stored) -> None:
        run = self._connection.execute
        if run("select 1 from outputs where digest = ?", (row.digest,)).fetchone():
            return  # another process was first
        binary = b"\0" in source.read(0, _BINARY_SAMPLE)
        size = min(source.size, MOST_BYTES)
        note = "binary" if binary else f"only its first {size} bytes" if size < source.size else ""
        number = run("insert into outputs (digest, bytes, note) values (?, ?, ?)", (row.digest, size, note)).lastrowid
        if binary:
            return
        for start, data in _pieces(source, size):
            place = run("insert into pieces (output, start, length) values (?, ?, ?)", (number, start, len(data)))
            text = data.decode("utf-8", "replace")
            run("insert into texts (rowid, text) values (?, ?)", (place.lastrowid, text))

    def _drop_stale(self, known: set[str], rows: Sequence[Stored]) -> None:
        """A contentless table can't forget single texts: when most of them are gone, it is made anew."""
        gone = known - {row.digest for row in rows}
        if len(gone) > 20 and len(gone) > len(rows):
            with closing(self._connection.cursor()) as cursor:
                cursor.execute("begin immediate")
                for table in ("texts", "pieces", "outputs"):
                    cursor.execute(f"drop table {table}")
                for statement in _SCHEMA.strip().split(";\n"):
                    cursor.execute(statement)
                cursor.execute("commit")


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = off")  # lost: made anew
        connection.execute("begin immediate")
        version = connection.execute("pragma user_version").fetchone()[0]
        if version != VERSION:
            tables = connection.execute("select count(*) from sqlite_master").fetchone()[0]
            if tables:
                raise sqlite3.DatabaseError("an index of another version")
            for statement in _SCHEMA.strip().split(";\n"):
                connection.execute(statement)
        connection.execute("commit")
    except BaseException:
        connection.close()
        raise
    return connection


def _pieces(source: Source, size: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines as far as they fit; a longer line in parts that overlap by the reach of a word."""
    at = 0
    while at < size:
        data = source.read(at, min(PIECE_BYTES, size - at))
        stop = data.rfind(b"\n") + 1
        if not stop or at + len(data) >= size:
            stop = len(data)
        yield at, data[:stop]
        cut_inside = stop == len(data) and data[-1:] != b"\n" and at + stop < size
        at += stop - (_REACH if cut_inside else 0)
