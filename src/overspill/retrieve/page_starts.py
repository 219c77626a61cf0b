"""Where a reader who takes a stretch page by page would turn: places no further apart than one answer of ``read``.

Taken from the bytes in one pass; how much a page holds is estimated from samples, with a reserve, and
never said.  Each place is named by the first words of its line that set it apart from the others.
"""

from __future__ import annotations

from itertools import takewhile
from typing import NamedTuple

from overspill.core.measure import cut_before, display
from overspill.core.model import UNITS
from overspill.core.policy import Policy
from overspill.retrieve.rows import rows
from overspill.retrieve.source import Source

_SAMPLES = 3
_SAMPLE_BYTES = 8 * 1024
_RESERVE = 0.8
"""Of what fits by the samples: a page that is denser than these must still reach the next place."""
_NAME_CHARS = 14
_NAMED_BY_BYTES = 160
_LEAST_PAGES = 3
_MOST_PAGES = 2_000


class PageStart(NamedTuple):
    line: int
    column: int
    """Bytes of the line before the page."""
    begins: bytes
    """How its line begins; nothing for a page that starts inside a line."""

    @property
    def place(self) -> str:
        return f"{self.line}.{self.column + 1}" if self.column else str(self.line)


def page_starts(source: Source, start: int, end: int, *, first_line: int, policy: Policy) -> list[PageStart]:
    """The places in order, from the stretch's own start; none when it has few pages or very many."""
    size = _page_bytes(source, start, end, policy)
    if not (_LEAST_PAGES - 1) * size < end - start <= _MOST_PAGES * size:
        return []
    found: list[PageStart] = []
    at, line, column = start, first_line, 0
    while at < end:
        data = source.read(at, min(size, end - at))
        found.append(PageStart(line, column, b"" if column else data[:_NAMED_BY_BYTES].partition(b"\n")[0]))
        stop = data.rfind(b"\n") + 1 or cut_before(data, len(data)) or len(data)
        newlines = data.count(b"\n", 0, stop)
        line, column = line + newlines, 0 if newlines else column + stop
        at += stop
    return found


def listings(starts: list[PageStart]) -> list[str]:
    """Words for the places, the fullest first: with names, without, then every second, fourth … of them."""
    texts = [display(start.begins).strip() for start in starts]
    names = [_name(text, before) for text, before in zip(texts, ["", *texts], strict=False)]
    made = [", ".join(f"{name} {start.place}".strip() for name, start in zip(names, starts, strict=True))]
    every = 1
    while len(starts) > _LEAST_PAGES * every:
        made.append(", ".join(start.place for start in starts[::every]))
        every *= 2
    return made


def _name(text: str, before: str) -> str:
    """The words from the first on that the line before doesn't share."""
    shared = "".join(char for char, _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, before, strict=False)))
    words = text[shared.rfind(" ") + 1 :].replace(",", " ").replace(";", " ")
    return " ".join(words.split())[:_NAME_CHARS].strip()


def _page_bytes(source: Source, start: int, end: int, policy: Policy) -> int:
    """How much of the stretch an answer can show, by what samples of it cost."""
    length = min(_SAMPLE_BYTES, end - start)
    places = {start + (end - start - length) * number // (_SAMPLES - 1) for number in range(_SAMPLES)}
    line = source.lines  # its number is as long as any
    texts = ["".join(row.shown() for row in rows(source, place, place + length, line=line)) for place in places]
    sizes = [policy.measure.size(text, policy.budget) for text in texts]
    most = [
        bound * length / used
        for size in sizes
        for unit, used in zip(UNITS, size, strict=True)
        if (bound := getattr(policy.budget, f"max_{unit}")) and used
    ]
    return max(256, int(_RESERVE * min(most)))
