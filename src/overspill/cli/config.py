"""`overspill config`: what is in force and who said so, a file checked, a file begun."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from overspill.cli import OK, kept
from overspill.cli.streams import write_all
from overspill.cli.tables import Column, table
from overspill.errors import OverspillError
from overspill.surroundings import working_directory

TEMPLATE = """\
# overspill's settings for this project. `overspill config show` says what is in force and why,
# `overspill config check overspill.toml` whether this file is right.

# The most that is shown; naming one size here replaces the built-in ones.
# max_tokens = 2000
# max_bytes = 9000

# How what stays is chosen: auto, ends, head, tail.
# keep = "auto"

[store]
# place = ".overspill"
# retention_days = 7
# max_total_bytes = "2 GB"

# A tool of its own needs (the names may have wildcards):
# [tools.shell]
# max_tokens = 4000

# Or a command:
# [commands."git log"]
# keep = "head"
"""


@click.group(short_help="Show, check or start a configuration.", no_args_is_help=False)
def config() -> None:
    """Show, check or start a configuration.

    \b
    Example:
      overspill config show --tool shell
    """


@config.command(short_help="What is in force, and who said so.")
@click.option("--tool", default="", metavar="NAME", help="For this tool.")
@click.option("--command", default="", metavar="COMMAND", help="For this command.")
@kept.size_options
@kept.json_option
def show(tool: str, command: str, as_json: bool, **sizes: int | None) -> int:  # noqa: FBT001
    """Every setting in force with its origin: for a tool or a command, where one is named.

    A variable that looks like overspill's and is none is named on stderr, here and by `config check` and
    `doctor`; other commands pass over it.

    \b
    Example:
      overspill config show --command 'pytest -x'
    """
    from overspill.config import load

    settled = load(working_directory(), os.environ).settle(tool=tool, command=command, flags=sizes).settled
    _say_misspelt()
    if as_json:
        facts = {name: {"value": found.value, "origin": found.origin} for name, found in settled.items()}
        write_all(1, json.dumps(facts, indent=1, default=str).encode() + b"\n")
        return OK
    columns = (Column("setting"), Column("value", stretches=True), Column("origin"))
    click.echo(table(columns, [(name, str(found.value), found.origin) for name, found in settled.items()]), nl=False)
    return OK


@config.command(short_help="Is a file right?")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def check(file: str) -> int:
    """Read a file and build every policy in it; the first mistake is named by its path.

    \b
    Example:
      overspill config check overspill.toml
    """
    from overspill.config import load
    from overspill.core.access import Shell

    _say_misspelt()

    configuration = load(working_directory(), {}, file=file)
    for found in configuration.files:
        for tool in ("", *found.tools):
            configuration.settle(tool=tool).policy(access=Shell())
        for command in found.commands:
            configuration.settle(command=command).policy(access=Shell())
    configuration.settle().store(default=".overspill")
    click.echo(f"{file}: right")
    return OK


def _say_misspelt() -> None:
    """On stderr: what is printed stays what was asked for."""
    from overspill.cli.faults import misspelt_variables, say

    for words in misspelt_variables(os.environ).values():
        say(words)


@config.command(short_help="Begin an overspill.toml here.")
def init() -> int:
    """Write an overspill.toml with every common setting explained; an existing one is left alone.

    \b
    Example:
      overspill config init
    """
    path = Path("overspill.toml")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE)
    except FileExistsError:
        raise OverspillError(
            "overspill.toml is there already; `overspill config check overspill.toml` reads it"
        ) from None
    except OSError as fault:
        raise OverspillError(
            f"overspill.toml can't be written here ({fault.strerror}); begin it in a directory that can"
        ) from None
    click.echo("overspill.toml written")
    return OK
