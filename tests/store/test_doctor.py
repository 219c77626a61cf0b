"""The doctor names what is wrong and the command that mends it, and changes nothing by looking."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overspill.core.model import Call
from overspill.store import LocalStore, MemoryStore, open_store
from overspill.store.contract import keep
from overspill.store.doctor import Checkup, examine, verify

NOW = 1_700_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "outputs", clock=lambda: NOW)


def found(checkup: Checkup) -> list[tuple[str, str]]:
    return [(finding.what, finding.command) for finding in checkup.findings]


def only(checkup: Checkup) -> tuple[str, str]:
    (finding,) = checkup.findings
    return finding.what, finding.command


def test_a_healthy_store(store: LocalStore) -> None:
    keep(store, b"x" * 100, Call(tool="bash"))
    keep(store, b"y" * 30, Call(tool="grep"))
    keep(store, b"z" * 50, Call(tool="bash"))
    checkup = examine(store, now=NOW + 2 * 86_400)
    assert (checkup.outputs, checkup.bytes, checkup.where) == (3, 180, str(store.root))
    assert [(group.name, group.outputs, group.bytes) for group in checkup.by_tool] == [
        ("bash", 2, 150),
        ("grep", 1, 30),
    ]
    assert [(group.name, group.outputs) for group in checkup.by_age] == [("this week", 3)]
    assert found(checkup) == []


def test_no_store_yet(store: LocalStore) -> None:
    assert examine(store, now=NOW).findings == ()
    assert not store.root.exists()


def test_a_deleted_output(store: LocalStore) -> None:
    row = keep(store, b"x")
    Path(str(row.path)).unlink()
    assert only(examine(store, now=NOW)) == (f"{row.handle}: its file was deleted from outside", "overspill gc")
    store.gc()
    assert found(examine(store, now=NOW)) == []


def test_a_changed_output(store: LocalStore) -> None:
    row = keep(store, b"xyz")
    Path(str(row.path)).write_bytes(b"xy")
    assert only(examine(store, now=NOW)) == (f"{row.handle} has 2 bytes instead of 3", f"overspill rm {row.handle}")
    Path(str(row.path)).write_bytes(b"xyy")
    assert found(examine(store, now=NOW)) == []
    assert [finding.command for finding in verify(store)] == [f"overspill rm {row.handle}"]
    store.remove(row.handle, reason="asked to")
    assert list(verify(store)) == []


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_link_in_the_place_of_an_output(store: LocalStore, tmp_path: Path) -> None:
    row = keep(store, b"xyz")
    Path(str(row.path)).unlink()
    Path(str(row.path)).symlink_to(tmp_path)
    what, command = only(examine(store, now=NOW))
    assert "not a regular file" in what
    assert command == f"overspill rm {row.handle}"


def test_an_orphan(store: LocalStore) -> None:
    row = keep(store, b"xyz")
    store.run(lambda index: index._db.execute("DELETE FROM outputs"), writing=True)
    what, command = only(examine(store, now=NOW))
    assert f"{row.handle}.txt" in what
    assert command == "overspill doctor --rebuild"
    store.rebuild_index()
    assert store.stored(row.handle).bytes == 3


def test_remains_of_the_dead(store: LocalStore) -> None:
    keep(store, b"x")
    (store.temporary / "dead.part").write_bytes(b"half")
    alive = store.spill(Call())
    alive.write(b"x" * 300_000)
    assert only(examine(store, now=NOW)) == ("1 unfinished outputs of processes that died (4 bytes)", "overspill gc")
    store.gc()
    assert found(examine(store, now=NOW)) == []
    alive.commit(Call())


def test_over_the_limits(store: LocalStore, tmp_path: Path) -> None:
    keep(store, b"x" * 10)
    later = LocalStore(tmp_path / "outputs", clock=lambda: NOW + 8 * 86_400)
    assert only(examine(later, now=NOW)) == ("1 outputs are over the limits (10 bytes)", "overspill gc")


def test_a_damaged_index(store: LocalStore) -> None:
    keep(store, b"x")
    store.close()
    store.index_path.write_bytes(b"not a database" * 500)
    checkup = examine(store, now=NOW)
    assert checkup.outputs == 1
    assert ["built again" in what for what, _ in found(checkup)] == [True]
    assert found(checkup)[0][1].startswith("rm ")
    assert "built again" in only(examine(store, now=NOW))[0]


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_a_directory_that_others_can_read(store: LocalStore) -> None:
    keep(store, b"x")
    store.root.chmod(0o755)
    what, command = only(examine(store, now=NOW))
    assert "others" in what
    assert command.startswith("chmod 700")


def test_a_thousand_faults_are_one_message(store: LocalStore) -> None:
    for number in range(60):
        Path(str(keep(store, b"%d" % number).path)).unlink()
    findings = found(examine(store, now=NOW))
    assert len(findings) == 21
    assert findings[-1] == ("40 more outputs like these", "overspill gc")


def test_other_stores() -> None:
    memory = MemoryStore()
    keep(memory, b"abc", Call(tool="bash"))
    assert examine(memory, now=NOW).by_tool[0].bytes == 3
    assert examine(memory, now=NOW).findings == ()
    nowhere = open_store("s3://bucket?endpoint=http://127.0.0.1:9&skip_signature=true", timeout_seconds=1)
    assert "s3://bucket" in only(examine(nowhere, now=NOW))[0]
