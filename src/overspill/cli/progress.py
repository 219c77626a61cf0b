"""A quiet live line on a terminal while a long command runs; gone before anything is printed.

Where somebody may be asked for something it shows the line that has no end yet, which is how prompts look.
"""

from __future__ import annotations

import os
import shutil

from overspill.cli.streams import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    Data = bytes

    class Counted(Protocol):
        bytes: int
        lines: int
        unfinished: Data


_QUIET_SECONDS = 1.0
"""A command that ends sooner shows nothing."""


class Progress:
    """Called with the seconds gone; ``clear`` takes the line away."""

    def __init__(self, counted: Counted, *, prompts: bool) -> None:
        self._counted = counted
        self._prompts = prompts
        self._shown = ""
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self._dim, self._plain = ("", "") if plain else ("\033[2m", "\033[0m")

    def __call__(self, seconds: float) -> None:
        if seconds < _QUIET_SECONDS:
            return
        room = shutil.get_terminal_size().columns - 1
        # Redrawn only when it changes: what is typed after a prompt stands behind it.
        text, dim = self._prompt(room), ""
        if not text:
            lines = f"{self._counted.lines:,} line{'' if self._counted.lines == 1 else 's'}"
            text, dim = f"{lines} · {readable_size(self._counted.bytes)} · {seconds:.0f} s"[:room], self._dim
        if text != self._shown:
            self._shown = text
            write_all(2, f"\r\033[K{dim}{text}{self._plain if dim else ''}".encode("utf-8", "replace"))

    def _prompt(self, room: int) -> str:
        if not (self._prompts and self._counted.unfinished):
            return ""
        from overspill.core.measure import display

        return display(self._counted.unfinished)[-room:]

    def clear(self) -> None:
        if self._shown:
            self._shown = ""
            write_all(2, b"\r\033[K")


def readable_size(size: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError
