"""Promises about structured content: what a host was told a result would be, it is, or was never promised."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mcp_wiring import Line, lines, text, tool

from overspill.mcp.schema import Trimming

RECORDS = {
    "type": "object",
    "properties": {
        "issues": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "title": {"type": "string"}, "body": {"type": "string"}},
                "required": ["id", "title"],
            },
        },
        "total": {"type": "integer"},
    },
    "required": ["issues", "total"],
}
CONTENT = {
    "type": "object",
    "properties": {"content": {"type": "string"}},
    "required": ["content"],
    "additionalProperties": False,
}


def issues(count: int) -> dict[str, Any]:
    return {
        "issues": [
            {"id": number, "title": f"title {number}", "body": "word " * (number % 90)} for number in range(count)
        ],
        "total": count,
    }


def test_records_are_cut_by_elements_and_say_so() -> None:
    line = Line()
    assert line.listed(tool("t", RECORDS))[0]["outputSchema"] == RECORDS
    value = issues(2_000)
    result = line.result({"content": [text(json.dumps(value))], "structuredContent": value})
    got = result["structuredContent"]
    jsonschema.validate(got, RECORDS)
    assert got["total"] == 2_000
    assert 3 <= len(got["issues"]) < 2_000
    assert got["issues"][0] == value["issues"][0]
    notice = got["overspill"]
    handle = result["_meta"]["overspill"]["handles"][0]
    assert f"{len(got['issues'])} of 2000 issues shown" in notice
    assert handle in notice
    assert json.loads(line.store.open(handle).read(0, 10**9)) == value
    assert line.call("query", handle=handle, query=f"issues[{len(got['issues'])}].id")["isError"] is False


def test_the_call_that_a_notice_names_answers() -> None:
    line = Line()
    line.listed(tool("t", RECORDS))
    notice = line.result({"content": [], "structuredContent": issues(2_000)})["structuredContent"]["overspill"]
    call = notice.partition("overspill_query ")[2]
    arguments, _ = json.JSONDecoder().raw_decode(call)
    answer = line.call("query", **arguments)
    assert answer["isError"] is False
    assert "title" in answer["content"][0]["text"]


def test_a_list_that_a_library_has_wrapped_is_kept_once_and_asked_as_it_is_kept() -> None:
    """``{"result": [1, 2]}`` beside ``[1, 2]``: what is kept is the list, and the query that is named asks that."""
    line = Line()
    schema = {"type": "object", "properties": {"result": RECORDS["properties"]["issues"]}, "required": ["result"]}
    line.listed(tool("t", schema))
    rows = issues(2_000)["issues"]
    result = line.result({"content": [text(json.dumps(rows, indent=1))], "structuredContent": {"result": rows}})
    assert len(list(line.store.outputs())) == 1
    shown = len(result["structuredContent"]["result"])
    notice = result["structuredContent"]["overspill"]
    assert f"{shown} of 2000 result shown" in notice
    arguments, _ = json.JSONDecoder().raw_decode(notice.partition("overspill_query ")[2])
    assert f'"id":{shown},' in line.call("query", **arguments)["content"][0]["text"]


def test_a_text_in_a_closed_schema_becomes_an_excerpt() -> None:
    """As all tools of the filesystem server have it: the handle must reach hosts that show the structure alone."""
    line = Line()
    assert "outputSchema" in line.listed(tool("t", CONTENT))[0]
    whole = lines(5_000)
    result = line.result({"content": [text(whole)], "structuredContent": {"content": whole}})
    jsonschema.validate(result["structuredContent"], CONTENT)
    handle = result["_meta"]["overspill"]["handles"][0]
    assert handle in result["structuredContent"]["content"][:500]
    assert handle in result["content"][0]["text"][:500]
    assert len(list(line.store.outputs())) == 1


def test_small_structure_is_untouched_under_a_schema() -> None:
    line = Line()
    line.listed(tool("t", RECORDS))
    result = {"content": [text(json.dumps(issues(5)))], "structuredContent": issues(5)}
    assert line.result(result) == result


def test_an_error_needs_no_structure() -> None:
    line = Line()
    line.listed(tool("t", RECORDS))
    result = line.result({"content": [text(lines(5_000))], "structuredContent": {"x": lines(5_000)}, "isError": True})
    assert "structuredContent" not in result


CLOSED_RECORDS = {**RECORDS, "additionalProperties": False}


@pytest.mark.parametrize(
    "schema",
    [
        CLOSED_RECORDS,
        {"type": "object", "properties": {"url": {"type": "string", "format": "uri"}}, "required": ["url"]},
        {"type": "object", "properties": {"code": {"type": "string", "pattern": "^[A-Z]+$"}}, "required": ["code"]},
        {"type": "object", "properties": {"grid": {"type": "array", "minItems": 5000}}, "required": ["grid"]},
        {"type": "object", "if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}},
        {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"$ref": "https://example.org/schema.json"},
        {
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/x"}},
            "required": ["x"],
            "$defs": {"x": {"$ref": "#/$defs/x"}},
        },
    ],
)
def test_what_can_not_be_promised_is_not_promised(schema: Any) -> None:
    line = Line()
    assert "outputSchema" not in line.listed(tool("t", schema))[0]
    result = line.result({"content": [text("ok")], "structuredContent": {"x": lines(5_000)}})
    assert "structuredContent" not in result
    assert result["content"][0] == text("ok")
    assert "line 1 of" in result["content"][1]["text"]


def test_the_policy_text_promises_nothing_and_keep_everything() -> None:
    assert "outputSchema" not in Line(structured="text").listed(tool("t", RECORDS))[0]
    assert "outputSchema" in Line(structured="keep").listed(tool("t", CLOSED_RECORDS))[0]


def test_a_promise_is_never_made_after_a_result_without_it() -> None:
    line = Line()
    line.result({"content": [], "structuredContent": issues(2_000)})
    assert "outputSchema" not in line.listed(tool("t", RECORDS))[0]


def test_a_tool_that_is_let_through_keeps_its_schema() -> None:
    assert "outputSchema" in Line(bounder=lambda name: None).listed(tool("t", CLOSED_RECORDS))[0]


names = st.sampled_from(["a", "b", "c", "kind", "overspill"])
leaves = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 3},
        {"type": "string", "maxLength": 900},
        {"type": "string", "pattern": "^x*$"},
        {"type": "string", "format": "date-time"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
        {"enum": ["red", "green", 3]},
        {"const": "tag"},
        {"type": ["string", "null"]},
        {},
        True,
    ]
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda members, required, extra: {
            "type": "object",
            "properties": members,
            "required": sorted(name for name in required if name in members),
            **({} if extra is None else {"additionalProperties": extra}),
        },
        st.dictionaries(names, inner, max_size=4),
        st.sets(names),
        st.none() | st.booleans() | inner,
    )


def arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda items, least, unique: {
            "type": "array",
            "items": items,
            **({"minItems": least} if least else {}),
            **({"uniqueItems": True} if unique else {}),
        },
        inner,
        st.sampled_from([0, 0, 0, 1, 3]),
        st.sampled_from([False, False, True]),
    )


def unions(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    tagged = [
        {"type": "object", "properties": {"kind": {"const": tag}, "v": {"type": "array"}}, "required": ["kind"]}
        for tag in ("one", "two")
    ]
    return st.one_of(
        inner.map(lambda schema: {"anyOf": [schema, {"type": "null"}]}),
        st.just({"oneOf": tagged}),
        st.just({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        st.tuples(inner, inner).map(lambda pair: {"anyOf": list(pair)}),
        inner.map(lambda schema: {"allOf": [schema]}),
        st.just({"$ref": "#/$defs/node"}),
    )


NODE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    "required": ["name"],
}
schemas = st.recursive(leaves, lambda inner: objects(inner) | arrays(inner) | unions(inner), max_leaves=8)
roots = objects(schemas).map(lambda schema: {**schema, "$defs": {"node": NODE}})


class Maker:
    """Values of a schema, as large as wished."""

    def __init__(self, root: Any, data: Any, scale: int) -> None:
        self.root, self.data, self.scale = root, data, scale

    def value(self, schema: Any, depth: int = 0) -> Any:
        draw = self.data.draw
        if schema is True or schema == {}:
            return draw(st.sampled_from([1, "free " * self.scale, ["x"] * self.scale, {"k": "v"}]))
        if "$ref" in schema:
            return self.value(self.root["$defs"]["node"], depth + 1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return draw(st.sampled_from(schema["enum"]))
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                return self.value(draw(st.sampled_from(schema[keyword])), depth + 1)
        if "allOf" in schema:
            return self.value(schema["allOf"][0], depth + 1)
        kind = schema["type"] if isinstance(schema["type"], str) else draw(st.sampled_from(schema["type"]))
        return getattr(self, f"_{kind}")(schema, depth)

    def _string(self, schema: Any, depth: int) -> str:
        if "pattern" in schema:
            return "x" * self.scale
        if "format" in schema:
            return "2026-07-28T00:00:00Z"
        made = self.data.draw(st.sampled_from(["é\n", "word ", '"\\'])) * self.scale
        return made[: schema.get("maxLength", 10**9)].ljust(schema.get("minLength", 0), "y")

    def _array(self, schema: Any, depth: int) -> list[Any]:
        least = schema.get("minItems", 0)
        if depth > 4 and not least:
            return []
        first = [self.value(schema.get("items", True), depth + 1) for _ in range(least + (depth < 4))]
        if schema.get("uniqueItems"):
            first = [item for index, item in enumerate(first) if item not in first[:index]]
            return first
        return first * (1 + self.scale // 10)

    def _object(self, schema: Any, depth: int) -> dict[str, Any]:
        wanted = {name for name in schema["properties"] if depth < 5 or name in schema.get("required", ())}
        made = {name: self.value(schema["properties"][name], depth + 1) for name in sorted(wanted)}
        extra = schema.get("additionalProperties", True)
        if extra is not False and depth < 3:
            made |= {f"extra{number}": self.value(extra, depth + 1) for number in range(1 + self.scale // 200)}
        return made

    def _integer(self, schema: Any, depth: int) -> int:
        return self.scale

    def _number(self, schema: Any, depth: int) -> float:
        return self.scale + 0.5

    def _boolean(self, schema: Any, depth: int) -> bool:
        return True

    def _null(self, schema: Any, depth: int) -> None:
        return None


def holds(schema: Any, data: Any, scale: int, most_chars: int) -> None:
    value = Maker(schema, data, scale).value(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assume(validator.is_valid(value))
    serialised = json.dumps(value, ensure_ascii=False)
    assume(len(serialised) < most_chars)
    line = Line()
    listed = line.listed(tool("t", schema))[0]
    message = line.raw({"content": [text(serialised)], "structuredContent": value})
    result = json.loads(message)["result"]
    if "outputSchema" in listed:
        validator.validate(result["structuredContent"])
        if result["structuredContent"] != value:
            assert "ovs_" in json.dumps(result["structuredContent"])
    assert len(message) <= 9_000


@settings(max_examples=150)
@given(schema=roots, data=st.data(), scale=st.sampled_from([1, 40, 400]))
def test_a_host_that_validates_never_fails_because_of_us(schema: Any, data: Any, scale: int) -> None:
    holds(schema, data, scale, 100_000)


@pytest.mark.stress
@settings(max_examples=2_000)
@given(schema=roots, data=st.data(), scale=st.sampled_from([1, 40, 400, 3000]))
def test_a_host_that_validates_never_fails_because_of_us_on_and_on(schema: Any, data: Any, scale: int) -> None:
    holds(schema, data, scale, 2_000_000)


@given(schema=roots)
def test_a_promise_is_for_every_value_and_its_least_form(schema: Any) -> None:
    """Whatever is sure is decided by the schema alone, so it is the same each time it is asked."""
    assert Trimming(schema).is_sure(2_000) == Trimming(schema).is_sure(2_000)
    if Trimming(schema).is_sure(1_000):
        assert Trimming(schema).is_sure(2_000)
