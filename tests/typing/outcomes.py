"""Row D1, read by the type checker: a result is narrowed by ``truncated``, and only the truncated one has a path."""

from __future__ import annotations

from typing import assert_type

from overspill import Bounded
from overspill.tools import Passed, Truncated, outcome


def narrowed(bounded: Bounded) -> str | None:
    result = outcome(bounded)
    assert_type(result, Passed | Truncated)
    _ = result.path  # type: ignore[union-attr]
    if result.truncated:
        assert_type(result, Truncated)
        assert_type(result.removed_lines + result.removed_bytes, int)
        return result.path
    assert_type(result, Passed)
    return result.content
