"""Cuts the pool of an output into units: lines, and pieces of lines too long to keep whole.

Guarantees that the units of a chunk are its bytes, in order, without loss; no piece is cut at an unsafe place.
Leaves to others which units are worth keeping.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate

from overspill.core.measure import cut_after
from overspill.core.model import Span, lines_of

LONG_LINE_BYTES = 640
_PIECE = re.compile(
    rb"[^\r]{60,260}(?:\r+|(?<=[,;>}\]) ])(?=[^,;>}\]) ])|$)|[^\r]{1,260}\r*|\r+",
    re.DOTALL,
)


@dataclass(slots=True)
class Units:
    """Parallel columns: one entry per unit, in the order of the source."""

    texts: list[bytes] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    joined: list[bool] = field(default_factory=list)
    """Whether the unit before it in this list is also the one before it in the source."""

    def __len__(self) -> int:
        return len(self.texts)

    def span(self, index: int) -> Span:
        return Span(self.starts[index], self.texts[index], self.lines[index], self.columns[index])


def cut(chunks: Iterable[Span]) -> Units:
    """The units of the chunks, which are in the order of the source and don't overlap."""
    units = Units()
    end_before = -1
    texts, starts, lines, columns, joined = units.texts, units.starts, units.lines, units.columns, units.joined
    for chunk in chunks:
        at, line, column = chunk.start, chunk.line, chunk.column
        lines_here = lines_of(chunk.data)
        if b"\r" not in chunk.data and 0 < max(map(len, lines_here), default=0) <= LONG_LINE_BYTES:
            texts += lines_here
            ends = [*accumulate(map(len, lines_here), initial=at)]
            starts += ends[:-1]
            lines += range(line, line + len(lines_here))
            columns += [column, *bytes(len(lines_here) - 1)]
            joined += [at == end_before, *[True] * (len(lines_here) - 1)]
            end_before = ends[-1]
            continue
        for text in lines_here:
            if len(text) <= LONG_LINE_BYTES and b"\r" not in text[:-2]:
                texts.append(text)
                starts.append(at)
                lines.append(line)
                columns.append(column)
                joined.append(at == end_before)
                at = end_before = at + len(text)
            else:
                for piece in _pieces(text):
                    texts.append(piece)
                    starts.append(at)
                    lines.append(line)
                    columns.append(column)
                    joined.append(at == end_before)
                    at = end_before = at + len(piece)
                    column += len(piece)
            line, column = line + 1, 0
    return units


def _pieces(text: bytes) -> list[bytes]:
    pieces: list[bytes] = []
    at = 0
    while at < len(text):
        match = _PIECE.match(text, at)
        end = match.end() if match else at + 1
        end = cut_after(text, end)
        if text[end:] == b"\n":
            end += 1
        pieces.append(text[at:end])
        at = end
    return pieces
