"""Tool output that always fits, and nothing is ever lost.

Importing this module loads nothing else: each name is loaded when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` alone would double what starting costs the command line
if TYPE_CHECKING:
    from typing import Any

    from overspill.api import bound as bound
    from overspill.api import configured as configured
    from overspill.api import preset as preset
    from overspill.bounder import Bounder as Bounder
    from overspill.core.access import FilePath as FilePath
    from overspill.core.access import Shell as Shell
    from overspill.core.access import SubAgent as SubAgent
    from overspill.core.access import Tools as Tools
    from overspill.core.events import Event as Event
    from overspill.core.model import Bounded as Bounded
    from overspill.core.model import Budget as Budget
    from overspill.core.model import Call as Call
    from overspill.core.model import Gap as Gap
    from overspill.core.policy import Policy as Policy
    from overspill.errors import OverspillError as OverspillError
    from overspill.errors import PolicyError as PolicyError
    from overspill.errors import StoreError as StoreError
    from overspill.store import open_store as open_store
    from overspill.store.local import LocalStore as LocalStore
    from overspill.store.memory import MemoryStore as MemoryStore

_HOMES = {
    "Bounded": "core.model",
    "Bounder": "bounder",
    "Budget": "core.model",
    "Call": "core.model",
    "Event": "core.events",
    "FilePath": "core.access",
    "Gap": "core.model",
    "LocalStore": "store.local",
    "MemoryStore": "store.memory",
    "OverspillError": "errors",
    "Policy": "core.policy",
    "PolicyError": "errors",
    "Shell": "core.access",
    "StoreError": "errors",
    "SubAgent": "core.access",
    "Tools": "core.access",
    "bound": "api",
    "configured": "api",
    "open_store": "store",
    "preset": "api",
}

__all__ = [
    "Bounded",
    "Bounder",
    "Budget",
    "Call",
    "Event",
    "FilePath",
    "Gap",
    "LocalStore",
    "MemoryStore",
    "OverspillError",
    "Policy",
    "PolicyError",
    "Shell",
    "StoreError",
    "SubAgent",
    "Tools",
    "bound",
    "configured",
    "open_store",
    "preset",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'overspill' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"overspill.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
