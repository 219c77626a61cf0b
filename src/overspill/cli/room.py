"""The room that `run` sets aside in a budget for what it says itself."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace

from overspill.core.model import Budget
from overspill.core.policy import Policy
from overspill.errors import PolicyError


def tighter(policy: Policy, last_line: str, *, two_streams: bool) -> tuple[Policy, str]:
    """The policy with room left for the last line and for marks that stand on both streams.

    A budget that hardly holds a notice has no room for either: the marks give way first, then the line.
    """
    for line, shared in ((last_line, two_streams), (last_line, False), ("", False)):
        with suppress(PolicyError):
            return replace(policy, budget=_smaller(policy, line, shared=shared)), line
    raise AssertionError("the policy's own budget is one that it takes")


def _smaller(policy: Policy, last_line: str, *, shared: bool) -> Budget:
    taken = policy.measure.size("\n" + last_line, policy.budget)._asdict() if last_line else {}
    sizes = {}
    for field in fields(policy.budget):
        most = getattr(policy.budget, field.name)
        if most is not None:
            left = most - taken.get(field.name.removeprefix("max_"), 0)
            sizes[field.name] = left - left // 10 if shared else left
    return Budget(**sizes)
