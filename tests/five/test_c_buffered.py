"""Rows C1 to C6: the threshold apart from what is shown."""

from __future__ import annotations

import io
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from five.texts import bounder, generated
from overspill import Bounder, Budget, Call, LocalStore, MemoryStore, Policy
from overspill.api import preset
from overspill.core.layouts import LAYOUTS
from overspill.core.strategies import Ends, tail
from overspill.tools import Passed, Truncated, outcome

NOTICE = r"\[overspill [^\]]*\]"


def test_c1_words_first_then_the_head_the_count_and_the_tail() -> None:
    bounds = bounder("buffered")
    assert bounds.bound(text := "x" * 40_000).text is text
    text = "".join(f"{number:05} some text\n" for number in range(4_000))
    bounded = bounds.bound(text)
    found = re.match(rf"{NOTICE}\n\n", bounded.text)
    assert found
    n = len(text) - 20_000
    assert bounded.text[found.end() :] == f"{text[:10_000]}\n\n... ({n} characters truncated) ...\n\n{text[-10_000:]}"
    assert bounded.handle
    assert bounded.handle in found[0]


def test_c1_equals_the_reference_on_ten_thousand_texts() -> None:
    store = MemoryStore()
    cuts = 0
    # A cut never parts a \r\n: see the next test.
    for at, text in enumerate(generated(10_000, seed=3, without="\r")):
        shown, limit = 269 + at % 300, 290 + at % 700
        limit = max(limit, shown)
        policy = Policy(
            budget=Budget(max_chars=shown), limit=Budget(max_chars=limit), strategy=Ends(), layout=LAYOUTS["buffered"]
        )
        bounded = Bounder(policy, store).bound(text)
        if len(text) <= limit:
            assert bounded.text == text
            continue
        cuts += 1
        head, tail_ = shown // 2, shown - shown // 2
        n = len(text) - shown
        expected = f"{text[:head]}\n\n... ({n} characters truncated) ...\n\n{text[len(text) - tail_ :]}"
        assert bounded.text.partition("]\n\n")[2] == expected
    assert cuts > 5_000


def test_c1_moves_a_cut_that_would_break_a_character_as_people_see_it() -> None:
    family = "👩‍👩‍👧‍👦"
    policy = Policy(
        budget=Budget(max_chars=300), limit=Budget(max_chars=330), strategy=Ends(), layout=LAYOUTS["buffered"]
    )
    start, end = "s" * 145, "e" * 145
    bounded = Bounder(policy, MemoryStore()).bound(start + family * 9 + end)
    head, tail_ = bounded.parts[0], bounded.parts[-1]
    assert head.text == start
    assert tail_.text == end
    crlf = Bounder(policy, MemoryStore()).bound("x" * 149 + "\r\n" + "y" * 300)
    assert crlf.parts[0].text == "x" * 149


def test_c1_in_chinese() -> None:
    bounded = bounder("buffered", language="zh").bound("字" * 50_000)
    assert "... (已截断 30000 个字符) ..." in bounded.text
    assert len(bounded.parts[0].text) == len(bounded.parts[-1].text) == 10_000


def test_c2_the_file_is_named_by_tool_call_and_time_in_a_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    bounded = preset("buffered").bound("x" * 50_000, Call(tool="web_fetch", id="call_7"))
    path = Path(bounded.path or "")
    assert tmp_path in path.parents
    assert re.fullmatch(r"web_fetch-call_7-\d{8}_\d{6}\.txt", path.name)
    assert path.read_text() == "x" * 50_000


def test_c3_the_result_says_text_cut_path_and_both_lengths(tmp_path: Path) -> None:
    bounds = preset("buffered", store=LocalStore(tmp_path))
    small, large = outcome(bounds.bound("small")), outcome(bounds.bound("x" * 50_000))
    assert isinstance(small, Passed)
    assert small.content == "small"
    assert isinstance(large, Truncated)
    assert large.path
    assert Path(large.path).exists()
    assert large.original_bytes == 50_000
    assert large.shown_bytes == len(large.content.encode())
    unsaved = outcome(Bounder(bounds.policy, None).bound("x" * 50_000))
    assert isinstance(unsaved, Truncated)
    assert unsaved.path is None


def shown_on(width: int, *, terminal: bool, output: str) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None, legacy_windows=False)
    console.print(Bounder(Policy(), MemoryStore()).bound(output))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_c4_people_see_a_line_or_a_panel_with_path_sizes_and_a_strip(tmp_path: Path) -> None:
    assert shown_on(80, terminal=True, output="small\n").strip() == "1 line, 6 bytes, shown whole"
    bounds = preset("buffered", store=LocalStore(tmp_path))
    bounded = bounds.bound("".join(f"{number:07}\n" for number in range(20_000)))
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None, legacy_windows=False)
    console.print(bounded)
    assert isinstance(console.file, io.StringIO)
    seen = console.file.getvalue()
    assert bounded.handle
    assert bounded.handle in seen
    assert "160,000 bytes" in seen
    assert f"{len(bounded.text.encode()):,} bytes" in seen
    assert (bounded.path or "")[-20:] in seen.replace("\n", "").replace("│", "").replace(" ", "")
    strip = next(line for line in seen.splitlines() if "█" in line)
    assert strip.strip("│ ").startswith("█")
    assert strip.strip("│ ").endswith("█")
    assert "░" * 50 in strip
    plain = Console(file=io.StringIO(), width=100, force_terminal=False)
    plain.print(bounded)
    assert isinstance(plain.file, io.StringIO)
    assert not set(plain.file.getvalue()) & set("╭│█░")
    assert bounded.handle in plain.file.getvalue()


def test_c4_where_only_ascii_can_be_shown() -> None:
    screen = io.TextIOWrapper(io.BytesIO(), "ascii")
    Console(file=screen, width=60, force_terminal=True, color_system=None).print(
        bounder("buffered").bound("x" * 50_000)
    )
    screen.flush()
    assert isinstance(screen.buffer, io.BytesIO)
    seen = screen.buffer.getvalue().decode("ascii")
    assert "#...." in seen
    assert "1 line, 50,000 bytes" in seen


def test_c4_what_an_error_says_can_not_steer_the_terminal() -> None:
    class Steering:
        def spill(self, call: Call) -> None:
            raise OSError("\x1b[2Jgone\x07")

    bounded = Bounder(bounder("buffered").policy, Steering()).bound("x" * 50_000)  # type: ignore[arg-type]
    console = Console(file=io.StringIO(), width=60, force_terminal=True, color_system=None)
    console.print(bounded)
    assert isinstance(console.file, io.StringIO)
    assert "\x1b[2J" not in console.file.getvalue()
    assert "\x07" not in console.file.getvalue()


def test_c4_a_small_output_with_secrets_is_not_said_to_be_whole() -> None:
    from overspill.core.redact import BUILT_IN

    bounded = Bounder(Policy(redact=BUILT_IN), MemoryStore()).bound(
        "AWS_SECRET_ACCESS_KEY=" + "wJalrXUtnFEMIK7MDENGbPxRfiCY" * 2
    )
    assert bounded.redactions
    console = Console(file=io.StringIO(), width=90)
    console.print(bounded)
    assert isinstance(console.file, io.StringIO)
    assert "shown whole but for 1 secret" in console.file.getvalue()


def test_c5_without_permission_or_room_a_plain_cut_and_no_exception(tmp_path: Path) -> None:
    place = tmp_path / "a file"
    place.write_text("not a directory")
    bounded = preset("buffered", store=str(place)).bound("x" * 50_000)
    assert bounded.truncated
    assert bounded.path is None
    assert "could NOT be saved" in bounded.text
    assert bounded.text.endswith("x" * 10_000)
    full = Bounder(preset("buffered", store=str(place)).policy, MemoryStore(max_total_bytes=1_000)).bound("x" * 50_000)
    assert "could NOT be saved" in full.text


def test_c6_the_strategy_in_force_can_be_read_and_replaced() -> None:
    bounds = bounder("buffered")
    assert bounds.policy.strategy.name == "ends"
    bounds.policy = replace(bounds.policy, strategy=tail())
    bounded = bounds.bound("a" * 40_000 + "b" * 20_000)
    assert bounded.text.endswith("b" * 20_000)
    assert "a" not in bounded.text.rpartition("...")[2]
