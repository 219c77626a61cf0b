"""`overspill gc`: what is over the limits goes now, or is only named."""

from __future__ import annotations

import json

import click

from overspill.cli import kept
from overspill.cli.streams import write_all
from overspill.cli.tables import Column, readable_size, table
from overspill.errors import OverspillError


@click.command(short_help="Remove what is over the limits.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would go, and why.")
@kept.store_option
@kept.json_option
def gc(dry_run: bool, store: str | None, as_json: bool) -> int:  # noqa: FBT001
    """Remove outputs that are over the limits on age, size and number, and the remains of crashes.

    It also happens by itself, at the first output that a process keeps.

    \b
    Example:
      overspill gc --dry-run
    """
    found = kept.store(store)
    work = getattr(found, "plan_gc" if dry_run else "gc", None)
    if work is None:
        raise OverspillError("this store has no gc; its own lifecycle rules decide what stays")
    gone = work()
    size = sum(row.bytes for row, _ in gone)
    if as_json:
        rows = [{"handle": row.handle, "bytes": row.bytes, "reason": reason} for row, reason in gone]
        write_all(1, json.dumps(rows, indent=1).encode() + b"\n")
        return 0
    if gone:
        columns = (Column("handle"), Column("size", right=True), Column("why"), Column("command", stretches=True))
        cells = [(row.handle, readable_size(row.bytes), reason, row.call.command) for row, reason in gone]
        click.echo(table(columns, cells), nl=False)
    click.echo(f"{len(gone)} outputs {'would go' if dry_run else 'removed'}, {readable_size(size)}.")
    return 0
