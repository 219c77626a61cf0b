"""The pipes that a command writes into: read as it comes, closed when nobody wants it any more.

A reader of ours that goes away is noticed at once, and only the stream it read is closed: the command
learns it from its next line there, as it would have, and goes on with the other.
"""

from __future__ import annotations

import errno
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

READ_BYTES = 1 << 18
PIPE_BYTES = 1 << 20
"""Asked of the kernel for a command that prints much: fewer, larger reads."""
_CHUNKS_BEFORE_LARGE_PIPE = 4


class Pipes:
    """The open ones, served by a ``poll`` of their own; whoever uses it may register more."""

    def __init__(self, streams: dict[int, int] | None = None) -> None:
        self.streams: dict[int, int] = {}
        """The stream (1 or 2) that each descriptor carries."""
        self.poll = select.poll()
        self.heard_bytes = 0
        self._readers: set[int] = set()
        self._chunks = 0
        for pipe, stream in (streams or {}).items():
            self.add(pipe, stream)

    def add(self, pipe: int, stream: int) -> None:
        self.streams[pipe] = stream
        self.poll.register(pipe, select.POLLIN)

    def mind(self, readers: Iterable[int]) -> None:
        """From now on the readers of these streams of ours may go away."""
        for stream in readers:
            self._readers.add(stream)
            self.poll.register(stream, 0)

    def heed(self, descriptor: int, take: Callable[[int, bytes], None]) -> None:
        """What ``poll`` said of a descriptor: bytes are handed on, an end or a reader's going closes."""
        if descriptor in self._readers:
            self._readers.remove(descriptor)
            self.poll.unregister(descriptor)
            for pipe in [pipe for pipe, stream in self.streams.items() if stream == descriptor]:
                self._close(pipe)
        elif descriptor in self.streams:
            data = read_some(descriptor)
            if not data:
                self._close(descriptor)
                return
            self.heard_bytes += len(data)
            take(self.streams[descriptor], data)
            self._chunks += 1
            if self._chunks == _CHUNKS_BEFORE_LARGE_PIPE:
                _enlarge(descriptor)

    def handed_over(self) -> dict[int, int]:
        """The streams that are still open, by pipe: from here on the caller's."""
        left, self.streams = self.streams, {}
        return left

    def close(self) -> None:
        for pipe in list(self.streams):
            self._close(pipe)

    def _close(self, pipe: int) -> None:
        del self.streams[pipe]
        self.poll.unregister(pipe)
        os.close(pipe)


def read_some(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, READ_BYTES)
    except BlockingIOError:
        return b""
    except OSError as error:
        if error.errno == errno.EIO:  # how a terminal ends
            return b""
        raise


def _enlarge(pipe: int) -> None:
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (ImportError, AttributeError, OSError):
        pass  # not Linux, or over the user's share: the usual size will do
