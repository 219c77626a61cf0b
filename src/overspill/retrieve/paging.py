"""How a reader takes a stretch page by page: where each starts, or by how many lines or bytes to go on.

A page is what one answer of ``read`` shows, estimated from samples with a reserve; the account of what a
page really showed is the answer's own.  Long stretches have too many pages to name: a step says them all.
"""

from __future__ import annotations

from itertools import pairwise, takewhile
from typing import Literal, NamedTuple

from overspill.core.access import worded
from overspill.core.measure import cut_before, display
from overspill.core.model import UNITS
from overspill.core.policy import Policy
from overspill.retrieve.rows import rows
from overspill.retrieve.source import Source

MOST_NAMED = 80
_MOST_SAMPLES = 96
_SAMPLE_BYTES = 4 * 1024
_RESERVE = 0.75
"""Of what fits by the samples: a page that is denser than these must still reach the next place."""
_NAME_CHARS = 14
_NAMED_BY_BYTES = 160
_LEAST_PAGES = 3
_LEAST_LINES = 4
"""Lines so long that a page holds fewer are counted in bytes."""


class _Start(NamedTuple):
    line: int
    begins: bytes
    """How its line begins; nothing for a page that starts inside a line."""


def listings(source: Source, start: int, end: int, *, first_line: int, policy: Policy) -> list[str]:
    """Words for the pages, the fullest first; none when there are few."""
    size = _page_bytes(source, start, end, policy)
    if end - start <= (_LEAST_PAGES - 1) * size:
        return []
    starts = _starts(source, start, end, first_line, size)
    lines = [after.line - before.line for before, after in pairwise(starts)]
    if min(lines) < _LEAST_LINES:
        size = _page_bytes(source, start, end, policy, of="states")
        return [f"pages of {size} bytes: {_stepped(source, policy, 'bytes', start + 1, size)}"]
    step = f"pages of {min(lines)} lines: {_stepped(source, policy, 'lines', first_line, min(lines))}"
    return [f"pages from: {_named(starts)}", step] if len(starts) <= MOST_NAMED else [step]


def _stepped(source: Source, policy: Policy, unit: str, first: int, step: int) -> str:
    """The first page as a call, the second as a range."""
    call = worded(policy.access, "read", source.rest(), **{unit: f"{first}-{first + step - 1}"})
    return f"{call or f'{first}-{first + step - 1}'}, {first + step}-{first + 2 * step - 1}, …"


def _starts(source: Source, start: int, end: int, line: int, size: int) -> list[_Start]:
    found, at, is_inside = [], start, False
    while at < end:
        data = source.read(at, min(size, end - at))
        found.append(_Start(line, b"" if is_inside else data[:_NAMED_BY_BYTES].partition(b"\n")[0]))
        whole = data.rfind(b"\n") + 1
        at += whole or cut_before(data, len(data)) or len(data)
        line, is_inside = line + data.count(b"\n"), not whole
    return found


def _named(starts: list[_Start]) -> str:
    """Each page by the words with which its first line sets itself apart from that of the page before."""
    texts = [display(start.begins).strip() for start in starts]
    names = [_name(text, before) for text, before in zip(texts, ["", *texts], strict=False)]
    return ", ".join(f"{name} {start.line}".strip() for name, start in zip(names, starts, strict=True))


def _name(text: str, before: str) -> str:
    shared = "".join(char for char, _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, before, strict=False)))
    words = text[shared.rfind(" ") + 1 :].replace(",", " ").replace(";", " ")
    return " ".join(words.split())[:_NAME_CHARS].strip()


def _page_bytes(source: Source, start: int, end: int, policy: Policy, of: Literal["lines", "states"] = "lines") -> int:
    """How much of the stretch an answer can show, by what samples of it cost."""
    length = min(_SAMPLE_BYTES, end - start)
    count = min(_MOST_SAMPLES, 1 + (end - start - 1) // length)  # of up to 384 KiB, all of it
    places = {start + (end - start - length) * number // max(1, count - 1) for number in range(count)}
    line = source.lines  # its number is as long as any
    texts = ["".join(row.shown() for row in rows(source, place, place + length, line=line, of=of)) for place in places]
    sizes = [policy.measure.size(text, policy.budget) for text in texts]
    most = [
        bound * length / used
        for size in sizes
        for unit, used in zip(UNITS, size, strict=True)
        if (bound := getattr(policy.budget, f"max_{unit}")) and used
    ]
    return max(64, int(_RESERVE * min(*most, policy.budget.bytes_ceiling)))
