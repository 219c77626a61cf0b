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


VIEWS: dict[str, View] = {
    view.name: view
    for view in (
        View("json", json_view.sniff, json_view.JsonView),
        View("diff", diff.sniff, diff.DiffView),
        View("search", search_hits.sniff, search_hits.SearchView),
        View("table", table.sniff, table.TableView),
        View("listing", listing.sniff, listing.ListingView),
        View("blob", blob.sniff, blob.BlobView),
        View("markup", markup.sniff, markup.MarkupView),
        View("code", code.sniff, code.CodeView),
        View("settings", settings.sniff, settings.SettingsView),
    )
}


def sureness(sample: bytes, call: Call) -> list[tuple[float, str]]:
    """Every view's sureness of a sample, the surest first; equal ones in the table's order."""
    found = [(view.sniff(sample[:SAMPLE_BYTES], call), name) for name, view in VIEWS.items()]
    return sorted(found, key=lambda entry: -entry[0])


def best_view(sample: bytes, call: Call) -> str | None:
    """The name of the surest view, or None when none is sure enough."""
    sure, name = sureness(sample, call)[0]
    return name if sure >= SURE else None


@dataclass(frozen=True, slots=True)
class Viewed:
    """One view as a strategy of its own: whatever comes is taken for its form."""

    name: str

    def selector(self, room: Budget, call: Call) -> Selector:
        return VIEWS[self.name].selector(room, call)
