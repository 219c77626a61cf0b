"""Two streams as one source: nothing is lost, each line knows its stream, and the text can be parted again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill import Bounder, Budget, Call, MemoryStore, Policy
from overspill import two_streams as module
from overspill.core.measure import display
from overspill.core.model import Span
from overspill.core.strategies import Ends
from overspill.two_streams import TwoStreams, split

chunks = st.lists(
    st.tuples(st.sampled_from([1, 2]), st.binary(min_size=1, max_size=12).map(lambda data: data.replace(b"\r", b"\n"))),
    max_size=30,
)
texts = st.lists(
    st.tuples(st.sampled_from([1, 2]), st.text("ab\n ", min_size=1, max_size=20).map(str.encode)), max_size=200
)


def merged(taken: list[tuple[int, bytes]]) -> tuple[bytes, TwoStreams]:
    source: list[bytes] = []
    streams = TwoStreams(source.append)
    for stream, data in taken:
        streams.take(stream, data)
    streams.finish()
    return b"".join(source), streams


def parted(source: bytes, streams: TwoStreams) -> dict[int, bytes]:
    found = {1: b"", 2: b""}
    for stream, piece in streams.pieces(Span(0, source, 1)):
        found[stream] += piece.data
    return found


@given(chunks)
def test_each_stream_comes_back_whole(taken: list[tuple[int, bytes]]) -> None:
    source, streams = merged(taken)
    for stream, data in parted(source, streams).items():
        assert data == b"".join(data for of, data in taken if of == stream)
        assert streams.bytes[stream] == len(data)


@given(chunks)
def test_a_line_is_of_one_stream(taken: list[tuple[int, bytes]]) -> None:
    source, streams = merged(taken)
    at = 0
    lines = source.split(b"\n")
    for number, line in enumerate(lines[:-1]):
        span = Span(at, line + b"\n", number + 1)
        assert len({stream for stream, _ in streams.pieces(span)}) == 1
        at += len(line) + 1


@given(
    st.lists(
        st.tuples(st.sampled_from([1, 2]), st.binary(max_size=5).map(lambda data: data.replace(b"\n", b"") + b"\n")),
        max_size=20,
    )
)
def test_whole_lines_keep_the_order_in_which_they_came(taken: list[tuple[int, bytes]]) -> None:
    assert merged(taken)[0] == b"".join(data for _, data in taken)


@given(taken=chunks)
def test_a_line_too_long_to_wait_for_is_not_waited_for(taken: list[tuple[int, bytes]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LINE_BYTES", 4)
        source, streams = merged(taken)
        assert all(parted(source, streams)[one] == b"".join(d for of, d in taken if of == one) for one in (1, 2))


def test_notes_on_disk_are_as_good_as_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = [(1 + number % 2, b"%d\n" % number) for number in range(5_000)]
    source, streams = merged(taken)
    monkeypatch.setattr(module, "_NOTES_IN_MEMORY", 64)
    again, on_disk = merged(taken)
    assert again == source
    assert parted(again, on_disk) == parted(source, streams)
    for start in range(0, len(source) - 50, 997):
        span = Span(start, source[start : start + 50], 1)
        assert list(on_disk.pieces(span)) == list(streams.pieces(span))
    on_disk.close()


@given(texts)
def test_a_bounded_text_is_parted_by_stream_and_still_fits(taken: list[tuple[int, bytes]]) -> None:
    policy = Policy(budget=Budget(max_bytes=420), strategy=Ends())
    capturing = Bounder(policy, MemoryStore()).capture(Call())
    streams = TwoStreams(capturing.feed)
    for stream, data in taken:
        streams.take(stream, data)
    streams.finish()
    bounded = capturing.finish()
    if not bounded.truncated:
        return
    whole = policy.budget.max_bytes
    assert whole
    found = split(bounded, streams, fits=lambda text: len(text.encode()) <= whole)
    assert sum(len(text.encode()) for text in found.values()) <= whole
    for stream in (1, 2):
        own = display(b"".join(data for of, data in taken if of == stream))
        shown = "".join(
            display(piece.data)
            for part in bounded.parts
            if part.span
            for of, piece in streams.pieces(part.span)
            if of == stream
        )
        assert shown in found[stream] or "[…" in found[stream]
        remaining = iter(own)
        assert all(char in remaining for char in shown)


def test_a_line_begun_long_is_ended_before_the_other_stream_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_BYTES", 4)
    assert merged([(1, b"begun long"), (2, b"b\n"), (1, b" and ended\n")])[0] == b"begun long and ended\nb\n"
