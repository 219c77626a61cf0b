"""`overspill tail`: the end of an output, also while its command still runs."""

from __future__ import annotations

from typing import Any

import click

from overspill.cli import kept


@click.command(short_help="Show the end of an output.")
@kept.handle_argument
@click.option("-n", "--lines", "tail", metavar="N", default="20", show_default=True, help="How many lines.")
@kept.size_options
@kept.store_option
@kept.json_option
def tail(handle: str, store: str | None, as_json: bool, **asked: Any) -> int:  # noqa: FBT001
    """Show the last lines of an output, kept or still running.

    \b
    Examples:
      overspill tail ovs_7k2m9x4q -n 50
      overspill tail run-4711
    """
    from overspill.retrieve import read as read_part

    policy = kept.policy(kept.taken_sizes(asked))
    found = kept.store_for(handle, store)
    return kept.answered(read_part(found, handle, policy=policy, **asked), found, verb="tail", as_json=as_json)
