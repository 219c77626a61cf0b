"""The local store: private plain files, one copy, found by any process, in order after anything."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
import subprocess
import sys
import threading
import time
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import Clock

from overspill.core.model import Call
from overspill.errors import AmbiguousHandle, ExpiredHandle, PolicyError, StoreUnavailable, UnknownHandle
from overspill.store import LocalStore, default_root, upkeep
from overspill.store.contract import keep, whole
from overspill.store.handles import code_of
from overspill.store.index import Index

posix = pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")


def files_in(place: Path) -> list[str]:
    return sorted(each.name for each in place.iterdir() if each.name not in (".store", ".gitignore", "README.txt"))


def test_nothing_happens_before_the_first_spill_or_lookup(place: Path) -> None:
    code = (
        "import sys; from overspill.store import LocalStore, open_store; before = set(sys.modules);"
        "LocalStore(sys.argv[1]); open_store(sys.argv[1]);"
        "bad = {'sqlite3', 'msgspec', 'compression.zstd', 'backports.zstd', 'obstore', 'asyncio'} & set(sys.modules);"
        "sys.exit(str(bad) if bad else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(place)], check=False).returncode == 0
    assert not place.exists()


def test_looking_makes_no_directory(place: Path) -> None:
    store = LocalStore(place)
    assert list(store.outputs()) == store.gc() == store.plan_gc() == store.tombstones() == []
    assert store.totals() == (0, 0)
    with pytest.raises(UnknownHandle):
        store.stored("ovs_7k2m9x4q")
    assert not place.exists()


def test_outputs_are_plain_files(place: Path) -> None:
    data = b"one\r\ntwo\xff\x00\n"
    row = keep(LocalStore(place), data)
    assert row.path == str(place / f"{row.handle}.txt")
    assert Path(row.path).read_bytes() == data
    assert files_in(place) == [f"{row.handle}.txt"]
    assert (place / ".gitignore").read_text() == "*\n"
    assert "overspill" in (place / "README.txt").read_text()


@posix
def test_everything_is_private(place: Path) -> None:
    before = os.umask(0)
    try:
        store = LocalStore(place)
        row = keep(store, b"x" * 400_000)
        store.pin(row.handle)
    finally:
        os.umask(before)
    for each in (place, *place.rglob("*")):
        mode = stat.S_IMODE(each.lstat().st_mode)
        assert mode == (0o700 if each.is_dir() else 0o600), each


def test_another_process_reads_it(place: Path) -> None:
    data = os.urandom(300_000)
    row = keep(LocalStore(place), data, Call(tool="bash", command="make"))
    code = (
        "import sys; from overspill.store import LocalStore; store = LocalStore(sys.argv[1]);"
        "row = store.stored(sys.argv[2]); assert row.call.command == 'make';"
        "blob = store.open(row.handle); sys.stdout.buffer.write(blob.read(0, blob.size))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(place), row.handle[:9]], capture_output=True, check=True)
    assert done.stdout == data


def test_the_spill_is_on_disk_while_the_tool_runs(place: Path) -> None:
    spill = LocalStore(place).spill(Call())
    spill.write(b"x" * 1_000_000)
    assert sum(each.stat().st_size for each in (place / ".store" / "tmp").iterdir()) >= 1_000_000 - 128 * 1024
    assert files_in(place) == []
    spill.discard()
    assert list((place / ".store" / "tmp").iterdir()) == []


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=200_000), max_size=6))
def test_chunking_is_invisible(tmp_path: Path, chunks: list[bytes]) -> None:
    store = LocalStore(tmp_path / "s")
    spill = store.spill(Call())
    for chunk in chunks:
        spill.write(chunk)
    row = spill.commit(Call())
    assert whole(store, row.handle) == b"".join(chunks)
    assert row.handle == keep(store, b"".join(chunks)).handle


def test_equal_outputs_count_their_calls(place: Path, clock: Clock) -> None:
    store = LocalStore(place, clock=clock)
    keep(store, b"same", Call(tool="a"))
    clock.days(3)
    row = keep(store, b"same", Call(tool="b", command="again"))
    assert row.times == 2
    assert store.stored(row.handle) == row
    assert files_in(place) == [f"{row.handle}.txt"]


def race(place: str, barrier: object, results: object) -> None:
    store = LocalStore(place)
    barrier.wait()  # type: ignore[attr-defined]
    results.put(keep(store, b"the very same bytes\n" * 5000, Call(tool="bash")).handle)  # type: ignore[attr-defined]


def test_racing_processes_keep_one_copy(place: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(4), context.Queue()
    processes = [context.Process(target=race, args=(str(place), barrier, results)) for _ in range(4)]
    for process in processes:
        process.start()
    handles = {results.get(timeout=60) for _ in processes}
    for process in processes:
        process.join()
    assert len(handles) == 1
    row = LocalStore(place).stored(handles.pop())
    assert row.times == 4
    assert files_in(place) == [f"{row.handle}.txt"]


def test_a_forked_child_opens_its_own_index(place: Path) -> None:
    store = LocalStore(place)
    keep(store, b"parent")
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    # A real fork, so that the connection of the parent is there in the child.
    child = os.fork()
    if child == 0:
        try:
            inherited = store._index
            keep(store, b"child")
            os._exit(store._index is inherited)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert store.totals()[0] == 2
    keep(store, b"parent again")
    assert store.totals()[0] == 3


def test_handles_grow_where_they_would_be_ambiguous(place: Path) -> None:
    store = LocalStore(place)
    row = keep(store, b"first")
    code = code_of(row.digest)

    def plant(index: Index) -> None:
        # Real collisions of 40 bits take hours to find: a row is moved next to the first one's place.
        other = code[:8] + ("0" if code[8] != "0" else "1") * 44
        with index.transaction():
            index.update(code, code=other, handle="ovs_" + code[:8])

    store.run(plant, writing=True)
    again = keep(store, b"first")
    assert again.handle == "ovs_" + code[:9]
    assert whole(store, again.handle) == b"first"
    assert store.stored("ovs_" + code[:8]).handle == "ovs_" + code[:8]
    with pytest.raises(AmbiguousHandle) as ambiguous:
        store.stored("ovs_" + code[:6])
    assert set(ambiguous.value.candidates) == {"ovs_" + code[:8], again.handle}


def test_tombstones_say_when_why_and_how_to_make_it_again(place: Path, clock: Clock) -> None:
    store = LocalStore(place, clock=clock)
    handle = keep(store, b"x" * 1000, Call(tool="bash", command="make test")).handle
    clock.days(7.1)
    assert [each.reason for each in store.gc()] == ["older than 7 days"]
    for verb in (store.stored, store.open, store.pin):
        with pytest.raises(ExpiredHandle) as gone:
            verb(handle)
        words = str(gone.value)
        assert handle in words
        assert "2023-11-2" in words
        assert "older than 7 days" in words
        assert "make test" in words
    assert files_in(place) == []
    clock.days(100)
    store.gc()
    with pytest.raises(UnknownHandle) as unknown:
        store.stored(handle)
    assert not isinstance(unknown.value, ExpiredHandle)


def test_a_plan_changes_nothing(place: Path, clock: Clock) -> None:
    store = LocalStore(place, clock=clock)
    handle = keep(store, b"x").handle
    clock.days(8)
    assert [each.row.handle for each in store.plan_gc()] == [handle]
    assert whole(store, handle) == b"x"
    assert [each.row.handle for each in store.gc()] == [handle]
    assert store.plan_gc() == []


def test_retention_runs_by_itself_at_the_first_spill_of_a_process(place: Path, clock: Clock) -> None:
    old = keep(LocalStore(place, clock=clock), b"old").handle
    clock.days(8)
    store = LocalStore(place, clock=clock)
    assert store.stored(old).handle == old
    keep(store, b"new")
    with pytest.raises(ExpiredHandle):
        store.stored(old)


def test_a_process_that_goes_on_stays_within_its_quota(place: Path) -> None:
    store = LocalStore(place, max_total_bytes="1 MB")
    for number in range(60):
        keep(store, b"%d" % number * 50_000)
    assert store.totals()[1] <= 1_200_000


def test_an_output_made_again_after_it_was_doomed_stays(place: Path, clock: Clock) -> None:
    store = LocalStore(place, clock=clock)
    row = keep(store, b"doomed")
    seen = store.entry(row.handle)
    keep(LocalStore(place, clock=clock), b"doomed")
    assert store.run(lambda index: upkeep.remove(store, index, [(seen, "old")], by="retention"), writing=True) == []
    assert whole(store, row.handle) == b"doomed"


def test_pins_and_leases(place: Path, clock: Clock) -> None:
    store = LocalStore(place, clock=clock)
    pinned, leased, plain = (keep(store, data).handle for data in (b"pinned", b"leased", b"plain"))
    assert store.pin(pinned).pinned
    clock.days(8)
    with LocalStore(place, clock=clock).lease(leased):
        assert [each.row.handle for each in store.gc()] == [plain]
    assert [each.row.handle for each in store.gc()] == [leased]
    assert not store.unpin(pinned).pinned
    assert [each.row.handle for each in store.gc()] == [pinned]


def test_a_lease_of_a_dead_process_runs_out(place: Path, clock: Clock) -> None:
    store = LocalStore(place, clock=clock)
    handle = keep(store, b"x").handle
    lease = store.lease(handle, seconds=3600)
    lease.__enter__()
    clock.days(8)
    assert len(store.gc()) == 1


def test_reading_is_noted(place: Path, clock: Clock) -> None:
    store = LocalStore(place, clock=clock, max_total_bytes=250, retention_days=None)
    first, second = keep(store, b"1" * 100), keep(store, b"2" * 100)
    clock.days(1)
    whole(store, first.handle)
    third = keep(store, b"3" * 100)
    store.gc()
    assert {row.handle for row in store.outputs()} == {first.handle, third.handle}
    assert store.tombstones()[0].handle == second.handle


def test_what_was_open_stays_readable(place: Path) -> None:
    store = LocalStore(place)
    handle = keep(store, b"still here").handle
    blob = store.open(handle)
    if os.name != "nt":
        store.remove(handle, reason="test")
    assert blob.read(0, 100) == b"still here"
    blob.close()


def test_listing_a_part_is_lazy(place: Path) -> None:
    store = LocalStore(place)
    handles = [keep(store, b"%d" % number).handle for number in range(450)]
    assert [row.handle for row in store.outputs()] == handles[::-1]
    seen = []
    for row in islice(store.outputs(), 300):
        seen.append(row.handle)
        if len(seen) == 100:
            keep(store, b"while listing")
    assert seen == handles[::-1][:300]


def test_an_output_bears_the_time_of_its_turn_not_of_its_queueing(place: Path, clock: Clock) -> None:
    # Else a listing in progress meets, further down, an output that it has already told of.
    store, rows = LocalStore(place, clock=clock), []
    keep(store, b"first")
    queued = threading.Thread(target=lambda: rows.append(keep(LocalStore(place, clock=clock), b"queued")))

    def hold(index: Index) -> float:
        with index.transaction():
            queued.start()
            time.sleep(0.3)
            clock.days(1)
            return clock.now

    released = store.run(hold, writing=True)
    queued.join()
    assert rows[0].created >= released


def test_annotations(place: Path) -> None:
    store = LocalStore(place)
    handle = keep(store, b"x").handle
    store.annotate(handle, kind="pytest run", cut="auto", shown_bytes=900)
    row = LocalStore(place).stored(handle)
    assert (row.kind, row.cut, row.shown_bytes) == ("pytest run", "auto", 900)


def test_what_is_told_of_removed_outputs_is_bounded_without_anybody_asking(place: Path, clock: Clock) -> None:
    for number in range(12):
        clock.days(40)
        store = LocalStore(place, clock=clock)
        keep(store, b"%d" % number)
        store.close()
    assert len(store.tombstones()) <= 3
    assert len(list((place / ".store" / "journal").iterdir())) <= 4


def test_the_most_tombstones(place: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "MOST_TOMBSTONES", 5)
    store = LocalStore(place, clock=clock)
    handles = [keep(store, b"%d" % number).handle for number in range(9)]
    for handle in handles:
        store.remove(handle, reason="asked to")
    store.gc()
    assert [stone.handle for stone in store.tombstones()] == handles[:3:-1]


def test_only_a_session_that_is_over_its_limit_costs_a_look_at_all(place: Path) -> None:
    store = LocalStore(place, max_per_session=2)
    for number in range(6):
        keep(store, b"%d" % number, Call(session=str(number // 2)))
    assert store.run(lambda index: upkeep._anything_doomed(store, index)) is False
    keep(store, b"one more", Call(session="0"))
    assert store.run(lambda index: upkeep._anything_doomed(store, index)) is True
    assert [each.row.call.session for each in store.gc()] == ["0"]


# -- a clock that is wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize("days", [-0.1, -1.5, -3000, 3000])
def test_a_clock_that_jumps_loses_nothing(place: Path, clock: Clock, days: float) -> None:
    store = LocalStore(place, clock=clock, max_outputs=50, retention_days=None)
    before = [keep(store, b"%d" % number, Call(tool="bash")).handle for number in range(5)]
    store.pin(before[0])
    clock.days(days)
    after = [keep(store, b"after %d" % number).handle for number in range(5)]
    keep(store, b"1", Call(tool="again"))
    store.remove(before[4], reason="asked to")
    for view in (store, LocalStore(place, clock=clock, max_outputs=50, retention_days=None)):
        assert {row.handle for row in view.outputs()} == {*before[:4], *after}
        assert [row.created for row in view.outputs()] == sorted((row.created for row in view.outputs()), reverse=True)
        assert view.stored(before[1]).call.tool == "again"
        assert view.gc() == []
        assert whole(view, before[2]) == b"2"
    store.rebuild_index()
    assert {row.handle for row in store.outputs()} == {*before[:4], *after}
    assert store.stored(before[0]).pinned
    assert store.stored(before[1]).times == 2


# -- compression -----------------------------------------------------------------------------------


def test_cold_outputs_are_compressed_and_read_the_same(place: Path, clock: Clock) -> None:
    store = LocalStore(place, compress_after="2 days", clock=clock)
    data = b"".join(b"line %d of a log that repeats itself\n" % number for number in range(40_000))
    row, small = keep(store, data), keep(store, b"small")
    clock.days(3)
    store.gc()
    cold = store.stored(row.handle)
    assert files_in(place) == sorted([f"{row.handle}.txt.zst", f"{small.handle}.txt"])
    assert cold.path is None
    assert cold.bytes == len(data)
    assert cold.kept_bytes is not None
    assert cold.kept_bytes == (place / f"{row.handle}.txt.zst").stat().st_size < len(data) // 3
    blob = store.open(row.handle)
    assert blob.size == len(data)
    for start, length in ((0, 10), (262_140, 10), (len(data) - 5, 99), (100_000, 700_000)):
        assert blob.read(start, length) == data[start : start + length]
    blob.close()
    number, offset = store.line_offset(row.handle, line=30_000)
    assert data[offset:].startswith(b"line %d " % (number - 1))
    store.rebuild_index()
    assert whole(store, row.handle) == data
    assert [each.row.handle for each in store.plan_gc()] == []


def test_a_compressed_output_made_again_is_plain_again(place: Path, clock: Clock) -> None:
    store = LocalStore(place, compress_after=1, clock=clock)
    data = b"again and again\n" * 5000
    row = keep(store, data)
    clock.days(2)
    store.gc()
    again = keep(store, data)
    assert again.handle == row.handle
    assert files_in(place) == [f"{row.handle}.txt"]
    assert Path(str(store.stored(row.handle).path)).read_bytes() == data
    assert whole(store, row.handle) == data


# -- links, paths, planted things ------------------------------------------------------------------


@posix
def test_a_planted_link_is_never_followed(place: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * 5)
    store = LocalStore(place)
    row = keep(store, b"y" * 5)
    Path(str(row.path)).unlink()
    Path(str(row.path)).symlink_to(secret)
    with pytest.raises(StoreUnavailable, match="link"):
        store.open(row.handle)
    keep(store, b"y" * 5)
    assert whole(store, row.handle) == b"y" * 5
    assert secret.read_bytes() == b"x" * 5


@posix
@pytest.mark.parametrize("planted", [".store", ".store/tmp", ".store/journal", ".store/index.sqlite"])
def test_a_linked_directory_is_refused(place: Path, tmp_path: Path, planted: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = outside if planted != ".store/index.sqlite" else outside / "file"
    (place / planted).parent.mkdir(parents=True)
    (place / planted).symlink_to(target)
    with pytest.raises(StoreUnavailable, match=r"link|index"):
        keep(LocalStore(place), b"x")
    assert list(outside.iterdir()) == []


@posix
def test_an_index_that_is_a_link_is_not_read(place: Path, tmp_path: Path) -> None:
    other = LocalStore(tmp_path / "other")
    foreign = keep(other, b"of another store")
    other.close()
    store = LocalStore(place)
    mine = keep(store, b"mine")
    store.close()
    store.index_path.unlink()
    store.index_path.symlink_to(other.index_path)
    assert [row.handle for row in LocalStore(place).outputs()] == [mine.handle]
    with pytest.raises(UnknownHandle):
        LocalStore(place).stored(foreign.handle)


@posix
def test_a_pipe_in_the_place_of_an_output_does_not_hang(place: Path) -> None:
    store = LocalStore(place)
    row = keep(store, b"x")
    Path(str(row.path)).unlink()
    os.mkfifo(str(row.path))
    with pytest.raises(StoreUnavailable):
        store.open(row.handle)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/b", "..", "", "x\x00y"])
def test_an_index_that_points_outside_is_not_believed(place: Path, name: str) -> None:
    (place.parent / "secret").write_text("x")
    store = LocalStore(place)
    row = keep(store, b"x")
    store.run(lambda index: index.update(code_of(row.digest), name=name), writing=True)
    with pytest.raises(StoreUnavailable):
        store.open(row.handle)
    with pytest.raises(StoreUnavailable):
        store.remove(row.handle, reason="x")
    assert (place.parent / "secret").read_text() == "x"


def test_an_output_changed_from_outside_is_not_served(place: Path) -> None:
    store = LocalStore(place)
    row = keep(store, b"the whole of it")
    Path(str(row.path)).write_bytes(b"half")
    with pytest.raises(StoreUnavailable, match="instead of"):
        store.open(row.handle)


def test_settings_are_refused_early(place: Path) -> None:
    for wrong in ({"durable": "no"}, {"naming": "../{handle}"}, {"max_total_bytes": "2 XB"}, {"retention_days": -1},
                  {"compress_after": "soon"}, {"max_outputs": 0}):  # fmt: skip
        with pytest.raises(PolicyError, match=r"store\."):
            LocalStore(place, **wrong)  # type: ignore[arg-type]


# -- odd places --------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("name", ["with space", "目录 ключ 🧪", "%41?#&'\"", "new\nline", "\udcff", "x" * 200])
def test_a_store_at_any_path(tmp_path: Path, name: str) -> None:
    place = tmp_path / name / "outputs"
    row = keep(LocalStore(place), b"x" * 300_000)
    again = LocalStore(place)
    assert whole(again, row.handle) == b"x" * 300_000
    again.rebuild_index()
    assert [each.handle for each in again.outputs()] == [row.handle]


@posix
def test_a_path_that_is_too_long_is_said_to_be(tmp_path: Path) -> None:
    for length in (450, 5000):
        deep = tmp_path.joinpath(*["目" * 30] * (length // 91))
        with pytest.raises(StoreUnavailable, match="the path is too long"):
            keep(LocalStore(deep / ("x" * 90)), b"x")


# -- where it lies -----------------------------------------------------------------------------------


def test_the_default_place(tmp_path: Path) -> None:
    home = tmp_path / "home"
    project = home / "code" / "project"
    (project / "src" / "deep").mkdir(parents=True)
    env = {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "LOCALAPPDATA": str(home),
    }
    assert default_root(project, {**env, "OVERSPILL_DIR": "/x/y"}) == Path("/x/y")
    outside = Path(default_root(project / "src", env))
    assert outside.name == "overspill"
    assert home in outside.parents
    (project / "pyproject.toml").touch()
    assert default_root(project / "src" / "deep", env) == project / ".overspill"
    (home / ".git").mkdir()
    assert default_root(home / "code", env) == outside
    assert not (project / ".overspill").exists()


@posix
def test_a_link_that_came_with_a_repository_is_not_used(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".overspill").symlink_to(tmp_path)
    assert tmp_path / "home" in Path(default_root(project, {"HOME": str(tmp_path / "home")})).parents


@posix
def test_a_project_too_deep_for_an_index_keeps_its_outputs_with_the_user(tmp_path: Path) -> None:
    project = tmp_path.joinpath(*["目" * 30] * 5)
    (project / ".git").mkdir(parents=True)
    home = tmp_path / "home"
    assert home in Path(default_root(project, {"HOME": str(home)})).parents
    assert keep(LocalStore(default_root(project, {"HOME": str(home)})), b"x").bytes == 1


def test_threads_share_one_store(place: Path) -> None:
    store, faults = LocalStore(place), []

    def work(number: int) -> None:
        try:
            for step in range(30):
                row = keep(store, b"%d" % (step if step % 3 else number * 1000 + step), Call(tool=str(number)))
                whole(store, row.handle)
                list(islice(store.outputs(), 3))
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert store.totals()[0] == 6 * 10 + 20


def test_what_is_still_open_at_the_interpreters_exit_goes_silently(place: Path) -> None:
    code = """
import sys
from pathlib import Path
from overspill.core.model import Call
from overspill.store import LocalStore, files, index, local_blobs
from overspill.store.contract import keep
store = LocalStore(Path(sys.argv[1]))
blob = store.open(keep(store, b"x", Call()).handle)
for module in (index, local_blobs, files):  # as the interpreter leaves them
    module.os = None
"""
    done = subprocess.run([sys.executable, "-X", "dev", "-c", code, str(place)], capture_output=True, check=True)
    assert done.stderr == b""


def test_the_journal_is_readable_text(place: Path) -> None:
    store = LocalStore(place)
    row = keep(store, b"x", Call(tool="bash", command="echo läuft"))
    store.remove(row.handle, reason="asked to")
    lines = [
        line for path in (place / ".store/journal").iterdir() for line in path.read_text("utf-8").split("\n") if line
    ]
    assert [json.loads(line)["event"] for line in lines] == ["kept", "removed"]
    assert "echo läuft" in lines[0]


def test_a_store_that_outlives_the_interpreters_modules_ends_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path)
    keep(store, b"text\n")
    index = store.run(lambda index: index)
    monkeypatch.setattr("overspill.store.index.os", None)
    index.__del__()
    monkeypatch.undo()
