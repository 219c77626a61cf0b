"""Promises about long texts: read in slices they are what they are read at once, and memory is that of the message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_wiring import Line, lines, text

from overspill.mcp import parts, results, wire
from overspill.mcp.long import LONG_BYTES, Long, chars_of
from overspill.source import chunk_of

pieces = st.lists(
    st.sampled_from(["\\", "\\\\", '"', "\n", "\x00", "é", "漢", "\U0001f600", "a", "abc", "u00e9", "/"])
    | st.text(max_size=4),
    max_size=60,
).map("".join)


@given(value=pieces, ascii=st.booleans(), slice_bytes=st.integers(12, 40))
def test_the_slices_of_a_text_are_the_text(value: str, ascii: bool, slice_bytes: int) -> None:
    raw = wire.Raw(json.dumps(value, ensure_ascii=ascii).encode())
    long = Long(raw, slice_bytes=slice_bytes)
    assert "".join(long.slices()) == value
    assert chars_of(long) == len(value)
    assert b"".join(map(chunk_of, long.slices())) == value.encode()


@pytest.mark.parametrize("length", range(24, 40))
def test_what_is_half_valid_reads_as_it_does_at_once(length: int) -> None:
    """Lone surrogates in escapes, and bytes that are no UTF-8, wherever a slice ends."""
    inner = (
        b"a" * (length % 7)
        + b"\\ud83dx\\ude00\\ud83d\\ude00\\ude00"
        + b"\xe6\xbcx\x80\x80\x80\x80\x80\xf0\x9f\x98y" * 3
    )
    raw = wire.Raw(b'"' + inner * 4 + b'"')
    assert "".join(Long(raw, slice_bytes=length).slices()) == wire.decoded(raw)


UNITS = [
    "line of text\n",
    'quotes " and \\ backslashes \\\\ \t\n',
    "漢字かな\U0001f600 é\n",
    "\x00\x1b[31mred\x1b[0m\x7f\n",
    "x",
]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("shape", ["text", "resource", "twin", "keep", "two", "error", "nearly", "promised"])
def test_a_long_text_becomes_what_it_becomes_at_once(unit: str, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value = unit * (100_000 // len(unit.encode()) + 10)
    result: dict[str, Any] = {"content": [text(value)]}
    if shape == "resource":
        result = {"content": [{"type": "resource", "resource": {"uri": "a:b", "text": value}}]}
    if shape in ("twin", "keep", "promised"):
        result["structuredContent"] = {"result": value}
    if shape == "nearly":
        result["structuredContent"] = {"result": value[:-1] + "+"}
    if shape == "two":
        result["content"] += [text("small"), text(value + "end")]
    result["isError"] = shape == "error"

    def became() -> tuple[Any, set[bytes]]:
        line = Line(structured="keep" if shape == "keep" else "trim")
        if shape == "promised":
            schema = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
            assert "outputSchema" in line.listed({"name": "t", "inputSchema": {}, "outputSchema": schema})[0]
        found = line.result(result)
        return found, {line.store.open(handle).read(0, 1 << 24) for handle in found["_meta"]["overspill"]["handles"]}

    at_once = became()
    for module in (parts, results):
        monkeypatch.setattr(module, "LONG_BYTES", 1)
    sliced = became()
    assert sliced == at_once
    assert value.encode() in sliced[1]


def test_a_declared_size_counts_characters() -> None:
    """A text whose escapes take six bytes each is within what its tool declares."""
    value = "\x00" * (LONG_BYTES // 5)
    line = Line()
    line.listed({"name": "t", "inputSchema": {"type": "object"}, "_meta": {"anthropic/maxResultSizeChars": 400_000}})
    assert line.result({"content": [text(value)]}) == {"content": [text(value)]}
    assert "_meta" in line.result({"content": [text(value * 2)]})


def test_lines_without_their_end_are_the_rest() -> None:
    split = wire.Lines()
    assert split.feed(b"a") == split.feed(b"b") == []
    assert split.feed(b"c\nd\ne") == [b"abc\n", b"d\n"]
    assert split.rest() == b"e"
    assert split.rest() == b""
    assert split.feed(lines(2).encode()) == [line.encode() + b"\n" for line in lines(2).splitlines()]
