"""What a column says of its cells doesn't depend on how many of them it is shown at once."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill.core.model import Block, Span
from overspill.core.strategies.views.columns import EXTREMES_KEPT, MISSING, Column, Delimited, Lines, number_of
from overspill.core.strategies.views.offers import Replay

CELLS = st.lists(
    st.one_of(
        st.integers(-9, 9).map(lambda number: b"%d" % number),
        st.sampled_from([b"", b"NA", b" 7 ", b"1,024", b"-inf", b"nan", b"12Mi", b"text", b"-", b"1e999"]),
    ),
    max_size=60,
)


def seen(cells: list[bytes], *, at_once: int) -> Column:
    column = Column(b"name")
    for start in range(0, len(cells), at_once):
        part = cells[start : start + at_once]
        column.see(part, [Span(start + at, cell, start + at + 1) for at, cell in enumerate(part)])
    return column


def finite(cells: list[bytes]) -> list[tuple[float, int]]:
    found = []
    for line, cell in enumerate(cells, 1):
        stripped = cell.strip()
        number = number_of(stripped) if stripped and stripped[:1] in b"0123456789-+$." else None
        if number is not None and math.isfinite(number):
            found.append((number, line))
    return found


@given(CELLS, st.integers(1, 60))
def test_cells_count_the_same_however_many_come_at_once(cells: list[bytes], at_once: int) -> None:
    one, many = seen(cells, at_once=1), seen(cells, at_once=at_once)
    for name in ("rows", "numbers", "rising", "falling", "last", "values", "first_rows", "missing", "missing_rows"):
        assert getattr(one, name) == getattr(many, name), name
    assert (one.mean, one.deviation) == pytest.approx((many.mean, many.deviation))
    for name in ("highest", "lowest", "jumps", "falls"):
        rows = [[row.line for _, _, row in sorted(getattr(column, name), reverse=True)] for column in (one, many)]
        assert rows[0] == rows[1], name


@given(CELLS, st.integers(1, 60))
def test_the_extremes_are_the_earliest_of_the_largest(cells: list[bytes], at_once: int) -> None:
    column, numbers = seen(cells, at_once=at_once), finite(cells)
    largest = sorted(numbers, key=lambda pair: (-pair[0], pair[1]))[:EXTREMES_KEPT]
    assert (
        sorted(((value, row.line) for value, _, row in column.highest), key=lambda pair: (-pair[0], pair[1])) == largest
    )
    assert column.numbers == len(numbers)
    assert column.missing.total() == sum(cell.strip() in MISSING for cell in cells)


def test_a_line_is_placed_where_it_stands() -> None:
    lines = Lines(Block(100, b"one\ntwo\n", 7), [b"one\n", b"two\n"], [0, 4, 8])
    assert lines[1] == Span(104, b"two\n", 8)


def test_an_order_is_worked_out_once_and_only_as_far_as_asked() -> None:
    told = []

    def ranked():
        for start in range(5):
            told.append(start)
            yield Span(start, b"x", 1)

    replay = Replay(ranked())
    first = iter(replay)
    assert [next(first).start, next(first).start] == [0, 1]
    assert told == [0, 1]
    assert [span.start for span in replay] == [0, 1, 2, 3, 4]
    assert [span.start for span in first] == [2, 3, 4]
    assert told == [0, 1, 2, 3, 4]


_EVEN = st.lists(st.lists(st.sampled_from([b"", b"1", b" a ", b"-2.5", b'"', b"\r", b"\t"]), min_size=1, max_size=4))


@given(_EVEN, st.sampled_from([b",", b"\t", b";"]), st.integers(2, 4))
def test_cells_by_column_are_those_of_each_line(rows: list[list[bytes]], delimiter: bytes, width: int) -> None:
    cells = Delimited(delimiter)
    lines = [delimiter.join(row) + b"\n" for row in rows]
    table = [[cell.strip() for cell in cells(line)] for line in lines]
    columns = cells.columns(b"".join(lines), len(lines), width)
    if columns and rows:
        assert [*map(list, zip(*columns, strict=True))] == table
    elif rows and all(len(row) == width for row in table):
        assert any(mark in line for line in lines for mark in (b'"', b"\r"))
