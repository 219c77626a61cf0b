"""The tools: one table in three forms; whatever a model sends, a bounded answer comes back."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from overspill.core.policy import Policy
from overspill.retrieve import Session, Toolset, anthropic_tools, mcp_tools, openai_tools
from overspill.retrieve.tools import DEFINITIONS
from retrieve.kept import keep

LOG = b"".join(b"line %d %s\n" % (n, b"ERROR disk full" if n % 50 == 0 else b"ok") for n in range(1, 2001))


def test_the_three_forms_say_the_same() -> None:
    by_name = {tool["name"]: tool["input_schema"] for tool in anthropic_tools()}
    assert by_name == {tool["function"]["name"]: tool["function"]["parameters"] for tool in openai_tools()}
    assert by_name == {tool["name"]: tool["inputSchema"] for tool in mcp_tools()}
    assert list(by_name) == [
        "overspill_read",
        "overspill_grep",
        "overspill_outline",
        "overspill_query",
        "overspill_search",
    ]
    assert len(json.dumps(anthropic_tools())) < 5000


def test_the_schemas_are_valid_and_every_optional_argument_has_a_reason() -> None:
    for tool in DEFINITIONS:
        assert set(tool.required) <= set(tool.properties)
        assert len(tool.required) <= 2
        assert all(about["description"] for about in tool.properties.values())


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("overspill_read", {"lines": "10-12"}, "11:line 11 ok"),
        ("overspill_read", {"lines": [10, 12]}, "11:line 11 ok"),
        ("overspill_read", {"lines": 11}, "11:line 11 ok"),
        ("overspill_read", {"around": "11", "context": "1"}, "12:line 12 ok"),
        ("overspill_read", {"around": 11.0, "lines": None, "bytes": ""}, "12:line 12 ok"),
        ("overspill_grep", {"pattern": "error", "ignore_case": "true", "max": "2"}, "2 of 40 matches"),
        ("overspill_outline", {}, "overspill outline"),
        ("overspill_query", {"query": "[0]"}, "plain text"),
        ("overspill_grep", {"pattern": "("}, "overspill error: bad pattern"),
        ("overspill_read", {"line_numbers": "1"}, "overspill_read takes handle, lines"),
        ("overspill_grep", {}, "pattern None is not understood: overspill_grep needs it"),
        ("overspill_nothing", {}, "one of overspill_read"),
    ],
)
def test_arguments_as_models_write_them(name: str, arguments: dict[str, object], says: str) -> None:
    store, handle = keep(LOG)
    assert says in Toolset(store).call(name, {"handle": handle, **arguments}).text


def test_an_unknown_handle_is_answered_not_raised() -> None:
    store, _ = keep(LOG)
    answer = Toolset(store).call("overspill_read", {"handle": "ovs_00000000"})
    assert answer.exit_status == 2
    assert answer.text.startswith("[overspill error: no output 'ovs_00000000'")


def test_next_calls_are_calls_of_these_tools() -> None:
    store, handle = keep(LOG)
    tools = Toolset(store, session=Session())
    answer = tools.call("overspill_read", {"handle": handle, "lines": "1-1500"})
    name, _, arguments = answer.next.partition(" ")
    following = tools.call(name, json.loads(arguments))
    assert following.exit_status == 0
    assert following.pages[0].start == answer.pages[0].end
    assert "ERROR disk full" in tools.callables()["overspill_grep"](handle=handle, pattern="ERROR")


def test_the_forms_are_those_of_the_packages_that_carry_them() -> None:
    from anthropic.types import ToolParam
    from mcp.types import Tool
    from openai.types.chat import ChatCompletionFunctionToolParam
    from pydantic import TypeAdapter

    for form in openai_tools():
        TypeAdapter(ChatCompletionFunctionToolParam).validate_python(form, strict=True)
        assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", form["function"]["name"])
    for form in mcp_tools():
        tool = Tool.model_validate(form)
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
    for form in anthropic_tools():
        TypeAdapter(ToolParam).validate_python(form, strict=True)
        assert set(form) <= ToolParam.__annotations__.keys()
    for definition in DEFINITIONS:
        Draft202012Validator.check_schema(definition.schema)
        for name, about in definition.properties.items():
            if "default" in about:
                Draft202012Validator(definition.schema["properties"][name]).validate(about["default"])


def test_every_call_that_an_answer_suggests_is_valid_by_its_schema_and_works() -> None:
    schemas = {definition.name: definition.schema for definition in DEFINITIONS}
    rows = json.dumps([{"id": n, "note": "x" * 90} for n in range(700)])
    calls = [
        ("overspill_read", {"lines": "1-"}),
        ("overspill_read", {"bytes": "100-"}),
        ("overspill_grep", {"pattern": "[a-z]+", "context": 1, "max": 7}),
        ("overspill_grep", {"pattern": "ID"}),
        ("overspill_outline", {}),
        ("overspill_query", {"query": "[].note"}),
        ("overspill_search", {"words": "xxx"}),
    ]
    seen = set()
    for data in (LOG * 4, rows.encode()):
        store, handle = keep(data)
        tools = Toolset(store)
        for name, arguments in calls:
            text = tools.call(name, {"handle": handle, **arguments} if name != "overspill_search" else arguments).text
            for suggested, words in re.findall(r"(overspill_\w+) (\{.*?\})(?=[\]|,;]| \||$)", text, re.MULTILINE):
                filled = words.replace("LINE", "1").replace("FIRST-LAST", "1-9")
                Draft202012Validator(schemas[suggested]).validate(json.loads(filled))
                assert tools.call(suggested, json.loads(filled)).exit_status == 0
                seen.add(suggested)
    assert seen >= {"overspill_read", "overspill_grep", "overspill_outline", "overspill_query"}


JUNK = st.one_of(
    st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3})?(-([0-9]{1,3}(\.[0-9]{1,3})?)?)?", fullmatch=True),
    st.none(),
    st.booleans(),
    st.integers(-5, 10**20),
    st.floats(),
    st.text(max_size=10),
    st.lists(st.integers(0, 9)),
)


@given(st.sampled_from(DEFINITIONS), st.data())
def test_no_argument_breaks_a_tool(tool: object, draw: st.DataObject) -> None:
    assert isinstance(tool, type(DEFINITIONS[0]))
    store, handle = keep(LOG[:2000])
    arguments = {name: draw.draw(JUNK) for name in draw.draw(st.lists(st.sampled_from(sorted(tool.properties))))}
    answer = Toolset(store).call(
        tool.name, {"handle": handle, **arguments} if "handle" in tool.properties else arguments
    )
    policy = Policy()
    assert policy.measure.fits(answer.text, policy.budget)
