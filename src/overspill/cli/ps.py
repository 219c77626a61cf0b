"""`overspill ps`: the commands that `overspill run` is running, with what has come so far."""

from __future__ import annotations

import json
import time

import click

from overspill.cli import kept
from overspill.cli.streams import write_all
from overspill.cli.tables import Column, age, readable_size, table


@click.command(short_help="List the commands that are running.")
@kept.store_option
@kept.json_option
def ps(store: str | None, as_json: bool) -> int:  # noqa: FBT001
    """List the commands that `overspill run` is running, from their first second on.

    Their names can be given to `tail`, `read` and `grep`.

    \b
    Example:
      overspill ps
    """
    from overspill.store.running import running

    found = list(running(kept.store(store)))
    if as_json:
        rows = [
            {
                "name": one.name,
                "pid": one.pid,
                "tool": one.tool,
                "command": one.command,
                "directory": one.directory,
                "started": one.started,
                "bytes": one.bytes,
            }
            for one in found
        ]
        write_all(1, json.dumps(rows, indent=1).encode() + b"\n")
        return 0
    if not found:
        kept.look(kept.store(store))
        click.echo("Nothing is running here.")
        return 0
    now = time.time()
    columns = (
        Column("name"),
        Column("for", right=True),
        Column("size", right=True),
        Column("command", stretches=True),
    )
    cells = [(one.name, age(now - one.started), readable_size(one.bytes), one.command) for one in found]
    click.echo(table(columns, cells), nl=False)
    return 0
