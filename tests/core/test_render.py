"""The budget is used: a fill that comes out a little over is drawn in a little, not given up by half."""

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
