"""Runs one command where there is no POSIX: the same words, bytes, status and time-out, by the standard library.

No process groups, job control or pseudo-terminals here, so none are promised: Ctrl-C reaches the command
by the console they share.  It also runs on POSIX, where the tests hold it to the same cases.
"""

from __future__ import annotations

import queue
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO

from overspill.process import LINGER_SECONDS, TICK_SECONDS, CannotStart, Ending
from overspill.process_pipes import READ_BYTES

_MOST_WAITING = 16


class RunningPortably:
    """A command that was started; a thread reads each of its streams."""

    def __init__(self, words: Sequence[str], *, merged: bool = True) -> None:
        self._started = time.monotonic()
        try:
            self._process = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT if merged else subprocess.PIPE, bufsize=0
            )
        except FileNotFoundError as error:
            raise CannotStart(f"{words[0]}: command not found; is it installed and on PATH?", 127) from error
        except OSError as error:
            raise CannotStart(f"{words[0]}: {error.strerror}", 126) from error
        self._come: queue.Queue[tuple[int, bytes]] = queue.Queue(_MOST_WAITING)
        self._open = 0
        for stream, pipe in ((1, self._process.stdout), (2, self._process.stderr)):
            if pipe is not None:
                self._open += 1
                threading.Thread(target=self._read, args=(stream, pipe), daemon=True).start()

    def serve(
        self,
        take: Callable[[int, bytes], None],
        *,
        timeout_seconds: float | None = None,
        grace_seconds: float = 5.0,
        readers: Sequence[int] = (),
        tick: Callable[[float], None] | None = None,
    ) -> Ending:
        stop_at = self._started + timeout_seconds if timeout_seconds else None
        timed_out, ended_at = False, 0.0
        while self._open or not ended_at:
            self._take_next(take)
            now = time.monotonic()
            if not ended_at and self._process.poll() is not None:
                ended_at = now
            if ended_at and now - ended_at > LINGER_SECONDS:
                break
            if stop_at is not None and now >= stop_at and not ended_at:
                self._process.kill() if timed_out else self._process.terminate()
                stop_at = None if timed_out else now + grace_seconds
                timed_out = True
            if tick is not None:
                tick(now - self._started)
        return Ending(
            self._process.wait(), ended_at - self._started, timed_out=timed_out, by_terminal=False, lingering={}
        )

    def close(self) -> None:
        """Nothing to give back; the threads end with the pipes they read."""

    def _take_next(self, take: Callable[[int, bytes], None]) -> None:
        try:
            stream, data = self._come.get(timeout=TICK_SECONDS if self._open else LINGER_SECONDS)
        except queue.Empty:
            return
        if data:
            take(stream, data)
        else:
            self._open -= 1

    def _read(self, stream: int, pipe: IO[bytes]) -> None:
        with pipe:
            while data := pipe.read(READ_BYTES):
                self._come.put((stream, data))
        self._come.put((stream, b""))
