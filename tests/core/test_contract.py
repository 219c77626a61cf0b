"""The contract, line by line, on the final text, over outputs made to break it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.accounts import assert_fits, assert_kept_promises
from overspill import Bounder, Budget, Call, MemoryStore, Policy, PolicyError, preset
from overspill.config.presets import PRESETS
from overspill.core.measure import encode
from overspill.core.notice import BOUNDED
from overspill.core.ports import Strategy
from overspill.core.strategies import STRATEGIES, Ends, named

STRATEGY = st.sampled_from([*map(named, STRATEGIES), Ends(0.2), Ends(0.9)])

PIECES = st.sampled_from(
    [
        b"\n",
        b"\r\n",
        b"\r",
        b"a plain line of text\n",
        b"ERROR: the disk is full\n",
        b"word ",
        b"\x1b[31mred\x1b[0m",
        b"\x1b]8;;https://example.org/a\x07link\x1b]8;;\x07",
        b"\x1b[",
        b" 42% \r 43% \r",
        b"\x00",
        b"\xff\xfe",
        b"\xf0\x9f\x91",
        b"\xed\xa0\x80",
        "e\u0301".encode(),
        "👩‍👩‍👧‍👦".encode(),
        "🇩🇪🇫🇷".encode(),
        "नमस्ते क्षि".encode(),
        "한국어 각".encode(),
        "שלום".encode(),
        "漢字仮名交じり文".encode(),
        b"x\b\bback",
        b'{"key": "value", "list": [1, 2, 3]}\n',
        b"0123456789abcdef" * 8,
    ]
)


@st.composite
def outputs(draw: st.DrawFn) -> bytes:
    """Runs of repeated pieces: long lines, many lines, and every accident between them."""
    runs = draw(st.lists(st.tuples(PIECES | st.binary(max_size=40), st.integers(1, 400)), min_size=1, max_size=8))
    return b"".join(piece * times for piece, times in runs)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Any combination of units, from the least that is accepted upward."""
    budget = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "max_tokens": st.integers(100, 1500),
                "max_bytes": st.integers(300, 6000),
                "max_chars": st.integers(300, 6000),
                "max_lines": st.integers(2, 60),
            },
        ).filter(bool)
    )
    carrier = draw(st.sampled_from(["text", "json"]))
    language = draw(st.sampled_from(["en", "zh"]))
    while True:
        try:
            return Policy(budget=Budget(**budget), strategy=draw(STRATEGY), carrier=carrier, language=language)
        except PolicyError as refused:
            unit = refused.setting
            budget[unit] = int(refused.accepted.split()[0])


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(outputs(), policies())
def test_every_promise_holds(source: bytes, policy: Policy) -> None:
    store = MemoryStore()
    bounded = Bounder(policy, store).bound(source)
    if policy.carrier == "text":
        assert_kept_promises(bounded, source, policy)
    else:
        escaped = json.dumps(bounded.text, ensure_ascii=False)[1:-1]
        assert_fits(
            escaped, replace(policy, budget=replace(policy.budget, max_lines=None) if _other(policy) else policy.budget)
        )
    if bounded.truncated:
        assert bounded.handle is not None
        blob = store.open(bounded.handle)
        assert blob.read(0, blob.size) == source


def _other(policy: Policy) -> bool:
    return bool(policy.budget.max_tokens or policy.budget.max_bytes or policy.budget.max_chars)


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(outputs(), policies(), st.lists(st.integers(0, 5000), max_size=8))
def test_chunking_is_invisible(source: bytes, policy: Policy, cuts: list[int]) -> None:
    whole = Bounder(policy, MemoryStore()).bound(source)
    borders = [0, *sorted(cut % (len(source) + 1) for cut in cuts), len(source)]
    with Bounder(policy, MemoryStore()).capture() as capturing:
        for first, last in itertools.pairwise(borders):
            capturing.feed(source[first:last])
    assert capturing.bounded == whole


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECES, min_size=1, max_size=30), st.integers(1, 2), STRATEGY)
def test_blocks_do_not_show(pieces: list[bytes], more: int, strategy: Strategy) -> None:
    """Beyond a block's size the same holds: whole and streamed are equal, in any pieces."""
    source = b"".join(pieces) * (more * 150_000 // sum(map(len, pieces)) + 1)
    policy = Policy(budget=Budget(max_bytes=2_000), strategy=strategy)
    whole = Bounder(policy, MemoryStore(max_total_bytes="1 GB")).bound(source)
    with Bounder(policy, MemoryStore(max_total_bytes="1 GB")).capture() as capturing:
        for at in range(0, len(source), 77_777):
            capturing.feed(source[at : at + 77_777])
    assert capturing.bounded == whole
    assert_fits(whole.text, policy)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
def test_small_text_is_the_very_same_object(text: str) -> None:
    store = MemoryStore()
    bounded = Bounder(Policy(), store).bound(text)
    assert bounded.text is text
    assert not bounded.truncated
    assert not list(store.outputs())


@pytest.mark.parametrize("output", ["small", b"small", {"a": [1, 2]}, [1, 2, 3], 7, None])
def test_a_small_output_is_kept_as_the_object_it_was(output: object) -> None:
    assert Bounder(Policy(), None).bound(output).output is output


@given(st.text(st.characters(), max_size=3000))
def test_broken_unicode_never_comes_out(text: str) -> None:
    for policy in (Policy(), Policy(budget=Budget(max_bytes=400))):
        store = MemoryStore()
        bounded = Bounder(policy, store).bound(text)
        bounded.text.encode("utf-8")
        if bounded.truncated:
            assert bounded.handle is not None
            assert store.open(bounded.handle).read(0, 1 << 20) == encode(text)


@settings(max_examples=40)
@given(outputs(), STRATEGY)
def test_bounded_text_passes_again_untouched(source: bytes, strategy: Strategy) -> None:
    bounder = Bounder(Policy(budget=Budget(max_bytes=1_000), strategy=strategy), MemoryStore())
    once = bounder.bound(source)
    assert bounder.bound(once.text).text is once.text


# Text that took itself back is recognised only where its line is shown whole.
@settings(max_examples=40)
@given(outputs().filter(lambda source: b"\b" not in source))
def test_a_tighter_layer_cuts_the_stored_original(source: bytes) -> None:
    store = MemoryStore()
    wide = Bounder(Policy(budget=Budget(max_bytes=3_000)), store).bound(source)
    narrow = Bounder(Policy(budget=Budget(max_bytes=800)), store)
    if not wide.truncated or narrow.policy.measure.fits(wide.text, narrow.policy.budget):
        return
    again = narrow.bound(source)
    assert narrow.bound(wide.text) == again
    assert narrow.bound(wide.text.encode()) == again
    with narrow.capture() as capturing:
        for char in wide.text:
            capturing.feed(char)
    assert capturing.bounded == again
    assert len(list(store.outputs())) == 1


LOG = "".join(f"2026-03-01 12:00:00 INFO step {number} of many\n" for number in range(9_000))


@pytest.mark.parametrize("name", sorted(PRESETS))
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_tighter_layer_recognises_the_text_of_every_preset(name: str, language: str) -> None:
    store = MemoryStore()
    shown = preset(name, store=store, language=language).bound(LOG)
    narrow = Bounder(Policy(budget=Budget(max_bytes=1_500)), store)
    assert shown.truncated
    assert narrow.bound(shown.text).handle == shown.handle


@pytest.mark.parametrize("budget", [1_500, 3_000])
@pytest.mark.parametrize(
    "around",
    ["{} only here", "only here\n{}", "{0}\n$ make\n{0} only here", "{} Compiling… only here", "{0}{0} only here"],
)
@pytest.mark.parametrize("strategy", ["auto", "head", "tail", "ends"])
def test_what_stands_beside_a_bounded_text_is_not_lost(strategy: str, around: str, budget: int) -> None:
    store = MemoryStore()
    wide = Bounder(Policy(budget=Budget(max_bytes=4_000), strategy=named(strategy)), store).bound(LOG)
    bounded = Bounder(Policy(budget=Budget(max_bytes=budget)), store).bound(around.format(wide.text))
    assert bounded.handle is not None
    kept = store.open(bounded.handle)
    assert b"only here" in kept.read(0, kept.size)


def test_two_results_in_one_text_keep_both_their_handles() -> None:
    store = MemoryStore()
    bounder = Bounder(Policy(strategy=Ends()), store)
    one, other = bounder.bound("the same line\n" * 9_000), bounder.bound("the same line\n" * 9_500)
    bounded = Bounder(Policy(budget=Budget(max_bytes=3_000)), store).bound(one.text + other.text)
    assert bounded.handle is not None
    assert other.handle is not None
    assert other.handle.encode() in store.open(bounded.handle).read(0, 1 << 20)


def test_a_notice_of_an_output_kept_elsewhere_is_a_text_like_any_other(caplog: pytest.LogCaptureFixture) -> None:
    wide = Bounder(Policy(), MemoryStore()).bound(LOG)
    store = MemoryStore()
    bounded = Bounder(Policy(budget=Budget(max_bytes=1_000)), store).bound(wide.text)
    assert bounded.handle is not None
    assert store.open(bounded.handle).read(0, 1 << 20) == wide.text.encode()
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def test_a_forged_notice_breaks_nothing() -> None:
    store = MemoryStore()
    for forged in (f"[overspill ovs_abc: 1 of {'9' * 5000} lines shown]\n", "[overspill ovs_abc: 1 of ٣ lines]\n"):
        assert_fits(Bounder(Policy(budget=Budget(max_bytes=1_000)), store).bound(forged + LOG).text, Policy())


def test_the_header_is_what_layers_recognise() -> None:
    bounded = Bounder(Policy(), MemoryStore()).bound("line\n" * 9_999)
    found = BOUNDED.match(bounded.text)
    assert found is not None
    assert found["handle"] == bounded.handle


def test_the_handle_stands_within_the_first_500_characters() -> None:
    bounded = Bounder(Policy(), MemoryStore()).bound("ERROR: " + "x" * 99_999)
    assert bounded.handle is not None
    assert bounded.handle in bounded.text[:500]


def test_one_line_of_30_mb_shows_its_start_and_its_end() -> None:
    for strategy in map(named, STRATEGIES):
        source = b"START" + b"y" * 30_000_000 + b"THE-END"
        bounded = Bounder(Policy(strategy=strategy), MemoryStore()).bound(source)
        assert "START" in bounded.excerpt
        assert "THE-END" in bounded.excerpt
        assert_kept_promises(bounded, source, Policy(strategy=strategy))


def test_a_raising_strategy_a_raising_listener_and_a_raising_store_break_nothing() -> None:
    class Broken:
        name = "broken"

        def selector(self, room: object, call: object) -> object:
            raise RuntimeError("no")

        def spill(self, call: object) -> object:
            raise RuntimeError("no disk")

        def __getattr__(self, name: str) -> object:
            raise RuntimeError("no")

    policy = Policy(strategy=Broken())  # type: ignore[arg-type]
    bounded = Bounder(policy, Broken(), on_event=lambda event: 1 / 0).bound("line\n" * 9_999)  # type: ignore[arg-type,return-value]
    assert bounded.truncated
    assert bounded.handle is None
    assert "could NOT be saved (no disk)" in bounded.text
    assert_fits(bounded.text, Policy())


@pytest.mark.parametrize("calls", [1, 2, 3, 7])
@pytest.mark.parametrize("text", ["line\n" * 9_999, "é"])
def test_a_counter_that_stops_counting_breaks_nothing(calls: int, text: str) -> None:
    left = itertools.count(calls, -1)

    def counter(text: str) -> int:
        if next(left) <= 0:
            raise ConnectionError("the counting service is gone")
        return len(text) // 3

    seen = []
    policy = Policy(budget=Budget(max_tokens=1_000), counter=counter)
    bounded = Bounder(policy, MemoryStore(), on_event=seen.append).bound(text)
    assert bounded.truncated == (len(text) > 1)
    assert_fits(bounded.text, Policy(budget=policy.budget))
    if bounded.truncated:
        assert [event.kind for event in seen] == ["error", "truncated"]
        assert seen[0].reason == "ConnectionError: the counting service is gone"


def test_events_tell_what_happened() -> None:
    seen = []
    bounder = Bounder(Policy(), MemoryStore(), on_event=seen.append)
    bounder.bound("small")
    bounded = bounder.bound("line\n" * 9_999, Call(tool="shell"))
    assert [event.kind for event in seen] == ["skipped", "truncated"]
    assert seen[1].call.tool == "shell"
    assert (seen[1].bytes_before, seen[1].handle) == (5 * 9_999, bounded.handle)
    assert seen[1].bytes_after == len(bounded.text.encode())


def test_a_cut_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "overspill"):
        Bounder(Policy(), MemoryStore()).bound("line\n" * 9_999, Call(tool="shell"))
    (record,) = caplog.records
    assert record.getMessage().startswith("shell: 49995 bytes cut to ")
    assert "% less), ovs_" in record.getMessage()


def test_whatever_a_command_holds_the_log_has_one_line_of_it(caplog: pytest.LogCaptureFixture) -> None:
    command = "cat <<END\n\ud83d\x1b[31m" + "words\n" * 9_999
    with caplog.at_level("INFO", "overspill"):
        Bounder(Policy(), MemoryStore()).bound("line\n" * 9_999, Call(command=command))
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith("cat <<END \ufffdwords words ")
    assert len(message.encode()) < 400
    assert "\n" not in message
