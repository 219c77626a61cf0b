"""Read-back answers as other layers meet them: recognised, never stored or cut as an output again.

An answer begins with ``[overspill VERB …]`` and each of its lines of source with a number.  A layer whose
limit is tighter shows fewer of its lines and says so; the source stays where it is, in the store.  What has
any other line in it is an output like any other: shortening would lose that line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from overspill.core.measure import Measure, cut_before, display, encode
from overspill.core.model import Bounded, Budget, Gap, Part, totals_of

ANSWER = re.compile(
    r"\[overspill (?P<verb>read|grep|outline|query|search)(?: (?P<handle>ovs_[a-z0-9]+))?: [^\n]{1,2000}\]\n"
)
"""How an answer begins. That its handle is one of the store's is for the asking layer to see."""
_ROW = re.compile(r"[0-9]+(?:\[[0-9]+-[0-9]+\])?[:-](?P<piece>.*)", re.DOTALL)
_FOUND = re.compile(r"(?P<handle>ovs_[a-z0-9]+):[0-9]+(?:\[[0-9]+-[0-9]+\])?:")
_SHOWN_BEFORE = re.compile(r"\[lines? .* already shown\]$")
_LAST = re.compile(r"\[(?:more: .*|[0-9]+ lines of this answer don't fit here: ask for fewer)\]$")
_COUNT = re.compile(r"(?:(?P<first>[0-9]+)-(?P<last>[0-9]+) of [^\]]*?|(?P<count>[0-9]+) )(?:results?|rows?|lines?)\b")
_MARK = "[{count} lines of this answer don't fit here: ask for fewer]\n"


class Claim(NamedTuple):
    """What a text would have to be to be an answer and nothing besides."""

    handles: frozenset[str]
    """Outputs that have to be kept here."""
    pieces: list[str]
    """What has to stand in the one output, in this order; nothing where an answer has no lines of its source."""


def claim_of(text: str) -> Claim | None:
    """None when the text has a line that no answer has."""
    found = ANSWER.match(text)
    if found is None:
        return None
    lines = display(encode(text[found.end() :])).removesuffix("\n").split("\n")
    if _LAST.match(lines[-1]):
        lines.pop()
    if lines == [""]:
        lines = []
    if any(_LAST.match(line) for line in lines):
        return None
    match found["verb"]:
        case "search":
            places = [_FOUND.match(line) for line in lines]
            handles = frozenset(place["handle"] for place in places if place)
            return Claim(handles, []) if all(places) and handles and _counts(found.group(), lines) else None
        case "query":
            lines = [line for line in lines if not line.startswith("# ")]
            return Claim(frozenset((found["handle"],)), []) if _counts(found.group(), lines) else None
        case verb:
            pieces = _pieces(lines, verb)
            return None if pieces is None or not found["handle"] else Claim(frozenset((found["handle"],)), pieces)


def _pieces(lines: list[str], verb: str) -> list[str] | None:
    pieces = []
    for line in lines:
        row = _ROW.match(line)
        if row is not None:
            pieces.append(row["piece"].removesuffix("…").strip())
        elif not (
            (verb == "grep" and line == "--")
            or (verb == "outline" and line.startswith("# "))
            or (verb == "read" and _SHOWN_BEFORE.match(line))
        ):
            return None
    return [piece for piece in pieces if piece]


def _counts(head: str, lines: list[str]) -> bool:
    """Are there as many lines as the head says, so that none is another tool's?"""
    found = _COUNT.search(head)
    if found is None:
        return not lines
    most = int(found["count"]) if found["count"] else int(found["last"]) - int(found["first"]) + 1
    return len(lines) <= most


def tightened(text: str, budget: Budget, measure: Measure) -> Bounded:
    """An answer within a tighter budget: its first lines, whole, and how many were left out."""
    totals = totals_of(encode(text))
    if measure.fits(text, budget):
        return Bounded(text=text, truncated=True, parts=(Part(text),), totals=totals)
    lines = text.splitlines(keepends=True)

    def start(count: int) -> str:
        return "".join(lines[:count]) + _MARK.format(count=len(lines) - count)

    low, high = 0, len(lines) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if measure.fits(start(middle), budget) else (low, middle - 1)
    if low and measure.fits(start(low), budget):
        shown = "".join(lines[:low])
        size = len(encode(shown))
        gap = Gap(size, totals.bytes, shown.count("\n") + 1, totals.lines)
        return _cut(shown, _MARK.format(count=len(lines) - low), gap, text)
    return _first_bytes(text, budget, measure)


def _cut(shown: str, mark: str, gap: Gap, text: str) -> Bounded:
    # Without spans: these would be places in the output that the answer is about.
    parts = Part(shown), Part(mark, gap=gap)
    return Bounded(text=shown + mark, truncated=True, parts=parts, gaps=(gap,), totals=totals_of(encode(text)))


def _first_bytes(text: str, budget: Budget, measure: Measure) -> Bounded:
    data = encode(text)
    low, high = 0, min(len(data), budget.bytes_ceiling)

    def start(size: int) -> str:
        return data[: cut_before(data, size)].decode("utf-8", "replace") + "…"

    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if measure.fits(start(middle), budget) else (low, middle - 1)
    place = cut_before(data, low)
    before = data[:place]
    column = place - (before.rfind(b"\n") + 1)
    gap = Gap(place, len(data), before.count(b"\n") + 1, totals_of(data).lines, first_column=column)
    return _cut(before.decode("utf-8", "replace"), "…", gap, text)
