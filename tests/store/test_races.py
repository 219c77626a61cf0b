"""What others do at the worst moment, in this process or another, costs nobody an output."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from places import Clock

from overspill.core.model import Call
from overspill.errors import ExpiredHandle
from overspill.store import LocalStore, index, journal, recovery, upkeep
from overspill.store.contract import keep, whole
from overspill.store.doctor import examine

DATA = b"again and again\n" * 5000


@contextmanager
def just_before(module: Any, name: str, others: Callable[[], object]) -> Iterator[None]:
    """Others get their turn once, right before the named step."""
    step, turns = getattr(module, name), [others]

    def delayed(*values: Any, **named: Any) -> Any:
        if turns:
            turns.pop()()
        return step(*values, **named)

    setattr(module, name, delayed)
    try:
        yield
    finally:
        setattr(module, name, step)
    assert not turns, f"{name} was never reached"


def elsewhere(place: Path, code: str, *arguments: str) -> str:
    lead = "import sys; from overspill.store import LocalStore; from overspill.store.contract import keep, whole\n"
    lead += "store = LocalStore(sys.argv[1])\n"
    done = subprocess.run(
        [sys.executable, "-c", lead + code, str(place), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_second_store_in_a_process_leaves_the_first_one_its_locks(place: Path) -> None:
    # POSIX: whoever closes a file loses all locks that the process holds on it, and then another process
    # that ends takes itself for the last one and removes the index's log under the others.
    first = LocalStore(place)
    keep(first, b"first")
    second = LocalStore(place)
    keep(second, b"second")
    elsewhere(place, "keep(store, b'other'); store.close()")
    handle = keep(first, b"third").handle
    assert elsewhere(place, "print(store.stored(sys.argv[2]).bytes)", handle) == "5"
    assert len(list(second.outputs())) == 4


def test_made_again_while_it_is_compressed(place: Path, clock: Clock) -> None:
    store = LocalStore(place, compress_after=1, clock=clock)
    row = keep(store, DATA)
    clock.days(2)
    with just_before(upkeep, "drop_unnamed", lambda: keep(LocalStore(place, clock=clock), DATA)):
        store.gc()
    assert whole(store, row.handle) == DATA
    assert store.stored(row.handle).path is not None
    store.gc()
    assert [each.name for each in place.glob("ovs_*")] == [f"{row.handle}.txt"]


def test_compressed_again_while_it_is_made_plain(place: Path, clock: Clock) -> None:
    store = LocalStore(place, compress_after=1, clock=clock)
    row = keep(store, DATA)
    clock.days(2)
    store.gc()
    other = LocalStore(place, clock=clock)

    def compress() -> None:
        clock.days(2)
        store.gc()

    with just_before(upkeep, "drop_unnamed", compress):
        keep(other, DATA)
    assert whole(other, row.handle) == DATA
    assert [each.name for each in place.glob("ovs_*")] == [f"{row.handle}.txt.zst"]


def test_a_twin_left_by_a_killed_process_is_removed(place: Path, clock: Clock) -> None:
    store = LocalStore(place, compress_after=1, clock=clock)
    row = keep(store, DATA)
    clock.days(2)
    store.gc()
    twin = place / f"{row.handle}.txt"
    twin.write_bytes(DATA)
    twin.chmod(0o600)
    (finding,) = examine(store, now=clock.now).findings
    assert finding.command == "overspill gc"
    store.gc()
    assert not twin.exists()
    assert whole(store, row.handle) == DATA


def test_pinned_or_leased_after_the_plan_was_made(place: Path, clock: Clock) -> None:
    store = LocalStore(place, clock=clock)
    pinned, leased, plain = (keep(store, data).handle for data in (b"pinned", b"leased", b"plain"))
    clock.days(8)
    other = LocalStore(place, clock=clock)
    planned = store.run(lambda found: [(entry, why.reason) for entry, why in upkeep.plan(store, found)])
    assert len(planned) == 3
    other.pin(pinned)
    with other.lease(leased):
        taken = store.run(lambda found: upkeep.remove(store, found, planned, by="retention"), writing=True)
    assert [entry.row.handle for entry in taken] == [plain]


@pytest.mark.parametrize("old", ["keeps writers out", "is too damaged for that"])
def test_kept_while_the_index_is_built_again(place: Path, old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = LocalStore(place)
    keep(busy, b"before")
    kept = []

    def others() -> None:
        row = keep(busy, b"meanwhile", Call(tool="bash"))
        busy.pin(row.handle)
        gone = keep(busy, b"gone")
        busy.remove(gone.handle, reason="asked to")
        kept.extend([row.handle, gone.handle])

    writer = threading.Thread(target=others)
    if old != "keeps writers out":
        monkeypatch.setattr(recovery, "_without_writers", nullcontext)
        monkeypatch.setattr(writer, "start", writer.run)
        monkeypatch.setattr(writer, "join", lambda: None)
    # After the journal was read, before the new index is in its place.
    with just_before(index.Index, "close", lambda: writer.start()):
        LocalStore(place).rebuild_index()
    writer.join()
    for store in (LocalStore(place), busy):
        row = store.stored(kept[0])
        assert (row.call.tool, row.pinned) == ("bash", True)
        with pytest.raises(ExpiredHandle, match="asked to"):
            store.stored(kept[1])


def test_the_index_is_built_again_while_an_output_is_being_kept(place: Path) -> None:
    busy = LocalStore(place)
    keep(busy, b"before")
    code = (
        "from contextlib import nullcontext; from overspill.store import recovery\n"
        "recovery._without_writers = nullcontext; store.rebuild_index()"
    )
    with just_before(journal.Journal, "append", lambda: elsewhere(place, code)):
        row = keep(busy, b"meanwhile")
    assert whole(LocalStore(place), row.handle) == b"meanwhile"
    assert whole(busy, row.handle) == b"meanwhile"


@pytest.mark.parametrize("left", ["plain", "compressed"])
def test_a_row_that_names_the_wrong_twin_finds_the_other(place: Path, clock: Clock, left: str) -> None:
    store = LocalStore(place, compress_after=1, clock=clock)
    row = keep(store, DATA)
    other = {"name": f"{row.handle}.txt.zst", "encoding": "zstd"}
    if left == "compressed":
        clock.days(2)
        store.gc()
        other = {"name": f"{row.handle}.txt", "encoding": ""}
    store.run(lambda found: found.update(store.entry(row.handle).code, **other), writing=True)
    assert whole(store, row.handle) == DATA
    assert (store.stored(row.handle).path is not None) == (left == "plain")
    store.run(lambda found: found.update(store.entry(row.handle).code, **other), writing=True)
    assert store.gc() == []
    assert whole(store, row.handle) == DATA


def test_a_pin_of_an_output_that_went_is_not_its_successors(place: Path) -> None:
    store = LocalStore(place)
    handle = keep(store, b"x").handle
    store.pin(handle)
    store.remove(handle, reason="asked to")
    keep(store, b"x")
    assert not store.stored(handle).pinned
    store.rebuild_index()
    assert not store.stored(handle).pinned


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_another_thread_opens_the_index(place: Path) -> None:
    store = LocalStore(place)
    keep(store, b"parent")
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with store._opening:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(20)
        try:
            keep(store, b"child")
            os._exit(0)
        except BaseException:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    done.set()
    thread.join()
    assert status == 0
    assert store.totals()[0] == 2


# -- versions ----------------------------------------------------------------------------------------

NEXT = "ALTER TABLE outputs ADD COLUMN colour TEXT NOT NULL DEFAULT 'none'; CREATE TABLE colours (name TEXT)"


def test_an_older_store_is_brought_up_to_date(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = keep(LocalStore(place), b"of old", Call(tool="bash"))
    monkeypatch.setattr(index, "MIGRATIONS", (*index.MIGRATIONS, NEXT))
    store = LocalStore(place)
    assert store.stored(row.handle).call.tool == "bash"
    assert store.run(lambda found: found._db.execute("SELECT colour FROM outputs").fetchall()) == [("none",)]
    keep(store, b"of now")
    assert store.totals()[0] == 2


def test_a_migration_that_fails_leaves_the_store_as_it_was(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = keep(LocalStore(place), b"of old")
    with monkeypatch.context() as patched:
        patched.setattr(index, "MIGRATIONS", (*index.MIGRATIONS, f"{NEXT}; NONSENSE"))
        with pytest.raises(Exception, match="NONSENSE"):
            keep(LocalStore(place), b"x")
    assert [each.handle for each in LocalStore(place).outputs()] == [row.handle]
    monkeypatch.setattr(index, "MIGRATIONS", (*index.MIGRATIONS, NEXT))
    assert LocalStore(place).stored(row.handle).bytes == 6


def test_an_older_store_that_can_only_be_read_is_read_from_its_journal(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(place)
    row = keep(store, b"of old", Call(tool="bash"))
    store.close()
    monkeypatch.setattr(index, "MIGRATIONS", (*index.MIGRATIONS, NEXT))
    monkeypatch.setattr(
        index, "_SELECT", f"{index._SELECT} JOIN (SELECT id AS number, colour FROM outputs) ON number = id"
    )

    def read_only(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(recovery, "_patiently", read_only)
    assert LocalStore(place).stored(row.handle).call.tool == "bash"
