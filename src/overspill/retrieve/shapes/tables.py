"""Tables: columns with their types, ranges, numbers of different values, and where the extremes stand."""

from __future__ import annotations

from typing import Any

from overspill.core.strategies.views.columns import MISSING, Column
from overspill.core.strategies.views.table import shape_of
from overspill.retrieve.shapes.model import Shape, Stretch, places

MOST_COLUMNS = 40
_MOST_CELL_BYTES = 4_000


def table(stretch: Stretch) -> Shape:
    start, cells, _ = shape_of(stretch.sample().split(b"\n")[:160]) or (0, None, 0.0)
    if cells is None:
        return Shape("table")
    columns: list[Column] = []
    rows = 0
    for block in stretch.blocks():
        spans = list(block.lines())
        if not columns:
            before = start - (block.line - stretch.first_line)
            if not 0 <= before < len(spans):
                continue
            columns = [Column(bytes(name).strip()) for name in cells(spans[before].data)[:MOST_COLUMNS]]
            spans = spans[before + 1 :]
        spans = [
            span for span in spans if not (span.column or span.data.isspace() or len(span.data) > _MOST_CELL_BYTES)
        ]
        rows += len(spans)
        table = [cells(span.data) for span in spans]
        for number, column in enumerate(columns):
            held = [at for at, row in enumerate(table) if len(row) > number]
            column.see([table[at][number] for at in held], [spans[at] for at in held])
    facts = {column.name.decode("utf-8", "replace"): _facts(column) for column in columns}
    lines = [f"{name}: {_words(column)}" for name, column in zip(facts, columns, strict=True)]
    return Shape("table", f"{rows} rows, {len(columns)} columns", lines, facts={"rows": rows, "columns": facts})


def _facts(column: Column) -> dict[str, Any]:
    missing = sum(column.missing.values())
    values = (
        None
        if column.values is None
        else {
            value.decode("utf-8", "replace"): count
            for value, count in column.values.most_common()
            if value not in MISSING
        }
    )
    facts = {"missing": missing, "distinct": None if values is None else len(values)}
    if column.rows and column.numbers >= 0.9 * column.rows and column.highest and column.lowest:
        high, low = max(column.highest), max(column.lowest)
        ends = {"max": high[0], "max_line": high[2].line, "min": -low[0], "min_line": low[2].line}
        return {"type": "number", **facts, **ends}
    if values is None:
        return {"type": "text", **facts}
    first = {value.decode("utf-8", "replace"): spans[0].line for value, spans in column.first_rows.items() if spans}
    return {"type": "text", **facts, "values": values, "first_lines": first}


def _words(column: Column) -> str:
    facts = _facts(column)
    missing, distinct = facts["missing"], facts["distinct"]
    lost = f"; {missing} missing: {places([row.line for row in column.missing_rows], most=3)}" if missing else ""
    if facts["type"] == "number":
        different = f", {distinct} different" if distinct is not None else ""
        ends = f"{facts['min']:g} (line {facts['min_line']}) to {facts['max']:g} (line {facts['max_line']})"
        return f"{ends}{different}{lost}"
    values = facts.get("values")
    if values is None:
        return f"text, too many values to count{lost}"
    if len(values) == column.rows and column.rows > 12:
        return f"text, all different{lost}"
    common = list(values.items())[:4]
    rare = [(value, count) for value, count in reversed(values.items()) if count <= 3 and (value, count) not in common][
        :3
    ]
    first = facts["first_lines"]
    words = ", ".join(
        f"{value[:30]!r} " + (f"line {first[value]}" if count == 1 and value in first else f"×{count}")
        for value, count in common
    )
    odd = ", ".join(
        f"{value[:30]!r} line {facts['first_lines'][value]}" for value, _ in rare if value in facts["first_lines"]
    )
    return f"{len(values)} value{'s' if len(values) != 1 else ''}: {words}" + (f"; rare: {odd}" if odd else "") + lost
