"""Digest, size and lines of an output on its way into a store.

Guarantees: at most two batches wait to be hashed; a small output is hashed where it is written, a large one beside
that, each batch in a thread that ends with it: an output that is forgotten leaves nothing running.  A digest is told
only of all that was fed: never in a process forked off meanwhile, nor after an interruption.
"""

from __future__ import annotations

import hashlib
import os
from _thread import allocate_lock, start_new_thread
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from overspill.errors import StoreUnavailable
from overspill.store.lines import WORTH_BYTES, LineCounter

if TYPE_CHECKING:
    from overspill.core.line_starts import LineStarts

BATCH_BYTES = 1024 * 1024
"""Hashing it takes ten times as long as starting a thread."""


_SMALL_BYTES = 4096
"""What is smaller is gathered: an object of its own for each would take more memory than the bytes."""


class Tallied(NamedTuple):
    """What is known of a whole output."""

    digest: str
    size: int
    lines: int
    line_starts: bytes
    """The index of lines; empty for an output too small to need one."""


class Tally:
    """Feed it every byte once, in order; ``where`` is the store that the faults speak of."""

    def __init__(self, where: str) -> None:
        self.size = 0
        self._where = where
        self._pid = os.getpid()
        self._sha256 = hashlib.sha256()
        self._hashed_bytes = 0
        self._gathered: list[bytes | bytearray] = []
        self._gathered_bytes = 0
        self._batch: list[bytes | bytearray] = []
        self._hashing = allocate_lock()
        self._counter = LineCounter()
        self._lines: LineCounter | LineStarts = self._counter

    @property
    def is_ours(self) -> bool:
        """Or that of the process which this one was forked from?"""
        return self._pid == os.getpid()

    def require_ours(self) -> None:
        if not self.is_ours:
            raise StoreUnavailable(self._where, "its writing began in the process that this one was forked from")

    def counted_by(self, lines: LineStarts) -> None:
        """Whoever writes counts the lines: before ``finish`` all of them are in ``lines``."""
        self._lines = lines

    def feed(self, data: bytes) -> None:
        self.size += len(data)
        if self._lines is self._counter:
            self._counter.feed(data)
        if len(data) >= _SMALL_BYTES:
            self._gathered.append(data)
        elif self._gathered and isinstance(self._gathered[-1], bytearray):
            self._gathered[-1] += data
        else:
            self._gathered.append(bytearray(data))
        self._gathered_bytes += len(data)
        if self._gathered_bytes >= BATCH_BYTES:
            self._hash_batch()
            self._next_batch()
            # Without threads the next call hashes it.
            with suppress(RuntimeError):
                start_new_thread(self._hash_batch, ())

    def finish(self) -> Tallied:
        self._hash_batch()
        self._next_batch()
        self._hash_batch()
        if self._hashed_bytes != self.size or self._lines.size != self.size:
            raise StoreUnavailable(self._where, "not all of the output could be read on its way")
        line_starts = self._lines.packed() if self.size >= WORTH_BYTES else b""
        return Tallied(self._sha256.hexdigest(), self.size, self._lines.lines, line_starts)

    def _next_batch(self) -> None:
        self._batch, self._gathered, self._gathered_bytes = self._gathered, [], 0

    def _hash_batch(self) -> None:
        """By whoever comes first, the thread or the next call: the other finds nothing left."""
        self.require_ours()
        with self._hashing:
            batch, self._batch = self._batch, []
            for data in batch:
                self._sha256.update(data)
                self._hashed_bytes += len(data)
