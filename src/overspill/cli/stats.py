"""`overspill stats`: what bounding saved, against the whole and against a plain cut, minus what was read back."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from overspill.cli import kept
from overspill.cli.streams import write_all
from overspill.cli.tables import Column, dim, table, width
from overspill.core.measure import well_formed
from overspill.errors import OverspillError
from overspill.stats import PLAIN_CUT_CHARS, Sums, notes, sums

_BAR_COLUMNS = 40


@click.command(short_help="Show what bounding saved.")
@click.option("--by", type=click.Choice(["tool", "command"]), default="tool", show_default=True, help="Sum by this.")
@kept.store_option
@kept.json_option
def stats(by: str, store: str | None, as_json: bool) -> int:  # noqa: FBT001
    """Tokens before and after, by tool or command.

    "saved" is what the whole outputs would have cost, minus what was shown and minus what was read
    back; "vs plain" is the same against a plain cut at 30,000 characters, which hosts do anyway.
    "followed" and "again" are cuts after which something was read back, or the same command was run
    again: where that is often, the budget is too tight. Tokens are estimates.

    \b
    Examples:
      overspill stats
      overspill stats --by command --json
    """
    place = kept.store(store)
    if not hasattr(place, "internals"):
        raise OverspillError("this store has no notes of what was cut; those beside a local one are what stats sums")
    found = sums(notes(place), by=by)
    if not found:
        kept.look(place)
    if as_json:
        rows = [
            {**asdict(one), "saved": one.saved, "saved_over_plain": one.saved_over_plain, "too_tight": one.too_tight}
            for one in found
        ]
        facts = {"by": by, "plain_cut_chars": PLAIN_CUT_CHARS, "rows": rows, "total": _total(found)}
        write_all(1, json.dumps(facts, indent=1).encode() + b"\n")
        return 0
    if not found:
        click.echo("No output has been cut here yet.")
        return 0
    _print(found, by)
    return 0


def _print(found: list[Sums], by: str) -> None:
    columns = (
        Column(by, stretches=True),
        *(Column(title, right=True) for title in ("cuts", "whole", "plain", "shown", "back", "saved")),
        *(Column(title, right=True) for title in ("vs plain", "followed", "again")),
    )
    rows = [
        (
            one.name,
            f"{one.cuts:,}",
            *(compact(value) for value in (one.raw, one.plain, one.shown, one.read_back, one.saved)),
            compact(one.saved_over_plain),
            f"{one.followed:,}",
            f"{one.again:,}",
        )
        for one in found
    ]
    click.echo(table(columns, rows), nl=False)
    total = _total(found)
    click.echo(
        f"\n{total['raw']:,} tokens became {total['shown']:,}, and {total['read_back']:,} were read back: "
        f"{total['saved']:,} saved, {total['saved_over_plain']:,} over a plain cut."
    )
    click.echo("")
    room = max(10, min(_BAR_COLUMNS, width() - 30))
    for name, value in (("whole", total["raw"]), ("plain cut", total["plain"]), ("shown", total["shown"]),
                        ("read back", total["read_back"])):  # fmt: skip
        bar = "█" * max(round(room * value / max(total["raw"], 1)), 1 if value else 0)
        click.echo(f"{name:>10}  {bar}{dim('·' * (room - len(bar)))} {value:,}")
    for one in found:
        if one.too_tight:
            click.echo(
                f"\n{well_formed(one.name)}: cuts {one.cuts}, followed by a read-back {one.followed}, by the "
                f"same command again {one.again}. A larger budget may cost less: `overspill config init` shows how."
            )


def compact(tokens: int) -> str:
    """A number of tokens in four or five characters."""
    size = float(tokens)
    for unit in ("", "k", "M"):
        if abs(size) < 1000 or unit == "M":
            return f"{size:.0f}{unit}" if not unit or abs(size) >= 100 else f"{size:.1f}{unit}"
        size /= 1000
    raise AssertionError


def _total(found: list[Sums]) -> dict[str, int]:
    names = ("cuts", "raw", "plain", "shown", "read_back", "saved", "saved_over_plain", "followed", "again")
    return {name: sum(getattr(one, name) for one in found) for name in names}
