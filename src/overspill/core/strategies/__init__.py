"""The strategies by name. A user's own needs no entry here: any object of ``ports.Strategy`` will do."""

from __future__ import annotations

from collections.abc import Callable

from overspill.core.ports import Strategy
from overspill.core.strategies.auto import Auto
from overspill.core.strategies.ends import Ends, head, tail
from overspill.core.strategies.summarise import Summarise
from overspill.errors import PolicyError

__all__ = ["STRATEGIES", "Auto", "Ends", "Summarise", "head", "named", "tail"]

STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "auto": Auto,
    "ends": Ends,
    "head": head,
    "tail": tail,
    "summarize": Summarise,
}


def named(name: str, *, setting: str = "strategy") -> Strategy:
    """The strategy of a name, as typed in a file or on the command line."""
    try:
        return STRATEGIES[name]()
    except KeyError:
        raise PolicyError(setting, name, "one of " + ", ".join(sorted(STRATEGIES))) from None
