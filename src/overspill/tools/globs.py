"""Names of files by patterns as models write them: ``*.py``, ``src/**/*.py``, ``*.{ts,tsx}``, ``!*.lock``."""

from __future__ import annotations

import re

from overspill.errors import MissingExtra, RequestError

MOST_PATTERNS = 100
_BRACES = re.compile(r"\{([^{}]*)\}")


class Globs:
    """One pattern with its alternatives; an empty one fits every name."""

    def __init__(self, pattern: str) -> None:
        self._spec = None
        if not pattern:
            return
        try:
            from pathspec import GitIgnoreSpec
        except ImportError:
            raise MissingExtra("a pattern of file names", "tools") from None
        try:
            everything_but = ["*"] if pattern.startswith("!") else []
            self._spec = GitIgnoreSpec.from_lines(everything_but + _expanded(pattern))
        except ValueError as error:
            raise RequestError("include", pattern[:200], f"a pattern such as *.py or src/**/*.ts ({error})") from None

    def match(self, name: str) -> bool:
        """Does a path with ``/`` between its parts fit?"""
        return self._spec is None or bool(self._spec.check_file(name).include)


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
