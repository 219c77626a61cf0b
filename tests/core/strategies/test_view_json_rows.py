"""Documents in a row, JSON lines or one after the other: each is shown, counted and heard by itself."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.strategies.viewing import cut_of, viewed
from overspill.core.model import Block, Bounded, Budget
from overspill.core.strategies.views.json_scan import Run, Scan
from overspill.core.strategies.views.json_selection import JsonSelection

TOLD = re.compile(r"(\d+) more documents \((\d+)–(\d+)\)")
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=30), st.text(min_size=300, max_size=500)),
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(st.text(max_size=8), inner, max_size=6)),
    max_leaves=8,
)
ROWS = st.lists(st.one_of(st.dictionaries(st.text(max_size=8), VALUES, max_size=6), VALUES), min_size=1, max_size=8)


def read_all(text: str) -> list[Any]:
    """The documents of a row, by the standard library."""
    decode, found, at = json.JSONDecoder().raw_decode, [], 0
    while at < len(text):
        one, end = decode(text, at)
        found.append(one)
        at = end + len(text[end:]) - len(text[end:].lstrip())
    return found


def recounted(bounded: Bounded, source: bytes) -> int:
    """How many marks state a count of documents; each is counted again in what its gap leaves out."""
    stated = 0
    for part in bounded.parts:
        told = TOLD.search(part.text) if part.gap else None
        if part.gap and told:
            left_out = len(read_all(source[part.gap.start : part.gap.end].decode().strip()))
            assert (int(told[1]), int(told[3]) - int(told[2]) + 1) == (left_out, left_out)
            assert int(told[2]) == len(read_all(source[: part.gap.start].decode().strip())) + 1
            stated += 1
    return stated


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    ROWS, st.sampled_from([None, None, 1]), st.sampled_from(["\n", "\r\n", "", " ", "\n\n"]),
    st.sampled_from([300, 500, 1_000, 2_000, 4_000]),
)  # fmt: skip
def test_documents_in_a_row_are_shown_and_counted_one_by_one(
    row: list[Any], indent: int | None, between: str, tokens: int
) -> None:
    documents = [json.dumps({"n": 0})] + [json.dumps({"n": 1, "v": one}, indent=indent) for one in row]
    documents += [json.dumps(one, indent=indent) for one in row if isinstance(one, dict | list)]
    many = documents * (1 + 10 * tokens // len("".join(documents)))
    source = between.join(many).encode()
    bounded = viewed("json", source, room=Budget(max_tokens=tokens))
    read_all(bounded.excerpt.strip())
    if indent is None and between.endswith("\n"):
        for line in filter(str.strip, bounded.excerpt.splitlines()):
            json.loads(line)
    recounted(bounded, source)
    assert bounded.header.count(f"Key: {len(many)} JSON documents")


def log(many: int = 200, *, bad: int, indent: int | None = None, between: str = "\n") -> bytes:
    rows = [{"id": n, "user": f"u{n}", "state": "FAILED: quota exceeded" if n == bad else "ok"} for n in range(many)]
    return (between.join(json.dumps(one, indent=indent) for one in rows) + "\n").encode()


@pytest.mark.parametrize("tokens", [300, 500, 1_000, 2_000, 4_000])
@pytest.mark.parametrize(("indent", "between"), [(None, "\n"), (2, "\n"), (None, "")])
def test_the_document_that_failed_is_shown_and_named(tokens: int, indent: int | None, between: str) -> None:
    source = log(1_500, bad=1_150, indent=indent, between=between)
    bounded = viewed("json", source, room=Budget(max_tokens=tokens))
    assert {"id": 1150, "user": "u1150", "state": "FAILED: quota exceeded"} in read_all(bounded.excerpt.strip())
    assert "1500 JSON documents; line " in bounded.header
    assert "FAILED: quota exceeded" in bounded.header
    assert recounted(bounded, source)


def test_small_documents_are_shown_by_themselves_and_their_count_is_true() -> None:
    source = "\n".join(json.dumps({"i": n}) for n in range(5_000)).encode()
    bounded = viewed("json", source, room=Budget(max_tokens=500))
    shown = read_all(bounded.excerpt)
    assert sum("i" in one for one in shown) > 20
    assert recounted(bounded, source)


def test_a_panic_in_a_container_log_is_found_by_what_it_says() -> None:
    rows = [
        {"log": f"GET /item/{n * 7919 % 10007} 200 {n % 37}ms\n", "stream": "stdout" if n % 11 else "stderr", "at": n}
        for n in range(3_000)
    ]
    rows[2_222]["log"] = "panic: runtime error: index out of range [5]\n"
    source = "".join(json.dumps(one) + "\n" for one in rows).encode()
    bounded = viewed("json", source, room=Budget(max_tokens=500))
    assert "line 2223: " in bounded.header
    assert rows[2_222] in read_all(bounded.excerpt.strip())


def test_values_between_documents_are_documents() -> None:
    documents = [one for n in range(400) for one in (json.dumps({"id": n}), "null", '"two words"', "-1.5e3")]
    source = "\n".join(documents).encode()
    bounded = viewed("json", source, room=Budget(max_tokens=400))
    assert "1600 JSON documents" in bounded.header
    assert recounted(bounded, source)


def test_other_text_between_documents_is_said_to_be_there_and_not_counted() -> None:
    source = "".join(json.dumps({"id": n}) + ("\nhello world\n" if n % 9 == 4 else "\n") for n in range(900)).encode()
    bounded = viewed("json", source, room=Budget(max_tokens=400))
    assert "900 JSON documents among other text" in bounded.header
    assert not TOLD.search(bounded.excerpt)


def test_small_documents_of_many_levels_are_no_containers_of_their_own() -> None:
    """Each would take part in the choice by every level of its own, for as long as it takes to weigh them."""
    deep: Any = "leaf"
    for level in range(12):
        deep = {"level": level, "inner": [deep]} if level % 3 == 0 else [deep]
    runs: list[Run] = []
    scan = Scan(runs.append)
    scan.feed(Block(0, (json.dumps(deep) + "\n").encode() * 300, 1))
    scan.finish()
    assert {id(run.frame) for run in runs} == {id(scan.root)}
    assert sum(run.count for run in runs) == scan.root.members == 300


@pytest.mark.parametrize("nesting", [1, 3])
def test_no_more_short_numbers_are_weighed_than_a_room_could_hold(nesting: int) -> None:
    source = ("[" * nesting + "1," * 100_000 + "1" + "]" * nesting).encode()
    cut, _ = cut_of("json", source, room=Budget(max_tokens=1_000))
    assert isinstance(cut.selection, JsonSelection)
    assert 1_000 < len(cut.selection._tiles.all) < 6_000
