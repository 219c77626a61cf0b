"""The views for what can't be sampled, by name: each knows one form and keeps it whole enough to be read.

A view sniffs its form in the first bytes and selects in one pass; which view serves an
output is decided elsewhere, from these sniffs among other things.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from overspill.core.model import Budget, Call
from overspill.core.ports import Selector
from overspill.core.strategies.views import (
    blob,
    code,
    diff,
    json_view,
    listing,
    markup,
    search_hits,
    settings,
    table,
)

SAMPLE_BYTES = 64 * 1024
SURE = 0.5
"""A view that is less sure than this should not serve the output unasked."""


@dataclass(frozen=True, slots=True)
class View:
    """One form: how sure its sniff is of a sample (0 to 1), and how to make its selector."""

    name: str
    sniff: Callable[[bytes, Call], float]
    selector: Callable[[Budget, Call], Selector]
    surest: float = 1.0
    """Its sniff is never surer than this: where another view is, it isn't asked."""


VIEWS: dict[str, View] = {
    view.name: view
    for view in (
        View("json", json_view.sniff, json_view.JsonView, 0.95),
        View("diff", diff.sniff, diff.DiffView, 0.97),
        View("search", search_hits.sniff, search_hits.SearchView, 0.95),
        View("table", table.sniff, table.TableView),
        View("listing", listing.sniff, listing.ListingView, 0.95),
        View("blob", blob.sniff, blob.BlobView, 0.97),
        View("markup", markup.sniff, markup.MarkupView, 0.95),
        View("code", code.sniff, code.CodeView),
        View("settings", settings.sniff, settings.SettingsView, 0.8),
    )
}


def best_view(sample: bytes, call: Call) -> str | None:
    """The name of the surest view, of equal ones the first; None when none is sure enough."""
    sample = sample[:SAMPLE_BYTES]
    best, name = 0.0, None
    for view in VIEWS.values():
        if view.surest > best and (sure := view.sniff(sample, call)) > best:
            best, name = sure, view.name
    return name if best >= SURE else None


@dataclass(frozen=True, slots=True)
class Viewed:
    """One view as a strategy of its own: whatever comes is taken for its form."""

    name: str

    def selector(self, room: Budget, call: Call) -> Selector:
        return VIEWS[self.name].selector(room, call)
