"""Tables and figures for a terminal: as wide as it is, never wider, plain text when there is none."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from overspill.cli.progress import readable_size
from overspill.core.measure import well_formed

__all__ = ["Column", "age", "dim", "readable_size", "strong", "table", "width"]

_LEAST_STRETCHED = 8


class Column(NamedTuple):
    title: str
    right: bool = False
    stretches: bool = False
    """Takes what the others leave; its cells are cut to that."""


def width() -> int:
    """Columns of the terminal; without one, nothing is cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    rows = [[well_formed(" ".join(cell.split())) for cell in row] for row in rows]
    widths = [max(len(column.title), *(_columns(row[index]) for row in rows)) for index, column in enumerate(columns)]
    over = sum(widths) + 2 * (len(columns) - 1) - width()
    for index, column in enumerate(columns):
        if column.stretches and over > 0:
            widths[index] = max(_LEAST_STRETCHED, widths[index] - over)
    lines = [strong(_line([column.title for column in columns], columns, widths))]
    lines += [_line(row, columns, widths) for row in rows]
    return "".join(f"{line}\n" for line in lines)


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    padded = []
    for cell, column, room in zip(cells, columns, widths, strict=True):
        cell = _cut(cell, room)
        pad = " " * (room - _columns(cell))
        padded.append(pad + cell if column.right else cell + pad)
    return "  ".join(padded).rstrip()


def _cut(text: str, room: int) -> str:
    if _columns(text) <= room:
        return text
    while text and _columns(text) >= room:
        text = text[:-1]
    return text + "…"


def _columns(text: str) -> int:
    """How wide a terminal shows it."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def age(seconds: float) -> str:
    """How long ago, in one figure."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"


def strong(text: str) -> str:
    return _styled(text, "1")


def dim(text: str) -> str:
    return _styled(text, "2")


def _styled(text: str, code: str) -> str:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
    return text if plain else f"\033[{code}m{text}\033[0m"
