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
    from overspill.core.strategies.salience.model import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """Chooses by content."""

    name: str = "auto"
    weights: Mapping[str, Tables] | None = None
    """Other weights than the learned ones, for comparisons."""
    without: frozenset[str] = frozenset()
    """Rules to leave out, for ablations: ``views``, ``question``, ``repeats``."""

    def selector(self, room: Budget, call: Call) -> Selector:
        from overspill.core.strategies.reading import AutoSelector

        return AutoSelector(room, call, self)
