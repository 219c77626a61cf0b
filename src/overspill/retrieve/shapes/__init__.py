"""Facts of an output's form, each true of the whole stretch it was taken from: one form per file."""

from __future__ import annotations

from collections.abc import Callable

from overspill.core.strategies import recognise
from overspill.retrieve.shapes import documents, json_shape, line_groups, logs, tables, test_runs
from overspill.retrieve.shapes.model import Landmark, Shape, Stretch, listings

__all__ = ["Landmark", "Shape", "Stretch", "listings", "shape_of"]

_SHAPES: dict[str, Callable[[Stretch], Shape]] = {
    "code": documents.code,
    "markup": documents.markup,
    "settings": documents.settings,
    "json": json_shape.json_shape,
    "table": tables.table,
    "diff": line_groups.diff,
    "listing": line_groups.listing,
    "search": line_groups.search_hits,
}


def shape_of(stretch: Stretch, *, beginning: bytes) -> Shape:
    """The facts of the form that the output has, by its ``beginning``; of no form in particular, those of a log."""
    name = recognise.form(beginning, stretch.call).name
    if name in _SHAPES:
        return _SHAPES[name](stretch)
    if name in ("test run", "stack trace"):
        return test_runs.test_run(stretch, kind=name)
    return logs.log(stretch, kind=name)
