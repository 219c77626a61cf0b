"""`overspill doctor`: what the store holds, what is wrong with it, and what to type."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from overspill.cli import FAILED, OK, kept
from overspill.cli.streams import write_all
from overspill.cli.tables import Column, readable_size, strong, table

if TYPE_CHECKING:
    from overspill.store.doctor import Checkup


@click.command(short_help="Look the store over.")
@click.option("--rebuild", is_flag=True, help="Build the index again from the files first.")
@click.option("--verify", is_flag=True, help="Also read every output and compare its digest; slow.")
@kept.store_option
@kept.json_option
def doctor(rebuild: bool, verify: bool, store: str | None, as_json: bool) -> int:  # noqa: FBT001
    """Say where the store is and what it holds by tool and age; name what is wrong and the command that mends it.

    Exit status 1 when something is wrong.

    \b
    Example:
      overspill doctor
    """
    from overspill.cli.faults import misspelt_variables
    from overspill.store.doctor import Finding, examine
    from overspill.store.doctor import verify as verified

    found = kept.store(store)
    if rebuild and (again := getattr(found, "rebuild_index", None)):
        again()
    checkup = examine(found, now=time.time())
    findings = [*checkup.findings, *(verified(found) if verify else ())]
    findings += [Finding(words, f"unset {name}") for name, words in misspelt_variables(os.environ).items()]
    if as_json:
        facts = {**asdict(checkup), "findings": [asdict(finding) for finding in findings], "configuration": _files()}
        write_all(1, json.dumps(facts, indent=1).encode() + b"\n")
        return FAILED if findings else OK
    _print(checkup)
    if not findings:
        click.echo("\nNothing is wrong.")
        return OK
    click.echo("\n" + strong("Wrong here:"))
    for finding in findings:
        click.echo(f"  {finding.what}\n    {finding.command}")
    return FAILED


def _print(checkup: Checkup) -> None:
    click.echo(f"Store          {checkup.where}")
    click.echo(f"Outputs        {checkup.outputs:,}, {readable_size(checkup.bytes)}")
    click.echo(f"Configuration  {', '.join(_files()) or 'built-in (no file found)'}")
    for title, groups in (("tool", checkup.by_tool), ("age", checkup.by_age)):
        if groups:
            columns = (Column(title, stretches=True), Column("outputs", right=True), Column("size", right=True))
            cells = [(group.name, f"{group.outputs:,}", readable_size(group.bytes)) for group in groups]
            click.echo("\n" + table(columns, cells), nl=False)


def _files() -> list[str]:
    from overspill.config import sources
    from overspill.surroundings import working_directory

    return sources.files(working_directory(), os.environ)
