"""The tools: one table in three forms; whatever a model sends, a bounded answer comes back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ("overspill_grep", {}, "needs it"),
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


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 10**20), st.floats(), st.text(max_size=10), st.lists(st.integers(0, 9))
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
