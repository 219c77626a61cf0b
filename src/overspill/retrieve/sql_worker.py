"""Runs one SELECT over one file in a process of its own: started by ``sql``, imports nothing of overspill.

Guarantees: the statement sees the view ``output`` only; memory within a limit that the system holds where
it can; results as JSON lines on stdout, the column names first, then a row to a line, then how it ended.
Time is held by whoever started it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

TABLE_FUNCTIONS = frozenset({"unnest", "range", "generate_series", "json_each", "json_tree"})
"""What can stand for a table beside the view: made of the statement's own values."""
REFUSED_FUNCTIONS = frozenset({"current_setting", "getenv", "getvariable", "write_log", "nextval", "currval"})
MORE_DATA_BYTES = 512 << 20
"""Beside what the engine may take for its tables: the process itself, and what the engine doesn't count."""
_BATCH = 256


class Refused(Exception):
    """The statement is not one that is run here."""


def main() -> None:
    asked = json.load(sys.stdin)
    sys.path[:] = asked["path"]
    try:
        import duckdb
    except ModuleNotFoundError:
        return _say({"missing": "duckdb"})
    _limit(asked["memory_bytes"])
    try:
        for line in _results(duckdb, asked):
            _say(line)
    except Refused as refused:
        _say({"refused": str(refused)})
    except (duckdb.Error, MemoryError, RecursionError) as error:
        _say({"refused": str(error).replace(asked["file"], "output") or type(error).__name__})


def _say(line: object) -> None:
    sys.stdout.write(json.dumps(line, ensure_ascii=True) + "\n")


def _limit(memory_bytes: int) -> None:
    try:
        import resource
    except ModuleNotFoundError:  # Windows: the engine's own limit stands alone
        return
    most = memory_bytes + MORE_DATA_BYTES
    for limit, value in ((resource.RLIMIT_DATA, most), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(limit, (value, value))
        except (OSError, ValueError):  # one that the system doesn't know, or a lower one that holds already
            continue


def _results(duckdb: Any, asked: dict[str, Any]) -> Iterator[object]:
    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": asked["threads"],
            "memory_limit": f"{asked['memory_bytes']}B",
            "temp_directory": asked["scratch"],
        },
    )
    for setting in (
        "python_enable_replacements = false",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "max_temp_directory_size = '1GB'",
        f"allowed_paths = [{_quoted(asked['file'])}]",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"set {setting}")
    table = asked["table"].replace("?", _quoted(asked["file"]))
    connection.execute(f"create view output as select * from {table}")
    statement = _checked(duckdb, connection, asked["sql"])
    names = [column[0] for column in connection.execute(f"select * from (\n{statement}\n) limit 0").description]
    # As JSON by the engine itself: exact numbers, and no type of its that Python would need a package for.
    cursor = connection.execute(f"select to_json(columns(*)) from (\n{statement}\n)")
    yield {"columns": names}
    rows = size = 0
    while batch := cursor.fetchmany(_BATCH):
        for row in batch:
            size += sum(len(cell or "") for cell in row)
            if rows == asked["most_rows"] or size > asked["most_chars"]:
                yield {"more": rows}
                return
            rows += 1
            yield [_loaded(cell) for cell in row]
    yield {"rows": rows}


def _loaded(cell: str | None) -> object:
    return None if cell is None else json.loads(cell, parse_constant=str)


def _checked(duckdb: Any, connection: Any, sql: str) -> str:
    """The one SELECT that reads nothing but the view, without what ends it."""
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise Refused("one SELECT on the view `output`, and nothing else")
    text: str = statements[0].query.strip().rstrip(";")
    tree = json.loads(connection.execute("select json_serialize_sql(?)", [text]).fetchone()[0])
    if tree["error"]:
        raise Refused(str(tree["error_message"]))
    internal = connection.execute("select view_name from duckdb_views() where internal").fetchall()
    nodes = list(_nodes(tree))
    named = {entry["key"].lower() for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    tables = {"", "output"} | (named - {name.lower() for (name,) in internal})
    for node in nodes:
        table = node.get("table_name", "") if node.get("type") in ("BASE_TABLE", "SHOW_REF") else ""
        if table.lower() not in tables:
            raise Refused(f"there is one table here, the view `output`; {table} is not to be had")
        name = str(node.get("function_name", "")).lower()
        if name in REFUSED_FUNCTIONS:
            raise Refused(f"{name} is not to be had here")
        if node.get("type") == "TABLE_FUNCTION" and node["function"]["function_name"].lower() not in TABLE_FUNCTIONS:
            name = node["function"]["function_name"]
            raise Refused(f"there is one table here, the view `output`; {name}(…) is not to be had")
    return text


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending += node.values()
        elif isinstance(node, list):
            pending += node


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    main()
