"""The agent's loop against a real server: parallel calls, both deliveries, every result bounded."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, Literal

import pytest

from overspill import MemoryStore, PolicyError
from overspill.errors import EndpointError
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


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_calls_that_make_no_sense_are_answered_and_the_others_run(delivery: Literal["whole", "streamed"]) -> None:
    def listing(count: int) -> str:
        return "line\n" * count

    calls: list[tuple[str, dict[str, Any] | str]] = [
        ("listing", '{"count": 3'),
        ("listing", "[1]"),
        ("listing", '{"count": "three"}'),
        ("nowhere", {}),
        ("listing", {"count": 1}),
        ("listing", ""),
    ]

    async def main(server: Server) -> Any:
        return await agent_at(server, [listing], delivery=delivery).run("Go.")

    with chat_server([Say(calls=calls), Say("ok")]) as server:
        answer = asyncio.run(main(server))
    said = [message["content"] for message in server.requests[1]["messages"] if message["role"] == "tool"]
    assert answer.text == "ok"
    assert len(said) == len(calls)
    for sentence, words in zip(
        said, ("a JSON object", "a JSON object", "listing: count", "known tools: listing"), strict=False
    ):
        assert words in sentence
    assert said[4] == "line\n"
    assert "it is required" in said[5]


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_calls_of_one_turn_run_at_the_same_time(delivery: Literal["whole", "streamed"]) -> None:
    together = asyncio.Barrier(3)

    async def meets() -> str:
        await asyncio.wait_for(together.wait(), 30)
        return "met"

    async def main(server: Server) -> Any:
        return await agent_at(server, [meets], delivery=delivery).run("Go.")

    with chat_server([Say(calls=[("meets", {})] * 3), Say("ok")]) as server:
        asyncio.run(main(server))
    assert [message["content"] for message in server.requests[1]["messages"][-3:]] == ["met"] * 3


def test_what_the_endpoint_refuses_is_raised_as_the_client_says_it() -> None:
    import openai

    async def main(server: Server) -> Any:
        return await agent_at(server, []).run("Go.")

    with chat_server([Say(status=500)]) as server, pytest.raises(openai.InternalServerError):
        asyncio.run(main(server))


_NOTHING = b'{"choices": [{"index": 0, "%s": {"content": ""}, "finish_reason": "length"}], "usage": null}'
_HALF = b'data: {"choices": [{"index": 0, "delta": {"content": "half an ans"}}]}\n\n'


@pytest.mark.parametrize(
    ("delivery", "raw", "reason"),
    [
        *(("whole", raw, "no JSON") for raw in (b"<html>no</html>", b"", b'{"choices": [')),
        *(("whole", raw, "no message") for raw in (b"{}", b"null", b"[1]", b'"x"', b'{"choices": [], "usage": null}')),
        ("whole", b'{"choices": [{"index": 0, "message": null}]}', "no message"),
        ("whole", _NOTHING % b"message", "before anything was said"),
        ("streamed", b"data: " + _NOTHING % b"delta" + b"\n\n", "before anything was said"),
        ("streamed", b"data: nope\n\n", "no JSON"),
        *(("streamed", raw, "broke off") for raw in (b"", b"data: null\n\n", _HALF, b"data: [DONE]\n\n")),
        ("streamed", b'data: {"choices": [{"index": 0, "delta": null}]}\n\ndata: {"choices": null}\n\n', "broke off"),
    ],
)
def test_an_answer_that_is_none_is_one_sentence(
    delivery: Literal["whole", "streamed"], raw: bytes, reason: str
) -> None:
    async def main(server: Server) -> Any:
        return await agent_at(server, [], delivery=delivery).run("Go.")

    with chat_server([Say(raw=raw)]) as server, pytest.raises(EndpointError, match=reason) as raised:
        asyncio.run(main(server))
    assert "base_url" in str(raised.value)


@pytest.mark.parametrize(("delivery", "raw"), [("whole", b'{"choices"'), ("streamed", _HALF)])
def test_a_connection_that_ends_too_early_is_raised_as_the_client_says_it(
    delivery: Literal["whole", "streamed"], raw: bytes
) -> None:
    import openai

    async def main(server: Server) -> Any:
        return await agent_at(server, [], delivery=delivery).run("Go.")

    with chat_server([Say(raw=raw, promised_bytes=9_000)]) as server, pytest.raises(openai.APIConnectionError):
        asyncio.run(main(server))


def test_calls_without_names_or_places_are_answered() -> None:
    calls = b'[{"id": null, "type": "function", "function": null}, {"id": "x", "type": "custom", "custom": {}}, {}]'
    raw = b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": %s}}]}' % calls
    pieces = (
        b'data: {"choices": [{"index": 0, "delta": {"tool_calls": %s}, "finish_reason": "tool_calls"}]}\n\n' % calls
    )
    for delivery, sent in zip(DELIVERIES, (raw, pieces), strict=True):

        async def main(server: Server, delivery: Literal["whole", "streamed"] = delivery) -> Any:
            return await agent_at(server, [lambda: "x"], delivery=delivery).run("Go.")

        with chat_server([Say(raw=sent), Say("ok")]) as server:
            assert asyncio.run(main(server)).text == "ok"
        results = server.requests[1]["messages"][2:]
        assert [message["tool_call_id"] for message in results] == ["call_0", "x", "call_2"]
        assert all("there is no tool ''" in message["content"] for message in results)


def _streamed(*deltas: dict[str, Any], ending: str = "tool_calls") -> Say:
    pieces = [{"index": 0, "delta": delta} for delta in deltas] + [{"index": 0, "delta": {}, "finish_reason": ending}]
    return Say(raw=b"".join(b"data: %s\n\n" % json.dumps({"choices": [piece]}).encode() for piece in pieces))


def _piece(arguments: str, id: str | None = None, index: int | None = None) -> dict[str, Any]:
    function = {"name": "big" if id else None, "arguments": arguments}
    return {"tool_calls": [{"id": id, "function": function} | ({} if index is None else {"index": index})]}


@pytest.mark.parametrize(
    "deltas",
    [
        [_piece('{"n": ', "a"), _piece("1}"), _piece('{"n": ', "b"), _piece("2}")],
        [_piece('{"n": ', "a", 0), _piece('{"n": ', "b", 0), _piece("1}", "a", 0), _piece("2}", "b", 0)],
        [_piece('{"n": 1}', "a", 0), _piece('{"n": 2}', "b", 0)],
        [_piece('{"n": ', "a", 0), _piece('{"n": 2}', "b", 1), _piece("1}", None, 0)],
        [_piece('{"n": 1}', "a", 0), {"tool_calls": [{"id": "fresh", "index": 0}]}, _piece('{"n": 2}', "b", 0)],
    ],
)
def test_calls_are_told_apart_by_their_ids_whatever_their_index(deltas: list[dict[str, Any]]) -> None:
    def big(n: int) -> str:
        return f"{n}!"

    async def main(server: Server) -> Any:
        return await agent_at(server, [big], delivery="streamed").run("Go.")

    with chat_server([_streamed(*deltas), Say("ok")]) as server:
        assert asyncio.run(main(server)).text == "ok"
    results = server.requests[1]["messages"][2:]
    assert [(each["tool_call_id"], each["content"]) for each in results] == [("a", "1!"), ("b", "2!")]


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize(
    ("content", "ending", "text", "ended"),
    [
        ([{"type": "text", "text": "in "}, {"type": "image"}, {"text": "parts"}], "stop", "in parts", "answered"),
        ("half an ans", "length", "half an ans", "broken off"),
    ],
)
def test_an_answer_in_parts_is_one_and_one_that_broke_off_says_so(
    delivery: Literal["whole", "streamed"], content: Any, ending: str, text: str, ended: str
) -> None:
    async def main(server: Server) -> Any:
        return await agent_at(server, [], delivery=delivery).run("Go.")

    message = {"role": "assistant", "content": content}
    whole = {"choices": [{"index": 0, "message": message, "finish_reason": ending}], "usage": None}
    raw = Say(raw=json.dumps(whole).encode())
    with chat_server([raw if delivery == "whole" else _streamed(message, ending=ending)]) as server:
        answer = asyncio.run(main(server))
    assert (answer.text, answer.ended) == (text, ended)


@pytest.mark.parametrize("settings", [{"max_turns": 0}, {"delivery": "stream"}, {"timeout_seconds": -1}])
def test_a_setting_that_makes_no_sense_is_refused_when_the_agent_is_made(settings: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=next(iter(settings))):
        Agent(model="m", base_url="http://127.0.0.1:9/v1", store=MemoryStore(), **settings)


def test_a_history_goes_on_where_it_ended() -> None:
    async def main(server: Server) -> Any:
        agent = agent_at(server, [], system="Be brief.")
        first = await agent.run("One?")
        return await agent.run([*first.messages, {"role": "user", "content": "Two?"}])

    with chat_server([Say("one"), Say("two")]) as server:
        answer = asyncio.run(main(server))
    assert [message["role"] for message in answer.messages] == ["system", "user", "assistant", "user", "assistant"]
    assert answer.text == "two"


def test_d10_the_policy_given_bounds_every_result() -> None:
    from overspill import Budget, Policy

    async def main(server: Server) -> Any:
        return await agent_at(server, [lambda: LONG], policy=Policy(budget=Budget(max_bytes=1_500))).run("Go.")

    with chat_server([Say(calls=[("<lambda>", {})]), Say("ok")]) as server:
        asyncio.run(main(server))
    content = server.requests[1]["messages"][-1]["content"]
    assert len(content.encode()) <= 1_500
    assert content.startswith("[overspill ovs_")
