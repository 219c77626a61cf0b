"""Every store passes the same contract: ours, and one of the size that a user would write."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from overspill.core.model import Call
from overspill.core.ports import Stored
from overspill.errors import StoreError, UnknownHandle
from overspill.store import BytesBlob, LocalStore, MemoryStore, ObjectStore
from overspill.store.contract import StoreContract


class TestMemoryStore(StoreContract):
    def make_store(self, place: Path) -> MemoryStore:
        return MemoryStore()


class TestLocalStore(StoreContract):
    def make_store(self, place: Path) -> LocalStore:
        return LocalStore(place)

    def reopen(self, store: Any, place: Path) -> LocalStore:
        return LocalStore(place)


class TestLocalStoreWithNames(TestLocalStore):
    def make_store(self, place: Path) -> LocalStore:
        return LocalStore(place, naming="{tool}-{call_id}-{timestamp}.txt", durable="power")


class TestObjectStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, s3_url: str) -> None:
        self.url = s3_url

    def make_store(self, place: Path) -> ObjectStore:
        # A prefix for each test keeps them apart.
        self.mine = self.url.replace("?", f"/{secrets.token_hex(8)}?")
        return ObjectStore(self.mine)

    def reopen(self, store: Any, place: Path) -> ObjectStore:
        return ObjectStore(self.mine)


# One that a user might write: a JSON file per output.


class PlainSpill:
    def __init__(self, store: PlainStore) -> None:
        self.store, self.data, self.ended = store, bytearray(), False

    def write(self, data: bytes) -> None:
        self.data += data

    def discard(self) -> None:
        self.ended = True

    def commit(self, call: Call) -> Stored:
        if self.ended:
            raise StoreError("this spill has ended")
        self.ended = True
        return self.store.keep(bytes(self.data), call)


class PlainStore:
    def __init__(self, directory: Path) -> None:
        self.directory, self.clock = directory, 0.0
        directory.mkdir(parents=True, exist_ok=True)

    def spill(self, call: Call) -> PlainSpill:
        return PlainSpill(self)

    def keep(self, data: bytes, call: Call) -> Stored:
        digest, self.clock = hashlib.sha256(data).hexdigest(), self.clock + 1
        lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
        facts = {"handle": f"ovs_{digest[:10]}", "digest": digest, "bytes": len(data), "lines": lines}
        times = {"created": self.clock, "read": self.clock}
        made_by = {name: getattr(call, name) for name in Call.__slots__}
        text = json.dumps({**facts, **times, "call": made_by})
        part = self.directory.with_name(f"part-{threading.get_ident()}")
        part.write_text(text + "\n" + data.hex())
        part.replace(self.directory / f"ovs_{digest[:10]}")
        return self.stored(f"ovs_{digest[:10]}")

    def _find(self, handle: str) -> tuple[Stored, bytes]:
        found = [each for each in self.directory.iterdir() if handle[4:] and each.name.startswith(handle)]
        if len(found) != 1:
            raise UnknownHandle(handle)
        facts, data = found[0].read_text().split("\n")
        row = json.loads(facts)
        row["call"]["labels"] = tuple((name, value) for name, value in row["call"]["labels"])
        return Stored(**{**row, "call": Call(**row["call"])}), bytes.fromhex(data)

    def stored(self, handle: str) -> Stored:
        return self._find(handle)[0]

    def open(self, handle: str) -> BytesBlob:
        return BytesBlob(self._find(handle)[1])

    def outputs(self) -> Iterator[Stored]:
        rows = [self.stored(each.name) for each in self.directory.iterdir()]
        return iter(sorted(rows, key=lambda row: -row.created))

    def remove(self, handle: str, *, reason: str) -> None:
        (self.directory / self.stored(handle).handle).unlink()


class TestPlainStore(StoreContract):
    def make_store(self, place: Path) -> PlainStore:
        return PlainStore(place)


def test_the_contract_notices_a_store_that_loses_bytes() -> None:
    class Careless(StoreContract):
        def make_store(self, place: Path) -> MemoryStore:
            return LosingStore()

    with pytest.raises(AssertionError):
        Careless().test_any_bytes_come_back_as_they_were()


class LosingStore(MemoryStore):
    def open(self, handle: str) -> BytesBlob:
        blob = super().open(handle)
        return BytesBlob(blob.read(0, blob.size).replace(b"\r", b""))
