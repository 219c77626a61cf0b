"""The positional strategies: whole lines, the promised share, both ends of a line that is too long."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overspill import Bounder, Budget, MemoryStore, Policy, PolicyError
from overspill.core.model import Bounded
from overspill.core.strategies import Ends, head, named, tail

LINES = "".join(f"line {number} of many\n" for number in range(1, 3001))


def bounded(text: str, strategy: Ends, **budget: int) -> Bounded:
    return Bounder(Policy(budget=Budget(**budget), strategy=strategy), MemoryStore()).bound(text)


def test_head_keeps_the_first_lines() -> None:
    result = bounded(LINES, head(), max_lines=12)
    assert result.excerpt.startswith("line 1 of many\n")
    assert [(gap.first_line, gap.last_line) for gap in result.gaps] == [(11, 3000)]


def test_tail_keeps_the_last_lines() -> None:
    result = bounded(LINES, tail(), max_lines=12)
    assert result.excerpt.endswith("line 3000 of many\n")
    assert [(gap.first_line, gap.last_line) for gap in result.gaps] == [(1, 2990)]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_ends_shares_the_room(share: float) -> None:
    result = bounded(LINES, Ends(share), max_bytes=6_000)
    (gap,) = result.gaps
    of_head = gap.start / result.kept_bytes
    assert abs(of_head - share) < 0.05
    assert len(result.text) > 5_800


@settings(max_examples=40)
@given(st.lists(st.integers(0, 300), min_size=20, max_size=200), st.sampled_from([head(), tail(), Ends()]))
def test_lines_stay_whole_where_each_fits(widths: list[int], strategy: Ends) -> None:
    text = "".join("w" * width + "\n" for width in widths)
    result = bounded(text, strategy, max_bytes=1_600)
    assert all(gap.first_column == 0 and gap.last_column is None for gap in result.gaps)


@pytest.mark.parametrize("strategy", [head(), tail(), Ends()], ids=lambda strategy: strategy.name)
def test_a_line_longer_than_the_room_shows_its_own_ends(strategy: Ends) -> None:
    text = "<start>" + "x" * 2_000_000 + "<end>"
    result = bounded(text, strategy, max_bytes=1_000)
    assert result.excerpt.startswith("<start>")
    assert result.excerpt.endswith("<end>")
    (gap,) = result.gaps
    assert f"bytes {gap.first_column + 1}-{gap.last_column} of line 1 omitted" in result.text


def test_a_long_line_among_others_does_not_hide_them() -> None:
    text = "first\n" + "x" * 700_000 + "<end>\n" + "after\n" * 100_000
    result = bounded(text, head(), max_bytes=1_000)
    assert result.excerpt.startswith("first\nxxx")
    assert "<end>\n" in result.excerpt


def test_a_share_out_of_range_is_refused() -> None:
    with pytest.raises(PolicyError, match="head_share = 2 is not accepted: a number from 0 to 1"):
        Ends(2)


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(
        PolicyError, match="strategy = 'middle' is not accepted: one of auto, ends, head, summarize, tail"
    ):
        named("middle")
