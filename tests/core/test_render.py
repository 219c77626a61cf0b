"""The budget is used, by the source more than by words about it: a fill a little over is drawn in, not given up."""

from __future__ import annotations

import pytest

from overspill.core.capture import Capture, Whole
from overspill.core.model import Budget, Call
from overspill.core.notice import Kept
from overspill.core.policy import Policy
from overspill.core.render import render

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
