"""Digest and lines of an output on its way: right however it is hashed and whoever counts, or not told at all."""

from __future__ import annotations

import hashlib
import os
import random
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from overspill import Bounder, Budget, Policy
from overspill.core.capture import BLOCK_BYTES
from overspill.core.line_starts import FIRST_STRIDE, LineStarts
from overspill.core.model import Call
from overspill.errors import StoreUnavailable
from overspill.store import LocalStore, MemoryStore, tally
from overspill.store.contract import keep, whole
from overspill.store.lines import LineCounter
from overspill.store.tally import BATCH_BYTES, Tally
from overspill.store.write_behind import WriteBehind

POLICY = Policy(budget=Budget(max_bytes=2_000))
STORES = {
    "local": LocalStore,
    "memory": lambda place: MemoryStore(),
    "write-behind": lambda place: WriteBehind(LocalStore(place)),
}


def pieces(data: bytes, dice: random.Random) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = dice.choice((1, 100, 40_000, BATCH_BYTES - 1, BATCH_BYTES, 3 * BATCH_BYTES))
        yield data[at : at + size]
        at += size


@pytest.mark.parametrize("seed", range(6))
def test_any_chunks_give_one_digest(seed: int) -> None:
    dice = random.Random(seed)
    data = dice.randbytes(dice.choice((0, 5, BATCH_BYTES, 7 * BATCH_BYTES + 3)))
    one = Tally("here")
    for piece in pieces(data, dice):
        one.feed(piece)
    counter = LineCounter()
    counter.feed(data)
    digest, lines = hashlib.sha256(data).hexdigest(), counter.lines
    assert one.finish() == (digest, len(data), lines, counter.packed())
    assert one.finish().digest == digest


def test_a_small_output_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(tally, "start_new_thread", lambda *work: started.append(work))
    small = Tally("here")
    small.feed(b"x" * (BATCH_BYTES - 1))
    small.finish()
    assert started == []
    small.feed(b"y" * BATCH_BYTES)
    assert len(started) == 1
    # A thread that never comes to run is not waited for.
    assert small.finish().digest == hashlib.sha256(b"x" * (BATCH_BYTES - 1) + b"y" * BATCH_BYTES).hexdigest()


def test_without_threads_it_is_hashed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*work: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(tally, "start_new_thread", none_left)
    data = random.Random(1).randbytes(5 * BATCH_BYTES)
    row = keep(MemoryStore(), data, chunk_bytes=300_000)
    assert row.digest == hashlib.sha256(data).hexdigest()


def test_an_interrupted_digest_is_not_told() -> None:
    class Interrupted:
        def update(self, data: bytes) -> None:
            raise KeyboardInterrupt

    one = Tally("here")
    one.feed(b"x")
    sha256, one._sha256 = one._sha256, Interrupted()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        one.finish()
    one._sha256 = sha256
    with pytest.raises(StoreUnavailable):
        one.finish()


def test_what_waits_to_be_hashed_is_bounded(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, max_total_bytes=None)
    keep(store, b"the index is open\n")
    tracemalloc.start()
    try:
        peaks = []
        for size in (8, 64):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            spill = store.spill(Call())
            for number in range(size * 4):
                spill.write(b"%06d" % number * (256 * 1024 // 6))
            spill.commit(Call())
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 1_000_000 < 5 * BATCH_BYTES


def test_tiny_pieces_take_no_more_memory() -> None:
    tracemalloc.start()
    try:
        one = Tally("here")
        for number in range(400_000):
            one.feed(b"%02d" % (number % 100))
        assert one.finish().size == 800_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * BATCH_BYTES


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("size", [1_000, 20 * BATCH_BYTES])
def test_a_forked_child_leaves_its_parents_spill_alone(tmp_path: Path, size: int) -> None:
    store, data = LocalStore(tmp_path), os.urandom(size)
    spill = store.spill(Call())
    spill.write(data)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            spill.commit(Call())
        except StoreUnavailable:
            spill.discard()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert whole(store, spill.commit(Call()).handle) == data


@contextmanager
def nothing_counted_twice(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(LineCounter, "feed", None)
        yield


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("longest", [150, 9_000, 700_000])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_lines_are_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, longest: int, end: bytes
) -> None:
    dice = random.Random(longest)
    lines = [b"x" * dice.randrange(longest) for _ in range(max(9, min(10_000, 2_000_000 // longest)))]
    data = b"\n".join(lines) + b"x" + end
    store: Any = STORES[kind](tmp_path)
    with nothing_counted_twice(monkeypatch), Bounder(POLICY, store).capture() as capturing:
        for piece in pieces(data, dice):
            capturing.feed(piece)
    row = store.stored(capturing.bounded.handle)
    assert row.digest == hashlib.sha256(data).hexdigest()
    assert row.lines == capturing.bounded.total_lines == len(lines)
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    near = 0
    for number in range(1, len(lines) + 1, len(lines) // 500 + 1):
        known, offset = store.line_offset(row.handle, line=number)
        assert known <= number
        assert offset == starts[known - 1]
        assert starts[number - 1] - offset <= FIRST_STRIDE + BLOCK_BYTES + longest
        near += known > 1
    assert near


def test_a_spill_that_writes_other_bytes_counts_for_itself(tmp_path: Path) -> None:
    class Doubling:
        """Passes on whatever it hasn't itself, ``counted_by`` included."""

        def __init__(self, spill: Any) -> None:
            self._spill = spill

        def write(self, data: bytes) -> None:
            self._spill.write(data.replace(b"\n", b"\n\n"))

        def __getattr__(self, name: str) -> Any:
            return getattr(self._spill, name)

    class DoublingStore(LocalStore):
        def spill(self, call: Call) -> Any:
            return Doubling(super().spill(call))

    store = DoublingStore(tmp_path)
    bounded = Bounder(POLICY, store).bound("line\n" * 100_000)
    assert bounded.handle
    assert store.stored(bounded.handle).lines == 200_000


def test_counts_of_something_else_are_not_believed() -> None:
    spill = MemoryStore().spill(Call())
    spill.counted_by(LineStarts())
    spill.write(b"one\ntwo\n")
    with pytest.raises(StoreUnavailable):
        spill.commit(Call())
