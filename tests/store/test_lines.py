"""The line index: the same for any chunks, small for any output, and right about every place it names."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overspill.core.line_starts import FIRST_STRIDE, MOST_ENTRIES
from overspill.store import LocalStore, MemoryStore
from overspill.store.contract import keep
from overspill.store.lines import WORTH_BYTES, LineCounter, nearest, nearest_to_offset


def counted(data: bytes, cuts: list[int]) -> LineCounter:
    counter = LineCounter()
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for first, last in pairwise(places):
        counter.feed(data[first:last])
    return counter


@given(
    st.binary(max_size=300) | st.text("a\n", max_size=300).map(str.encode), st.lists(st.integers(0, 300), max_size=9)
)
def test_lines_are_counted_over_any_chunks(data: bytes, cuts: list[int]) -> None:
    counter = counted(data, cuts)
    assert counter.lines == len(data.split(b"\n")) - (data.endswith(b"\n") or not data)
    assert counter.size == len(data)


@settings(deadline=None, max_examples=25)
@given(
    lengths=st.lists(st.sampled_from([0, 1, 70, 5_000, 70_000, 300_000]), min_size=8, max_size=60),
    cuts=st.lists(st.integers(0, 2**40), max_size=30),
)
def test_the_index_is_that_of_the_whole_and_true(lengths: list[int], cuts: list[int]) -> None:
    data = b"\n".join(b"x" * length for length in lengths) + b"\n" * 300_000
    counter = counted(data, cuts)
    assert counter.packed() == counted(data, []).packed()
    starts = [0]
    while (newline := data.find(b"\n", starts[-1])) >= 0 and len(starts) < 200:
        starts.append(newline + 1)
    for line in range(1, len(starts) + 1):
        known, offset = nearest(counter.packed(), line)
        assert known <= line
        assert offset == starts[known - 1]
        # Never further back than a stride and a line.
        between = data[offset : starts[line - 1]]
        assert len(between) <= FIRST_STRIDE + max(lengths) + 1
        assert nearest_to_offset(counter.packed(), starts[line - 1])[1] <= starts[line - 1]


def test_the_index_of_a_huge_output_stays_small_and_true() -> None:
    counter, line, lines_per_chunk = LineCounter(), b"y" * 9_999 + b"\n", 100
    chunks = MOST_ENTRIES * FIRST_STRIDE * 3 // (len(line) * lines_per_chunk)
    chunk = line * lines_per_chunk
    for _ in range(chunks):
        counter.feed(chunk)
    assert counter.lines == chunks * lines_per_chunk
    assert len(counter.packed()) <= MOST_ENTRIES * 16
    for wanted in (1, 7, 12_345, counter.lines):
        known, offset = nearest(counter.packed(), wanted)
        assert offset == (known - 1) * len(line)
        assert 0 <= (wanted - known) * len(line) <= FIRST_STRIDE * 5


def test_small_outputs_have_none() -> None:
    assert counted(b"x\n" * 1000, []).packed() == b""
    assert nearest(b"", 500) == (1, 0)


@pytest.mark.parametrize("make", [lambda place: LocalStore(place / "s"), lambda place: MemoryStore()])
def test_a_line_far_in_is_a_seek(tmp_path: Path, make: object) -> None:
    assert callable(make)
    store = make(tmp_path)
    data = b"".join(b"line %d\n" % number for number in range(1, 200_001))
    assert len(data) > WORTH_BYTES
    row = keep(store, data, chunk_bytes=77_777)
    line, offset = store.line_offset(row.handle, line=150_000)
    assert 140_000 < line <= 150_000
    assert data[offset:].startswith(b"line %d\n" % line)
    assert store.line_offset(keep(store, b"small\n").handle, line=1) == (1, 0)
