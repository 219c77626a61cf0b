"""The options of `bound` and `run`, once: quick parser, help, completion and docs are made from this table.

The quick parser takes what is plainly right and answers None for anything else (help, a mistake):
then click reads the same table and says what is wrong.  It loads nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Option:
    """One option: how it is written, what it takes, what it means."""

    __slots__ = ("flags", "help", "kind", "metavar", "name")

    def __init__(self, flags: str, kind: str, help: str, *, metavar: str = "") -> None:
        self.flags = tuple(flags.split())
        self.kind = kind
        self.help = help
        self.metavar = metavar
        self.name = self.flags[0].lstrip("-").replace("-", "_")


SIZES = (
    Option("--max-tokens", "size", "Show this many tokens at most.", metavar="N"),
    Option("--max-bytes", "size", "Show this many bytes at most.", metavar="N"),
    Option("--max-lines", "size", "Show this many lines at most.", metavar="N"),
    Option("--max-chars", "size", "Show this many characters at most.", metavar="N"),
)
POLICY = (
    *SIZES,
    Option("--keep", "text", "How to choose what stays: auto, ends, head or tail.", metavar="STRATEGY"),
    Option("--preset", "text", "Take the policy of this name.", metavar="NAME"),
    Option(
        "--for", "text", 'What you want to know: "which test failed". Raises what speaks to it.', metavar="QUESTION"
    ),
    Option("--tool", "text", "Name of the tool that made the output; its own settings apply.", metavar="NAME"),
    Option("--store", "text", "Keep the whole here: a directory or a URL.", metavar="PLACE"),
    Option("--config", "text", "Read this file instead of the ones found.", metavar="FILE"),
    Option("--json", "flag", "Print the result as one JSON object with its gaps and handle."),
)
BOUND = (
    *POLICY,
    Option("--command", "text", "The command that made the output; its own settings apply.", metavar="COMMAND"),
    Option(
        "--exit-status", "status", "The exit status of the command that made the output; empty: not known.", metavar="N"
    ),
)
RUN = (
    *POLICY,
    Option("--shell-command -c", "text", "Run this shell string instead of a COMMAND.", metavar="STRING"),
    Option("--shell", "text", "The shell for -c; by default $SHELL, else bash, else sh.", metavar="PATH"),
    Option("--timeout", "duration", "Stop the command after this long: 90, 90s, 5m, 1h.", metavar="TIME"),
    Option(
        "--grace", "duration", "After --timeout, wait this long before killing; 5 seconds by default.", metavar="TIME"
    ),
    Option("--pty", "flag", "Give the command a terminal, for programs that behave differently without."),
    Option("--live", "flag", "Also copy the output to stderr while it comes."),
    Option("--quiet -q", "flag", "Show no progress on the terminal."),
)
TABLES = {"bound": BOUND, "run": RUN}

_UNITS = {"s": 1, "m": 60, "h": 3600}


def parsed(command: str, words: Sequence[str]) -> dict[str, Any] | None:
    """The values by name, and under ``words`` what follows the options; None: let click say what is wrong."""
    known = {flag: option for option in TABLES[command] for flag in option.flags}
    values: dict[str, Any] = {}
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        at += 1
        if word == "--":
            break
        flag, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
        option = known.get(flag)
        if option is None or (option.kind == "flag" and equals):
            return None
        if option.kind == "flag":
            values[option.name] = True
            continue
        if not equals:
            if at == len(words):
                return None
            text = words[at]
            at += 1
        try:
            value = value_of(option.kind, text)
        except ValueError:
            return None
        if value is not None:
            values[option.name] = value
    rest = tuple(words[at:])
    if (command == "bound" and rest) or (command == "run" and bool(rest) == ("shell_command" in values)):
        return None
    values["words"] = rest
    return values


def value_of(kind: str, text: str) -> Any:
    """What a text means as a value of that kind; a ``ValueError`` says what would be accepted."""
    if kind == "size":
        if not text.isascii() or not text.isdecimal() or int(text) < 1:
            raise ValueError("a whole number, 1 or more")
        return int(text)
    if kind == "status":
        if not text:
            return None  # a caller that fills in a template may not know it
        if not text.isascii() or not text.removeprefix("-").isdecimal():
            raise ValueError("a whole number")
        return int(text)
    if kind == "duration":
        number, unit = (text[:-1], _UNITS[text[-1]]) if text[-1:] in _UNITS else (text, 1)
        try:
            seconds = float(number) * unit
        except ValueError:
            seconds = -1.0
        if not 0 < seconds < 1e9:
            raise ValueError("a time such as 90, 90s, 5m or 1h")
        return seconds
    return text
