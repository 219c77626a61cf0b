"""`overspill grep`: the lines of an output that match, numbered, with windows into long lines."""

from __future__ import annotations

from typing import Any

import click

from overspill.cli import kept


@click.command(short_help="Search a kept output.")
@kept.handle_argument
@click.argument("pattern")
@click.option("-i", "--ignore-case", is_flag=True, help="Capitals and small letters are one.")
@click.option("-F", "--literal", is_flag=True, help="The pattern is plain text.")
@click.option("-v", "--invert", is_flag=True, help="The lines that don't match.")
@click.option("-c", "--count", is_flag=True, help="Only how many.")
@click.option("-C", "--context", metavar="N", default="0", show_default=True, help="Lines around each match.")
@click.option("-m", "--max", "--max-matches", "max_matches", metavar="N", default="20", show_default=True,
              help="Show this many matches.")  # fmt: skip
@click.option("--lines", metavar="RANGE", help="Only in these lines.")
@click.option(
    "-n", "-E", "as_always", is_flag=True, expose_value=False, help="As always: numbered, and no basic syntax."
)
@kept.size_options
@kept.store_option
@kept.json_option
def grep(handle: str, pattern: str, store: str | None, as_json: bool, **asked: Any) -> int:  # noqa: FBT001
    """Search an output by a regular expression (RE2: linear time on any pattern).

    Exit status 1 when nothing matches.

    \b
    Examples:
      overspill grep ovs_7k2m9x4q 'E\\s+assert' -C 3
      overspill grep ovs_7k2m9x4q -F 'a[0]' --max 5
    """
    from overspill.retrieve.grep import grep as grep_in

    policy = kept.policy(kept.taken_sizes(asked))
    found = kept.store_for(handle, store)
    answer = grep_in(found, handle, pattern, policy=policy, **asked)
    return kept.answered(answer, found, verb="grep", as_json=as_json)
