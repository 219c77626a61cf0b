"""`overspill search`: words in all kept outputs."""

from __future__ import annotations

from typing import Any

import click

from overspill.cli import kept


@click.command(short_help="Search all kept outputs for words.")
@click.argument("words", nargs=-1, required=True)
@click.option("--session", default="", metavar="ID", help="Only outputs of this session.")
@click.option("-m", "--max", "most", metavar="N", default="20", show_default=True, help="Show this many lines.")
@kept.size_options
@kept.store_option
@kept.json_option
def search(words: tuple[str, ...], session: str, most: str, store: str | None, as_json: bool, **sizes: Any) -> int:  # noqa: FBT001
    """Find the lines of all kept outputs that hold all the words, or else most of them. Quotes make a phrase.

    \b
    Examples:
      overspill search connection refused
      overspill search '"connection refused"'
    """
    from overspill.retrieve.search import search as search_all

    found = kept.store(store)
    answer = search_all(found, " ".join(words), session=session, max_lines=most, policy=kept.policy(sizes))
    return kept.answered(answer, found, verb="search", as_json=as_json)
