"""Read-back answers as other layers meet them: recognised, never stored or cut as an output again.

An answer begins with ``[overspill VERB …]`` and each of its lines of source with a number.  A layer whose
limit is tighter shows fewer of its lines and says so; the source stays where it is, in the store.
"""

from __future__ import annotations

import re

from overspill.core.measure import Measure, cut_before, encode
from overspill.core.model import Budget

ANSWER = re.compile(
    r"\[overspill (?P<verb>read|grep|outline|query|search)(?: (?P<handle>ovs_[a-z0-9]+))?: [^\n]{1,2000}\]\n"
)
"""How an answer begins. That its handle is one of the store's is for the asking layer to see."""


def tightened(text: str, budget: Budget, measure: Measure) -> str:
    """An answer within a tighter budget: its first lines, whole, and how many were left out."""
    if measure.fits(text, budget):
        return text
    lines = text.splitlines(keepends=True)

    def start(count: int) -> str:
        return "".join(lines[:count]) + f"[{len(lines) - count} lines of this answer don't fit here: ask for fewer]\n"

    low, high = 0, len(lines) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if measure.fits(start(middle), budget) else (low, middle - 1)
    if low and measure.fits(start(low), budget):
        return start(low)
    return _first_bytes(text, budget, measure)


def _first_bytes(text: str, budget: Budget, measure: Measure) -> str:
    data = encode(text)
    low, high = 0, min(len(data), budget.bytes_ceiling)

    def start(size: int) -> str:
        return data[: cut_before(data, size)].decode("utf-8", "replace") + "…"

    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if measure.fits(start(middle), budget) else (low, middle - 1)
    return start(low)
