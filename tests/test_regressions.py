"""Every way in which comparable systems were seen to break when they cut: none of it happens here.

Each test is named by what broke; the outputs are made here, of the same kind as those that broke.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overspill import Bounder, Budget, LocalStore, MemoryStore, Policy, bound
from overspill.core.strategies import STRATEGIES, named

EVERY_STRATEGY = pytest.mark.parametrize("strategy", list(STRATEGIES))


def log(lines: int, **special: str) -> str:
    """An ordinary log; ``line_500="…"`` replaces line 500."""
    replaced = {int(name.removeprefix("line_")): text for name, text in special.items()}
    return "".join(
        replaced.get(
            number, f"2026-03-01 12:{number // 60 % 60:02}:{number % 60:02} INFO worker-{number % 7} did step {number}"
        )
        + "\n"
        for number in range(1, lines + 1)
    )


@EVERY_STRATEGY
@pytest.mark.parametrize("ending", ["", "\n"])
def test_a_200_kb_line_gave_an_empty_preview(strategy: str, ending: str) -> None:
    bounded = bound("x" * 200_000 + ending, strategy=strategy, store=MemoryStore())
    assert bounded.excerpt.startswith("x" * 500)
    assert bounded.excerpt.rstrip("\n").endswith("x" * 500)


@EVERY_STRATEGY
def test_a_long_line_came_back_whole(strategy: str) -> None:
    text = "one\ntwo\n" + "y" * 300_000 + "\nthree\n"
    assert len(bound(text, max_lines=50, max_bytes=5_000, strategy=strategy, store=MemoryStore()).text) <= 5_000
    assert len(bound(text, max_lines=4, strategy=strategy, store=MemoryStore()).text) <= 4 * 2_000 + 1_000


@EVERY_STRATEGY
@pytest.mark.parametrize("max_chars", [400, 1_000, 10_000])
def test_the_marker_stood_outside_the_budget(strategy: str, max_chars: int) -> None:
    bounded = bound(log(9_000), max_chars=max_chars, strategy=strategy, store=MemoryStore())
    assert len(bounded.text) <= max_chars


def test_json_escaping_doubled_what_was_sent() -> None:
    text = 'a "quoted" path C:\\temp\\new\tand tabs\n' * 2_000
    policy = Policy(budget=Budget(max_bytes=10_000), carrier="json")
    bounded = Bounder(policy, MemoryStore()).bound(text)
    assert 8_000 < len(json.dumps(bounded.text, ensure_ascii=False).encode()) - 2 <= 10_000


@EVERY_STRATEGY
def test_the_omitted_middle_was_lost_for_good(strategy: str) -> None:
    store, text = MemoryStore(), log(9_000)
    bounded = bound(text, strategy=strategy, store=store)
    assert bounded.handle is not None
    blob = store.open(bounded.handle)
    for gap in bounded.gaps:
        assert blob.read(gap.start, gap.omitted_bytes) == text.encode()[gap.start : gap.end]


@EVERY_STRATEGY
def test_half_an_emoji_poisoned_the_conversation(strategy: str) -> None:
    text = "".join(f"{number} 👩‍👩‍👧‍👦 漢字 🇩🇪 e\u0301\n" for number in range(5_000))
    for max_bytes in range(600, 640):
        shown = bound(text, max_bytes=max_bytes, strategy=strategy, store=MemoryStore()).text
        assert "\ufffd" not in shown
        shown.encode("utf-8")


@EVERY_STRATEGY
def test_a_lone_surrogate_aborted_the_run(strategy: str) -> None:
    store, text = MemoryStore(), "before \ud83d after\n" * 5_000
    bounded = bound(text, strategy=strategy, store=store)
    bounded.text.encode("utf-8")
    assert bounded.handle is not None
    assert store.open(bounded.handle).read(0, 1 << 20).decode("utf-8", "surrogatepass") == text


def test_an_unusable_directory_killed_the_call(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    bounded = bound(log(9_000), store=LocalStore(tmp_path / "file" / "store"))
    assert bounded.truncated
    assert bounded.handle is None
    assert "could NOT be saved" in bounded.text[:200]


def test_the_fatal_line_in_the_middle_was_cut() -> None:
    text = log(5_000, line_2500="2026-03-01 12:41:40 FATAL could not open the ledger: disk quota exceeded")
    bounded = bound(text, store=MemoryStore())
    assert "FATAL could not open the ledger: disk quota exceeded" in bounded.excerpt
    assert "2500" in bounded.text[:500]


def test_150_repeats_crowded_out_two_fatal_lines() -> None:
    repeats = {
        f"line_{number}": f"ERROR connection to db-{number % 3} refused, retrying" for number in range(1_000, 4_000, 20)
    }
    fatal = {"line_1234": "FATAL out of memory in the index", "line_3210": "FATAL cannot fork: resource unavailable"}
    bounded = bound(log(5_000, **repeats, **fatal), store=MemoryStore())
    for text in fatal.values():
        assert text in bounded.excerpt


def test_only_the_head_of_make_was_kept() -> None:
    compiling = "".join(
        f"gcc -O2 -Wall -Iinclude -c src/module{number}.c -o build/module{number}.o\n" for number in range(900)
    )
    error = (
        "src/module451.c: In function 'parse':\n"
        "src/module451.c:88:17: error: 'struct node' has no member named 'left'\n"
        "   88 |     return node->left;\n"
        "      |                 ^~\n"
    )
    text = (
        compiling[: len(compiling) // 2]
        + error
        + compiling[len(compiling) // 2 :]
        + "make: *** [Makefile:12: all] Error 2\n"
    )
    excerpt = bound(text, store=MemoryStore(), max_tokens=1_000).excerpt
    assert "'struct node' has no member named 'left'" in excerpt
    assert "make: *** [Makefile:12: all] Error 2" in excerpt


def test_no_verdict_of_our_own_on_a_tool_that_did_not_run() -> None:
    text = "sh: 1: pytest: not found\n" + "retrying in a moment, nothing to see here\n" * 3_000
    bounded = bound(text, exit_status=127, store=MemoryStore())
    assert "pytest: not found" in bounded.excerpt
    assert "no errors" not in bounded.text.lower()


@EVERY_STRATEGY
def test_output_after_8_mb_was_dropped(strategy: str) -> None:
    store, text = MemoryStore(), log(200_000) + "the very last line\n"
    bounded = bound(text, strategy=strategy, store=store)
    assert bounded.total_lines == 200_001
    assert bounded.handle is not None
    assert store.open(bounded.handle).size == len(text)
    if strategy != "head":
        assert "the very last line" in bounded.excerpt


def test_line_numbers_counted_what_was_left_instead_of_the_source() -> None:
    bounded = bound(log(98_002), strategy="tail", store=MemoryStore())
    (gap,) = bounded.gaps
    assert bounded.total_lines == 98_002
    assert f"did step {gap.last_line + 1}\n" in bounded.excerpt.split("\n")[1] + "\n"


def test_cjk_was_undercounted() -> None:
    text = "工具的输出必须始终适合预算，并且不会丢失任何内容。\n" * 3_000
    from bpe_openai import get_encoding

    bounded = bound(text, max_tokens=1_000, store=MemoryStore())
    assert len(get_encoding("o200k_base").encode_ordinary(bounded.text)) <= 1_100


def test_layered_cuts_destroyed_bytes_before_the_spill() -> None:
    store, text = MemoryStore(), log(9_000)
    outer = Bounder(Policy(budget=Budget(max_bytes=1_500), strategy=named("ends")), store)
    inner = Bounder(Policy(budget=Budget(max_bytes=8_000), strategy=named("ends")), store)
    twice = outer.bound(inner.bound(text).text)
    assert twice.total_lines == 9_000
    assert twice.handle is not None
    assert store.open(twice.handle).size == len(text)


def test_a_single_repeated_call_changed_its_text() -> None:
    text = log(9_000, line_77="ERROR once")
    assert bound(text, store=MemoryStore()) == bound(text, store=MemoryStore())
