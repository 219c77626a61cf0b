"""The default strategy, by name: reads the output before cutting it, and keeps what the next step needs.

Only the value that a policy holds: the reading itself is loaded when an output turns out to be too long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from overspill.core.model import Budget, Call

if TYPE_CHECKING:
    from overspill.core.ports import Selector
    from overspill.core.strategies.rules import Rules
    from overspill.core.strategies.salience.model import Tables
    from overspill.core.strategies.views import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """Chooses by content."""

    name: str = "auto"
    views: tuple[View, ...] = ()
    """Recognisers and choosers of the user's own, asked before the built-in ones."""
    rules: Rules | None = None
    """What is known of a tool's lines: which to keep, which to drop, which belong together."""
    weights: Mapping[str, Tables] | None = None
    """Other weights than the learned ones, for comparisons."""
    without: frozenset[str] = frozenset()
    """Rules to leave out, for ablations: ``views``, ``question``, ``repeats``."""

    def selector(self, room: Budget, call: Call) -> Selector:
        from overspill.core.strategies.reading import AutoSelector

        return AutoSelector(room, call, self)
