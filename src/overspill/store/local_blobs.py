"""One output of a local store as a file: in the making, and read back by range."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from overspill.core.model import Call
from overspill.core.ports import Blob, Stored
from overspill.errors import StoreUnavailable
from overspill.store.files import in_words, open_regular, open_temporary, read_at, write_all
from overspill.store.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

    from overspill.core.line_starts import LineStarts
    from overspill.store.local import LocalStore

GATHERED_BYTES = 128 * 1024
"""Small writes are gathered to this size; more than this is never held back."""


class LocalSpill:
    """Streams into a locked temporary file; what is to be known of it is tallied on the way."""

    def __init__(self, store: LocalStore, directory: str) -> None:
        self._store = store
        self._gathered = bytearray()
        self._tally = Tally(store.where)
        self._handle, self.path = open_temporary(directory)

    def counted_by(self, lines: LineStarts) -> None:
        self._tally.counted_by(lines)

    def write(self, data: bytes) -> None:
        self._require_open()
        if not self._gathered and len(data) >= GATHERED_BYTES // 4:
            self._persist(data)
            return
        self._gathered += data
        if len(self._gathered) >= GATHERED_BYTES:
            self._flush()

    def commit(self, call: Call) -> Stored:
        self._require_open()
        try:
            self._flush()
            return self._store._keep(self, self._tally.finish(), call)
        finally:
            self.discard()

    def discard(self) -> None:
        """Ends it and removes what is still there; harmless once it has ended."""
        if self._handle < 0:
            return
        handle, self._handle = self._handle, -1
        path, self.path = self.path if self._tally.is_ours else "", ""
        self._gathered.clear()
        if path:
            # The lock ends with the handle, so the file goes first; Windows wants it the other way round.
            with contextlib.suppress(OSError):
                os.unlink(path)
        os.close(handle)
        if path:
            with contextlib.suppress(OSError):
                os.unlink(path)

    def move_to(self, final: str) -> None:
        """Puts the whole output under its name, at once."""
        if os.name == "nt":  # pragma: no cover - an open file can't be renamed there
            os.close(self._handle)
            self._handle = os.open(os.devnull, os.O_RDONLY)
        os.replace(self.path, final)

    def settled(self) -> None:
        """The file has its final name for good: nothing is left to clean up."""
        self.path = ""

    def sync(self) -> None:
        os.fsync(self._handle)

    def flush(self) -> None:
        """What was written so far can be read at ``path``."""
        if self._handle >= 0:
            self._flush()

    def _require_open(self) -> None:
        if self._handle < 0:
            raise StoreUnavailable(self._store.where, "this spill has ended")
        # A forked child shares the file: what it wrote would stand in the middle of its parent's output.
        self._tally.require_ours()

    def _flush(self) -> None:
        if self._gathered:
            data = bytes(self._gathered)
            self._gathered.clear()
            self._persist(data)

    def _persist(self, data: bytes) -> None:
        try:
            write_all(self._handle, data)
        except OSError as error:
            self.discard()
            raise StoreUnavailable(self._store.where, in_words(error)) from error
        self._tally.feed(data)


class FileBlob:
    """A plain file, read by ranges; it stays readable when the output is removed meanwhile."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._size = os.fstat(handle).st_size

    @property
    def size(self) -> int:
        return self._size

    def read(self, start: int, length: int) -> bytes:
        return read_at(self._handle, start, length) if start >= 0 and length > 0 else b""

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self, _close: Callable[[int], None] = os.close) -> None:
        # At the interpreter's exit this module's own names may be None.
        if getattr(self, "_handle", -1) >= 0:
            _close(self._handle)
            self._handle = -1


def open_blob(path: str, encoding: str) -> Blob:
    """The bytes of a kept file, whatever its encoding."""
    handle = open_regular(path)
    if not encoding:
        return FileBlob(handle)
    from overspill.store.compress import ZstdBlob

    try:
        return ZstdBlob(handle)
    except BaseException:
        os.close(handle)
        raise
