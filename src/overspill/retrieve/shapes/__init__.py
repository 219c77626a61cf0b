"""Facts of an output's form, each true of the whole stretch it was taken from: one form per file."""

from __future__ import annotations

from collections.abc import Callable

from overspill.retrieve.shapes.model import Landmark, Shape, Stretch, listings

__all__ = ["Landmark", "Shape", "Stretch", "listings", "shape_of"]


def shape_of(stretch: Stretch, *, beginning: bytes) -> Shape:
    """The facts of the form that the output has, by its ``beginning``; of no form in particular, those of a log."""
    from overspill.core.strategies import recognise
    from overspill.retrieve.shapes import logs, test_runs

    name = recognise.form(beginning, stretch.call).name
    told = _shapes().get(name)
    if told is not None:
        return told(stretch)
    if name in ("test run", "stack trace"):
        return test_runs.test_run(stretch, kind=name)
    return logs.log(stretch, kind=name)


def _shapes() -> dict[str, Callable[[Stretch], Shape]]:
    """Loaded at the first outline: who lists the tools needs none of them."""
    from overspill.retrieve.shapes import documents, json_shape, line_groups, tables

    return {
        "code": documents.code,
        "markup": documents.markup,
        "settings": documents.settings,
        "json": json_shape.json_shape,
        "table": tables.table,
        "diff": line_groups.diff,
        "listing": line_groups.listing,
        "search": line_groups.search_hits,
    }
