"""Permission rules: wildcards in both parts, the last match wins, nothing is known without rules."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill import FilePath, PolicyError, SubAgent
from overspill.core.permissions import Rule, access_for, action_for, allowed


def matches(wildcards: str, text: str) -> bool:
    """The rule's words as its specification."""
    regex = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in wildcards)
    return re.fullmatch(regex, text, re.DOTALL) is not None


NAMES = st.text("tas*?k[]!-x./\n", max_size=6)
RULES = st.lists(st.builds(Rule, NAMES, NAMES, st.sampled_from(["allow", "deny", "ask"])), max_size=6)


@given(RULES, st.text("task[]!-x./\n", max_size=5), st.text("task[]!-x./\n", max_size=5))
def test_the_last_rule_that_matches_decides(rules: list[Rule], permission: str, pattern: str) -> None:
    fitting = [rule for rule in rules if matches(rule.permission, permission) and matches(rule.pattern, pattern)]
    action = fitting[-1].action if fitting else None
    assert action_for(rules, permission, pattern) == action
    assert allowed(rules, permission, pattern) is (bool(rules) and action != "deny")


def test_rules_come_as_mappings_and_task_decides_the_access() -> None:
    rules = [{"permission": "*", "action": "deny"}, {"permission": "task", "pattern": "*", "action": "allow"}]
    assert access_for(rules) == SubAgent("task")
    assert access_for(reversed(rules)) == FilePath()
    assert access_for(rules, task_tool="agent") == FilePath()
    assert access_for(iter([])) == FilePath()


@pytest.mark.parametrize(
    ("rule", "setting"),
    [
        ({}, "permission"),
        ("task", "rule"),
        (None, "rule"),
        (Rule("task", "*", "perhaps"), "action"),
        ({"permission": 3}, "permission"),
        ({"permission": "task", "pattern": None}, "pattern"),
        ({"permission": "task", "action": "perhaps"}, "action"),
    ],
)
def test_a_wrong_rule_is_refused_by_its_part(rule: Any, setting: str) -> None:
    with pytest.raises(PolicyError, match=setting):
        access_for([rule])
