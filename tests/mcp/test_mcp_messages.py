"""Promises about a stream of messages: none lost, none out of order, none changed that need not be."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_wiring import Line, lines, text, tool

from overspill.core.model import Budget
from overspill.mcp import wire

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
ids = st.integers(-5, 5) | st.sampled_from(["a", "1", "é", ""]) | st.none()
methods = st.sampled_from(
    [
        "tools/call",
        "tools/list",
        "resources/read",
        "tasks/result",
        "initialize",
        "sampling/createMessage",
        "unknown",
        "",
    ]
)
objects = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0"),
        "id": ids,
        "method": methods | values,
        "params": values | st.fixed_dictionaries({"name": st.text(max_size=5), "arguments": values}),
        "result": values | st.fixed_dictionaries({"content": st.lists(values, max_size=3)}),
        "error": values,
    },
)
dumped = st.builds(
    lambda value, indent, ascii, end: (
        json.dumps(value, separators=indent, ensure_ascii=ascii).encode("utf-8", "replace") + end
    ),
    objects | st.lists(objects, max_size=3) | values,
    st.sampled_from([(",", ":"), (", ", ": "), (" , ", " :\t")]),
    st.booleans(),
    st.sampled_from([b"\n", b"\r\n"]),
)
garbage = st.binary(max_size=40).map(lambda data: data.replace(b"\n", b" ") + b"\n")


@given(stream=st.lists(st.tuples(st.booleans(), dumped | garbage), max_size=25))
def test_whatever_is_small_passes_as_the_very_bytes(stream: list[tuple[bool, bytes]]) -> None:
    """Both directions, in any mixture: batches, ids used twice, answers to nothing, and what is no JSON."""
    line = Line(read_back=False)
    for from_host, message in stream:
        if from_host:
            turn = line.conversation.from_host(message)
            assert turn.forward == message
            assert not turn.answer
            assert not turn.calls
        else:
            assert line.conversation.from_server(message) == message


@given(data=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=8))
def test_lines_in_any_chunks(data: bytes, cuts: list[int]) -> None:
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    split = wire.Lines()
    found = [one for first, last in pairwise(places) for one in split.feed(data[first:last])]
    rest = split.rest()
    assert b"".join(found) + rest == data
    assert all(one.endswith(b"\n") and one.count(b"\n") == 1 for one in found)
    assert b"\n" not in rest


@given(
    sizes=st.lists(st.sampled_from([1, 50, 400]), min_size=1, max_size=8),
    order=st.randoms(use_true_random=False),
)
def test_answers_in_any_order_find_their_calls(sizes: list[int], order: Any) -> None:
    line = Line(budget=Budget(max_bytes=1_200))
    for number in range(len(sizes)):
        line.ask("tools/call", {"name": f"t{number}"}, id=number if number % 2 else f"s{number}")
    places = list(range(len(sizes)))
    order.shuffle(places)
    for number in places:
        id = number if number % 2 else f"s{number}"
        message = json.loads(line.tell({"content": [text("word\n" * sizes[number])]}, id=id))
        assert message["id"] == id
        shown = message["result"]["content"][0]["text"]
        assert shown.startswith("[overspill ovs_") if sizes[number] > 100 else shown == "word\n" * sizes[number]
    kept = {stored.call.tool for stored in line.store.outputs()}
    assert kept <= {f"t{number}" for number, size in enumerate(sizes) if size > 100}


def test_members_that_are_not_ours_stay_as_they_were_written() -> None:
    line = Line()
    line.ask("tools/call", {"name": "t"})
    own = b'{"took":1.50, "e":1E5,"big":123456789012345678901234567890}'
    message = b'{"jsonrpc":"2.0","x-trace":%s,"id":1,"result":{"_meta":%s,"content":[%s],"other":%s}}\n'
    got = line.conversation.from_server(message % (own, own, json.dumps(text(lines(3000))).encode(), own))
    assert got.count(b'"took":1.50, "e":1E5,"big":123456789012345678901234567890') == 2
    assert b'"took":1.50' in got.partition(b'"_meta"')[2]


def test_a_lone_surrogate_in_a_result_is_kept_and_shown_as_valid_text() -> None:
    line = Line()
    line.ask("tools/call", {"name": "t"})
    message = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\\ud800%s"}]}}\n' % (b"x y " * 9000)
    got = line.conversation.from_server(message)
    assert len(got) < 9_000
    json.loads(got)["result"]["content"][0]["text"].encode()
    kept = line.store.open(next(line.store.outputs()).handle)
    assert kept.read(0, 3) == b"\xed\xa0\x80"


def test_an_answer_to_a_call_that_was_given_up_is_still_bounded() -> None:
    line = Line()
    line.ask("tools/call", {"name": "t"}, id=9)
    line.conversation.from_host(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}\n')
    assert len(line.tell({"content": [text(lines(3000))]}, id=9)) < 9_000


def test_a_read_back_call_that_was_given_up_is_not_answered() -> None:
    line = Line()
    turn = line.ask("tools/call", {"name": "overspill_read", "arguments": {"handle": "ovs_x"}}, id=9)
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}\n'
    assert line.conversation.from_host(cancel).forward == b""
    assert line.conversation.answer(turn.calls[0]) == b""


def test_a_request_of_the_server_with_the_id_of_a_call_is_not_its_answer() -> None:
    line = Line()
    line.ask("tools/call", {"name": "t"}, id=1)
    question = b'{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"x":"%s"}}\n' % (b"y" * 20_000)
    assert line.conversation.from_server(question) == question
    assert len(line.tell({"content": [text(lines(3000))]}, id=1)) < 9_000


def test_a_newer_version_is_answered_in_its_form() -> None:
    line = Line()
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    turn = line.ask("tools/call", {"name": "overspill_read", "arguments": {"handle": "ovs_x"}, "_meta": meta})
    assert json.loads(line.conversation.answer(turn.calls[0]))["result"]["resultType"] == "complete"


def test_a_fault_of_ours_lets_the_message_through() -> None:
    def broken(name: str) -> Any:
        raise RuntimeError("a policy that fails")

    result = {"content": [text(lines(3000))]}
    assert Line(bounder=broken).result(result) == result


@pytest.mark.parametrize("data", [{"why": "small"}, {"trace": lines(2_000)}])
def test_a_refusal_fits_and_stays_a_refusal(data: Any) -> None:
    line = Line()
    line.ask("tools/call", {"name": "t"})
    error = {"code": -32603, "message": "it broke\n" + lines(3_000), "data": data, "x": 1.5}
    message = line.conversation.from_server(json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode() + b"\n")
    got = json.loads(message)["error"]
    assert len(message) < 9_000
    assert (got["code"], got["x"]) == (-32603, 1.5)
    assert ("data" in got) is ("why" in data), "what is large stands in the words"
    handle = got["message"].split()[1].strip(":")
    kept = line.store.open(handle).read(0, 10**9).decode()
    assert kept.startswith(error["message"])
    assert ("line 2000 of" in kept.partition("line 3000 of")[2]) is ("trace" in data)


@pytest.mark.parametrize(
    "error",
    [
        lines(3_000),
        [lines(3_000)],
        {"code": 7, "message": "it broke", "other": lines(3_000)},
        {"code": 7, "message": "it broke", **{f"k{number}": lines(10) for number in range(300)}},
        {"code": 7, "message": {"en": lines(3_000)}},
    ],
)
def test_an_error_in_whatever_shape_becomes_one_that_fits(error: Any) -> None:
    line = Line()
    line.ask("tools/call", {"name": "t"})
    message = line.conversation.from_server(json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode() + b"\n")
    got = json.loads(message)["error"]
    assert len(message) < 9_000
    assert got["code"] == (7 if isinstance(error, dict) else -32603)
    handle = next(word for word in got["message"].split() if word.startswith("ovs_")).strip(":")
    assert len(line.store.open(handle).read(0, 10**9)) > 30_000


def test_a_refusal_of_anything_else_passes() -> None:
    line = Line()
    line.ask("prompts/get", {"name": "t"})
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": lines(3_000)}}).encode() + b"\n"
    assert line.conversation.from_server(message) is message


def test_calls_that_were_given_up_and_never_answered_are_forgotten() -> None:
    line = Line()
    for id in range(3_000):
        line.ask("tools/call", {"name": "t"}, id=id)
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}
        line.conversation.from_host(json.dumps(cancel).encode())
    assert len(line.conversation.server_gone("over")) == 1_000


# the list of tools


def test_tools_that_nobody_has_listed_are_listed_before_the_first_call() -> None:
    """Page by page, with what newer versions say in each request; and once, whatever the answer is."""
    line = Line()
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": 7}
    asked = line.ask("tools/call", {"name": "t", "_meta": meta}).unlisted
    assert asked is not None
    first = json.loads(asked.request)
    assert (first["method"], first["params"]) == (
        "tools/list",
        {"_meta": {name: meta[name] for name in list(meta)[:1]}},
    )
    rows = {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]}
    asked.listed(wire.response(b"1", {"tools": [tool("other")], "nextCursor": "2"}))
    assert json.loads(asked.request)["params"]["cursor"] == "2"
    asked.listed(wire.response(b"2", {"tools": [tool("t", rows)]}))
    assert not asked.request
    value = {"rows": [f"row {number}" for number in range(3_000)]}
    result = json.loads(line.tell({"content": [], "structuredContent": value}))["result"]
    assert 0 < len(result["structuredContent"]["rows"]) < 3_000
    assert line.ask("tools/call", {"name": "t"}).unlisted is None


@pytest.mark.parametrize("answer", [b"", b'{"id":1,"error":{}}', b'{"id":1,"result":[]}', b"no"])
def test_a_server_that_lists_nothing_is_asked_once(answer: bytes) -> None:
    line = Line()
    asked = line.ask("tools/call", {"name": "t"}).unlisted
    assert asked is not None
    asked.listed(answer)
    assert not asked.request
    assert line.ask("tools/call", {"name": "t"}).unlisted is None


def test_no_list_is_asked_for_where_nothing_hangs_on_it() -> None:
    assert Line(structured="keep").ask("tools/call", {"name": "t"}).unlisted is None
    assert Line(bounder=lambda name: None).ask("tools/call", {"name": "t"}).unlisted is None
    assert Line().ask("tools/call", {"name": "overspill_read"}).unlisted is None


def test_a_list_that_needs_no_change_is_the_very_bytes() -> None:
    line = Line(read_back=False)
    line.ask("tools/list")
    message = b'{"id":1,"jsonrpc":"2.0", "result":{"tools":[{"name":"a","inputSchema":{}}]}}\n'
    assert line.conversation.from_server(message) is message


def test_own_tools_stand_once_in_a_list_of_pages() -> None:
    line = Line()
    line.ask("tools/list")
    first = json.loads(line.tell({"tools": [tool("a")], "nextCursor": "2"}))["result"]
    line.ask("tools/list", {"cursor": "2"})
    second = json.loads(line.tell({"tools": [tool("b")]}))["result"]
    assert [one["name"] for one in first["tools"]] == [
        "a",
        "overspill_read",
        "overspill_grep",
        "overspill_outline",
        "overspill_query",
    ]
    assert first["nextCursor"] == "2"
    assert [one["name"] for one in second["tools"]] == ["b"]


def test_a_name_that_the_server_has_means_its_tool() -> None:
    line = Line()
    names = [one["name"] for one in line.listed(tool("overspill_read"))]
    assert names[:2] == ["overspill_read", "overspill_read_2"]
    assert line.ask("tools/call", {"name": "overspill_read"}, id=2).forward
    assert line.ask("tools/call", {"name": "overspill_read_2"}, id=3).calls[0].verb == "read"
    result = line.result({"content": [text(lines(3000))]})
    assert "overspill_read_2 {" in result["content"][0]["text"]


def test_a_name_that_is_taken_on_a_later_page_is_told_apart() -> None:
    line = Line()
    line.ask("tools/list")
    line.tell({"tools": [], "nextCursor": "2"})
    line.ask("tools/list", {"cursor": "2"})
    (theirs,) = json.loads(line.tell({"tools": [tool("overspill_read")]}))["result"]["tools"]
    assert theirs["name"] == "overspill_read_2"
    forward = line.ask("tools/call", {"name": "overspill_read_2", "arguments": {"x": 1}}, id=2).forward
    assert json.loads(forward)["params"] == {"name": "overspill_read", "arguments": {"x": 1}}


def test_another_overspill_over_the_same_store_is_enough() -> None:
    inner = Line().listed()
    assert Line().listed(*inner) == inner


def test_what_another_overspill_answers_is_not_bounded_again() -> None:
    line = Line(read_back=False)
    line.listed(tool("overspill_read", _meta={"overspill": {"verb": "read", "store": "elsewhere"}}))
    result = {"content": [text(lines(3000))]}
    assert line.result(result, tool="overspill_read") == result


def test_a_text_that_another_layer_has_bounded_is_not_bounded_again() -> None:
    line = Line()
    first = line.result({"content": [text(lines(3000))]})
    assert line.result(first) == first


@pytest.mark.parametrize("answer", [{}, {"tools": None}, {"tools": "x"}, [], "no", None, {"tools": [1, None, {}]}])
def test_a_list_that_is_none_passes(answer: Any) -> None:
    line = Line(read_back=False)
    line.ask("tools/list")
    assert json.loads(line.tell(answer))["result"] == answer


IDS = [b"1", b'"a"', b"2.5", b"1e400", b"-0", b"true", b"{}", b"[1]", b'""', b'"\\ud800"', b"9" * 30]


@pytest.mark.parametrize("id", IDS)
def test_results_fit_under_any_id_and_under_one_that_is_used_twice(id: bytes) -> None:
    line = Line()
    line.listed({"name": "t", "inputSchema": {}})
    result = json.dumps({"content": [text(lines(2_000))]}).encode()
    asked = b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":{"name":"t"}}\n' % id
    for _ in range(3):
        assert line.conversation.from_host(asked).forward == asked
    for _ in range(2):
        got = line.conversation.from_server(b'{"result":%b,"id":%b}\n' % (result, id))
        assert len(got) < 9_000
        assert got.endswith(b'"id":%b}\n' % id)
    (refused,) = line.conversation.server_gone("gone")
    assert b'"id":%b' % id in refused


def test_a_result_that_comes_again_is_the_same_again() -> None:
    """A stream that is resumed says once more what the host may not have heard."""
    line = Line()
    line.listed({"name": "t", "inputSchema": {}})
    line.ask("tools/call", {"name": "t", "arguments": {"command": "cat log"}})
    first = line.tell({"content": [text(lines(2_000))]})
    for _ in range(2):
        assert line.tell({"content": [text(lines(2_000))]}, id="unknown").count(b"line") == 2_000
    assert line.tell({"content": [text(lines(2_000))]}) == first
    assert len(first) < 9_000


def test_a_large_result_is_work_and_everything_else_passes_at_once() -> None:
    line = Line()
    for id in ("large", "small"):
        line.ask("tools/call", {"name": "t"}, id=id)
    large = line.conversation.begun_from_server(wire.response(b'"large"', {"content": [text(lines(3_000))]}) + b"\r\n")
    assert not isinstance(large, bytes)
    note = b'{"jsonrpc":"2.0","method":"notifications/message","params":"%s"}\n' % (b"x" * 100_000)
    assert line.conversation.begun_from_server(note) is note
    small = wire.response(b'"small"', {"content": [text("small")]})
    assert line.conversation.begun_from_server(small) is small
    assert len(large()) < 9_000
    assert large().endswith(b"}\r\n")
