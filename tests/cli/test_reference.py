"""The reference is what the commands say: every command, every option."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from overspill.cli import DELEGATED
from overspill.cli.app import COMMANDS, command_of
from overspill.config.settings import SETTINGS

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / "tools").is_dir(), reason="only in a checkout")


def test_the_reference_is_up_to_date() -> None:
    code = (
        "import sys; sys.path.insert(0, 'tools'); import cli_reference as made; from pathlib import Path;"
        "page = Path('docs/configuration.md').read_text('utf-8');"
        "sys.exit(made.reference() != Path('docs/cli.md').read_text('utf-8') or made.with_settings(page) != page)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 0, "run `python tools/cli_reference.py`"


def every_command() -> Iterator[tuple[str, click.Command]]:
    for name in COMMANDS:
        command = command_of(name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", one) for inner, one in command.commands.items())


def test_every_command_and_option_is_documented() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")}
    for name, command in every_command():
        section = sections[f"overspill {name}"]
        assert "Example" in section, name
        assert command.help
        assert command.short_help
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts}"
                assert all(f"{flag}" in section.replace(",", " ").split() for flag in parameter.opts), parameter.opts
    assert all(f"overspill {name}" in sections for name in DELEGATED)


@pytest.mark.parametrize("name", DELEGATED)
def test_the_options_of_a_command_that_reads_its_own_words_are_documented(name: str) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "overspill", name, "--help"], capture_output=True, text=True, check=True
    ).stdout
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    flags = set(re.findall(r"^  (--[a-z-]+)", said, re.MULTILINE))
    assert flags
    assert {flag for flag in flags if flag not in page} == set()


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert all(f"| `{setting.name}` |" in page for setting in SETTINGS)
