"""The room that `run` sets aside in a budget for what it says itself, and for what comes later."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace

from overspill.core.model import Budget
from overspill.core.policy import Policy
from overspill.errors import PolicyError


def tighter(policy: Policy, last_line: str, *, two_streams: bool, goes_on: bool) -> tuple[Policy, str]:
    """The policy with room left for the last line, for marks that stand on both streams, for what comes later.

    A budget that hardly holds a notice has no room for any: the later gives way first, then the marks, then the line.
    """
    for line, marks, later in (
        (last_line, two_streams, goes_on),
        (last_line, two_streams, False),
        (last_line, False, False),
        ("", False, False),
    ):
        with suppress(PolicyError):
            taken = ("\n" + line) if line else ""
            return replace(policy, budget=_less(policy, taken, parts=(10,) * marks + (5,) * later)), line
    raise AssertionError("the policy's own budget is one that it takes")


def left(policy: Policy, shown: str) -> Policy:
    """The policy for what comes after a text in the same place: what that left, a fifth at least."""
    with suppress(PolicyError):
        least = {field.name: getattr(policy.budget, field.name) for field in fields(policy.budget)}
        rest = _less(policy, shown, least={name: most // 5 for name, most in least.items() if most})
        return replace(policy, budget=rest, limit=None)
    return policy


def _less(policy: Policy, text: str, *, parts: tuple[int, ...] = (), least: dict[str, int] | None = None) -> Budget:
    """The budget without what a text takes of it, and without such parts of the rest."""
    taken = policy.measure.size(text, policy.budget)._asdict() if text else {}
    sizes = {}
    for field in fields(policy.budget):
        most = getattr(policy.budget, field.name)
        if most is not None:
            rest = most - taken.get(field.name.removeprefix("max_"), 0)
            for part in parts:
                rest -= rest // part
            sizes[field.name] = max(rest, (least or {}).get(field.name, rest))
    return Budget(**sizes)
