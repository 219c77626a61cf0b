"""Rows E1 to E5: opencode's mechanism."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from five.texts import HINT, bounder, generated, message, reference
from overspill import Bounder, Budget, Call, FilePath, LocalStore, MemoryStore, SubAgent
from overspill.api import preset
from overspill.core.layouts import LAYOUTS
from overspill.core.permissions import Rule, access_for, allowed
from overspill.core.policy import Policy
from overspill.core.strategies import head, tail
from overspill.tools import define


@pytest.mark.parametrize("direction", ["head", "tail"])
def test_e1_equals_the_reference_on_ten_thousand_texts(direction: str) -> None:
    store = MemoryStore()
    cuts = long_lines = 0
    for at, text in enumerate(generated(10_000, seed=1, longest_line=600)):
        max_lines, max_bytes = 4 + at % 60, 367 + (at * 7919) % 900
        policy = Policy(
            budget=Budget(max_lines=max_lines, max_bytes=max_bytes),
            strategy=head() if direction == "head" else tail(),
            layout=LAYOUTS["opencode"],
        )
        bounded = Bounder(policy, store).bound(text)
        expected = reference(text, max_lines, max_bytes, direction)
        if expected is None:
            assert bounded.text is text
            continue
        cuts += 1
        found = HINT.search(bounded.text)
        assert found, bounded.text
        whole = message(expected, found[0], direction)
        if expected.preview or expected.unit == "lines":
            assert bounded.text == whole
        else:
            # Not one line fits: E1's message, and after it the ends of the output.
            long_lines += 1
            assert bounded.text.startswith(whole)
            assert bounded.excerpt
        assert bounded.kept_bytes + bounded.omitted_bytes == len(text.encode())
    assert cuts > 7_000
    assert long_lines > 50


@pytest.mark.parametrize("direction", ["head", "tail"])
@pytest.mark.parametrize(
    "text",
    [
        "line\n" * 2_000,
        "line\n" * 1_999 + "line",
        "line\n" * 2_001,
        "x" * 51_200,
        "x" * 51_199 + "\n",
        "x" * 51_201,
        ("y" * 99 + "\n") * 512,
        ("y" * 99 + "\n") * 512 + "z",
        ("漢" * 33 + "\n") * 600,
        "\n" * 5_000,
        "short\n" + "x" * 60_000 + "\nshort",
    ],
)
def test_e1_at_its_own_figures(text: str, direction: str) -> None:
    bounded = bounder("opencode", keep=direction).bound(text)
    expected = reference(text, 2_000, 51_200, direction)
    if expected is None:
        assert bounded.text is text
        return
    found = HINT.search(bounded.text)
    assert found
    assert bounded.text.startswith(message(expected, found[0], direction))


def test_e1_streamed_in_pieces_is_the_same() -> None:
    text = "".join(f"line {number} 漢字\n" for number in range(90_000))
    for direction in ("head", "tail"):
        whole = bounder("opencode", keep=direction).bound(text)
        with bounder("opencode", keep=direction).capture() as capturing:
            for at in range(0, len(text), 7_001):
                capturing.feed(text[at : at + 7_001])
        assert capturing.bounded.text == whole.text


def test_e1_in_chinese_has_the_same_figures() -> None:
    text = "line\n" * 3_000
    bounded = bounder("opencode", language="zh").bound(text)
    assert "\n\n...已截断 1001 行...\n\n[overspill ovs_" in bounded.text
    assert bounded.text.startswith("line\n" * 1_999 + "line\n\n...")


def test_e2_two_hints_by_what_the_agent_may_do(tmp_path: Path) -> None:
    text = "line\n" * 3_000
    with_task = preset("opencode", store=LocalStore(tmp_path), access=access_for([Rule("*", "*", "allow")])).bound(text)
    without = preset("opencode", store=LocalStore(tmp_path), access=access_for(None)).bound(text)
    assert with_task.path
    assert with_task.path in with_task.text
    assert "sub-agent (the task tool)" in with_task.text
    assert "don't read it all yourself" in with_task.text
    assert "sub-agent" not in without.text
    assert "Search that file, or read it with offset and limit" in without.text


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (None, False),
        ([], False),
        ([Rule("*", "*", "allow")], True),
        ([Rule("*", "*", "allow"), Rule("task", "*", "deny")], False),
        ([Rule("task", "*", "deny"), Rule("*", "*", "ask")], True),
        ([Rule("ta*", "*", "deny")], False),
        ([Rule("bash", "*", "deny")], True),
        ([Rule("task", "explore", "deny")], True),
        ([Rule("t?sk", "*", "deny")], False),
        ([Rule("task", "*", "deny"), Rule("task", "*", "allow")], True),
    ],
)
def test_e2_the_last_matching_rule_decides(rules: list[Rule] | None, expected: bool) -> None:
    assert allowed(rules, "task") is expected
    assert isinstance(access_for(rules), SubAgent if expected else FilePath)


def test_e3_names_ascend_and_carry_their_time_and_clean_up_reads_it(tmp_path: Path) -> None:
    day = 86_400.0
    start = 1_750_000_000.0
    first = preset("opencode", store=str(tmp_path), clock=lambda: start)
    names = [Path(first.bound(f"{number}\n" * 3_000).path or "").name for number in range(30)]
    assert all(re.fullmatch(r"tool_[0-9a-f]{12}[0-9a-z]{14}", name) for name in names)
    assert names == sorted(names), "of one millisecond too"
    assert {int(name[5:17], 16) for name in names} == {int(start * 1000)}
    later = preset("opencode", store=str(tmp_path), clock=lambda: start + 60)
    assert Path(later.bound("later\n" * 3_000).path or "").name > max(names)
    # Another process, a week later and without an index: only the names tell.
    shutil.rmtree(tmp_path / ".store")
    week = preset("opencode", store=str(tmp_path), clock=lambda: start + 7 * day + 30)
    week.bound("small")
    assert len(list(tmp_path.glob("tool_*"))) == 31, "nothing goes before the first cut"
    week.bound("new\n" * 3_000)
    left = {path.name for path in tmp_path.glob("tool_*")}
    assert not left & set(names)
    assert len(left) == 2


def test_e4_a_definition_is_validated_run_and_bounded(tmp_path: Path) -> None:
    def listing(count: int, word: str = "line") -> dict[str, Any]:
        return {"title": "listing", "metadata": {"count": count}, "output": f"{word}\n" * count}

    def own(count: int) -> dict[str, Any]:
        return {"title": "own", "metadata": {"truncated": False}, "output": "line\n" * count}

    bounds = preset("opencode", store=LocalStore(tmp_path))
    tool = define("listing", "Lists.", listing, bounder=bounds)
    small = asyncio.run(tool.execute({"count": 3}))
    assert small["metadata"] == {"count": 3, "truncated": False}
    large = asyncio.run(tool.execute({"count": 3_000}))
    assert large["metadata"]["truncated"] is True
    assert Path(large["metadata"]["outputPath"]).read_text() == "line\n" * 3_000
    assert "...1001 lines truncated..." in large["output"]
    assert large["metadata"]["count"] == 3_000
    untouched = asyncio.run(define("own", "Own.", own, bounder=bounds).execute({"count": 9_000}))
    assert len(untouched["output"]) == 45_000
    with pytest.raises(ValueError, match=r"listing.*count"):
        asyncio.run(tool.execute({"count": "many"}))
    with pytest.raises(ValueError, match="wrod"):
        asyncio.run(tool.execute({"count": 1, "wrod": "x"}))


@pytest.mark.parametrize(
    ("name", "lines", "size", "direction"),
    [("code", 2_000, 51_200, "head"), ("log", 500, 20_480, "tail"), ("error", 100, 10_240, "tail")],
)
def test_e5_kinds_of_output(name: str, lines: int, size: int, direction: str) -> None:
    bounds = bounder(f"opencode/{name}")
    text = "".join(f"{number:06}\n" for number in range(5_000))
    expected = reference(text, lines, size, direction)
    assert expected
    bounded = bounds.bound(text, Call(tool="x"))
    assert expected.preview in bounded.text
    assert f"...{expected.removed} {expected.unit} truncated..." in bounded.text
    assert bounds.policy.budget == Budget(max_lines=lines, max_bytes=size)


def test_e1_does_not_cut_its_own_text_again(tmp_path: Path) -> None:
    for direction in ("head", "tail"):
        bounds = preset("opencode", store=str(tmp_path), keep=direction)
        once = bounds.bound("some line of text\n" * 9_000)
        assert bounds.bound(once.text).text == once.text
    assert len([name for name in os.listdir(tmp_path) if name.startswith("tool_")]) == 1
