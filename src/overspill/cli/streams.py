"""Bytes to a descriptor, all of them: what is printed is complete into a pipe, a file and a terminal."""

from __future__ import annotations

import os

READ_BYTES = 1 << 20
_NAMES = ("standard input", "standard output", "standard error")


def write_all(descriptor: int, data: bytes) -> None:
    """Writes everything, also to a descriptor that somebody made non-blocking."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            import select

            select.select([], [descriptor], [])
        except OSError as fault:
            fault.filename = _NAMES[descriptor]
            raise


def read_some(descriptor: int) -> bytes:
    """The next bytes; none at the end."""
    while True:
        try:
            return os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            import select

            select.select([descriptor], [], [])
        except OSError as fault:
            fault.filename = _NAMES[descriptor]
            raise
