"""`overspill ls`: what is kept, newest first."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from itertools import islice

import click

from overspill.cli import kept
from overspill.cli.streams import write_all
from overspill.cli.tables import Column, age, readable_size, table
from overspill.core.ports import Stored

USUAL_ROWS = 50
"""Without --max a list for eyes ends here: it may be a model that asked. JSON is always whole."""


@click.command(short_help="List what is kept, newest first.")
@click.option("-n", "--max", "most", type=click.IntRange(min=1), metavar="N", help="The newest N; 50 unless --json.")
@click.option("--tool", metavar="NAME", help="Only outputs of this tool.")
@kept.store_option
@kept.json_option
def ls(most: int | None, tool: str | None, store: str | None, as_json: bool) -> int:  # noqa: FBT001
    """List what is kept, newest first.

    \b
    Examples:
      overspill ls
      overspill ls --tool shell --json
    """
    rows: Iterable[Stored] = kept.store(store).outputs()
    if tool is not None:
        rows = (row for row in rows if row.call.tool == tool)
    rows = list(islice(rows, most if most or as_json else USUAL_ROWS + 1))
    if as_json:
        write_all(1, json.dumps([facts(row) for row in rows], indent=1).encode() + b"\n")
        return 0
    if not rows:
        click.echo("Nothing is kept here. `overspill run -- COMMAND` keeps what it cuts.")
        return 0
    more = most is None and len(rows) > USUAL_ROWS
    now = time.time()
    columns = (
        Column("handle"),
        Column("age", right=True),
        Column("lines", right=True),
        Column("size", right=True),
        Column("tool"),
        Column("exit", right=True),
        Column("command", stretches=True),
    )
    cells = [
        (
            row.handle + ("*" if row.pinned else ""),
            age(now - row.created),
            f"{row.lines:,}",
            readable_size(row.bytes),
            row.call.tool or "-",
            "" if row.call.exit_status is None else str(row.call.exit_status),
            row.call.command or row.kind or "-",
        )
        for row in (rows[:USUAL_ROWS] if more else rows)
    ]
    click.echo(table(columns, cells), nl=False)
    if more:
        click.echo(f"[more: overspill ls --max {10 * USUAL_ROWS}]")
    return 0


def facts(row: Stored) -> dict[str, object]:
    """A row for programs."""
    from datetime import UTC, datetime

    return {
        "handle": row.handle,
        "tool": row.call.tool,
        "command": row.call.command,
        "exit_status": row.call.exit_status,
        "bytes": row.bytes,
        "lines": row.lines,
        "created": datetime.fromtimestamp(row.created, UTC).isoformat(),
        "read": datetime.fromtimestamp(row.read, UTC).isoformat(),
        "path": row.path,
        "pinned": row.pinned,
        "times": row.times,
        "kind": row.kind,
        "session": row.call.session,
        "digest": row.digest,
    }
