"""Faults: disk full, read-only, deleted, damaged. Each is one sentence, and nothing half is ever served."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from overspill.core.model import Call
from overspill.errors import ExpiredHandle, StoreUnavailable, UnknownHandle
from overspill.store import LocalStore, MemoryStore
from overspill.store.contract import keep, whole

posix = pytest.mark.skipif(os.name == "nt", reason="needs limits, users or mounts of POSIX")
DATA = b"a line of an output that matters\n" * 3000


def files_in(place: Path) -> list[str]:
    return sorted(each.name for each in place.iterdir() if each.name.startswith("ovs_"))


def in_process(code: str, *arguments: str) -> str:
    """Runs code that prints, in a process of its own."""
    lead = (
        "import sys, os\nfrom pathlib import Path\nfrom overspill.core.model import Call\n"
        "from overspill.errors import *\nfrom overspill.store import LocalStore\n"
        "from overspill.store.contract import keep, whole\n"
    )
    done = subprocess.run([sys.executable, "-c", lead + code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- no room -----------------------------------------------------------------------------------------


def test_a_full_disk(small_disk: Path) -> None:
    store = LocalStore(small_disk / "outputs")
    first = keep(store, DATA, Call(tool="bash"))
    spill = store.spill(Call())
    with pytest.raises(StoreUnavailable, match="disk is full") as full:  # noqa: PT012 - where exactly depends
        for _ in range(100):
            spill.write(DATA)
    assert str(small_disk) in str(full.value)
    spill.discard()
    assert files_in(small_disk / "outputs") == [f"{first.handle}.txt"]
    assert list((small_disk / "outputs" / ".store" / "tmp").iterdir()) == []
    assert whole(store, first.handle) == DATA

    # Full to the last byte: the index and the journal have no room either.
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 512)
    for number in range(40):
        try:
            keep(store, b"%d" % number * 3000)
        except StoreUnavailable as error:
            assert "full" in error.reason  # noqa: PT017 - some may still find room in half-used pages
    assert whole(store, first.handle) == DATA
    rows = list(store.outputs())
    assert sorted(f"{row.handle}.txt" for row in rows) == files_in(small_disk / "outputs")
    for row in rows:
        assert len(whole(store, row.handle)) == row.bytes
    filler.unlink()
    again = keep(store, b"room again")
    assert whole(LocalStore(small_disk / "outputs"), again.handle) == b"room again"


@posix
def test_a_size_limit(place: Path) -> None:
    kept = keep(LocalStore(place), DATA).handle
    said = in_process(
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        "store = LocalStore(sys.argv[1])\n"
        "try: keep(store, os.urandom(1_000_000), chunk_bytes=50_000)\n"
        "except StoreUnavailable as error: print(error.reason)\n"
        "print(len(whole(store, sys.argv[2])))",
        str(place),
        kept,
    )
    assert said.split("\n")[:2] == ["a file can't grow further here (size limit)", str(len(DATA))]
    assert files_in(place) == [f"{kept}.txt"]
    assert list((place / ".store" / "tmp").iterdir()) == []


def test_memory_is_bounded() -> None:
    store = MemoryStore(max_total_bytes=1000)
    rows = [keep(store, b"%d" % number * 400) for number in range(3)]
    assert store.totals() == (2, 800)
    with pytest.raises(ExpiredHandle, match="1,000 bytes"):
        store.open(rows[0].handle)
    with pytest.raises(StoreUnavailable, match="1,000 bytes"):
        keep(store, b"x" * 1001)
    for row in rows[1:]:
        store.pin(row.handle)
    with pytest.raises(StoreUnavailable, match="pinned"):
        keep(store, b"x" * 500)
    assert whole(store, rows[2].handle) == b"2" * 400


# -- no right ----------------------------------------------------------------------------------------

# Another user may not be able to import from where the interpreter lies: everything is imported before.
UNPRIVILEGED = "import sqlite3, overspill.store.doctor, overspill.store.compress, overspill.store.index\n" + (
    "os.setgid(65534); os.setuid(65534)\n" if hasattr(os, "getuid") and os.getuid() == 0 else ""
)


@pytest.fixture
def theirs() -> Iterator[Path]:
    """A store that the test's process may read and not write, whoever runs the tests."""
    # Not below pytest's own directory: that is closed to other users.
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        place = Path(directory) / "outputs"
        store = LocalStore(place)
        keep(store, DATA, Call(tool="bash", command="make"))
        store.close()
        paths = [place, *place.rglob("*")]
        for each in paths:
            each.chmod(0o555 if each.is_dir() else 0o444)
        yield place
        for each in paths:
            if each.exists():
                each.chmod(0o755)


@posix
def test_a_directory_that_is_closed_to_us(theirs: Path) -> None:
    theirs.parent.chmod(0o700 if os.getuid() == 0 else 0)
    said = in_process(
        UNPRIVILEGED + "store = LocalStore(sys.argv[1])\n"
        "for verb in (lambda: keep(store, b'x'), lambda: list(store.outputs()), lambda: store.stored('ovs_7k2m9x4q'),\n"
        "             store.gc, store.plan_gc, store.totals, store.tombstones):\n"
        "    try: verb(); print('no error')\n"
        "    except StoreUnavailable as error: print(error.reason)\n"
        "from overspill.store.doctor import examine\n"
        "print(len(examine(store, now=0).findings) > 0)",
        str(theirs),
    )
    theirs.parent.chmod(0o755)
    assert said.splitlines() == ["permission denied"] * 7 + ["True"]


@posix
def test_a_read_only_directory_is_read_all_the_same(theirs: Path) -> None:
    said = in_process(
        UNPRIVILEGED + "store = LocalStore(sys.argv[1])\n"
        "(row,) = store.outputs(); handle = row.handle\n"
        "print(row.call.command, len(whole(store, handle)), store.line_offset(handle, line=9))\n"
        "with store.lease(handle): pass\n"
        "for verb in (lambda: keep(store, b'x'), lambda: store.pin(handle), lambda: store.remove(handle, reason='')):\n"
        "    try: verb(); print('no error')\n"
        "    except StoreUnavailable as error: print(error.reason)",
        str(theirs),
    )
    first, *rest = said.splitlines()
    assert first == f"make {len(DATA)} (1, 0)"
    assert all(reason in ("permission denied", "it is read-only") for reason in rest), rest
    assert len(rest) == 3


@posix
def test_read_only_and_without_an_index(theirs: Path) -> None:
    (theirs / ".store").chmod(0o755)
    (theirs / ".store" / "index.sqlite").unlink()
    (theirs / ".store").chmod(0o555)
    said = in_process(
        UNPRIVILEGED + "(row,) = LocalStore(sys.argv[1]).outputs(); print(row.call.command, row.bytes)", str(theirs)
    )
    assert said == f"make {len(DATA)}\n"


@posix
def test_a_place_that_is_not_ours_to_make(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable, match="not a directory"):
        keep(LocalStore(tmp_path / "file" / "outputs"), b"x")
    with pytest.raises(StoreUnavailable):
        keep(LocalStore("/proc/overspill"), b"x")


# -- gone --------------------------------------------------------------------------------------------


def test_deleted_between_two_spills(place: Path) -> None:
    store = LocalStore(place)
    first = keep(store, b"first").handle
    shutil.rmtree(place)
    with pytest.raises(UnknownHandle):
        store.stored(first)
    assert list(store.outputs()) == []
    second = keep(store, b"second").handle
    assert whole(store, second) == b"second"
    assert [row.handle for row in LocalStore(place).outputs()] == [second]


@posix
def test_deleted_while_the_tool_runs(place: Path) -> None:
    store = LocalStore(place)
    keep(store, b"first")
    spill = store.spill(Call())
    spill.write(DATA)
    shutil.rmtree(place)
    spill.write(DATA)
    with pytest.raises(StoreUnavailable, match="removed"):
        spill.commit(Call())
    assert whole(store, keep(store, b"goes on").handle) == b"goes on"


def test_an_output_deleted_from_outside(place: Path) -> None:
    store = LocalStore(place)
    row = keep(store, DATA, Call(command="make it"))
    Path(str(row.path)).unlink()
    with pytest.raises(ExpiredHandle, match=r"deleted from outside.*make it"):
        store.open(row.handle)
    store.gc()
    assert list(store.outputs()) == []
    assert whole(store, keep(store, DATA).handle) == DATA


# -- damaged -----------------------------------------------------------------------------------------

DAMAGE = {
    "overwritten": lambda data: b"not a database " * (len(data) // 15),
    "its start": lambda data: os.urandom(4096) + data[4096:],
    "its middle": lambda data: data[:4096] + os.urandom(len(data) - 4096),
    "cut": lambda data: data[: len(data) // 2 + 100],
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("when", ["at rest", "in use"])
def test_a_damaged_index_is_built_again_from_the_files(place: Path, how: str, when: str) -> None:
    store = LocalStore(place)
    rows = [keep(store, b"%d" % number * 9000, Call(tool="bash", command=f"step {number}")) for number in range(60)]
    store.pin(rows[5].handle)
    store.remove(rows[7].handle, reason="asked to")
    index = place / ".store" / "index.sqlite"
    store.close()
    if when == "in use":
        list(store.outputs())
    with index.open("r+b") as file:
        data = DAMAGE[how](file.read())
        file.seek(0)
        file.truncate()
        file.write(data)
    again = store if when == "in use" else LocalStore(place)
    again.close() if how == "empty" else None
    keep(again, b"one more")
    found = {row.handle: row for row in again.outputs()}
    assert len(found) == 60
    assert found[rows[5].handle].pinned
    assert [found[row.handle].call for row in rows if row is not rows[7]] == [r.call for r in rows if r is not rows[7]]
    assert whole(again, rows[11].handle) == b"11" * 9000
    with pytest.raises(ExpiredHandle, match="asked to"):
        again.stored(rows[7].handle)


def test_without_index_and_journal_the_files_speak(place: Path) -> None:
    store = LocalStore(place)
    rows = [keep(store, b"%d\n" % number * 900) for number in range(5)]
    store.close()
    shutil.rmtree(place / ".store")
    (place / "ovs_7k2m9x4q.txt").write_text("not what its name says")
    (place / "ovs_7k2m9x4q.txt").chmod(0o600)
    (place / "notes.txt").write_text("somebody's own")
    again = LocalStore(place)
    assert {row.handle: (row.bytes, row.lines, row.digest) for row in again.outputs()} == {
        row.handle: (row.bytes, row.lines, row.digest) for row in rows
    }
    assert whole(again, rows[2].handle) == b"2\n" * 900
    assert (place / "notes.txt").exists()


def test_half_a_file_is_not_taken_back(place: Path) -> None:
    store = LocalStore(place)
    row, other = keep(store, DATA), keep(store, b"whole")
    store.close()
    with Path(str(row.path)).open("r+b") as file:
        file.truncate(1000)
    (place / ".store" / "index.sqlite").unlink()
    assert [each.handle for each in LocalStore(place).outputs()] == [other.handle]


def test_a_torn_journal_line_costs_only_itself(place: Path) -> None:
    store = LocalStore(place)
    rows = [keep(store, b"%d" % number) for number in range(3)]
    (day,) = (place / ".store" / "journal").iterdir()
    with day.open("ab") as file:
        file.write(b'{"event":"kept","digest":"ab')
    rows.append(keep(store, b"after", Call(command="make it")))
    store.rebuild_index()
    assert {row.handle for row in store.outputs()} == {row.handle for row in rows}
    assert store.stored(rows[-1].handle).call.command == "make it"


def test_a_newer_store_is_left_alone(place: Path) -> None:
    store = LocalStore(place)
    keep(store, b"x")
    store.run(lambda index: index._db.execute("PRAGMA user_version=999"), writing=True)
    store.close()
    with pytest.raises(StoreUnavailable, match="newer version"):
        keep(LocalStore(place), b"y")


def test_what_a_killed_process_had_promised_is_finished(place: Path) -> None:
    # Killed after the journal and the file, before the row: as if the row were taken away again.
    store = LocalStore(place)
    row = keep(store, b"promised", Call(tool="bash"))
    store.run(lambda index: index._db.execute("DELETE FROM outputs"), writing=True)
    store.close()
    again = LocalStore(place)
    keep(again, b"next start")
    assert whole(again, row.handle) == b"promised"
    assert again.stored(row.handle).call.tool == "bash"
