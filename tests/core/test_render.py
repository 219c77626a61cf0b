"""The budget is used, by the source more than by words about it: a fill a little over is drawn in, not given up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from overspill import preset
from overspill.core.capture import Capture, Whole
from overspill.core.excerpt import Excerpt
from overspill.core.model import Budget, Call, Gap, Span
from overspill.core.notice import WORDS, Kept, Language
from overspill.core.policy import Policy
from overspill.core.render import render
from overspill.core.strategies import head
from overspill.errors import PolicyError

HITS = "".join(
    f"src/mod{n % 37}/file{n * 7 % 211}.py:{n}:    warnings.warn('deprecated in {n % 9}', {'abc' * (n % 11)})\n"
    for n in range(3_000)
)
TABLE = "id,name,amount,when\n" + "".join(
    f"{n},user{n * n % 977},{n * 7919 % 10007 / 7:.4f},2026-0{1 + n % 9}-1{n % 9}\n" for n in range(5_000)
)


@pytest.mark.parametrize("source", [HITS, TABLE], ids=["search hits", "table"])
def test_most_of_the_budget_is_used_whatever_the_marks_cost(source: str) -> None:
    for max_tokens in (500, 1_250, 2_000, 2_500, 3_500):
        policy = Policy(budget=Budget(max_tokens=max_tokens))
        capture = Capture(policy, Call())
        capture.feed(source.encode())
        cut = capture.finish()
        assert not isinstance(cut, Whole)
        text = render(cut, Kept("ovs_00000000"), policy).text
        assert 0.9 * max_tokens < policy.measure.size(text, policy.budget).tokens <= max_tokens


def _least_policy(unit: str, language: Language) -> Policy:
    """By the smallest budget that is accepted."""
    for most in range(1, 500):
        try:
            return Policy(budget=Budget(**{unit: most}), language=language)
        except PolicyError:
            continue
    raise AssertionError(unit)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("unit", ["max_tokens", "max_bytes", "max_chars", "max_lines"])
def test_whatever_a_store_says_of_its_fault_the_smallest_budget_is_kept(unit: str, language: Language) -> None:
    policy = _least_policy(unit, language)
    for source in ("x" * 100_000, "路" * 30_000, "👩‍👩‍👧‍👦" * 5_000, "line\n" * 20_000):
        capture = Capture(policy, Call())
        capture.feed(source.encode())
        cut = capture.finish()
        assert not isinstance(cut, Whole)
        for reason in ("🎉路" * 100, "[]{}()" * 50, "\ud800" * 200, "a\u0301" * 200):
            text = render(cut, Kept(None, unsaved=reason), policy).text
            assert policy.measure.fits(text, policy.budget)
            assert "NOT" in text or "未能保存" in text
            text.encode()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("source", ["\0" * 40_000, "a\b" * 30_000, "\x1b[2J\x1b[H" * 10_000, "\r" * 60_000])
def test_of_what_shows_nothing_it_is_said_how_much_that_is_and_how_to_read_it(source: str, language: Language) -> None:
    policy = Policy(budget=Budget(max_bytes=9_000), strategy=head(), language=language)
    capture = Capture(policy, Call())
    capture.feed(source.encode())
    cut = capture.finish()
    assert not isinstance(cut, Whole)
    text = render(cut, Kept("ovs_00000000"), policy).text
    assert WORDS[language].invisible.format(count=len(source)) in text
    assert ("read ovs_00000000" if language == "en" else "读取 ovs_00000000") in text


def test_a_path_that_is_no_unicode_stands_in_the_notice_as_far_as_it_is() -> None:
    policy = Policy()
    capture = Capture(policy, Call())
    capture.feed(TABLE.encode())
    cut = capture.finish()
    assert not isinstance(cut, Whole)
    bounded = render(cut, Kept("ovs_00000000", "/tmp/\udcff/ovs_00000000.txt"), policy)
    assert "/tmp/\ufffd" in bounded.text
    assert bounded.path == "/tmp/\udcff/ovs_00000000.txt"


@pytest.mark.parametrize("name", ["buffered", "opencode", "unified", "toollevel"])
def test_layouts_take_such_a_path_as_well(name: str) -> None:
    policy = preset(name).policy
    capture = Capture(policy, Call())
    capture.feed(TABLE.encode())
    cut = capture.finish()
    assert not isinstance(cut, Whole)
    text = render(cut, Kept("ovs_00000000", "/tmp/\udcff/ovs_00000000.txt"), policy).text
    text.encode()
    assert "user" in text


def test_what_is_said_of_gaps_leaves_the_budget_to_the_source() -> None:
    lines = [f"step {n} of the build went as it should, in {n * n % 97} ms\n" for n in range(4_000)]
    for n in range(0, 4_000, 7):
        lines[n] = f"error: part {n % 50} of module{n % 13} could not be made: {n}\n"
    for n in range(0, 4_000, 401):
        lines[n] = f"FATAL {'abcdefghij'[n // 401] * 9} gave up: no {'klmnopqrst'[n // 401] * 7} left\n"
    policy = Policy(budget=Budget(max_tokens=1_500))
    capture = Capture(policy, Call())
    capture.feed("".join(lines).encode())
    cut = capture.finish()
    assert not isinstance(cut, Whole)
    bounded = render(cut, Kept("ovs_00000000"), policy)
    told = {part.gap: part.text.partition(" omitted")[2].rstrip("]\n") for part in bounded.parts if part.gap}
    said = [text for text in told.values() if text]
    assert len(told) > 8
    assert told[max(bounded.gaps, key=lambda gap: gap.omitted_bytes)]
    assert sum(map(policy.counter, said[:-1])) < 0.05 * 1_500


class Stubborn:
    """A selection that shows too much in a large room, by its marks, and nothing in a small one."""

    kind = headline = ""

    def __init__(self, source: bytes, times: int) -> None:
        self._source, self._times, self._large = Span(0, source, 1), times, False

    def fill(self, excerpt: Excerpt) -> None:
        room = excerpt.room.max_tokens or 0
        self._large = room > 190
        if room > 30:
            excerpt.add(self._source.part(1_000, 1_200 if self._large else 1_060))

    def describe(self, gap: Gap) -> str:
        return ""

    def mark(self, gap: Gap, words: str) -> str | None:
        return "far too long a mark " * self._times if self._large else "a mark"


def test_between_a_room_for_too_much_and_one_for_nothing_there_is_another() -> None:
    source = b"".join(b"line %d\n" % n for n in range(4_000))
    policy = Policy(budget=Budget(max_tokens=250))
    capture = Capture(policy, Call())
    capture.feed(source)
    cut = capture.finish()
    assert not isinstance(cut, Whole)
    for times in range(4, 60, 2):
        stubborn = replace(cut, selection=Stubborn(source, times))
        assert "a mark" in render(stubborn, Kept("ovs_00000000"), policy).text
