"""The reference is what the commands say: every command, every option."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

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


def test_every_command_and_option_is_documented() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    for name in COMMANDS:
        command = command_of(name)
        assert command is not None
        inner = command.commands.values() if isinstance(command, click.Group) else ()
        for one in (command, *inner):
            for parameter in one.params:
                for flag in parameter.opts:
                    assert parameter.param_type_name == "argument" or flag in page, f"{name} {flag}"


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert all(f"| `{setting.name}` |" in page for setting in SETTINGS)
