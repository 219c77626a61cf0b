"""`overspill diff`: two runs of one command, by what is new and what went."""

from __future__ import annotations

import click

from overspill.cli import kept


@click.command(short_help="Compare two kept outputs.")
@kept.handles("before", "A")
@kept.handles("after", "B")
@click.option("--exact", is_flag=True, help="Times, durations and addresses count too.")
@kept.size_options
@kept.store_option
@kept.json_option
def diff(before: str, after: str, exact: bool, store: str | None, as_json: bool, **sizes: int | None) -> int:  # noqa: FBT001
    """Say which lines of B are new and which of A went, with their numbers. Order does not count.

    Lines that differ only in times, durations and addresses are the same, unless --exact.
    Exit status 1 when there is a difference, as diff has it.

    \b
    Example:
      overspill diff ovs_7k2m9x4q ovs_1b2c3d4e
    """
    from overspill.retrieve.compare import compare

    found = kept.store(store)
    answer = compare(found, before, after, volatile="counts" if exact else "ignored", policy=kept.policy(sizes))
    return kept.answered(answer, found, verb="diff", as_json=as_json)
