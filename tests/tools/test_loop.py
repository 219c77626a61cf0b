"""The agent's loop against a real server: parallel calls, both deliveries, every result bounded."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Literal

import pytest

from overspill import MemoryStore
from overspill.tools import Agent, Middleware, ToolRegistry
from tools.chat_server import Say, Server, chat_server

LONG = "".join(f"{number:05}\n" for number in range(6_000))
DELIVERIES: tuple[Literal["whole", "streamed"], ...] = ("whole", "streamed")


def agent_at(server: Server, tools: Any, **settings: Any) -> Agent:
    return Agent(model="scripted", base_url=server.url, tools=tools, store=MemoryStore(), **settings)


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_parallel_calls_run_and_their_bounded_results_enter_the_history(
    delivery: Literal["whole", "streamed"],
) -> None:
    def listing(count: int) -> str:
        """Lists."""
        return "".join(f"{number:05}\n" for number in range(count))

    def broken() -> str:
        raise ValueError("nothing there")

    script = [
        Say("Let me look.", [("listing", {"count": 9_000}), ("broken", {}), ("listing", {"count": 2})]),
        Say("Done: 9,000 lines."),
    ]

    async def main(server: Server) -> Any:
        return await agent_at(server, [listing, broken], system="Be brief.", delivery=delivery).run("How many?")

    with chat_server(script) as server:
        answer = asyncio.run(main(server))
    assert answer.text == "Done: 9,000 lines."
    assert (answer.turns, answer.ended) == (2, "answered")
    assert (answer.prompt_tokens, answer.completion_tokens) == (14, 6)
    first, second = server.requests
    assert [tool["function"]["name"] for tool in first["tools"]] == ["listing", "broken"]
    assert first["tools"][0]["function"]["parameters"]["properties"]["count"] == {"type": "integer"}
    history = second["messages"]
    assert [message["role"] for message in history] == ["system", "user", "assistant", "tool", "tool", "tool"]
    assert [message["tool_call_id"] for message in history[3:]] == ["call_0", "call_1", "call_2"]
    assert history[3]["content"].startswith("00000\n")
    assert len(history[3]["content"]) < 8_000
    assert "characters, " in history[3]["content"]
    assert history[4]["content"] == "ValueError: nothing there"
    assert history[5]["content"] == "00000\n00001\n"


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a5_the_loop_bounds_at_8000_characters_and_warns(
    delivery: Literal["whole", "streamed"], caplog: pytest.LogCaptureFixture
) -> None:
    """Also where the tools' own limits were told to let everything through."""

    def dump() -> str:
        return LONG

    registry = ToolRegistry([dump], middleware=Middleware(store=MemoryStore(), skip=["dump"]))

    async def main(server: Server) -> Any:
        return await agent_at(server, registry, delivery=delivery).run("Dump.")

    with chat_server([Say(calls=[("dump", {})]), Say("ok")]) as server, caplog.at_level(logging.WARNING, "overspill"):
        asyncio.run(main(server))
    content = server.requests[1]["messages"][-1]["content"]
    assert content.startswith(LONG[:3_120])
    assert content.endswith(LONG[-3_120:])
    assert len(content) <= 8_000
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "dump: a result of 36000 characters" in caplog.records[0].getMessage()


def test_a_small_result_is_not_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    def nothing() -> None:
        """Does it."""

    async def main(server: Server) -> Any:
        return await agent_at(server, [nothing]).run("Go.")

    with chat_server([Say(calls=[("nothing", {})]), Say("ok")]) as server, caplog.at_level(logging.WARNING):
        asyncio.run(main(server))
    assert server.requests[1]["messages"][-1]["content"] == "(no output)"
    assert not caplog.records


def test_a_model_that_never_stops_is_stopped() -> None:
    async def main(server: Server) -> Any:
        return await agent_at(server, [lambda: "x"], max_turns=3).run("Go.")

    with chat_server(lambda asked: Say(calls=[("<lambda>", {})])) as server:
        answer = asyncio.run(main(server))
    assert answer.ended == "out of turns"
    assert len(server.requests) == 3


def test_text_comes_as_it_is_said() -> None:
    heard: list[str] = []

    async def main(server: Server) -> Any:
        return await agent_at(server, [], delivery="streamed", on_text=heard.append).run("Speak.")

    with chat_server([Say("one two three four")]) as server:
        answer = asyncio.run(main(server))
    assert "".join(heard) == answer.text == "one two three four"
    assert len(heard) > 2
