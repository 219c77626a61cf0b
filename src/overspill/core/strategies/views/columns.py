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
from typing import NamedTuple

from overspill.core.model import Span

Cells = Callable[[bytes], Sequence[bytes]]

VALUES_KEPT = 40
EXTREMES_KEPT = 3
SERIES_KEPT = 60_000
MISSING = frozenset(b"- NA N/A na n/a null NULL None none nan NaN ? <none> <unknown> unknown Unknown".split()) | {b""}
_NUMBER = re.compile(rb"[-+]?[$]?(\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(%|[KMGT]i?B?|[mun]?s)?(?:\s*\(.*\))?$")
_DIGITS = frozenset(bytes([digit]) for digit in b"0123456789")
_MOST_EXACT = 1e15
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


def split_on(delimiter: bytes) -> Cells:
    """Cells of delimited text; quoted cells by the rules of CSV."""
    text = delimiter.decode()

    def cells(line: bytes) -> Sequence[bytes]:
        line = line.rstrip(b"\r\n")
        if b'"' not in line:
            return line.split(delimiter)
        try:
            return [cell.encode("latin-1") for cell in next(csv.reader([line.decode("latin-1")], delimiter=text))]
        except (csv.Error, StopIteration):
            return line.split(delimiter)

    return cells


def split_on_bars(line: bytes) -> Sequence[bytes]:
    """Cells of a Markdown or box table."""
    return [cell.strip() for cell in line.strip().strip(b"|").split(b"|")]


_WIDE = re.compile(rb"[ \t]{2,}|\t")


def split_wide(line: bytes) -> Sequence[bytes]:
    """Cells that stand at least two spaces apart."""
    return _WIDE.split(line.strip())


def split_words(columns: int) -> Cells:
    """Cells that are words, the last one taking the rest of the line."""
    return lambda line: line.split(None, columns - 1)


class Extreme(NamedTuple):
    """A row that holds one of the largest (or smallest) values of a column."""

    value: float
    order: int
    row: Span


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

    def see(self, cell: bytes, row: Span) -> None:
        """Takes one more cell into account."""
        self.rows += 1
        cell = cell.strip()
        number = number_of(cell) if cell[:1] in b"0123456789-+$." and cell else None
        if len(self.series) < SERIES_KEPT:
            self.series.append(number if number is not None else math.nan)
        if number is not None and self.is_exact:
            self.is_exact = cell[-1:] in _DIGITS and abs(number) < _MOST_EXACT
        if number is not None and math.isfinite(number):
            self._measure(number, row)
        if cell in MISSING:
            self.missing[cell] += 1
            if len(self.missing_rows) < 8:
                self.missing_rows.append(row)
        values = self.values
        if values is None:
            return
        count = values[cell] + 1
        values[cell] = count
        if count == 1:
            if len(values) > VALUES_KEPT:
                self.values = None
                self.first_rows.clear()
                return
            self.first_rows[cell] = [row]
        elif count <= 3:
            self.first_rows[cell].append(row)
        elif count == 30:
            self.first_rows[cell] = self.first_rows[cell][:1]

    def lacks_one(self) -> None:
        """Takes a row into account that ends before this column."""
        if len(self.series) < SERIES_KEPT:
            self.series.append(math.nan)

    def _measure(self, number: float, row: Span) -> None:
        self.numbers += 1
        step = number - self.mean
        self.mean += step / self.numbers
        self.spread += step * (number - self.mean)
        keep_largest(self.highest, number, self.numbers, row)
        keep_largest(self.lowest, -number, self.numbers, row)
        last, self.last = self.last, number
        if last is not None:
            if number > last:
                self.rising += 1
            elif number < last:
                self.falling += 1
            if last > 0 < number:
                change = number / last - 1
                keep_largest(self.jumps, change, self.numbers, row)
                keep_largest(self.falls, last / number - 1, self.numbers, row)

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


def keep_largest(heap: list[tuple[float, int, Span]], value: float, order: int, row: Span) -> None:
    """Keeps a row if its value is among the largest; of equal ones the earliest."""
    if len(heap) < EXTREMES_KEPT:
        heapq.heappush(heap, (value, -order, row))
    elif value > heap[0][0]:
        heapq.heapreplace(heap, (value, -order, row))
