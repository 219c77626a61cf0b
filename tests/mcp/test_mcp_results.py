"""Promises about one result: it fits as it is serialised, and it is still what MCP says it is."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_wiring import Line, lines, text

from overspill.core.measure import Measure
from overspill.core.model import Budget
from overspill.core.policy import DEFAULT_BUDGET
from overspill.core.tokens import estimate_tokens

PNG = base64.b64encode(b"\x89PNG" + bytes(range(256)) * 4000).decode()


def fits(message: bytes, budget: Budget = DEFAULT_BUDGET) -> bool:
    return Measure(estimate_tokens).fits(message.decode().rstrip("\n"), budget)


def handle_of(result: Any) -> str:
    found: str = result["_meta"]["overspill"]["handles"][0]
    return found


def test_a_small_result_is_the_very_same_bytes() -> None:
    line = Line()
    line.ask("tools/call", {"name": "t"})
    message = b'{ "result" : {"content":[{"text":"hi","type":"text"}] }, "id":1 , "jsonrpc":"2.0"}\r\n'
    assert line.conversation.from_server(message) is message


def test_a_large_text_fits_and_comes_back_whole() -> None:
    line = Line()
    whole = lines(20_000)
    message = line.raw({"content": [text(whole)], "_meta": {"server": {"took": 1.50}}})
    assert fits(message)
    result = json.loads(message)["result"]
    assert result["_meta"]["server"] == {"took": 1.5}
    handle = handle_of(result)
    assert handle in result["content"][0]["text"][:500]
    assert line.store.open(handle).read(0, 10**9) == whole.encode()
    assert "20000:line 20000" in line.call("read", handle=handle, lines="20000")["content"][0]["text"]


def test_escaping_counts() -> None:
    message = Line().raw({"content": [text('"\\\t\n' * 40_000)]})
    assert fits(message)


def test_an_error_is_bounded_and_stays_an_error() -> None:
    message = Line().raw({"content": [text(lines(9_000))], "isError": True})
    assert fits(message)
    assert json.loads(message)["result"]["isError"] is True


def test_parts_share_the_budget_and_keep_their_places() -> None:
    parts = [text("first"), {"type": "image", "data": "QUJD", "mimeType": "image/png"}, text(lines(5000)), text("last")]
    message = Line().raw({"content": parts})
    assert fits(message)
    content = json.loads(message)["result"]["content"]
    assert [part["type"] for part in content] == ["text", "image", "text", "text"]
    assert content[0] == parts[0]
    assert content[1] == parts[1]
    assert content[3] == parts[3]


def test_annotations_of_a_part_stay() -> None:
    annotated = {**text(lines(5000)), "annotations": {"audience": ["user"], "priority": 0.7}}
    content = Line().result({"content": [annotated]})["content"]
    assert content[0]["annotations"] == annotated["annotations"]


def test_thousands_of_parts_become_one() -> None:
    message = Line().raw({"content": [text(f"row {number}") for number in range(20_000)]})
    assert fits(message)
    result = json.loads(message)["result"]
    assert len(result["content"]) == 1
    assert "row 19999" in result["content"][0]["text"]


def test_a_large_image_spills_and_a_screenshot_stays() -> None:
    line = Line()
    small = {"type": "image", "data": PNG[:100_000], "mimeType": "image/png"}
    assert line.result({"content": [small]})["content"] == [small]
    result = line.result({"content": [{**small, "data": PNG}, text("caption")]})
    assert "image/png" in result["content"][0]["text"]
    assert handle_of(result) in result["content"][0]["text"]
    assert result["content"][1] == text("caption")
    assert line.store.open(handle_of(result)).read(0, 10**9) == base64.b64decode(PNG)


def test_an_image_that_is_read_back_says_what_it_is() -> None:
    line = Line()
    handle = handle_of(line.result({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}, text("x")]}))
    (said,) = line.call("read", handle=handle)["content"]
    assert said["text"] == (
        f"[overspill read {handle}: a file without lines: PNG image, 1024004 bytes; "
        f"`overspill show --raw {handle}` writes it]"
    )
    assert ": line 2;" in line.call("read", handle=handle, lines="2-2")["content"][0]["text"]
    whole = handle_of(line.result({"content": [text("GIF8 is a text\n" + lines(5_000))]}))
    assert "GIF8 is a text" in line.call("read", handle=whole)["content"][0]["text"]


def test_images_can_be_kept() -> None:
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    content = Line(media="keep").result({"content": [image, text(lines(5000))]})["content"]
    assert content[0] == image
    assert len(content[1]["text"]) < 9_000


def test_a_blob_spills_with_its_address() -> None:
    line = Line()
    resource = {"type": "resource", "resource": {"uri": "file:///x.bin", "mimeType": "application/x-y", "blob": PNG}}
    result = line.result({"content": [resource]})
    assert result["content"][0]["type"] == "text"
    assert "file:///x.bin" in result["content"][0]["text"]
    assert line.store.open(handle_of(result)).read(0, 10**9) == base64.b64decode(PNG)


def test_a_blob_that_would_take_the_room_of_the_text_spills() -> None:
    """A kilobyte of base64 is half of the default budget in tokens."""
    for size, kept in ((200, True), (1_400, False)):
        blob = {"type": "resource", "resource": {"uri": "file:///x.bin", "blob": PNG[:size]}}
        message = Line().raw({"content": [text(lines(5_000)), blob]})
        assert fits(message)
        assert (json.loads(message)["result"]["content"][1] == blob) is kept


def test_an_embedded_text_stays_a_resource() -> None:
    resource = {"type": "resource", "resource": {"uri": "file:///x.txt", "mimeType": "text/plain", "text": lines(5000)}}
    message = Line().raw({"content": [resource]})
    assert fits(message)
    part = json.loads(message)["result"]["content"][0]
    assert part["type"] == "resource"
    assert part["resource"]["uri"] == "file:///x.txt"


def test_links_stay_and_stand_in_the_text() -> None:
    links = [{"type": "resource_link", "uri": f"demo://{number}", "name": f"n{number}"} for number in range(3)]
    content = Line().result({"content": [*links, text(lines(5000))]})["content"]
    assert content[:3] == links
    assert all(link["uri"] in content[-1]["text"] for link in links)


def test_thousands_of_links_fit() -> None:
    links = [{"type": "resource_link", "uri": f"demo://{number}", "name": f"n{number}"} for number in range(5000)]
    message = Line().raw({"content": links})
    assert fits(message)
    content = json.loads(message)["result"]["content"]
    assert content[0] == links[0]
    assert "demo://4999 n4999" in content[-1]["text"]


def test_an_unknown_kind_of_part_is_kept_when_small_and_told_when_large() -> None:
    line = Line()
    small, large = {"type": "hologram", "rays": [1, 2]}, {"type": "hologram", "rays": list(range(50_000))}
    content = line.result({"content": [small, large, text("x")]})["content"]
    assert content[0] == small
    assert content[1]["type"] == "text"
    assert "hologram" in line.store.open(next(iter(line.store.outputs())).handle).read(0, 1000).decode()


def test_without_a_schema_large_structure_goes_and_its_text_stays() -> None:
    value = {"rows": [{"id": number, "name": f"row {number}"} for number in range(3000)]}
    line = Line()
    message = line.raw({"content": [text(json.dumps(value))], "structuredContent": value})
    assert fits(message)
    result = json.loads(message)["result"]
    assert "structuredContent" not in result
    assert len(list(line.store.outputs())) == 1


def test_structure_alone_becomes_a_text() -> None:
    value = {"rows": [{"id": number, "name": f"row {number}"} for number in range(3000)]}
    line = Line()
    message = line.raw({"content": [], "structuredContent": value})
    assert fits(message)
    kept = line.store.open(handle_of(json.loads(message)["result"]))
    assert json.loads(kept.read(0, 10**9)) == value


def test_what_the_structure_says_again_is_not_shown_again() -> None:
    """An image or a text that a part holds already is pointed at; what is said nowhere else stays."""
    line = Line()
    picture, words = PNG[:100_000], lines(3_000)
    image = {"type": "image", "data": picture, "mimeType": "image/png"}
    value = {"exitCode": 3, "stdout": words, "shots": [{"data": picture}]}
    message = line.raw({"content": [image, text(words)], "structuredContent": value})
    result = json.loads(message)["result"]
    assert result["content"][0] == image
    last = json.loads(result["content"][2]["text"])
    assert last["exitCode"] == 3
    assert "[overspill" in last["stdout"]
    assert "[overspill" in last["shots"][0]["data"]
    assert [line.store.open(stored.handle).read(0, 10**9) for stored in line.store.outputs()] == [words.encode()]


def test_small_structure_stays_beside_a_large_text() -> None:
    result = Line().result({"content": [text(lines(5000))], "structuredContent": {"exitCode": 0}})
    assert result["structuredContent"] == {"exitCode": 0}


def test_kept_structure_is_never_touched() -> None:
    value = {"rows": list(range(20_000))}
    result = Line(structured="keep").result({"content": [text(json.dumps(value))], "structuredContent": value})
    assert result["structuredContent"] == value
    assert len(result["content"][0]["text"]) < 9_000


def test_the_size_that_a_tool_declares_is_honoured() -> None:
    line = Line()
    line.listed({"name": "big", "inputSchema": {}, "_meta": {"anthropic/maxResultSizeChars": 100_000}})
    whole = lines(1500)
    assert line.result({"content": [text(whole)]}, tool="big")["content"] == [text(whole)]
    assert fits(line.raw({"content": [text(lines(5000))]}, tool="big"))


def test_a_tool_can_be_let_through() -> None:
    whole = {"content": [text(lines(5000))]}
    assert Line(bounder=lambda tool: None).result(whole) == whole


def test_a_question_back_and_a_task_pass() -> None:
    line = Line()
    for result in (
        {
            "resultType": "input_required",
            "inputRequests": {"a": {"method": "elicitation/create", "params": "x" * 20_000}},
        },
        {"task": {"taskId": "t1", "status": "working", "note": "x" * 20_000}},
    ):
        assert line.result(result) == result


def test_the_result_of_a_task_is_the_tools() -> None:
    line = Line()
    line.result({"task": {"taskId": "t1", "status": "working"}}, tool="slow")
    line.ask("tasks/result", {"taskId": "t1"})
    assert fits(line.tell({"content": [text(lines(5000))]}))


def test_resources_are_read_whole_unless_asked_otherwise() -> None:
    contents = [{"uri": "file:///a", "text": lines(5000)}, {"uri": "file:///b", "blob": PNG}]
    for rules, bounded in (({}, False), ({"resources": "bound"}, True)):
        line = Line(**rules)
        line.ask("resources/read", {"uri": "file:///a"})
        message = line.tell({"contents": contents})
        result = json.loads(message)["result"]
        assert fits(message) is bounded
        assert (result["contents"] == contents) is not bounded
        assert [part["uri"] for part in result["contents"]] == ["file:///a", "file:///b"]


def test_what_is_no_base64_is_kept_as_it_came() -> None:
    line = Line()
    result = line.result({"content": [{"type": "image", "data": "é" * 300_000, "mimeType": "image/png"}]})
    assert line.store.open(handle_of(result)).read(0, 10**9) == ("é" * 300_000).encode()


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        ("-_-_" * 90_000, b"-_-_" * 90_000),
        ("data:image/png;base64," + "QUJD" * 90_000, b"data:image/png;base64," + b"QUJD" * 90_000),
        ("QUJD\r\n" * 60_000, b"ABC" * 60_000),
    ],
)
def test_of_data_in_another_alphabet_nothing_is_lost(data: str, kept: bytes) -> None:
    line = Line()
    result = line.result({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]})
    assert line.store.open(handle_of(result)).read(0, 10**9) == kept


@pytest.mark.parametrize("size", [100, 90_000])
@pytest.mark.parametrize("budget", [DEFAULT_BUDGET, Budget(max_tokens=300, max_lines=4)])
def test_a_member_that_no_version_knows_stays_or_is_kept(size: int, budget: Budget) -> None:
    line = Line(budget=budget)
    unknown = lines(size // 10)
    links = [{"type": "resource_link", "uri": f"file:///{n}" + "u" * 200, "name": "n"} for n in range(50)]
    message = line.raw({"content": [text(lines(5_000)), *links], "hint": unknown})
    result = json.loads(message)["result"]
    handles = result.get("_meta", {}).get("overspill", {}).get("handles", []) or [
        result["content"][0]["text"].split()[1].rstrip(":")
    ]
    kept = b"".join(line.store.open(handle).read(0, 10**9) for handle in handles)
    assert result.get("hint") == unknown or json.dumps(unknown)[1:-1].encode() in kept or unknown.encode() in kept
    assert fits(message, budget)


@pytest.mark.parametrize("budget", [DEFAULT_BUDGET, Budget(max_tokens=300), Budget(max_tokens=400, max_bytes=1_500)])
@pytest.mark.parametrize(
    "more",
    [
        {f"k{number}": "v" * 400 for number in range(30)},
        {f"k{number}": number for number in range(3_000)},
        {"content": [text("THE ANSWER"), *[None] * 20_000]},
    ],
)
def test_the_text_stays_beside_many_small_things_of_an_unknown_kind(more: Any, budget: Budget) -> None:
    line = Line(budget=budget)
    message = line.raw({"content": [text("THE ANSWER")], **more})
    result = json.loads(message)["result"]
    shown = "".join(part["text"] for part in result["content"])
    assert "THE ANSWER" in shown
    assert f'{{"handle":"{handle_of(result)}",' in shown
    assert len(line.store.open(handle_of(result)).read(0, 10**9)) > 12_000
    assert fits(message, budget)


@pytest.mark.parametrize(
    "answer",
    [
        {"toolResult": "THE ANSWER" * 5_000},
        {"content": "THE ANSWER" * 5_000},
        {"content": "THE ANSWER" * 5_000, "structuredContent": {"a": 1}},
        {"content": {"type": "text", "text": "THE ANSWER" * 5_000}},
        "THE ANSWER" * 5_000,
        ["THE ANSWER"] * 5_000,
    ],
)
def test_what_has_the_shape_of_no_result_becomes_one_that_fits(answer: Any) -> None:
    line = Line()
    message = line.raw(answer)
    assert fits(message)
    result = json.loads(message)["result"]
    assert "THE ANSWER" in result["content"][0]["text"]
    assert line.store.open(handle_of(result)).read(0, 10**9).count(b"THE ANSWER") == 5_000


def test_a_message_behind_a_byte_order_mark_is_bounded_or_passes() -> None:
    line = Line()
    for size, is_same in ((1, True), (1_000, False), (9_000, False)):
        line.ask("tools/call", {"name": "t"})
        answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": [text(lines(size))]}}
        message = b"\xef\xbb\xbf" + json.dumps(answer).encode() + b"\n"
        got = line.conversation.from_server(message)
        assert (got is message) is is_same
        assert fits(got)


def test_who_can_show_nothing_names_the_handle() -> None:
    line = Line(budget=Budget(max_bytes=1_200))
    line.ask("tools/call", {"name": "t"}, id="i" * 850)
    result = json.loads(line.tell({"content": [text(lines(500))]}, id="i" * 850))["result"]
    assert "nothing of" in result["content"][0]["text"]
    assert handle_of(result) in result["content"][0]["text"]


def test_a_store_that_fails_costs_the_rest_and_nothing_else() -> None:
    class Full:
        def spill(self, call: Any) -> Any:
            raise OSError("no space left on device")

    result = Line(store=Full(), read_back=False).result(
        {"content": [text(lines(5000)), {"type": "audio", "data": PNG, "mimeType": "audio/wav"}]}
    )
    assert "could NOT be saved" in result["content"][0]["text"]
    assert "could NOT be saved (no space left on device)" in result["content"][1]["text"]


@pytest.mark.parametrize("budget", [Budget(max_bytes=1_200), Budget(max_tokens=500), Budget(max_chars=2_000)])
def test_small_budgets_hold(budget: Budget) -> None:
    line = Line(budget=budget)
    parts = [text(lines(900)), text(lines(800)), {"type": "image", "data": PNG, "mimeType": "image/png"}]
    assert fits(line.raw({"content": parts, "structuredContent": {"a": lines(100)}}), budget)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
some_parts = st.one_of(
    st.builds(lambda value, times: text(value * times), st.text(max_size=40), st.integers(0, 4000)),
    st.builds(
        lambda times: {"type": "image", "mimeType": "image/png", "data": "QUJD" * times}, st.integers(0, 100_000)
    ),
    st.builds(
        lambda value, times: {"type": "resource", "resource": {"uri": "a:b", "text": value * times}},
        st.text(max_size=20),
        st.integers(0, 3000),
    ),
    st.builds(lambda times: {"type": "resource_link", "uri": "x:" + "y" * times, "name": "n"}, st.integers(0, 3000)),
    st.dictionaries(st.text(max_size=6), json_values, max_size=4),
)


@given(
    parts=st.lists(some_parts, max_size=8),
    structured=st.none() | st.dictionaries(st.text(max_size=6), json_values, max_size=4),
    is_error=st.booleans(),
    meta=st.none() | st.dictionaries(st.text(max_size=6), json_values, max_size=3),
)
def test_whatever_a_tool_returns_fits_and_keeps_its_flags(
    parts: list[Any], structured: Any, is_error: bool, meta: Any
) -> None:
    result: dict[str, Any] = {"content": parts, "isError": is_error}
    if structured is not None:
        result["structuredContent"] = structured
    if meta is not None:
        result["_meta"] = meta
    line = Line()
    line.ask("tools/call", {"name": "t"})
    before = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode() + b"\n"
    message = line.conversation.from_server(before)
    got = json.loads(message)["result"]
    assert got["isError"] is is_error
    if meta is not None:
        assert {name: value for name, value in got["_meta"].items() if name != "overspill"} == meta
    for part in got["content"]:
        if part.get("type") == "image":
            part["data"] = ""
    got.pop("_meta", None)
    assert fits(
        json.dumps({"jsonrpc": "2.0", "id": 1, "result": got}, ensure_ascii=False, separators=(",", ":")).encode()
    )
    if fits(before):
        assert message == before
