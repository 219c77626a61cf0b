"""`overspill outline`: what an output holds, and where."""

from __future__ import annotations

from typing import Any

import click

from overspill.cli import kept


@click.command(short_help="Say what a kept output holds, and where.")
@kept.handle_argument
@click.option("--lines", metavar="RANGE", help="Only of these lines.")
@click.option("--for", "--question", "question", default="", metavar="QUESTION", help="What you want to know.")
@kept.size_options
@kept.store_option
@kept.json_option
def outline(handle: str, lines: str | None, question: str, store: str | None, as_json: bool, **sizes: Any) -> int:  # noqa: FBT001
    """Say what an output holds by its content: failures, templates, shapes, columns, definitions, with their lines.

    \b
    Examples:
      overspill outline ovs_7k2m9x4q
      overspill outline ovs_7k2m9x4q --for 'which requests were slow'
    """
    from overspill.retrieve.outline import outline as outline_of

    found = kept.store_for(handle, store)
    answer = outline_of(found, handle, lines=lines, question=question, policy=kept.policy(sizes))
    return kept.answered(answer, found, verb="outline", as_json=as_json)
