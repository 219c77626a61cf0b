"""Names of files by patterns as models write them: ``*.py``, ``src/**/*.py``, ``*.{ts,tsx}``, ``!*.lock``."""

from __future__ import annotations

import os
import re

from overspill.errors import RequestError
from overspill.tools.gitignore import Rules

MOST_PATTERNS = 100
_MOST_CHARS = 1_000
_BRACES = re.compile(r"\{([^{}]*)\}")


class Globs:
    """One pattern with its alternatives; an empty one fits every name."""

    def __init__(self, pattern: str) -> None:
        if len(pattern) > _MOST_CHARS:
            raise RequestError("include", pattern[:200], f"a pattern of at most {_MOST_CHARS} characters")
        self._excludes = pattern.startswith("!")
        self._rules = Rules(map(os.fsencode, _expanded(pattern.removeprefix("!")))) if pattern else None
        if pattern and not self._rules:
            raise RequestError("include", pattern, "a pattern such as *.py or src/**/*.ts")

    def match(self, name: str) -> bool:
        """Does a path with ``/`` between its parts fit, or a directory that it is in?"""
        if self._rules is None:
            return True
        parts = name.split("/")
        places = [("/".join(parts[:end]), end < len(parts)) for end in range(1, len(parts) + 1)]
        fits = any(self._rules.verdict(place, is_directory=is_directory) for place, is_directory in places)
        return fits != self._excludes


def _expanded(pattern: str) -> list[str]:
    """Without braces: each choice a pattern of its own."""
    pending, done = [pattern], list[str]()
    while pending:
        if len(pending) + len(done) > MOST_PATTERNS:
            raise RequestError("include", pattern[:200], f"a pattern of at most {MOST_PATTERNS} alternatives")
        one = pending.pop()
        found = _BRACES.search(one)
        if found is None:
            done.append(one)
        else:
            pending += [one[: found.start()] + choice + one[found.end() :] for choice in found[1].split(",")]
    return done
