"""`overspill completion`: the script that teaches a shell our words."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script of a shell.

    \b
    Examples:
      eval "$(overspill completion bash)"          # in ~/.bashrc
      overspill completion fish > ~/.config/fish/completions/overspill.fish
    """
    from overspill.cli.app import group

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(_script(kind, group()))
    return 0


def _script(kind: type[click.shell_completion.ShellComplete], top: click.Group) -> str:
    complete = kind(top, {}, "overspill", "_OVERSPILL_COMPLETE")
    return complete.source_template % complete.source_vars()
