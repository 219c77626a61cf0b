"""Is a text what another layer showed of one stored output, and nothing besides?

Only then may it be cut anew from the original, or an answer of read-back be shortened.  A line that is
neither in that output, at its place in the order, nor words of overspill's stands in this text alone, and
would be lost.
"""

from __future__ import annotations

import re
from typing import Literal

from overspill.core.measure import cut_before, display, encode, states
from overspill.core.notice import BOUNDED

_BLOCK_BYTES = 1 << 20
_MARK = re.compile(
    r"\[… [^\]\n]*\]|"
    r'\{"…": "(?:[^"\\]|\\.)*"\}|"… (?:[^"\\]|\\.)*"(?:: "[^"]*")?,?|'
    r"…\d+ chars truncated…|…已截断 \d+ 个字符…"
)
"""The marks that stand inside a line, between pieces of the source."""
_WORDS = re.compile(
    r"\[overspill[: ]|\[… .*\]$|\.\.\.(?:$|[ \[(]*\d+ |[ \[(]*(?:已截断|省略))|"
    r"(?:Total output lines: |输出总行数：)\d+$|Too much to show: |输出过大：|No whole line fits; |没有一行能完整显示；"
)
"""How a line of the notice begins, in our own layout and in those of the presets."""


class Shown:
    """Pieces of a text, looked for in the original as that comes chunk by chunk."""

    def __init__(self, pieces: list[str], *, each: Literal["behind the last", "after its start"]) -> None:
        """``each`` says where a piece may begin: windows into a long line overlap."""
        self._pieces = pieces
        self._overlapping = each == "after its start"
        self._longest_chars = max(map(len, self._pieces), default=0)
        self._next = 0
        self._seen = ""
        self._pending = b""

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the original."""
        self._pending += chunk
        while len(self._pending) >= _BLOCK_BYTES:
            end = self._pending.rfind(b"\n", 0, _BLOCK_BYTES) + 1 or cut_before(self._pending, _BLOCK_BYTES)
            self._look(self._pending[:end])
            self._pending = self._pending[end:]

    def all_found(self) -> bool:
        """Asked at the end of the original: was every piece there, in this order?"""
        self._look(self._pending)
        self._pending = b""
        return self._next == len(self._pieces)

    def _look(self, data: bytes) -> None:
        if self._next == len(self._pieces):
            return
        seen, at = self._seen + states(data), 0
        while self._next < len(self._pieces):
            found = seen.find(self._pieces[self._next], at)
            if found < 0:
                break
            at = found + (1 if self._overlapping else len(self._pieces[self._next]))
            self._next += 1
        self._seen = seen[max(at, len(seen) - self._longest_chars) :]


def pieces_of(text: str) -> list[str] | None:
    """The source text that a bounded text claims to show, between line ends and marks; None with two notices."""
    if len(BOUNDED.findall(text)) != 1:
        return None
    return pieces_in(text)


def pieces_in(text: str) -> list[str]:
    """The same of a text whose notice stands elsewhere."""
    lines = (line for line in display(encode(text)).split("\n") if not _WORDS.match(line))
    return [piece for line in lines for part in _MARK.split(line) if (piece := part.strip())]
