"""Whatever happens to the store, the tool call gets bounded text with an honest notice; the doctor names the fault."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import overspill
from overspill import Bounded, Bounder, Budget, Policy
from overspill.core.model import Call
from overspill.errors import StoreUnavailable
from overspill.store import LocalStore
from overspill.store.contract import keep, whole
from overspill.store.doctor import examine

OUTPUT = b"".join(b"line %d of an output that matters\n" % number for number in range(100_000))
BUDGET = Budget(max_bytes=3_000, max_lines=60)


def through(store: LocalStore, meanwhile: Callable[[], object] = lambda: None) -> Bounded:
    """One output, streamed; something happens when it is half through."""
    capturing = Bounder(Policy(budget=BUDGET), store).capture(Call(tool="bash", command="make"))
    with capturing:
        for start in range(0, len(OUTPUT), 10_000):
            capturing.feed(OUTPUT[start : start + 10_000])
            if start == len(OUTPUT) // 20_000 * 10_000:
                meanwhile()
    return capturing.bounded


def said(store: LocalStore) -> str:
    return "; ".join(f"{finding.what} -> {finding.command}" for finding in examine(store, now=store.clock()).findings)


def check_unsaved(bounded: Bounded, reason: str) -> None:
    assert len(bounded.text.encode()) <= 3_000
    assert bounded.text.count("\n") <= 60
    assert bounded.handle is None
    assert bounded.path is None
    assert reason in bounded.unsaved
    assert reason in bounded.text
    assert bounded.total_lines == 100_000
    assert "line 0 of an output" in bounded.text
    assert "line 99999 of an output" in bounded.text


def test_a_full_disk(small_disk: Path) -> None:
    store = LocalStore(small_disk / "outputs")
    first = keep(store, b"x" * 100_000)
    check_unsaved(through(store), "the disk is full")
    assert "bytes left -> overspill gc" in said(store)
    assert whole(store, first.handle) == b"x" * 100_000
    assert list(store.temporary.iterdir()) == []


def test_a_read_only_disk(small_disk: Path) -> None:
    store = LocalStore(small_disk / "outputs")
    first = keep(store, b"x" * 100_000)
    store.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    check_unsaved(through(store), "read-only")
    assert whole(store, first.handle) == b"x" * 100_000
    assert [row.handle for row in store.outputs()] == [first.handle]
    assert "is on a read-only disk: new outputs are not saved -> OVERSPILL_DIR=" in said(store)
    assert "chmod" not in said(store)


@pytest.mark.skipif(os.name == "nt", reason="an open file can't be removed there")
def test_the_directory_is_deleted_while_the_tool_runs(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "outputs")
    check_unsaved(through(store, lambda: shutil.rmtree(store.root)), "its directory was removed")
    assert said(store) == ""
    again = through(store)
    assert again.handle is not None
    assert whole(store, again.handle) == OUTPUT


def test_a_file_stands_where_the_directory_should_be(tmp_path: Path) -> None:
    (tmp_path / "outputs").write_text("mine")
    store = LocalStore(tmp_path / "outputs")
    check_unsaved(through(store), "not a directory")
    assert "is not a directory" in said(store)


def test_the_index_knows_how_it_was_cut(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "outputs")
    bounded = through(store)
    row = LocalStore(tmp_path / "outputs").stored(str(bounded.handle))
    assert (row.cut, row.shown_bytes) == ("auto", len(bounded.text.encode()))
    assert row.call.command == "make"


def test_the_index_is_damaged_while_the_tool_runs(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "outputs")
    first = keep(store, b"first", Call(tool="bash", command="first"))
    store.close()
    bounded = through(store, lambda: store.index_path.write_bytes(b"not a database" * 999))
    assert bounded.handle is not None
    assert bounded.unsaved == ""
    assert whole(LocalStore(tmp_path / "outputs"), bounded.handle) == OUTPUT
    assert store.stored(first.handle).call.command == "first"
    assert "a damaged index was moved aside and built again -> rm " in said(store)


@pytest.mark.skipif(os.name == "nt", reason="a directory in use can't be removed there")
def test_the_working_directory_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    reason = "its path is relative and the working directory is gone; name an absolute path"
    store = LocalStore("outputs")
    check_unsaved(through(store), reason)
    assert overspill.bound(OUTPUT, store="outputs").unsaved == reason
    with pytest.raises(StoreUnavailable, match="name an absolute path"):
        list(store.outputs())
    monkeypatch.chdir(tmp_path)
    check_unsaved(through(store), reason)  # and not somewhere else
    assert list(tmp_path.iterdir()) == []
    assert Path(str(overspill.bound(OUTPUT, store="outputs").path)).parent == tmp_path / "outputs"


@pytest.mark.parametrize(("name", "reason"), [("a\0b", "can't hold a NUL character"), ("a\ud800b", "no file name")])
def test_the_path_can_be_no_ones(tmp_path: Path, name: str, reason: str) -> None:
    store = LocalStore(tmp_path / name)
    check_unsaved(through(store), reason)
    with pytest.raises(StoreUnavailable, match=reason):
        store.totals()


def test_a_relative_place_is_another_one_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        bounded = overspill.bound(OUTPUT, store="outputs")
        assert Path(str(bounded.path)).parent == tmp_path / name / "outputs"
