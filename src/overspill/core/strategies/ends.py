"""The positional strategies: the start of an output, its end, or both.

Whole lines where they fit; a line that alone exceeds the room is shown by its own start and
end.  Content is not looked at: what matters may stand in the gap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from overspill.core.measure import ESCAPE_BYTES, safe_part
from overspill.core.model import Block, Budget, Call, Gap, Span, Totals, join
from overspill.core.ports import Excerpt
from overspill.errors import PolicyError

_CONTEXT_BYTES = 64


@dataclass(frozen=True, slots=True)
class Ends:
    """The first and the last lines; ``head_share`` of the room goes to the first."""

    head_share: float = 0.5
    name: str = "ends"

    def __post_init__(self) -> None:
        share: object = self.head_share
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise PolicyError("head_share", self.head_share, "a number from 0 to 1")

    def selector(self, room: Budget, call: Call) -> EndsSelector:
        return EndsSelector(room, head_share=self.head_share)


def head() -> Ends:
    """The first lines."""
    return Ends(1.0, "head")


def tail() -> Ends:
    """The last lines."""
    return Ends(0.0, "tail")


class EndsSelector:
    """Holds the first and the last bytes of an output, as many as could possibly be shown."""

    def __init__(self, room: Budget, *, head_share: float) -> None:
        self._head_share = head_share
        self._hold_bytes = room.bytes_ceiling
        self._head: list[Block] = []
        self._head_bytes = 0
        self._head_line_end = _Ring(self._hold_bytes)
        self._tail = _Ring(self._hold_bytes)
        self._tail_line_start: Span | None = None

    def feed(self, block: Block) -> None:
        if self._head_bytes < self._hold_bytes:
            self._head.append(block)
            self._head_bytes += len(block.data)
        elif block.column and block.line == self._head[-1].line:
            self._head_line_end.append(block)
        for dropped in self._tail.append(block):
            if not dropped.column:
                self._tail_line_start = dropped.part(0, min(self._hold_bytes, len(dropped.data)))
        if not self._tail.first.column:
            self._tail_line_start = None

    def finish(self, totals: Totals, call: Call) -> EndsSelector:
        return self

    kind = ""
    headline = ""

    def describe(self, gap: Gap) -> str:
        return ""

    def mark(self, gap: Gap, words: str) -> str | None:
        return None

    def fill(self, excerpt: Excerpt) -> None:
        share = self._head_share
        if share > 0:
            _fill(excerpt, self._first_lines(), leave=1 - share)
        if share < 1:
            _fill(excerpt, self._last_lines(), leave=0)
        if 0 < share < 1:
            for line in self._first_lines():
                if not excerpt.add(*line):
                    break

    def first_and_last(self) -> tuple[Span, Span]:
        """The first and the last line, or as much of them as is held."""
        first = next(iter(self._first_lines()))
        last = next(iter(self._last_lines()))
        return first[0], last[-1]

    def _first_lines(self) -> Iterator[tuple[Span, ...]]:
        """Lines from the start; one whose middle is not held comes as its start and its end."""
        unended = self._head[-1].line + self._head[-1].newlines if self._head_line_end.blocks else 0
        for line in _whole_lines(line for block in self._head for line in block.lines()):
            if line.line == unended:
                yield _whole_start(line), _whole_end(join(self._head_line_end.blocks))
            else:
                yield (line,)

    def _last_lines(self) -> Iterator[tuple[Span, ...]]:
        """Lines from the end, the last one first."""
        for line in _whole_lines_backward(line for block in reversed(self._tail.blocks) for line in _backward(block)):
            if line.column and self._tail_line_start:
                yield _whole_start(self._tail_line_start), _whole_end(line)
            else:
                yield (line,)


class _Ring:
    """The last blocks of a stream: at least ``hold_bytes`` of it, and no more than a block over."""

    def __init__(self, hold_bytes: int) -> None:
        self._hold_bytes = hold_bytes
        self._blocks: deque[Block] = deque()
        self._bytes = 0

    def append(self, block: Block) -> list[Block]:
        """Returns what had to go."""
        self._blocks.append(block)
        self._bytes += len(block.data)
        dropped = []
        while self._bytes - len(self._blocks[0].data) >= self._hold_bytes:
            dropped.append(self._blocks.popleft())
            self._bytes -= len(dropped[-1].data)
        return dropped

    @property
    def first(self) -> Block:
        return self._blocks[0]

    @property
    def blocks(self) -> list[Block]:
        return list(self._blocks)


def _fill(excerpt: Excerpt, lines: Iterator[tuple[Span, ...]], *, leave: float) -> None:
    for line in lines:
        if not excerpt.add(*line, leave=leave):
            if not excerpt.could_hold(*line, leave=leave):
                excerpt.add_ends(line[0], line[-1], leave=leave)
            break
        if len(line) > 1:
            break


def _whole_start(piece: Span) -> Span:
    """The start of a line without its last bytes: what follows them, and so where to cut, is not held."""
    return safe_part(piece, 0, max(len(piece.data) // 2, len(piece.data) - _CONTEXT_BYTES))


def _whole_end(piece: Span) -> Span:
    """The end of a line without its first bytes: what precedes them is not held."""
    return safe_part(piece, min(len(piece.data) // 2, ESCAPE_BYTES), len(piece.data))


def _whole_lines(pieces: Iterable[Span]) -> Iterator[Span]:
    """Joins the pieces in which a long line came."""
    for _, line in groupby(pieces, key=attrgetter("line")):
        yield join(list(line))


def _whole_lines_backward(pieces: Iterable[Span]) -> Iterator[Span]:
    """The same for pieces that come in reverse order."""
    for _, line in groupby(pieces, key=attrgetter("line")):
        yield join([*line][::-1])


def _backward(block: Block) -> Iterator[Span]:
    """The lines of a block, the last one first: most of them are never asked for."""
    data, end, line = block.data, len(block.data), block.line + block.newlines
    line -= data.endswith(b"\n")
    while end > 0:
        start = data.rfind(b"\n", 0, end - 1) + 1
        yield Span(block.start + start, data[start:end], line, 0 if start else block.column)
        end, line = start, line - 1
