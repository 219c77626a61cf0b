"""`overspill gc`: what is over the limits goes now, or is only named."""

from __future__ import annotations

import json

import click

from overspill.cli import kept
from overspill.cli.streams import write_all
from overspill.cli.tables import Column, readable_size, table
from overspill.errors import OverspillError

_UNFINISHED = "unfinished: its process died"


@click.command(short_help="Remove what is over the limits.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would go, and why.")
@kept.store_option
@kept.json_option
def gc(dry_run: bool, store: str | None, as_json: bool) -> int:  # noqa: FBT001
    """Remove outputs that are over the limits on age, size and number, and the remains of crashes.

    Both are counted; in --json a remain is a row without a handle.
    It also happens by itself, at the first output that a process keeps.

    \b
    Example:
      overspill gc --dry-run
    """
    found = kept.store(store)
    work = getattr(found, "plan_gc" if dry_run else "gc", None)
    if work is None:
        raise OverspillError("this store has no gc; its own lifecycle rules decide what stays")
    left = getattr(found, "remains", dict[str, int])
    before = left()
    gone = work()
    after = {} if dry_run else left()
    remains = [size for name, size in before.items() if name not in after]
    if as_json:
        rows = [{"handle": row.handle, "bytes": row.bytes, "reason": reason} for row, reason in gone]
        rows += [{"handle": None, "bytes": size, "reason": _UNFINISHED} for size in remains]
        write_all(1, json.dumps(rows, indent=1).encode() + b"\n")
        return 0
    if gone:
        columns = (Column("handle"), Column("size", right=True), Column("why"), Column("command", stretches=True))
        cells = [(row.handle, readable_size(row.bytes), reason, row.call.command) for row, reason in gone]
        click.echo(table(columns, cells), nl=False)
    did = "would go" if dry_run else "removed"
    click.echo(f"{_counted(len(gone), 'output')} {did}, {readable_size(sum(row.bytes for row, _ in gone))}.")
    if remains:
        what = _counted(len(remains), "unfinished output")
        click.echo(f"{what} of processes that died {did}, {readable_size(sum(remains))}.")
    return 0


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
