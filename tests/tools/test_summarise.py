"""Row A2, and the summariser against a real server: slow, failing, saying too much, saying nothing."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from overspill import Bounded, Bounder, Budget, Call, Event, MemoryStore, Policy, PolicyError
from overspill.config import load
from overspill.core.notice import recognised
from overspill.core.strategies import Auto
from overspill.summarise import OpenAISummarizer, Request, Summarise, Summary, configured
from tools.chat_server import Say, Server, chat_server

SOURCE = "".join(f"def function_{number}(): return {number}\n" for number in range(3_000))


def bounded_by(server: Server, output: Any = SOURCE, **settings: Any) -> tuple[Bounded, list[Event], MemoryStore]:
    events: list[Event] = []
    store = MemoryStore()

    async def main() -> Bounded:
        strategy = Summarise(summarizer=OpenAISummarizer("cheap", base_url=server.url), **settings)
        policy = Policy(budget=Budget(max_chars=4_000), strategy=strategy)
        return await Bounder(policy, store, on_event=events.append).abound(output, Call(tool="read"))

    return asyncio.run(main()), events, store


def test_a2_a_labelled_summary_the_whole_kept_and_the_cost_counted() -> None:
    with chat_server([Say("3,000 functions that return numbers.", usage=(12_000, 9))]) as server:
        bounded, events, store = bounded_by(server)
    header, _, text = bounded.text.partition("\n")
    assert text == "3,000 functions that return numbers."
    assert "SUMMARY of lines 1-" in header
    assert "by cheap, not the output" in header
    assert bounded.handle
    assert store.open(bounded.handle).read(0, 1 << 20) == SOURCE.encode()
    assert recognised(bounded.text.encode())
    assert bounded.omitted_bytes == len(SOURCE)
    assert [event.kind for event in events] == ["truncated", "summarised"]
    assert (events[1].tokens_in, events[1].tokens_out) == (12_000, 9)
    system, user = server.requests[0]["messages"]
    assert "definitions" in system["content"]
    assert "structure" in system["content"]
    assert 40_000 < len(user["content"]) <= 50_000
    covered = user["content"].count("\n")
    assert f"lines 1-{covered} " in header


def test_a2_only_above_the_trigger_and_only_when_something_was_cut() -> None:
    with chat_server([]) as server:
        below, _, _ = bounded_by(server, SOURCE[:19_999])
        small, _, _ = bounded_by(server, "small")
    assert below.truncated
    assert "SUMMARY" not in below.text
    assert small.text == "small"
    assert not server.requests


def test_a2_a_failure_is_tried_once_more() -> None:
    with chat_server([Say(status=500), Say("at last")]) as server:
        bounded, _, _ = bounded_by(server)
    assert bounded.text.endswith("\nat last")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ([Say(status=500), Say(status=500)], "500"),
        ([Say(""), Say("  \n")], "it said nothing"),
        ([Say("late", seconds=3.0)], "it took longer than 0.5 seconds"),
    ],
    ids=["failing", "empty", "slow"],
)
def test_a2_falls_back_to_the_cut(script: list[Say], reason: str) -> None:
    with chat_server(script) as server:
        bounded, events, _ = bounded_by(server, timeout_seconds=0.5)
    assert "SUMMARY" not in bounded.text
    assert "def function_0():" in bounded.text
    assert "def function_2999():" in bounded.text
    assert [event.kind for event in events] == ["truncated", "error"]
    assert reason in events[1].reason


def test_a2_more_than_was_asked_for_is_cut_to_the_budget() -> None:
    with chat_server([Say("word " * 50_000)]) as server:
        bounded, _, _ = bounded_by(server)
    assert 3_900 < len(bounded.text) <= 4_000
    assert bounded.text.endswith("…")


def test_a2_any_async_callable_will_do_and_one_that_raises_is_a_cut() -> None:
    async def short(request: Request) -> str:
        assert request.call.tool == "read"
        return f"{len(request.text)} characters"

    async def broken(request: Request) -> Summary:
        raise RuntimeError("no model")

    for summarizer, expected in ((short, "characters"), (broken, "lines shown")):
        policy = Policy(budget=Budget(max_chars=4_000), strategy=Summarise(summarizer=summarizer, fallback=Auto()))
        bounded = asyncio.run(Bounder(policy, MemoryStore()).abound(SOURCE, Call(tool="read")))
        assert expected in bounded.text


def test_a2_where_nothing_can_be_awaited_the_fallback_cuts() -> None:
    async def never(request: Request) -> str:
        raise AssertionError

    policy = Policy(budget=Budget(max_chars=4_000), strategy=Summarise(summarizer=never))
    assert "def function_2999():" in Bounder(policy, MemoryStore()).bound(SOURCE).text


def test_a2_without_a_store_it_says_so() -> None:
    async def short(request: Request) -> str:
        return "functions"

    policy = Policy(budget=Budget(max_chars=4_000), strategy=Summarise(summarizer=short))
    bounded = asyncio.run(Bounder(policy, None).abound(SOURCE))
    assert "could NOT be saved" in bounded.text
    assert bounded.text.endswith("functions")


def test_a2_settings_from_a_file_and_wrong_ones(tmp_path: Path) -> None:
    file = tmp_path / "overspill.yaml"
    file.write_text("summarization: {enabled: true, model: cheap, max_input_chars: 900, trigger_threshold: 300}\n")
    settings = load(str(tmp_path), {}).summarization
    assert settings is not None
    strategy = configured(settings, base_url="http://127.0.0.1:9/v1")
    assert (strategy.max_input_chars, strategy.trigger_chars) == (900, 300)
    assert isinstance(strategy.summarizer, OpenAISummarizer)
    with pytest.raises(PolicyError):
        Summarise(timeout_seconds=0)


async def _deaf(request: Request) -> str:
    for _ in range(3):
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.3)
    return "late"


async def _cancelled(request: Request) -> str:
    raise asyncio.CancelledError


async def _ends_the_program(request: Request) -> str:
    raise SystemExit(3)


async def _wordless(request: Request) -> str:
    class Wordless(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    raise Wordless


@pytest.mark.parametrize("summarizer", [_deaf, _cancelled, _ends_the_program, _wordless])
def test_a2_one_that_misbehaves_costs_no_more_than_its_summary(summarizer: Any) -> None:
    events: list[Event] = []

    async def main() -> Bounded:
        strategy = Summarise(summarizer=summarizer, timeout_seconds=0.2)
        policy = Policy(budget=Budget(max_chars=4_000), strategy=strategy)
        return await Bounder(policy, MemoryStore(), on_event=events.append).abound(SOURCE)

    bounded = asyncio.run(main())
    assert "def function_2999():" in bounded.text
    assert [event.kind for event in events] == ["truncated", "error"]
    assert events[1].reason.startswith("no summary: ")


def test_a2_a_summary_is_valid_text_that_steers_no_terminal() -> None:
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"

    async def red(request: Request) -> Any:
        return Summary("\x1b[31mred\x1b[0m \ud800\0" + family * 2_000, tokens_in=None)  # type: ignore[arg-type]

    policy = Policy(budget=Budget(max_chars=4_000), strategy=Summarise(summarizer=red))
    bounded = asyncio.run(Bounder(policy, MemoryStore()).abound(SOURCE))
    summary = bounded.excerpt
    assert summary.startswith(f"red \ufffd{family}")
    assert summary.removesuffix("…").endswith(family)
    assert len(bounded.text) <= 4_000


def test_a2_a_store_that_can_not_be_read_leaves_the_output_that_came() -> None:
    class Shut(MemoryStore):
        def open(self, handle: str) -> Any:
            class Blob:
                def read(self, start: int, length: int) -> bytes:
                    raise OSError("gone")

                close = read

            return Blob()

    async def short(request: Request) -> str:
        return "functions"

    policy = Policy(budget=Budget(max_chars=4_000), strategy=Summarise(summarizer=short))
    assert asyncio.run(Bounder(policy, Shut()).abound(SOURCE)).text.endswith("functions")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a2_a_tighter_layer_shortens_a_summary_and_keeps_its_handle(language: Any) -> None:
    async def summarizer(request: Request) -> str:
        return "It holds numbers.\n" * 150

    store = MemoryStore()
    policy = Policy(budget=Budget(max_chars=4_000), strategy=Summarise(summarizer=summarizer), language=language)
    summary = asyncio.run(Bounder(policy, store).abound(SOURCE))
    tighter = Bounder(Policy(budget=Budget(max_chars=1_500)), store)
    shorter = tighter.bound(summary.text + "\n")
    assert len(shorter.text) <= 1_500
    assert shorter.text.endswith("…")
    assert (shorter.handle, shorter.total_bytes, shorter.kept_bytes) == (summary.handle, len(SOURCE), 0)
    assert Bounder(Policy(budget=Budget(max_chars=900)), store).bound(shorter).handle == summary.handle
    assert Bounder(Policy(budget=Budget(max_chars=420)), store).bound(shorter.text).handle == summary.handle
    assert len(list(store.outputs())) == 1
    assert tighter.bound(summary.text + "\nand more").handle != summary.handle


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a2_a_summary_of_part_of_a_line_says_of_how_much(language: Any) -> None:
    async def summarizer(request: Request) -> str:
        return "One line."

    policy = Policy(budget=Budget(max_chars=4_000), strategy=Summarise(summarizer=summarizer), language=language)
    header = asyncio.run(Bounder(policy, MemoryStore()).abound("[" + "1234567, " * 60_000 + "]")).header
    assert ("前 50000 个字符" if language == "zh" else "SUMMARY of the first 50000 characters") in header
    assert "1-1" not in header.partition("characters" if language == "en" else "字")[0]
