"""Large results are bounded beside the stream that they came in, so that the small messages behind them pass.

Guarantees: one at a time, and out in the order in which they came; what waits is a few megabytes, or one
result that is larger: whoever brings more waits.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

WAITING_BYTES = 8 << 20


class Beside:
    """One thread, begun with the first result; ``write`` takes what has become of each."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._waiting: deque[tuple[Callable[[], bytes], int]] = deque()
        self._waiting_bytes = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._fault: OSError | None = None
        self.is_bounding = False
        """Is a result in work? One that only waits for its reader is not."""

    def put(self, work: Callable[[], bytes], size_bytes: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting_bytes or self._waiting_bytes + size_bytes <= WAITING_BYTES)
            if self._fault is not None:
                raise self._fault
            self._waiting.append((work, size_bytes))
            self._waiting_bytes += size_bytes
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def drain(self) -> None:
        """Waits until all is written, or nobody reads it any more."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting_bytes)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                work, size_bytes = self._waiting.popleft()
                self.is_bounding = self._fault is None
            try:
                if self._fault is None:
                    self._put_out(work)
            except OSError as fault:
                self._fault = fault
            finally:
                del work
                with self._changed:
                    self._waiting_bytes -= size_bytes
                    self._changed.notify_all()

    def _put_out(self, work: Callable[[], bytes]) -> None:
        try:
            message = work()
        finally:
            self.is_bounding = False
        self._write(message)
