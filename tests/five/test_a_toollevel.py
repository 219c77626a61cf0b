"""Rows A1 to A8: control at the tool (A2 and A5 beside the server they talk to, in ``tests/tools``)."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from five.texts import bounder, generated
from overspill import Bounded, Bounder, Budget, Call, FilePath, MemoryStore, Policy, PolicyError
from overspill.config import load
from overspill.core.layouts import LAYOUTS
from overspill.core.strategies import Ends
from overspill.core.tokens import estimate_tokens
from overspill.tools import GrepSearch, ReadFile, RepoMap, RepoStructure, Tool

MARK = re.compile(r"\n\n\[… (\d+) characters, (\d+) lines omitted\]\n\[overspill ovs_[^\]]*\]\n\n")


def test_a1_the_first_and_the_last_3120_characters_and_a_marker_that_counts() -> None:
    bounds = bounder("toollevel")
    assert bounds.bound(text := "x" * 8_000).text is text
    text = "".join(f"{number:05} some text\n" for number in range(4_000))
    bounded = bounds.bound(text)
    found = MARK.search(bounded.text)
    assert found
    assert bounded.text == text[:3_120] + found[0] + text[-3_120:]
    assert int(7_800 * 0.4) == 3_120
    assert found[1] == str(len(text) - 6_240)
    assert found[2] == str(bounded.omitted_lines)
    assert len(found[0]) <= 200
    assert bounds.bound("x" * 8_001).kept_bytes == 6_240


def test_a1_equals_the_reference_on_ten_thousand_texts() -> None:
    store = MemoryStore()
    cuts = 0
    for at, text in enumerate(generated(10_000, seed=2, without="\r")):
        size = 269 + at % 700
        if len(text) <= size:
            continue
        cuts += 1
        policy = Policy(budget=Budget(max_chars=size), strategy=Ends(), layout=LAYOUTS["toollevel"])
        bounded = Bounder(policy, store).bound(text)
        end = int((size - 200) * 0.4)
        found = MARK.search(bounded.text, end)
        assert found
        assert found[1] == str(len(text) - 2 * end)
        assert bounded.text == text[:end] + found[0] + (text[-end:] if end else "")
    assert cuts > 3_000


def test_a1_in_chinese_and_with_a_long_path(tmp_path: Path) -> None:
    from overspill.api import preset

    bounded = preset("toollevel", store=str(tmp_path), language="zh").bound("汉" * 9_000)
    assert "省略 2760 个字符" in bounded.text
    deep = tmp_path / ("d" * 120) / ("e" * 120)
    bounded = preset("toollevel", store=str(deep)).bound("x" * 9_000)
    assert len(bounded.text) - 6_240 <= 200
    assert str(bounded.handle) in bounded.text


class Long(Tool):
    """Gives back what it was made with."""

    def __init__(self, output: Any, **settings: Any) -> None:
        super().__init__(store=MemoryStore(), **settings)
        self.output = output

    def execute(self) -> Any:
        return self.output


def run(tool: Tool, **arguments: Any) -> Any:
    return asyncio.run(tool.run(arguments))


HOLE = "\ue000\n\ue001\n\ue001\n"
"""Stands for the first step's mark, which has as many lines."""


def two_steps(text: str, max_chars: int, max_lines: int) -> tuple[str, bool, bool]:
    """A3 as its specification: the source that stays, and which of the two steps cut."""
    by_chars = len(text) > max_chars
    if by_chars:
        end = int((max_chars - 100) * 0.4)
        text = text[:end] + HOLE + text[len(text) - end :]
    lines = text.split("\n")
    total = len(lines) - (not lines[-1])
    by_lines = total > max_lines
    if by_lines:
        half = (max_lines - 2) // 2
        kept = [*lines[:half], *lines[total - half :]]
        text = "".join(line + "\n" for line in lines[:half]) + "\n".join(kept[half:])
    return re.sub("\ue000\n?|\ue001\n?", "", text), by_chars, by_lines


def test_a3_equals_the_reference_on_ten_thousand_texts() -> None:
    store = MemoryStore()
    cuts = [0, 0, 0]
    for at, text in enumerate(generated(10_000, seed=8, without="\r")):
        max_chars, max_lines = 300 + at % 900, 10 + 2 * (at % 40)
        budget = Budget(max_chars=max_chars, max_lines=max_lines)
        policy = Policy(budget=budget, strategy=Ends(), layout=LAYOUTS["toollevel/tool"])
        bounded = Bounder(policy, store).bound(text)
        source, by_chars, by_lines = two_steps(text, max_chars, max_lines)
        assert bounded.truncated == (by_chars or by_lines)
        assert len(bounded.text) <= max_chars
        shown = "".join(part.text for part in bounded.parts if part.span)
        words = len(bounded.text) - len(shown) + 8
        if (
            bounded.truncated and len(source) + words <= max_chars
        ):  # else its marks need room that its figures do not leave
            assert shown == source
        assert bounded.kept_bytes + bounded.omitted_bytes == len(text.encode())
        if by_lines:
            assert bounded.text.count("\n") + (not bounded.text.endswith("\n")) <= max_lines
        cuts[by_chars + by_lines] += 1
    assert min(cuts) > 1_000


def test_a3_by_characters_first() -> None:
    text = "x" * 20_000
    content = run(Long(text)).content
    end = int((8_000 - 100) * 0.4)
    assert content.startswith("x" * end + "\n[… ")
    assert content.endswith("]\n" + "x" * end)
    assert f"{20_000 - 2 * end} characters, 0 lines omitted" in content
    assert len(content) - 2 * end <= 100


def test_a3_then_by_lines() -> None:
    text = "".join(f"{number}\n" for number in range(1_400))
    assert len(text) < 8_000
    content = run(Long(text)).content
    lines = content.split("\n")[:-1]
    assert len(lines) == 500
    assert lines[:249] == [str(number) for number in range(249)]
    assert lines[-249:] == [str(number) for number in range(1_151, 1_400)]
    assert lines[249] == "[… 902 lines omitted]"
    assert run(Long("line\n" * 500)).content == "line\n" * 500


def test_a3_both_steps_one_after_the_other() -> None:
    text = "".join(f"{number:04}\n" for number in range(9_000))
    result = run(Long(text))
    lines = result.content.split("\n")[:-1]
    kept = two_steps(text, 8_000, 500)[0].splitlines()
    assert len(lines) == 500
    assert lines[:249] == kept[:249]
    assert lines[-249:] == kept[-249:]
    assert result.metadata["removed_bytes"] + 5 * 498 == len(text)


def test_a3_both_marks_stay_where_both_gaps_are() -> None:
    text = "x" * 9_000 + "\n" + "".join(f"{number:02}\n" for number in range(1_050))
    bounded = Bounder(
        Policy(budget=Budget(max_chars=8_000, max_lines=100), strategy=Ends(), layout=LAYOUTS["toollevel/tool"]),
        MemoryStore(),
    ).bound(text)
    assert len(bounded.gaps) == 2
    assert bounded.kept_bytes + bounded.omitted_bytes == len(text)
    assert bounded.text.count("\n") <= 100


def test_a3_both_limits_are_the_tools_own_and_truncate_output_may_be_overridden() -> None:
    class Short(Long):
        MAX_OUTPUT_CHARS = 1_000
        MAX_OUTPUT_LINES = 20

    class Custom(Long):
        def truncate_output(self, output: Any) -> Any:
            return output[:10] + "!"

    assert len(run(Short("y" * 5_000)).content) <= 1_000
    assert run(Short("line\n" * 100)).content.count("\n") == 20
    assert run(Custom("abcdefghijklmno")).content == "abcdefghij!"


def test_a3_execute_may_be_asynchronous_and_its_arguments_are_checked() -> None:
    class Greeting(Tool):
        """Greets."""

        async def execute(self, name: str, times: int = 1) -> str:
            await asyncio.sleep(0)
            return f"hello {name} " * times

    tool = Greeting(store=MemoryStore())
    assert run(tool, name="you", times=2).content == "hello you hello you "
    assert tool.definition()["function"]["parameters"]["required"] == ["name"]
    for arguments, words in (
        ({}, "Greeting: name"),
        ({"name": 3}, "Expected str, got int"),
        ({"name": "x", "tiems": 2}, "tiems"),
    ):
        result = run(tool, **arguments)
        assert result.is_error
        assert words in result.content


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    for number in range(40):
        module = root / "pkg" / f"m{number}.py"
        module.parent.mkdir(exist_ok=True)
        uses = "\n".join(f"    popular(); helper_{other}()" for other in range(number))
        module.write_text(
            f"class C{number}:\n    def method(self):\n        pass\n\ndef helper_{number}():\n{uses}\n    pass\n"
        )
    (root / "pkg" / "core.py").write_text("def popular():\n    return 1\n")
    (root / "long.txt").write_text("".join(f"this is line {number}\n" for number in range(1, 2_001)))
    deep = root / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    for number in range(7):
        (deep / f"f{number}").write_text("")
    return root


def test_a4_repo_map_fits_max_tokens_the_most_used_first(project: Path) -> None:
    tool = RepoMap(project, store=MemoryStore())
    assert tool.arguments.schema()["properties"]["max_tokens"]["default"] == 2_000
    assert (tool.MAX_OUTPUT_CHARS, tool.MAX_OUTPUT_LINES) == (10_000, 1_000)
    for tokens in (100, 500, 2_000):
        content = run(tool, max_tokens=tokens).content
        assert estimate_tokens(content) <= tokens
        assert content.startswith("pkg/core.py:\n     1: def popular():")
    assert re.search(r"\[\d+ of 121 definitions, the most used first\]$", run(tool, max_tokens=100).content)


def test_a4_read_file_shows_5000_characters_and_200_lines_and_pages(project: Path) -> None:
    tool = ReadFile(project, store=MemoryStore())
    assert (tool.MAX_OUTPUT_CHARS, tool.MAX_OUTPUT_LINES) == (5_000, 200)
    seen, offset, pages = [], 1, 0
    while offset:
        result = run(tool, path="long.txt", offset=offset)
        assert not result.truncated, "it limits itself"
        assert len(result.content) <= 5_000
        assert result.content.count("\n") + 1 <= 200
        body, _, notice = result.content.rpartition("\n")
        seen += [line.partition("\t")[2] for line in body.split("\n")]
        found = re.search(r'"offset": (\d+)', notice)
        offset, pages = int(found[1]) if found else 0, pages + 1
    assert seen == (project / "long.txt").read_text().splitlines()
    assert pages >= 10


def test_a4_grep_search_shows_the_first_100_of_m_with_two_lines_of_context(project: Path) -> None:
    tool = GrepSearch(project, store=MemoryStore())
    (project / "few.txt").write_text(
        "".join(f"{'needle' if number % 9 == 4 else 'hay'} {number}\n" for number in range(2_000))
    )
    content = run(tool, pattern="needle", context=0).content
    assert "showing the first 100 of 222 matches in 1 file" in content
    assert len(re.findall(r"^few.txt:\d+: needle", content, re.MULTILINE)) == 100
    around = run(tool, pattern="needle 13$").content
    assert [line.partition("- ")[2] or line.partition(": ")[2] for line in around.split("\n")[1:]] == [
        "hay 11", "hay 12", "needle 13", "hay 14", "hay 15",
    ]  # fmt: skip


def test_a4_get_repo_structure_to_depth_3_and_500_files(project: Path) -> None:
    tool = RepoStructure(project, store=MemoryStore())
    content = run(tool).content
    assert "      c/ (7 files below)" in content
    assert content.endswith("to depth 3; for more: a path further down]")
    for number in range(600):
        (project / f"x{number:03}").write_text("")
    content = run(tool).content
    assert sum(not line.endswith("/") and not line.startswith("[") for line in content.split("\n")) <= 502
    assert f"[{600 + 7 + 42} files in " in content
    assert re.search(r"; 500 shown, to depth 3", content)


def test_a6_a_yaml_file(tmp_path: Path) -> None:
    (tmp_path / "overspill.yaml").write_text(
        """
preset: toollevel
tool_output_limits:
  default: {max_chars: 6000, max_lines: 300, truncation_strategy: head_tail}
  tools:
    grep_search: {max_chars: 4000, show_context: 3}
    get_repo_structure: {max_depth: 2, max_files: 100}
    logs: {max_chars: 3000, truncation_strategy: head_only}
summarization: {enabled: false, model: cheap, max_input_chars: 40000, trigger_threshold: 9000}
"""
    )
    configuration = load(str(tmp_path), {})
    policy = configuration.settle().policy(access=FilePath())
    assert policy.budget == Budget(max_chars=6_000, max_lines=300)
    bounded = Bounder(policy, MemoryStore()).bound("x" * 7_000)
    assert len(bounded.text) <= 6_000
    assert configuration.settle(tool="grep_search").policy(access=FilePath()).budget == Budget(max_chars=4_000)
    head_only = Bounder(configuration.settle(tool="logs").policy(access=FilePath()), MemoryStore())
    text = head_only.bound("a" * 2_900 + "b" * 900).text
    assert text.startswith("a" * 2_800 + "\n\n[…")
    assert "b" not in text.partition("[…")[0]
    assert configuration.tool_parameters("get_repo_structure") == {"max_depth": 2, "max_files": 100}
    assert configuration.tool_parameters("grep_search") == {"show_context": 3}
    summarization = configuration.summarization
    assert summarization is not None
    assert (summarization.max_input_chars, summarization.trigger_threshold) == (40_000, 9_000)


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("default: {max_chars: -1}", r"tool_output_limits\.default\.max_chars"),
        ("default: {truncation_strategy: middle}", r"tool_output_limits\.default\.truncation_strategy"),
        ("default: {max_char: 10}", r"tool_output_limits\.default\.max_char"),
        ("tools: {grep: {max_lines: many}}", r"tool_output_limits\.tools\.grep\.max_lines"),
    ],
)
def test_a6_a_mistake_is_named_by_its_path(tmp_path: Path, text: str, setting: str) -> None:
    (tmp_path / "overspill.yaml").write_text(f"tool_output_limits:\n  {text}\n")
    with pytest.raises(PolicyError, match=setting):
        load(str(tmp_path), {})


def test_a7_a_line_for_every_cut_and_the_rate_per_tool(caplog: pytest.LogCaptureFixture) -> None:
    from overspill.tools.rates import CutRates

    now = [0.0]
    rates = CutRates(clock=lambda: now[0])
    bounds = Bounder(bounder("toollevel").policy, MemoryStore(), on_event=rates)
    with caplog.at_level(logging.INFO, "overspill"):
        for day in range(4):
            now[0] = day * 86_400.0
            for size in (100, 20_000):
                bounds.bound("x" * size, Call(tool="shell"))
            bounds.bound("x", Call(tool="read"))
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 4
    assert re.match(r"shell: 20000 bytes cut to \d+ \(6\d\.\d % less\), ovs_", lines[0])
    assert rates.rate("shell") == 0.5
    assert rates.rate("read") == 0.0
    assert rates.rates() == {"read": 0.0, "shell": 0.5}
    assert rates.rates(since=2 * 86_400.0) == {"read": 0.0, "shell": 0.5}
    assert [round(day.start / 86_400) for day in rates.over_time("shell")] == [0, 1, 2, 3]
    assert all((day.outputs, day.cuts) == (2, 1) for day in rates.over_time("shell"))


def outputs() -> dict[str, tuple[str, list[str]]]:
    """Outputs as tools print them, and what is needed of each."""
    tests = [f"tests/test_{n // 50}.py::test_case_{n} PASSED [{n // 12:3}%]" for n in range(1_200)]
    tests[700] = "tests/test_14.py::test_case_700 FAILED [ 58%]"
    tests += ["E   AssertionError: expected 3, got 4", "tests/test_14.py:88: AssertionError", "1 failed, 1199 passed"]
    build = [f"[{n}/900] Compiling module_{n}.c" for n in range(900)]
    build[412] = "src/module_412.c:17:5: error: 'widht' undeclared"
    log = [f"2026-11-18 12:00:{n % 60:02} INFO request {n} served in {n % 90} ms" for n in range(3_000)]
    log[1_717] = "2026-11-18 12:00:37 FATAL the database connection was lost"
    return {
        "pytest": ("\n".join(tests), ["test_case_700 FAILED", "expected 3, got 4", "1 failed, 1199 passed"]),
        "make": ("\n".join(build), ["module_412.c:17:5: error: 'widht' undeclared"]),
        "log": ("\n".join(log), ["FATAL the database connection was lost"]),
    }


def test_a8_half_the_tokens_or_less_and_nothing_needed_lost() -> None:
    before = after = 0
    bounds = Bounder(Policy(), MemoryStore())
    for command, (output, needed) in outputs().items():
        bounded: Bounded = bounds.bound(output, Call(tool="shell", command=command))
        before += estimate_tokens(output)
        after += estimate_tokens(bounded.text)
        for line in needed:
            assert line in bounded.text, command
    assert 1 - after / before > 0.5
