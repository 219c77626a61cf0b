"""What stands in the README: one call, one class, one decorator."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio

import overspill
from overspill import Bounder, Budget, Call, Event, LocalStore, MemoryStore, Policy
from overspill.bounder import Capturing
from overspill.core.ports import Spill, Stored
from overspill.core.redact import BUILT_IN, Secret
from overspill.core.strategies import Ends
from overspill.store import default_root

LINES = "".join(f"line {number}\n" for number in range(20_000))


def test_bound_gives_what_the_readme_says() -> None:
    bounded = overspill.bound(LINES, max_tokens=400, store=MemoryStore())
    assert bounded.truncated
    assert bounded.handle is not None
    assert bounded.handle.startswith("ovs_")
    assert bounded.omitted_lines + bounded.kept_lines == bounded.total_lines == 20_000
    assert bounded.omitted_bytes + bounded.kept_bytes == bounded.total_bytes == len(LINES)
    assert len(bounded.text) < 2_000


def test_bound_keeps_the_whole_in_the_projects_own_store() -> None:
    bounded = overspill.bound(LINES)
    assert bounded.path is not None
    with open(bounded.path, encoding="utf-8") as kept:
        assert kept.read() == LINES


def test_a_wrong_name_is_refused() -> None:
    with pytest.raises(overspill.PolicyError, match="strategy = 'nope'"):
        overspill.bound(LINES, strategy="nope")


def test_every_name_is_there() -> None:
    assert sorted(overspill.__all__) == overspill.__all__
    for name in overspill.__all__:
        assert getattr(overspill, name) is not None
    assert dir(overspill) == overspill.__all__


@pytest.fixture
def bounder() -> Bounder:
    return Bounder(Policy(budget=Budget(max_bytes=1_000), strategy=Ends()), MemoryStore())


def test_a_stream_of_str_or_bytes(bounder: Bounder) -> None:
    def stream() -> Iterator[str | bytes]:
        for at in range(0, len(LINES), 1000):
            yield LINES[at : at + 1000] if at % 2000 else LINES[at : at + 1000].encode()

    assert bounder.bound(stream()).text == bounder.bound(LINES).text


@pytest.mark.parametrize("run", [asyncio.run, lambda coroutine: trio.run(lambda: coroutine)], ids=["asyncio", "trio"])
def test_the_async_forms_give_the_same(bounder: Bounder, run: object) -> None:
    async def stream() -> AsyncIterator[str]:
        for at in range(0, len(LINES), 9_000):
            yield LINES[at : at + 9_000]

    async def all_forms() -> list[str]:
        @bounder.tool
        async def tool() -> str:
            return LINES

        async with bounder.capture() as capturing:
            await capturing.afeed(LINES)
        texts = [capturing.bounded.text, (await bounder.abound(LINES)).text, (await bounder.abound(stream())).text]
        return [*texts, await tool()]

    assert set(run(all_forms())) == {bounder.bound(LINES).text}  # type: ignore[operator]


def _beats_while(work: Callable[[], Awaitable[object]]) -> int:
    async def counted() -> int:
        beats, done = 0, asyncio.Event()

        async def to_its_end() -> None:
            await work()
            done.set()

        task = asyncio.create_task(to_its_end())
        while not done.is_set():
            await asyncio.sleep(0)
            beats += 1
        await task
        return beats

    return asyncio.run(counted())


class TestAsync:
    TEXT = "word " * 8_000_000

    def test_abound_does_not_block_the_loop(self, bounder: Bounder) -> None:
        assert _beats_while(lambda: bounder.abound(self.TEXT)) > 3

    def test_the_first_chunk_does_not_block_the_loop_however_large(self, bounder: Bounder) -> None:
        assert _beats_while(lambda: bounder.capture().afeed(self.TEXT)) > 3

    def test_a_decorated_tool_does_not_block_the_loop(self, bounder: Bounder) -> None:
        @bounder.tool
        async def tool() -> list[str]:
            return [self.TEXT]

        assert _beats_while(tool) > 3

    @pytest.mark.parametrize("loop", ["asyncio", "trio"])
    def test_a_cancelled_stream_ends_whole(self, loop: str) -> None:
        """The chunk that is being written when the cancellation comes is written to its end, once."""
        store = SlowStore()
        fed: list[str] = []

        async def stream(capturing: Capturing) -> None:
            async with capturing:
                while True:
                    fed.append(f"{len(fed)} ".rjust(2_000, "x"))
                    await capturing.afeed(fed[-1])

        capturing = Bounder(Policy(budget=Budget(max_bytes=1_000)), store).capture()
        if loop == "trio":

            async def under_trio() -> None:
                with trio.move_on_after(0.3):
                    await stream(capturing)

            trio.run(under_trio)
        else:

            async def under_asyncio() -> None:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(stream(capturing), 0.3)

            asyncio.run(under_asyncio())
        assert not store.overlapped
        (stored,) = store.outputs()
        assert stored.handle == capturing.bounded.handle
        assert store.open(stored.handle).read(0, 1 << 20).decode() == "".join(fed)


class SlowStore(MemoryStore):
    """Takes its time for every chunk, and sees whether two come at once."""

    def __init__(self) -> None:
        super().__init__()
        self.overlapped = False

    def spill(self, call: Call) -> Spill:
        spill, busy, store = super().spill(call), threading.Lock(), self

        class Slow:
            def write(self, data: bytes) -> None:
                store.overlapped |= not busy.acquire(blocking=False)
                time.sleep(0.2)
                spill.write(data)
                busy.release()

            def commit(self, call: Call) -> Stored:
                store.overlapped |= busy.locked()
                return spill.commit(call)

            def discard(self) -> None:
                spill.discard()

        return Slow()


def test_one_bounder_serves_many_threads(tmp_path: Path) -> None:
    bounder = Bounder(Policy(budget=Budget(max_bytes=1_000)), overspill.LocalStore(tmp_path))
    outputs = [LINES[:30_000] + f"of {number}\n" for number in range(4)] * 3
    with ThreadPoolExecutor(6) as pool:
        at_once = list(pool.map(bounder.bound, outputs))
    for output, bounded in zip(outputs, at_once, strict=True):
        assert bounded == bounder.bound(output)
        assert bounded.path is not None
        assert Path(bounded.path).read_text() == output
    assert len({bounded.handle for bounded in at_once}) == 4


def _print_and_fail(capturing: Capturing) -> None:
    with capturing:
        capturing.feed(LINES)
        raise RuntimeError("the tool's own")


def test_what_was_printed_before_the_tool_raised_is_kept() -> None:
    store = MemoryStore()
    bounder = Bounder(Policy(budget=Budget(max_bytes=1_000)), store)
    capturing = bounder.capture()
    with pytest.raises(RuntimeError, match="the tool's own"):
        _print_and_fail(capturing)
    assert capturing.bounded.handle is not None
    assert store.open(capturing.bounded.handle).size == len(LINES)


def test_a_stream_that_breaks_off_is_kept_and_leaves_nothing_behind(tmp_path: Path) -> None:
    def lines() -> Iterator[str]:
        yield LINES
        raise RuntimeError("the tool's own")

    store = LocalStore(tmp_path)
    bounder = Bounder(Policy(budget=Budget(max_bytes=1_000)), store)
    for bound in (
        bounder.bound,
        bounder.tool(lambda chunks: chunks),
        lambda chunks: asyncio.run(bounder.abound(chunks)),
    ):
        with pytest.raises(RuntimeError, match="the tool's own"):
            bound(lines())
        assert list(store.temporary.iterdir()) == []
    (row,) = store.outputs()
    assert (row.bytes, row.times) == (len(LINES), 3)


def test_what_is_fed_after_the_end_is_said_to_be_lost(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Event] = []
    capturing = Bounder(Policy(budget=Budget(max_bytes=1_000)), MemoryStore(), on_event=seen.append).capture()
    capturing.feed(LINES)
    bounded = capturing.bounded
    capturing.feed("one more line\n")
    assert capturing.bounded is bounded
    assert [event.kind for event in seen] == ["truncated", "error"]
    assert "14 bytes were fed after the end" in seen[1].reason
    assert "14 bytes were fed after the end" in caplog.text


def test_an_output_in_tiny_chunks_takes_no_more_memory() -> None:
    policy = Policy(budget=Budget(max_bytes=1_000), strategy=Ends())
    with Bounder(policy, None).capture() as warm:
        warm.feed(LINES)
    tracemalloc.start()
    try:
        with Bounder(policy, None).capture() as capturing:
            for number in range(300_000):
                capturing.feed(b"%02d\n" % (number % 100))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert capturing.bounded.total_lines == 300_000
    assert peak < 8_000_000


@pytest.mark.parametrize("most", [Budget(max_bytes=9_000), Budget(max_tokens=20_000)])
def test_an_output_over_a_limit_in_another_unit_is_not_made_longer_where_all_of_it_is_shown(most: Budget) -> None:
    bounder = Bounder(Policy(limit=Budget(max_lines=5), budget=most), MemoryStore())
    output = "a line\n" * (
        2_000 if most.max_tokens else 100
    )  # also where that is more than the limit's lines could have
    bounded = bounder.bound(output)
    assert bounded.output is output
    assert not bounded.truncated
    longer = bounder.bound("a line\n" * 100_000)
    assert longer.truncated
    assert longer.gaps


def test_what_fits_once_redraws_and_colours_are_folded_says_so() -> None:
    bounder = Bounder(Policy(budget=Budget(max_bytes=9_000)), MemoryStore())
    assert "redraws and colours folded" in bounder.bound("\x1b[31ma line\x1b[0m\n" * 600).header


class TestDecorator:
    def test_text_stays_text(self, bounder: Bounder) -> None:
        @bounder.tool
        def tool(times: int) -> str:
            return "word\n" * times

        small = tool(3)
        assert small == "word\n" * 3
        assert tool(9_999).startswith("[overspill ovs_")
        assert tool.__name__ == "tool"

    def test_bytes_stay_bytes(self, bounder: Bounder) -> None:
        assert bounder.tool(lambda: b"word\n" * 9_999)().startswith(b"[overspill ovs_")

    def test_a_small_object_is_the_very_same(self, bounder: Bounder) -> None:
        for value in ({"a": 1}, [1, 2], "text", b"bytes", None, 3, [{"type": "text", "text": "hi"}]):
            assert bounder.tool(lambda value=value: value)() is value

    def test_half_a_character_never_comes_out(self, bounder: Bounder) -> None:
        part = {"type": "text", "text": "half \ud83d"}
        other = {"type": "text", "text": "whole 🧪"}
        assert bounder.tool(lambda: "half \ud83d")() == "half \ufffd"
        shown = bounder.tool(lambda: [part, other])()
        assert shown == [{"type": "text", "text": "half \ufffd"}, other]
        assert shown[1] is other
        shown = bounder.tool(lambda: [part, {"type": "text", "text": LINES}])()
        assert "\ud83d" not in shown[0]["text"]

    def test_a_large_object_becomes_text(self, bounder: Bounder) -> None:
        rows = [{"id": number, "state": "ok"} for number in range(1_000)]
        text = bounder.tool(lambda: rows)()
        assert isinstance(text, str)
        assert len(text.encode()) <= 1_000

    def test_parts_share_the_budget_and_images_pass(self, bounder: Bounder) -> None:
        wide = Bounder(Policy(budget=Budget(max_bytes=4_000)), MemoryStore())
        image = {"type": "image", "data": "A" * 50_000}
        small = {"type": "text", "text": "a short remark"}
        parts = [small, image, {"type": "text", "text": LINES}, {"type": "text", "text": LINES + "more"}]
        shown = wide.tool(lambda: parts)()
        assert shown[0] is small
        assert shown[1] is image
        assert sum(len(part["text"].encode()) for part in shown if part["type"] == "text") <= 4_000
        assert all(part["text"].startswith("[overspill ") for part in shown[2:])

    @pytest.mark.parametrize("redact", [(), BUILT_IN])
    def test_parts_of_which_none_is_text_pass(self, redact: tuple[Secret, ...]) -> None:
        bounder = Bounder(Policy(budget=Budget(max_bytes=600), redact=redact), MemoryStore())
        image = {"type": "image", "data": "x" * 100, "mimeType": "image/png"}
        link = {"type": "image_url", "image_url": {"url": "https://example.com/" + "x" * 100}}
        parts = [image, link] * 25
        assert bounder.tool(lambda: parts)() is parts
        files = [{"type": "file", "name": f"{number}.py"} for number in range(100)]
        for records in (files, [image, *files], [{"type": "image", "name": "a.png"}] * 100):
            assert isinstance(bounder.tool(lambda records=records: records)(), str)

    def test_too_many_parts_for_notices_become_one(self, bounder: Bounder) -> None:
        image = {"type": "image", "data": "A"}
        parts = [*({"type": "text", "text": "word\n" * 200} for _ in range(50)), image]
        shown = bounder.tool(lambda: parts)()
        assert [part["type"] for part in shown] == ["text", "image"]
        assert len(shown[0]["text"].encode()) <= 1_000

    def test_whatever_makes_it_awaitable_an_output_is_bounded(self, bounder: Bounder) -> None:
        async def plain() -> str:
            return LINES

        async def pieces() -> AsyncIterator[str]:
            for at in range(0, len(LINES), 50_000):
                yield LINES[at : at + 50_000]

        class Tool:
            async def __call__(self) -> str:
                return LINES

            @bounder.tool
            async def method(self) -> str:
                return LINES

        bounded = bounder.bound(LINES).text
        assert bounded.startswith("[overspill ovs_")
        for tool in (plain, pieces, Tool(), functools.partial(plain), lambda: plain(), lambda: pieces()):
            assert asyncio.run(bounder.tool(tool)()) == bounded
        assert asyncio.run(Tool().method()) == bounded

    def test_pieces_become_one_text(self, bounder: Bounder) -> None:
        @bounder.tool
        def tool(times: int) -> Iterator[str]:
            for number in range(times):
                yield f"line {number}\n"

        assert tool(20_000) == bounder.bound(LINES).text
        assert tool(2) == "line 0\nline 1\n"

    def test_what_is_bounded_already_is_the_very_same(self, bounder: Bounder) -> None:
        bounded = bounder.bound(LINES)
        assert bounder.tool(lambda: bounded)() is bounded

    def test_circular_and_odd_objects_have_a_text(self, bounder: Bounder) -> None:
        circle: list[object] = ["x" * 2_000]
        circle.append(circle)
        assert bounder.bound(circle).truncated
        assert bounder.bound({("a", 1): {1, 2}, "b": "x" * 5_000}).truncated


@dataclass
class Row:
    number: int
    tags: set[str]


class Model:
    """As pydantic's models answer."""

    def model_dump(self, mode: str) -> dict[str, object]:
        return {"mode": mode, "rows": [1, 2]}


class TestObjects:
    """What has members is shown by them, in a text that is JSON and the same in every process."""

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (Row(1, {"b", "a"}), '{\n "number": 1,\n "tags": [\n  "a",\n  "b"\n ]\n}'),
            ([Row(1, set())], '[\n {\n  "number": 1,\n  "tags": []\n }\n]'),
            (Model(), '{\n "mode": "json",\n "rows": [\n  1,\n  2\n ]\n}'),
            ({1: "a", None: [float("nan")], 1.5: True}, '{\n "1": "a",\n "null": [\n  "nan"\n ],\n "1.5": true\n}'),
            ({"a": b"caf\xc3\xa9", "p": Path("a/b")}, '{\n "a": "café",\n "p": "a/b"\n}'),
            (10**5000, f'"{hex(10**5000)}"'),
        ],
        ids=["dataclass", "rows", "model", "keys", "bytes", "number"],
    )
    def test_a_value_as_text(self, value: object, text: str) -> None:
        bounded = Bounder(Policy(budget=Budget(max_bytes=9_000))).bound(value)
        assert bounded.text == text
        assert json.loads(text) is not None
        assert bounded.output is value


class TestRedaction:
    SECRET = "AKIAIOSFODNN7EXAMPLE"

    @pytest.fixture
    def bounder(self) -> Bounder:
        return Bounder(Policy(budget=Budget(max_bytes=1_000), redact=BUILT_IN), MemoryStore())

    def test_a_secret_is_neither_shown_nor_kept(self, bounder: Bounder) -> None:
        bounded = bounder.bound(f"key {self.SECRET}\n" + LINES)
        assert bounded.handle is not None
        assert bounder.store is not None
        assert self.SECRET not in bounded.text
        assert self.SECRET.encode() not in bounder.store.open(bounded.handle).read(0, 1 << 20)
        assert "1 secrets redacted" in bounded.header
        assert bounded.redactions == 1

    def test_the_command_is_kept_without_its_secret(self, bounder: Bounder) -> None:
        bounder.bound(LINES, Call(command=f"deploy --key {self.SECRET}"))
        assert bounder.store is not None
        (stored,) = bounder.store.outputs()
        assert stored.call.command == "deploy --key [redacted: aws key]"

    def test_a_small_output_loses_its_secret_too(self, bounder: Bounder) -> None:
        assert bounder.bound(f"key {self.SECRET}").text == "key [redacted: aws key]"
        assert bounder.tool(lambda: {"key": self.SECRET})() == '{\n "key": "[redacted: aws key]"\n}'
        parts = bounder.tool(lambda: [{"type": "text", "text": self.SECRET}])()
        assert parts == [{"type": "text", "text": "[redacted: aws key]"}]

    def test_what_holds_no_secret_is_the_very_same_object(self, bounder: Bounder) -> None:
        text, rows = "nothing to hide", {"a": 1}
        assert bounder.bound(text).text is text
        assert bounder.tool(lambda: rows)() is rows


@pytest.mark.parametrize(
    "facts", [{"tool": None}, {"tool": 7}, {"command": ["pytest", "-k", "a b"]}, {"question": None}, {"command": None}]
)
def test_what_is_known_of_a_call_may_come_in_any_type(facts: dict[str, Any]) -> None:
    bounded = overspill.bound(LINES, store=MemoryStore(), **facts)
    assert bounded.truncated
    assert bounded.handle
    assert Call(command=["pytest", "-k", "a b"]).command == "pytest -k 'a b'"  # type: ignore[arg-type]


def test_a_store_may_be_named_by_a_path(tmp_path: Path) -> None:
    bounded = overspill.bound(LINES, store=tmp_path / "kept")
    assert bounded.path
    assert Path(bounded.path).parent == tmp_path / "kept"


def test_where_the_working_directory_is_gone_the_output_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.delenv("OVERSPILL_DIR", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    gone.rmdir()
    for store in (None, ""):
        bounded = overspill.bound(LINES, store=store)
        assert bounded.path
        assert Path(bounded.path).is_relative_to(tmp_path / "state")


def test_who_has_no_home_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.setattr("pwd.getpwuid", unknown)
    for name in ("HOME", "OVERSPILL_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert default_root(tmp_path, {}) == Path("/.local/state/overspill")
    assert overspill.bound(LINES, store="~nobody-of-that-name/x").handle
