"""`overspill rm`: outputs removed by hand; a tombstone stays that says so."""

from __future__ import annotations

import click

from overspill.cli import FAILED, OK, kept
from overspill.errors import StoreError


@click.command(short_help="Remove outputs.")
@kept.handles("handles", "HANDLE...", count=-1)
@kept.store_option
def rm(handles: tuple[str, ...], store: str | None) -> int:
    """Remove outputs. Those that can be removed are, whatever is wrong with the others.

    \b
    Example:
      overspill rm ovs_7k2m9x4q
    """
    from overspill.cli.faults import explain

    found = kept.store(store)
    status = OK
    for handle in handles:
        try:
            row = found.stored(handle)
            found.remove(row.handle, reason="removed by hand")
        except StoreError as fault:
            explain(fault)
            status = FAILED
        else:
            click.echo(f"{row.handle} removed")
    return status
