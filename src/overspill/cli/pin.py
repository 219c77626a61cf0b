"""`overspill pin` and `unpin`: outputs that retention leaves alone."""

from __future__ import annotations

import click

from overspill.cli import kept
from overspill.core.ports import Store
from overspill.errors import OverspillError


@click.command(short_help="Keep an output whatever its age.")
@kept.handles("handles", "HANDLE...", count=-1)
@kept.store_option
def pin(handles: tuple[str, ...], store: str | None) -> int:
    """Keep outputs whatever their age, until `unpin`.

    \b
    Example:
      overspill pin ovs_7k2m9x4q
    """
    return _set(kept.store(store), handles, "pin")


@click.command(short_help="Let retention have an output again.")
@kept.handles("handles", "HANDLE...", count=-1)
@kept.store_option
def unpin(handles: tuple[str, ...], store: str | None) -> int:
    """Let retention have outputs again.

    \b
    Example:
      overspill unpin ovs_7k2m9x4q
    """
    return _set(kept.store(store), handles, "unpin")


def _set(store: Store, handles: tuple[str, ...], verb: str) -> int:
    change = getattr(store, verb, None)
    if change is None:
        raise OverspillError(f"this store can't {verb} outputs; its own lifecycle rules decide what stays")
    for handle in handles:
        click.echo(f"{change(handle).handle} {verb}ned")
    return 0
