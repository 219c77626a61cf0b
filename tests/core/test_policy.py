"""Wrong settings are refused when the policy is built, with path, value and what would do."""

from __future__ import annotations

import re

import pytest

from overspill import Bounder, Budget, Policy, PolicyError
from overspill.core.ports import TokenCounter
from overspill.core.strategies import Ends


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "budget = None is not accepted: at least one of max_tokens, max_bytes, max_chars, max_lines"),
        ({"max_tokens": 0}, "max_tokens = 0 is not accepted: a whole number, 1 or more"),
        ({"max_bytes": -5}, "max_bytes = -5 is not accepted"),
        ({"max_chars": 2.5}, "max_chars = 2.5 is not accepted"),
        ({"max_lines": True}, "max_lines = True is not accepted"),
        ({"max_lines": "9"}, "max_lines = '9' is not accepted"),
    ],
)
def test_a_wrong_budget(settings: dict[str, int], message: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(message)):
        Budget(**settings)


@pytest.mark.parametrize("unit", ["max_tokens", "max_bytes", "max_chars", "max_lines"])
def test_a_budget_too_small_for_the_notice_names_the_least(unit: str) -> None:
    with pytest.raises(PolicyError) as refused:
        Policy(budget=Budget(**{unit: 2}))
    assert refused.value.setting == unit
    least = int(refused.value.accepted.split()[0])
    Policy(budget=Budget(**{unit: least}))
    with pytest.raises(PolicyError):
        Policy(budget=Budget(**{unit: least - 1}))


def test_a_limit_below_the_budget_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"limit\.max_bytes = 500 is not accepted: 600 \(the budget's max_bytes\)"):
        Policy(budget=Budget(max_bytes=600), limit=Budget(max_bytes=500))


@pytest.mark.parametrize(
    "wrong",
    [
        {"language": "fr"},
        {"carrier": "xml"},
        {"strategy": "auto"},
        {"access": 3},
        {"counter": "o200k"},
        {"budget": 9_000},
        {"budget": None},
        {"limit": {"max_bytes": 9_000}},
        {"redact": True},
        {"redact": ["password"]},
    ],
)
def test_a_wrong_value_is_refused_by_name(wrong: dict[str, object]) -> None:
    (name,) = wrong
    with pytest.raises(PolicyError) as refused:
        Policy(**wrong)  # type: ignore[arg-type]
    assert refused.value.setting == name


@pytest.mark.parametrize("wrong", [{"policy": "auto"}, {"store": "a/path"}, {"on_event": 5}, {"on_event": [print, 5]}])
def test_a_bounder_is_built_of_the_right_things(wrong: dict[str, object]) -> None:
    (name,) = wrong
    with pytest.raises(PolicyError) as refused:
        Bounder(**wrong)  # type: ignore[arg-type]
    assert refused.value.setting == name


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), "half", None, True])
def test_a_share_is_a_number(share: object) -> None:
    with pytest.raises(PolicyError, match="head_share"):
        Ends(share)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counter", "accepted"),
    [
        (lambda text: 1 / 0, "it raised ZeroDivisionError: division by zero"),
        (lambda text: None, "it raised TypeError"),
        (lambda text: -1, "never counts less than 0"),
    ],
)
def test_a_counter_that_cannot_count_is_refused(counter: TokenCounter, accepted: str) -> None:
    with pytest.raises(PolicyError, match=accepted) as refused:
        Policy(counter=counter)
    assert refused.value.setting == "counter"
