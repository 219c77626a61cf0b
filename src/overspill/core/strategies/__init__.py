"""The strategies by name: those built in, and those that installed packages announce.

A user's own needs no entry here: any object of ``ports.Strategy`` will do.
"""

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
    make = STRATEGIES.get(name)
    if make is None:
        from overspill.core.strategies.extensions import STRATEGIES_GROUP, announced, names

        make = announced(STRATEGIES_GROUP, name)
        if make is None:
            known = sorted({*STRATEGIES, *names(STRATEGIES_GROUP)})
            raise PolicyError(setting, name, "one of " + ", ".join(known))
    strategy = make()
    if not isinstance(strategy, Strategy):
        raise PolicyError(setting, name, "a name of what makes an object with `name` and `selector`")
    return strategy
