"""What a look at an output's form found, and the stretch it looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from overspill.core.model import Block, Call
from overspill.retrieve.source import Source

BLOCK_BYTES = 256 * 1024
NAME_CHARS = 48
_ON_A_LINE = 8


@dataclass(frozen=True, slots=True)
class Stretch:
    """A range of whole lines of an output."""

    source: Source
    start: int
    end: int
    first_line: int
    call: Call

    def sample(self, size: int = 64 * 1024) -> bytes:
        return self.source.read(self.start, min(size, self.end - self.start))

    def blocks(self) -> Iterator[Block]:
        """In order, whole lines to a block; a line longer than a block comes in pieces. Places are the output's."""
        at, line, column, rest = self.start, self.first_line, 0, b""
        for chunk in self.source.chunks(self.start, self.end, BLOCK_BYTES):
            data = rest + chunk
            stop = data.rfind(b"\n") + 1 or (len(data) if len(data) >= BLOCK_BYTES else 0)
            if stop:
                yield Block(at, data[:stop], line, column)
                newlines = data.count(b"\n", 0, stop)
                column = stop - data.rfind(b"\n", 0, stop) - 1 + (0 if newlines else column)
                line, at = line + newlines, at + stop
            rest = data[stop:]
        if rest:
            yield Block(at, rest, line, column)


class Landmark(NamedTuple):
    """A named place."""

    line: int
    name: str
    level: int = 1
    byte: int = 0
    """Where in its line, from 1; 0 when the line is place enough."""

    @property
    def place(self) -> str:
        return f"{self.line}.{self.byte}" if self.byte else str(self.line)


@dataclass(frozen=True, slots=True)
class Shape:
    kind: str = ""
    headline: str = ""
    lines: Sequence[str] = ()
    """Facts, most telling first, one to a line."""
    landmarks: Sequence[Landmark] = ()
    """Named places in order, of which as many are listed as fit: the outer levels first, else every so many."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The same as data."""


def listings(landmarks: Sequence[Landmark]) -> Iterator[list[str]]:
    """Lists of the landmarks, the fullest first, each as lines of facts."""
    chosen = list(landmarks)
    depth = max((mark.level for mark in landmarks), default=0)
    while chosen:
        left_out = len(landmarks) - len(chosen)
        yield listed(chosen, f"; {left_out} deeper ones left out" if left_out else "")
        depth -= 1
        outer = [mark for mark in chosen if mark.level <= depth]
        if len(outer) < 8:
            break
        chosen = outer
    every = 2
    while len(chosen) > 2 * every:
        yield listed(chosen[::every], f"; every {every}. of {len(chosen)}")
        every *= 2


def listed(landmarks: Sequence[Landmark], note: str) -> list[str]:
    names = [f"{mark.name[:NAME_CHARS]} {mark.place}" for mark in landmarks]
    lines = [", ".join(names[at : at + _ON_A_LINE]) for at in range(0, len(names), _ON_A_LINE)]
    if lines and note:
        lines[-1] += note
    return lines


def places(lines: Sequence[int], *, most: int = 5) -> str:
    """Line numbers as words: the first few of them."""
    shown = ", ".join(map(str, lines[:most]))
    return shown + (", …" if len(lines) > most else "")
