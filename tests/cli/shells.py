"""A program at a terminal of its own, and somebody who types: keys go in, the screen is waited for."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import termios
import time
from collections.abc import Mapping
from typing import Self

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\x1b\][^\x07]*\x07")


class Typing:
    def __init__(self, *words: str, env: Mapping[str, str]) -> None:
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.execvpe(words[0], words, env)
        self._seen = b""
        self._at = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._terminal)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)

    def keys(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        termios.tcsetwinsize(self._terminal, (rows, columns))

    def until(self, text: str, seconds: float = 20) -> str:
        """Waits until the text is on the screen, after what was waited for before; answers what came up to it."""
        end = time.monotonic() + seconds
        while True:
            screen = _CONTROL.sub("", self._seen.decode("utf-8", "replace"))
            found = screen.find(text, self._at)
            if found >= 0:
                passed, self._at = screen[self._at : found], found + len(text)
                return passed
            assert time.monotonic() < end, f"no {text!r} after {screen[self._at :]!r}"
            if select.select([self._terminal], [], [], 0.1)[0]:
                self._seen += os.read(self._terminal, 1 << 16)
