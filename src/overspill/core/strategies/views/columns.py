"""How the lines of a table fall into cells, and what stands out in a column as rows stream by.

Cells are read leniently: a row of another shape gives no cells and counts as one of its own.
"""

from __future__ import annotations

import csv
import heapq
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import gt, itemgetter, lt, mul, neg, truediv
from typing import Protocol

from overspill.core.model import Block, Span
from overspill.core.strategies.views.quantities import Quantities

Cells = Callable[[bytes], Sequence[bytes]]

VALUES_KEPT = 40
EXTREMES_KEPT = 3
PART_CELLS = 64
"""So many are looked through again after the largest of them was taken."""
SERIES_KEPT = 60_000
_SEEN_AT_ONCE = 256
"""More different values than are kept show among so many cells already, as a rule."""
MISSING_ROWS_KEPT = 8
FIRST_ROWS_KEPT = 3
USUAL_ROWS = 30
"""Of a value that so many rows hold, the first is enough."""
MISSING = frozenset(b"- NA N/A na n/a null NULL None none nan NaN ? <none> <unknown> unknown Unknown".split()) | {b""}
_NUMBER = re.compile(rb"[-+]?[$]?(\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(%|[KMGT]i?B?|[mun]?s)?(?:\s*\(.*\))?$")
_NUMBER_STARTS = b"0123456789-+$."
_DIGITS = frozenset(b"0123456789")
_MOST_EXACT = 1e15
_BLANKS = (b" ", b"\t", b"\v", b"\f")
_UNITS = {b"K": 1e3, b"M": 1e6, b"G": 1e9, b"T": 1e12}


def number_of(cell: bytes) -> float | None:
    """The number that a cell holds: ``3``, ``-1.5e3``, ``1,024``, ``12Mi``, ``7%``, ``42 (2m ago)``."""
    try:
        return float(cell)
    except ValueError:
        pass
    match = _NUMBER.match(cell.strip())
    if match is None:
        return None
    value = float(match.group(1).replace(b",", b""))
    unit = match.group(2) or b""
    if unit[:1] in _UNITS:
        value *= _UNITS[unit[:1]]
    return -value if cell.lstrip().startswith(b"-") else value


@dataclass(frozen=True, slots=True)
class Delimited:
    """Cells of delimited text; quoted cells by the rules of CSV."""

    delimiter: bytes

    def __call__(self, line: bytes) -> Sequence[bytes]:
        line = line.rstrip(b"\r\n")
        if b'"' not in line:
            return line.split(self.delimiter)
        try:
            rows = csv.reader([line.decode("latin-1")], delimiter=self.delimiter.decode())
            return [cell.encode("latin-1") for cell in next(rows)]
        except (csv.Error, StopIteration):
            return line.split(self.delimiter)

    def columns(self, data: bytes, lines: int, width: int) -> list[list[bytes]]:
        """The cells of whole lines, column by column, where each line has just so many and no quotes; else nothing."""
        if b'"' in data or b"\r" in data or data.count(self.delimiter) != lines * (width - 1):
            return []
        # a cell that is nothing but a line end parts the lines: one look shows whether they are all as wide
        cells = data.replace(b"\n", self.delimiter + b"\n" + self.delimiter).split(self.delimiter)
        step = width + 1
        if cells[width::step].count(b"\n") != lines:
            return []
        columns = [cells[number : step * lines : step] for number in range(width)]
        if any(blank in data for blank in _BLANKS):
            return [[*map(bytes.strip, column)] for column in columns]
        return columns


def split_on_bars(line: bytes) -> Sequence[bytes]:
    """Cells of a Markdown or box table."""
    return [cell.strip() for cell in line.strip().strip(b"|").split(b"|")]


_BAR = re.compile(rb"(?<!\\)\|")


def split_markdown(line: bytes) -> Sequence[bytes]:
    """Cells of a row of a Markdown table; a bar after a backslash is text."""
    line = line.strip()
    if b"\\|" not in line:
        return [*map(bytes.strip, line.removeprefix(b"|").removesuffix(b"|").split(b"|"))]
    line = line.removeprefix(b"|")
    return [*map(bytes.strip, _BAR.split(line if line.endswith(b"\\|") else line.removesuffix(b"|")))]


def split_markdown_within(columns: int) -> Cells:
    """The same; cells beyond the header's are nothing."""
    return lambda line: split_markdown(line)[:columns]


_WIDE = re.compile(rb"[ \t]{2,}|\t")


def split_wide(line: bytes) -> Sequence[bytes]:
    """Cells that stand at least two spaces apart."""
    return _WIDE.split(line.strip())


def split_words(columns: int) -> Cells:
    """Cells that are words, the last one taking the rest of the line."""
    return lambda line: line.split(None, columns - 1)


class Rows(Protocol):
    """The rows that cells come from, by number."""

    def __len__(self) -> int: ...
    def __getitem__(self, at: int, /) -> Span: ...


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a block; a span is only made of those that are asked for."""

    block: Block
    texts: Sequence[bytes]
    starts: Sequence[int]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, at: int) -> Span:
        return Span(self.block.start + self.starts[at], self.texts[at], self.block.line + at)


@dataclass(frozen=True, slots=True)
class Picked:
    """Some of the rows."""

    rows: Rows
    places: Sequence[int]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, at: int) -> Span:
        return self.rows[self.places[at]]


@dataclass(slots=True)
class Column:
    """What one column has held so far."""

    name: bytes
    rows: int = 0
    numbers: int = 0
    is_exact: bool = True
    """Is each number just what the cell says, without a unit, and none too large to be told to the digit?"""
    mean: float = 0.0
    spread: float = 0.0
    rising: int = 0
    falling: int = 0
    last: float | None = None
    values: Counter[bytes] | None = field(default_factory=Counter)
    first_rows: dict[bytes, list[Span]] = field(default_factory=dict)
    missing: Counter[bytes] = field(default_factory=Counter)
    missing_rows: list[Span] = field(default_factory=list)
    highest: list[tuple[float, int, Span]] = field(default_factory=list)
    lowest: list[tuple[float, int, Span]] = field(default_factory=list)
    jumps: list[tuple[float, int, Span]] = field(default_factory=list)
    falls: list[tuple[float, int, Span]] = field(default_factory=list)
    series: array[float] = field(default_factory=lambda: array("d"))
    quantities: Quantities | None = field(default_factory=Quantities)
    """The same with units, as long as each cell has one."""

    def see(self, cells: Sequence[bytes], rows: Rows, *, places: Sequence[int] | None = None, of: int = 0) -> None:
        """Takes the next cells into account, one of each row.

        Where some of ``of`` rows end before this column, ``places`` are those of the others among them.
        """
        self.take([*map(bytes.strip, cells)], rows, places=places, of=of)

    def take(self, cells: Sequence[bytes], rows: Rows, *, places: Sequence[int] | None = None, of: int = 0) -> None:
        """The same of cells that have no blanks around them."""
        self.rows += len(cells)
        if self.values is not None and len({*cells[:_SEEN_AT_ONCE]}) > VALUES_KEPT:
            self._forget_values()
        present = Counter(cells) if self.values is not None else None
        numbers = _numbers(cells)
        if (room := SERIES_KEPT - len(self.series)) > 0:
            self.series.extend((numbers if places is None else _placed(numbers, places, of))[:room])
        is_numeric = numbers.count(math.nan) < len(numbers)
        is_finite = is_numeric and math.isfinite(sum(numbers))
        if self.is_exact and is_numeric:
            held = cells if is_finite else [cell for cell, at in zip(cells, numbers, strict=True) if not math.isnan(at)]
            known = numbers if is_finite else [number for number in numbers if not math.isnan(number)]
            self.is_exact = _DIGITS.issuperset(map(itemgetter(-1), held)) and (
                not known or -_MOST_EXACT < min(known) <= max(known) < _MOST_EXACT
            )
        if self.quantities is not None and room > 0:
            at = range(len(cells)) if places is None else places
            present_at = ((place, cell) for place, cell in zip(at, cells, strict=True) if cell not in MISSING)
            if not self.quantities.see(present_at, of or len(cells)):
                self.quantities = None
        if is_finite:
            self._measure(numbers, rows)
        elif is_numeric:
            finite = [at for at, number in enumerate(numbers) if math.isfinite(number)]
            self._measure([numbers[at] for at in finite], Picked(rows, finite))
        if not MISSING.isdisjoint(present or cells):
            empty = [at for at, cell in enumerate(cells) if cell in MISSING]
            self.missing.update(map(cells.__getitem__, empty))
            self.missing_rows += [rows[at] for at in empty[: MISSING_ROWS_KEPT - len(self.missing_rows)]]
        if present is not None:
            self._count(present, cells, rows)

    def _count(self, present: Counter[bytes], cells: Sequence[bytes], rows: Rows) -> None:
        values = self.values
        if values is None or len(values) + len(present.keys() - values.keys()) > VALUES_KEPT:
            self._forget_values()
            return
        for cell, count in present.items():
            before = values[cell]
            first = self.first_rows.setdefault(cell, [])
            at = -1
            for _ in range(min(count, FIRST_ROWS_KEPT - before)):
                at = cells.index(cell, at + 1)
                first.append(rows[at])
            values[cell] = before + count
            if values[cell] >= USUAL_ROWS:
                del first[1:]

    def _forget_values(self) -> None:
        self.values = None
        self.first_rows.clear()

    def _measure(self, numbers: list[float], rows: Rows) -> None:
        """Mean and spread, merged with those so far; the extremes; the largest changes from row to row."""
        if not numbers:
            return
        before, size = self.numbers, len(numbers)
        self.numbers += size
        mean = sum(numbers) / size
        apart = [number - mean for number in numbers]
        step = mean - self.mean
        self.mean += step * size / self.numbers
        self.spread += sum(map(mul, apart, apart)) + step * step * before * size / self.numbers
        keep_largest(self.highest, numbers, before, rows)
        keep_largest(self.lowest, [*map(neg, numbers)], before, rows)
        old, new = numbers[:-1], numbers[1:]
        if self.last is not None:
            old, new = [self.last, *old], numbers
        self.last = numbers[-1]
        self.rising += sum(map(gt, new, old))
        self.falling += sum(map(lt, new, old))
        first = size - len(new)
        if min(numbers) > 0 and min(old, default=1.0) > 0:
            places: Sequence[int] = range(first, size)
        else:
            places = [at for at, pair in enumerate(zip(old, new, strict=True), first) if min(pair) > 0]
            old, new = [old[at - first] for at in places], [numbers[at] for at in places]
        rows = Picked(rows, places)
        keep_largest(self.jumps, [*map(truediv, new, old)], before, rows)
        keep_largest(self.falls, [*map(truediv, old, new)], before, rows)

    @property
    def deviation(self) -> float:
        return math.sqrt(self.spread / self.numbers) if self.numbers else 0.0

    @property
    def numeric(self) -> bool:
        return self.numbers >= 3 and self.numbers > 0.7 * (self.rows - self.missing.total())

    @property
    def is_counter(self) -> bool:
        """Rises from row to row: an index, an id or a time, whose extremes are its ends."""
        steps = self.rising + self.falling
        return steps > 0.5 * self.numbers > 4 and not 0.03 * steps < self.rising < 0.97 * steps

    def is_smooth(self) -> bool:
        """Neighbouring rows are near one another, as in a series over time."""
        if self.numbers < 30 or not self.jumps or not self.deviation or self.mean <= 0:
            return False
        steps = [abs(b - a) for a, b in zip(self.series, self.series[1:2000], strict=False) if a == a and b == b]
        return bool(steps) and sum(steps) / len(steps) < 0.25 * self.deviation


def _placed(numbers: list[float], places: Sequence[int], of: int) -> list[float]:
    """Each number at its row's place, so that the series numbers rows."""
    placed = [math.nan] * of
    for place, number in zip(places, numbers, strict=True):
        placed[place] = number
    return placed


def _numbers(cells: Sequence[bytes]) -> list[float]:
    """The number in each cell, NaN where there is none."""
    try:
        numbers = [*map(float, cells)]
    except ValueError:
        numbers = []
    if numbers and math.isfinite(sum(numbers)):
        return numbers
    known = {cell: number_of(cell) if cell[:1] in _NUMBER_STARTS and cell else None for cell in set(cells)}
    return [math.nan if (number := known[cell]) is None else number for cell in cells]


def keep_largest(heap: list[tuple[float, int, Span]], values: Sequence[float], before: int, rows: Rows) -> None:
    """Keeps the rows of the largest values, ``before`` of which were seen already; of equal ones the earliest."""
    if not values:
        return
    if len(heap) == EXTREMES_KEPT and max(values) <= heap[0][0]:
        return
    parts = [[*values[at : at + PART_CELLS]] for at in range(0, len(values), PART_CELLS)]
    most = [*map(max, parts)]
    for _ in range(EXTREMES_KEPT):
        value = max(most)
        if value == -math.inf or (len(heap) == EXTREMES_KEPT and value <= heap[0][0]):
            return
        number = most.index(value)
        within = parts[number].index(value)
        parts[number][within] = -math.inf
        most[number] = max(parts[number])
        at = number * PART_CELLS + within
        push = heapq.heappush if len(heap) < EXTREMES_KEPT else heapq.heapreplace
        push(heap, (value, -before - at, rows[at]))
