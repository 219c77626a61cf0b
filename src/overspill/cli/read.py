"""`overspill read`: any part of a kept output, numbered, a page at a time."""

from __future__ import annotations

from typing import Any

import click

from overspill.cli import kept


@click.command(short_help="Read any part of a kept output.")
@kept.handle_argument
@click.option("--lines", metavar="RANGE", help="These lines: 800-900, 800-, -900 or 812.")
@click.option("--around", metavar="LINE", help="The lines around this one.")
@click.option("--context", metavar="N", help="How many on each side of it; as many as suit when left out.")
@click.option("--head", metavar="N", help="The first lines.")
@click.option("--tail", metavar="N", help="The last lines.")
@click.option("--line", metavar="LINE", help="Inside this line, with --bytes or --chars.")
@click.option("--bytes", metavar="RANGE", help="These bytes of the line, or of the output.")
@click.option("--chars", metavar="RANGE", help="These characters of the line.")
@click.option("--window-tokens", type=int, metavar="N", help="Your model's window: pages stay below a twentieth.")
@kept.size_options
@kept.store_option
@kept.json_option
def read(handle: str, store: str | None, as_json: bool, **asked: Any) -> int:  # noqa: FBT001
    """Read any part of a kept output, verbatim and numbered, one page at a time.

    The answer ends with the call for the next page. A line too long for a page is read by
    --bytes or --chars.

    \b
    Examples:
      overspill read ovs_7k2m9x4q --lines 800-900
      overspill read ovs_7k2m9x4q --around 812 --context 20
      overspill read ovs_7k2m9x4q --line 1 --chars 120000-124000
    """
    from overspill.retrieve import read as read_part

    policy = kept.policy(kept.taken_sizes(asked))
    found = kept.store_for(handle, store)
    return kept.answered(read_part(found, handle, policy=policy, **asked), found, verb="read", as_json=as_json)
