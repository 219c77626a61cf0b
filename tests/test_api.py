"""What stands in the README: one call, one class, one decorator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import trio

import overspill
from overspill import Bounder, Budget, Call, MemoryStore, Policy
from overspill.bounder import Capturing
from overspill.core.redact import BUILT_IN

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
    return Bounder(Policy(budget=Budget(max_bytes=1_000)), MemoryStore())


def test_a_stream_of_str_or_bytes(bounder: Bounder) -> None:
    def stream() -> Iterator[str | bytes]:
        for at in range(0, len(LINES), 1000):
            yield LINES[at : at + 1000] if at % 2000 else LINES[at : at + 1000].encode()

    assert bounder.bound(stream()).text == bounder.bound(LINES).text


@pytest.mark.parametrize("run", [asyncio.run, lambda coroutine: trio.run(lambda: coroutine)], ids=["asyncio", "trio"])
def test_the_async_forms_give_the_same(bounder: Bounder, run: object) -> None:
    async def stream() -> AsyncIterator[str]:
        for at in range(0, len(LINES), 1000):
            yield LINES[at : at + 1000]

    async def all_forms() -> list[str]:
        @bounder.tool
        async def tool() -> str:
            return LINES

        async with bounder.capture() as capturing:
            await capturing.afeed(LINES)
        texts = [capturing.bounded.text, (await bounder.abound(LINES)).text, (await bounder.abound(stream())).text]
        return [*texts, await tool()]

    assert set(run(all_forms())) == {bounder.bound(LINES).text}  # type: ignore[operator]


def test_abound_does_not_block_the_loop(bounder: Bounder) -> None:
    async def beats_while_bounding() -> int:
        beats, done = 0, asyncio.Event()

        async def work() -> None:
            await bounder.abound("word " * 8_000_000)
            done.set()

        task = asyncio.create_task(work())
        while not done.is_set():
            await asyncio.sleep(0)
            beats += 1
        await task
        return beats

    assert asyncio.run(beats_while_bounding()) > 3


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

    def test_too_many_parts_for_notices_become_one(self, bounder: Bounder) -> None:
        image = {"type": "image", "data": "A"}
        parts = [*({"type": "text", "text": "word\n" * 200} for _ in range(50)), image]
        shown = bounder.tool(lambda: parts)()
        assert [part["type"] for part in shown] == ["text", "image"]
        assert len(shown[0]["text"].encode()) <= 1_000

    def test_circular_and_odd_objects_have_a_text(self, bounder: Bounder) -> None:
        circle: list[object] = ["x" * 2_000]
        circle.append(circle)
        assert bounder.bound(circle).truncated
        assert bounder.bound({("a", 1): {1, 2}, "b": "x" * 5_000}).truncated


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
