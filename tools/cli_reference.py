"""Writes the parts of the documentation that follow from the code: `python tools/cli_reference.py`.

docs/cli.md is the commands' own help; docs/configuration.md has the table of settings between two marks.
A test compares both with what this writes.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import click

from overspill.cli import DELEGATED, delegated
from overspill.cli.app import COMMANDS, command_of, group
from overspill.config.settings import ACCEPTED, SETTINGS

DOCS = Path(__file__).parent.parent / "docs"
_HEAD = """# The command line

Written by `python tools/cli_reference.py` from the commands themselves; `overspill COMMAND --help` says the same.

Exit codes: 0 fine; 1 a known failure (an unknown handle, no match for `grep`); 2 wrong use or configuration.
`run` passes on the command's own. 141 when nobody reads what is printed any more, as for one that SIGPIPE ended.
"""
_TABLE = re.compile(r"(?<=<!-- settings -->\n).*(?=<!-- /settings -->)", re.DOTALL)


def reference() -> str:
    """docs/cli.md."""
    sections = [_HEAD]
    for name in COMMANDS:
        command = command_of(name)
        assert command is not None
        sections.append(_section(command, click.Context(command, info_name=f"overspill {name}")))
        if isinstance(command, click.Group):
            for inner_name, inner in command.commands.items():
                sections.append(_section(inner, click.Context(inner, info_name=f"overspill {name} {inner_name}")))
    for name in DELEGATED:
        said = io.StringIO()
        with redirect_stdout(said):
            delegated(name)(["--help"])
        sections.append(f"## overspill {name}\n\n```text\n{said.getvalue().rstrip()}\n```\n")
    return "\n".join(sections)


def with_settings(page: str) -> str:
    """docs/configuration.md with the table of settings as the code has it."""
    rows = ["| setting | accepts | built-in | variables | what it is |", "|---|---|---|---|---|"]
    for setting in SETTINGS:
        built_in = "" if setting.default is None else f"`{setting.default}`"
        names = " ".join(f"`{variable}`" for variable in setting.variables)
        scope = "" if setting.per_tool else " Not for single tools."
        rows.append(f"| `{setting.name}` | {ACCEPTED[setting.kind]} | {built_in} | {names} | {setting.help}{scope} |")
    table = "\n" + "\n".join(rows) + "\n\n"
    assert _TABLE.search(page)
    return _TABLE.sub(lambda _: table, page)


def _section(command: click.Command, context: click.Context) -> str:
    context.parent = None
    context.max_content_width = 100
    context.terminal_width = 100
    context.help_option_names = group().context_settings["help_option_names"]
    return f"## {context.info_name}\n\n```text\n{command.get_help(context)}\n```\n"


def main() -> None:
    (DOCS / "cli.md").write_text(reference(), "utf-8")
    page = DOCS / "configuration.md"
    page.write_text(with_settings(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
