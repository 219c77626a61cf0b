"""Every store passes the same contract: ours, and one of the size that a user would write."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Any

import pytest

from overspill import bound
from overspill.retrieve import read
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


def thirty_lines() -> dict[str, Any]:
    """The store that the documentation shows, as a user would take it from there."""
    text = (Path(__file__).parents[2] / "docs" / "store.md").read_text("utf-8")
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "class DictStore" in block)
    classes = code[code.index("class DictStore") :]
    assert len([line for line in classes.split("\n") if line]) <= 30
    names: dict[str, Any] = {}
    exec(code, names)
    return names


class TestTheStoreOfThirtyLines(StoreContract):
    def make_store(self, place: Path) -> Any:
        return thirty_lines()["DictStore"]()


def test_it_is_enough_for_bounding_and_reading_back() -> None:
    store = thirty_lines()["DictStore"]()
    text = "".join(f"line {number}\n" for number in range(50_000))
    bounded = bound(text, store=store)
    assert bounded.handle is not None
    assert "line 25000\n" in read(store, bounded.handle, around=25_001).text


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
