"""Answers of read-back are known to other layers, and are only ever shortened by whole lines."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill.bounder import Bounder
from overspill.core.answers import ANSWER, tightened
from overspill.core.measure import Measure
from overspill.core.model import Budget, Call
from overspill.core.policy import Policy
from overspill.core.redact import BUILT_IN
from overspill.core.tokens import estimate_tokens
from overspill.mcp.results import bound_message
from overspill.mcp.rules import Rules, Setting
from overspill.retrieve import grep, outline, query, read, search
from overspill.store import MemoryStore
from overspill.tools import Middleware
from retrieve.kept import keep


def test_every_answer_is_recognised() -> None:
    store, handle = keep(b"some line of a log\n" * 3000)
    for answer in (
        read(store, handle),
        grep(store, handle, "log"),
        outline(store, handle),
        read(store, handle, lines=9000),
    ):
        found = ANSWER.match(answer.text)
        assert found is not None
        assert found["handle"] == handle


@given(st.integers(20, 3000), st.sampled_from(["max_tokens", "max_bytes", "max_lines", "max_chars"]))
def test_a_tighter_layer_shows_fewer_of_its_lines(size: int, unit: str) -> None:
    store, handle = keep(b"".join(b"line %d of a log\n" % n for n in range(3000)))
    text = read(store, handle).text
    measure, budget = Measure(estimate_tokens), Budget(**{unit: size})
    bounded = tightened(text, budget, measure)
    shown = bounded.text
    assert measure.fits(shown, budget)
    assert bounded.kept_lines + bounded.omitted_lines == bounded.total_lines == text.count("\n")
    assert bounded.kept_bytes + bounded.omitted_bytes == len(text.encode())
    if measure.fits(text, budget):
        assert shown is text
    elif shown.endswith("ask for fewer]\n"):
        assert text.startswith(shown[: shown.rindex("[")])


TIGHT = Policy(budget=Budget(max_tokens=400))
PLENTY = Policy(budget=Budget(max_tokens=6000, max_bytes=60_000))
RECORDS = b"".join(b'{"id":%d,"name":"gate"}\n' % number for number in range(3000))


def answers(store: MemoryStore, handle: str) -> dict[str, str]:
    return {
        "read": read(store, handle, lines="1-900", policy=PLENTY).text,
        "grep": grep(store, handle, "7", max_matches=300, context=1, policy=PLENTY).text,
        "outline": outline(store, handle, policy=PLENTY).text,
        "query": query(store, handle, "[*].id", policy=PLENTY).text,
        "search": search(store, "gate", max_lines=200, policy=PLENTY).text,
    }


@pytest.mark.parametrize("verb", ["read", "grep", "outline", "query", "search"])
def test_an_answer_is_shortened_and_never_stored(verb: str) -> None:
    store, handle = keep(RECORDS)
    text = answers(store, handle)[verb]
    for bounded in (
        Bounder(TIGHT, store).bound(text),
        Bounder(TIGHT, store).bound(text.encode()),
        Bounder(TIGHT, store).bound(Bounder(replace(TIGHT, budget=Budget(max_tokens=600)), store).bound(text).text),
    ):
        assert bounded.truncated
        assert TIGHT.measure.fits(bounded.text, TIGHT.budget)
        assert bounded.text.splitlines()[:3] == text.splitlines()[:3]
        assert "of this answer don't fit here: ask for fewer]" in bounded.text
        assert bounded.handle == handle
    assert [row.handle for row in store.outputs()] == [handle]


@pytest.mark.parametrize("tokens", [170, 400, 5000])
def test_secrets_are_taken_out_of_an_answer_that_is_shortened(tokens: int) -> None:
    token = b"ghp_" + b"a1B2c3D4e5F6" * 3
    key = (
        b"-----BEGIN RSA PRIVATE KEY-----\n" + b"MIIEpAIBAAKCAQEA0123456789\n" * 9 + b"-----END RSA PRIVATE KEY-----\n"
    )
    store, handle = keep(b"".join(b"%d gate %s\n%s" % (n, token, key if n == 2 else b"") for n in range(700)))
    bounder = Bounder(Policy(budget=Budget(max_tokens=tokens), redact=BUILT_IN), store)
    for verb, text in answers(store, handle).items():
        if verb in ("read", "grep", "search"):
            assert token.decode() in text
            bounded = bounder.bound(text)
            assert token[:20].decode() not in bounded.text
            assert "MIIEp" not in bounded.text
            assert bounded.redactions
            assert bounder.policy.measure.fits(bounded.text, bounder.policy.budget)
    assert [row.handle for row in store.outputs()] == [handle]


@pytest.mark.parametrize("verb", ["read", "grep", "outline", "query", "search"])
@pytest.mark.parametrize("place", ["before", "behind", "in the middle"])
def test_what_has_a_line_of_anybody_elses_is_kept_whole(verb: str, place: str) -> None:
    store, handle = keep(RECORDS)
    lines = answers(store, handle)[verb].splitlines(keepends=True)
    lines.insert({"before": 0, "behind": len(lines), "in the middle": len(lines) // 2}[place], '901:{"alien":1}\n')
    bounded = Bounder(TIGHT, store).bound("".join(lines))
    assert bounded.handle not in (None, handle)
    blob = store.open(str(bounded.handle))
    assert blob.read(0, blob.size).decode() == "".join(lines)


def test_an_answer_about_what_is_not_kept_here_is_an_output_like_any_other() -> None:
    store, handle = keep(RECORDS)
    elsewhere = MemoryStore()
    bounded = Bounder(TIGHT, elsewhere).bound(answers(store, handle)["read"])
    assert bounded.handle not in (None, handle)
    assert len(list(elsewhere.outputs())) == 1


def test_an_answer_through_the_middleware_of_tools_is_shortened_and_not_stored() -> None:
    store, handle = keep(RECORDS)
    text = answers(store, handle)["read"]
    through = Middleware(policy=TIGHT, store=store)
    result = asyncio.run(through.apply(text, "overspill_read"))
    assert TIGHT.measure.fits(result.text, TIGHT.budget)
    assert "ask for fewer]" in result.text
    assert len(list(store.outputs())) == 1


def test_an_answer_through_another_proxy_is_shortened_and_not_stored() -> None:
    store, handle = keep(RECORDS)
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"content": [{"type": "text", "text": answers(store, handle)["read"]}]},
    }
    bounder = Bounder(TIGHT, store)
    setting = Setting(bounder=bounder, rules=Rules(bounder=lambda _: bounder), call=Call())
    sent = json.loads(bound_message(json.dumps(message).encode(), setting))
    text = sent["result"]["content"][0]["text"]
    assert TIGHT.measure.fits(json.dumps(text), TIGHT.budget)
    assert text.startswith(f"[overspill read {handle}: lines 1-")
    assert "ask for fewer]" in text
    assert len(list(store.outputs())) == 1
