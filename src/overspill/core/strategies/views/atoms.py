"""Cuts a text into what is held back or dropped together (segments) and what is weighed and shown (atoms).

Guarantees that no atom is cut at an unsafe place, and that a line is one atom unless it is too long to weigh as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from overspill.core.measure import cut_after, cut_before
from overspill.core.model import Span

SEGMENT_BYTES = 2_048
ATOM_BYTES = 320
"""A line longer than this is weighed and shown in parts."""


class Atom(NamedTuple):
    """A line, or a part of a long one, and the terms of the question that stand in it."""

    span: Span
    terms: tuple[int, ...]


def segment_end(data: bytes, at: int) -> int:
    """Where a segment that starts here ends: after a line if one ends in reach, else at a safe byte."""
    if len(data) - at <= SEGMENT_BYTES:
        return len(data)
    newline = data.rfind(b"\n", at, at + SEGMENT_BYTES)
    if newline >= 0:
        return newline + 1
    newline = data.find(b"\n", at + SEGMENT_BYTES, at + 2 * SEGMENT_BYTES)
    if newline >= 0:
        return newline + 1
    return _soft_cut(data, at, at + 2 * SEGMENT_BYTES)


def _soft_cut(data: bytes, at: int, wanted: int) -> int:
    """A place near ``wanted`` where a long line may be cut: after a space or a delimiter, where it is safe."""
    if wanted >= len(data):
        return len(data)
    low = at + 2 * (wanted - at) // 3
    cut = max(data.rfind(delimiter, low, wanted) for delimiter in (b" ", b";", b",", b"\n", b">"))
    place = cut_before(data, cut + 1 if cut >= 0 else wanted)
    return place if place > at else cut_after(data, wanted)


def atoms_of(span: Span, begins: re.Pattern[bytes] | None) -> Iterator[Span]:
    for line in span.lines():
        if len(line.data) <= ATOM_BYTES + ATOM_BYTES // 2:
            yield line
            continue
        at = 0
        while at < len(line.data):
            end = _soft_cut(line.data, at, at + ATOM_BYTES)
            parting = begins.search(line.data, at + 1, end) if begins else None
            if parting and cut_before(line.data, parting.start()) == parting.start():
                end = parting.start()
            yield line.part(at, end)
            at = end
