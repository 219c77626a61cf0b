"""Strategies and views of other packages, by the names under which these announce them.

Guarantees that nothing is looked for, let alone loaded, until a policy names what is not built in; that what is found
but is not of the kind is refused with the name of its package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from overspill.errors import PolicyError

if TYPE_CHECKING:
    from overspill.core.strategies.views import View

STRATEGIES_GROUP = "overspill.strategies"
VIEWS_GROUP = "overspill.views"


def announced(group: str, name: str) -> Any:
    """What an installed package announces under this name, loaded; None when none does."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=group, name=name):
        try:
            return entry.load()
        except Exception as error:
            raise PolicyError(group, entry.value, f"something that can be imported ({error})") from error
    return None


def names(group: str) -> list[str]:
    from importlib.metadata import entry_points

    return sorted({entry.name for entry in entry_points(group=group)})


def view_named(name: str) -> View:
    """The view of a name: built in, added to ``VIEWS``, or announced by an installed package."""
    from overspill.core.strategies.views import VIEWS, View

    view = VIEWS.get(name) or announced(VIEWS_GROUP, name)
    if view is None:
        raise PolicyError("views", name, "one of " + ", ".join(sorted({*VIEWS, *names(VIEWS_GROUP)})))
    if not isinstance(view, View):
        raise PolicyError("views", name, f"the name of a View; what is announced is a {type(view).__name__}")
    return view
