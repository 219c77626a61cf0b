"""Permission rules as coding agents write them: what an agent may do decides what a notice can tell it to do.

A rule names a permission and a pattern of what it is asked for, both with ``*`` and ``?``; the last rule
that matches decides.  Without rules nothing is known to be allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from overspill.core.access import Access, FilePath, SubAgent
from overspill.errors import PolicyError

ACTIONS = ("allow", "deny", "ask")


class Rule(NamedTuple):
    permission: str
    pattern: str = "*"
    action: str = "allow"

    @classmethod
    def of(cls, value: Rule | Mapping[str, Any]) -> Rule:
        """From ``{permission, pattern, action}`` as a configuration file has it."""
        if isinstance(value, Rule):
            value = value._asdict()
        if not isinstance(value, Mapping):
            raise PolicyError("rule", value, "{permission, pattern, action}")
        permission = value.get("permission")
        if not isinstance(permission, str):
            raise PolicyError("permission", permission, "the name of a permission, * and ? allowed")
        pattern, action = value.get("pattern", "*"), value.get("action", "allow")
        if not isinstance(pattern, str):
            raise PolicyError("pattern", pattern, "a text, * and ? allowed")
        if action not in ACTIONS:
            raise PolicyError("action", action, ", ".join(ACTIONS))
        return cls(permission, pattern, action)


def action_for(rules: Iterable[Rule | Mapping[str, Any]] | None, permission: str, pattern: str = "*") -> str | None:
    """What the last matching rule says; None when none does."""
    action = None
    for rule in map(Rule.of, rules or ()):
        if _matches(rule.permission, permission) and _matches(rule.pattern, pattern):
            action = rule.action
    return action


def allowed(rules: Iterable[Rule | Mapping[str, Any]] | None, permission: str, pattern: str = "*") -> bool:
    """May the agent? Not without rules; else unless the last matching one denies it."""
    known = [Rule.of(rule) for rule in rules or ()]
    return bool(known) and action_for(known, permission, pattern) != "deny"


def access_for(rules: Iterable[Rule | Mapping[str, Any]] | None, *, task_tool: str = "task") -> Access:
    """What the notice recommends: a sub-agent where one may be started, else reading the file by pages."""
    return SubAgent(task_tool) if allowed(rules, task_tool) else FilePath()


def _matches(wildcards: str, text: str) -> bool:
    """``*`` and ``?`` only: a bracket is a bracket."""
    return fnmatchcase(text, wildcards.replace("[", "[[]"))
