"""Columns whose cells are numbers with a unit (``12ms``, ``3.4 GB``, ``85%``), and their range in the cells' own words.

Guarantees a range only where every cell of the column carries the same unit, or units of one family that convert into
one another; where thousands may count 1,000 or 1,024, only a range that both agree on.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

SUFFIXES_KEPT = 16
_QUANTITY = re.compile(
    rb"([-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.\d{1,15})?)( ?(?:%|(?:[A-Za-z]|\xc2\xb5|\xce\xbc){1,8}(?:/s)?))"
)
_NANOSECONDS = {
    "ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9, "m": 60e9, "min": 60e9, "h": 3600e9,
    "hr": 3600e9, "d": 86400e9,
}  # fmt: skip
_POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_SIZE = re.compile(r"([kKMGTP]?)(i?)(B?)")


@dataclass(slots=True)
class Quantities:
    """The numbers of one column, row by row, and what unit each has."""

    numbers: array[float] = field(default_factory=lambda: array("d"))
    units: array[int] = field(default_factory=lambda: array("b"))
    suffixes: list[bytes] = field(default_factory=list)

    def see(self, cells: Iterable[tuple[int, bytes]], of: int) -> bool:
        """Takes the cells that some of ``of`` more rows hold; returns whether all so far were quantities."""
        numbers, units = [math.nan] * of, [-1] * of
        for place, cell in cells:
            match = _QUANTITY.fullmatch(cell)
            if match is None:
                return False
            suffix = match[2]
            if suffix not in self.suffixes:
                if len(self.suffixes) == SUFFIXES_KEPT:
                    return False
                self.suffixes.append(suffix)
            numbers[place], units[place] = float(match[1].replace(b",", b"")), self.suffixes.index(suffix)
        self.numbers.extend(numbers)
        self.units.extend(units)
        return bool(self.suffixes)

    def range(self, first: int, last: int) -> str:
        """The least and the greatest of some rows, as ``least–greatest``; empty when that can't be said."""
        there = [*zip(self.numbers[first : last + 1], self.units[first : last + 1], strict=True)]
        there = [(number, unit) for number, unit in there if unit >= 0]
        scales = self._scales({unit for _, unit in there})
        if not there or not scales:
            return ""
        ends = {edge(there, key=lambda one: one[0] * scale[one[1]]) for scale in scales for edge in (min, max)}
        if len(ends) > 2:
            return ""
        least, greatest = (edge(there, key=lambda one: one[0] * scales[0][one[1]]) for edge in (min, max))
        return f"{self._told(*least)}–{self._told(*greatest)}"

    def _told(self, number: float, unit: int) -> str:
        return figure(number) + self.suffixes[unit].decode()

    def _scales(self, units: set[int]) -> list[dict[int, float]]:
        """What each unit counts in the smallest of its family, in each way of counting; empty without a family."""
        names = {unit: self.suffixes[unit].decode().strip() for unit in units}
        if len({*names.values()}) == 1:
            return [dict.fromkeys(names, 1.0)]
        if all(name in _NANOSECONDS for name in names.values()):
            return [{unit: _NANOSECONDS[name] for unit, name in names.items()}]
        if len({name.endswith("/s") for name in names.values()}) > 1:
            return []
        sizes = {unit: _SIZE.fullmatch(name.removesuffix("/s")) for unit, name in names.items()}
        if not all(size is not None and size[0] not in ("", "i", "iB") for size in sizes.values()):
            return []
        return [
            {unit: (1024 if size[2] else thousand) ** _POWERS[size[1]] for unit, size in sizes.items() if size}
            for thousand in (1000, 1024)
        ]


def figure(number: float) -> str:
    """A number to the digit."""
    return repr(number).removesuffix(".0")
