"""Errors in the words of the command line: one sentence, the next step, an exit code."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from overspill.cli import FAILED, WRONG_USE
from overspill.cli.streams import write_all
from overspill.errors import MissingExtra, OverspillError, PolicyError, RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import click

_MOST_CHARS = 1_000


def explain(fault: Exception) -> int:
    """Says what happened on stderr; answers the exit code."""
    say(sentence(fault))
    return WRONG_USE if isinstance(fault, PolicyError | RequestError | MissingExtra) else FAILED


def wrong_use(fault: click.ClickException, *, command: str) -> None:
    """What click found wrong, in one line with the next step."""
    words = " ".join(fault.format_message().split()).rstrip(".")
    context = getattr(fault, "ctx", None)
    about = context.command_path if context else f"overspill {command}"
    step = "" if "`" in words else f"; `{about} --help` shows how"
    say(words[:1].lower() + words[1:] + step)


def misspelt_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Sentences on variables that look like overspill's and are none, by name."""
    from overspill.config.sources import misspelt

    return {
        name: f"{name} is no variable of overspill's" + (f"; did you mean {near}?" if near else "")
        for name, near in misspelt(env).items()
    }


def sentence(fault: Exception) -> str:
    if isinstance(fault, OverspillError):
        return " ".join(str(fault).split())
    if isinstance(fault, OSError) and fault.strerror:
        where = f"{fault.filename}: " if fault.filename else ""
        return f"{where}{fault.strerror}; `overspill --debug …` shows where"
    return f"{type(fault).__name__}: {fault}; `overspill --debug …` shows where, please report it"


def say(words: str) -> None:
    if len(words) > _MOST_CHARS:  # it quotes what was typed, and a model may have typed it
        words = f"{words[: _MOST_CHARS // 2]} … {words[-_MOST_CHARS // 2 :]}"
    with suppress(OSError):  # nobody is there to be told
        write_all(2, f"overspill: {words}\n".encode("utf-8", "replace"))
