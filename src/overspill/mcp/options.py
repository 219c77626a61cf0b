"""The options of `overspill mcp` and `overspill serve`, once: the parser, the help and the docs read this table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from overspill.errors import PolicyError


class Option:
    """One option: how it is written, what it takes, what it means."""

    __slots__ = ("choices", "flag", "help", "kind", "metavar", "name")

    def __init__(self, flag: str, kind: str, help: str, *, metavar: str = "", choices: Sequence[str] = ()) -> None:
        self.flag = flag
        self.kind = kind
        self.help = help
        self.metavar = metavar or "|".join(choices)
        self.choices = tuple(choices)
        self.name = flag.lstrip("-").replace("-", "_")


COMMON = (
    Option("--max-tokens", "size", "Show this many tokens of a result at most.", metavar="N"),
    Option("--max-bytes", "size", "Show this many bytes at most.", metavar="N"),
    Option("--max-lines", "size", "Show this many lines at most.", metavar="N"),
    Option("--max-chars", "size", "Show this many characters at most.", metavar="N"),
    Option("--preset", "text", "Take the policy of this name.", metavar="NAME"),
    Option("--store", "text", "Keep the whole here: a directory or a URL.", metavar="PLACE"),
    Option("--config", "text", "Read this file instead of the ones found.", metavar="FILE"),
    Option("--tools", "text", "Read-back tools to add: read,grep,query,outline,search, or none.", metavar="LIST"),
    Option("--tool-prefix", "text", "What their names begin with; overspill_ by default.", metavar="TEXT"),
)
MCP = (
    *COMMON,
    Option("--keep", "text", "How to choose what stays: auto, ends, head or tail.", metavar="STRATEGY"),
    Option("--name", "text", "The server's name in the configuration: its tools are NAME/TOOL there.", metavar="NAME"),
    Option("--skip", "list", "Let the results of tools of this name or pattern through whole.", metavar="PATTERN"),
    Option(
        "--structured",
        "text",
        "Large structured content: trim it by its schema, text instead of it, or keep it.",
        choices=("trim", "text", "keep"),
    ),
    Option("--keep-images", "flag", "Never spill images and audio."),
    Option("--max-image-bytes", "size", "Spill images and audio of more bytes, as base64; 262144.", metavar="N"),
    Option("--resources", "flag", "Bound the results of resources/read too."),
    Option("--url", "text", "Stand before the server at this address instead of a command.", metavar="URL"),
    Option("--header", "list", "Send this with every request to --url: 'Name: value'.", metavar="LINE"),
    Option("--listen", "text", "With --url: answer over HTTP here instead of on stdin.", metavar="[HOST:]PORT"),
    Option("--help", "flag", "Say what the options are."),
)
SERVE = (*COMMON, Option("--help", "flag", "Say what the options are."))


_OF_THE_COMMAND = ("url", "header", "listen", "help")


def parsed(table: Sequence[Option], words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The values by name, and the words after the options."""
    known = {option.flag: option for option in table} | {"-h": table[-1]}
    values: dict[str, Any] = {}
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        at += 1
        if word == "--":
            break
        flag, equals, text = word.partition("=")
        option = known.get(flag)
        if option is None:
            raise PolicyError("option", flag, f"one of {', '.join(sorted(known))}; a server's own go after `--`")
        if option.kind == "flag":
            if equals:
                raise PolicyError(flag, text, "no value")
            values[option.name] = True
            continue
        if not equals:
            if at == len(words):
                raise PolicyError(flag, None, f"a value: {flag} {option.metavar}")
            text = words[at]
            at += 1
        value = _value(option, text)
        values[option.name] = [*values.get(option.name, ()), value] if option.kind == "list" else value
    return values, list(words[at:])


def keywords(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same options as a Python caller writes them, by name."""
    known = {option.name: option for option in MCP if option.name not in _OF_THE_COMMAND}
    for name in given:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, known, 1)
            raise PolicyError("option", name, f"did you mean {near[0]}?" if near else f"one of {', '.join(known)}")
    return {name: _taken(known[name], value) for name, value in given.items() if value is not None}


def _taken(option: Option, value: Any) -> Any:
    """What an option takes, in Python's own types."""
    if option.kind == "flag":
        return _of_type(bool, option, value, "True or False")
    if option.kind == "size":
        is_size = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        return value if is_size else _refused(option, value, "a whole number, 1 or more")
    if option.kind == "list":
        values = [value] if isinstance(value, str) else value
        is_list = isinstance(values, list | tuple) and all(isinstance(one, str) for one in values)
        return list(values) if is_list else _refused(option, value, "a text, or a list of texts")
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    _of_type(str, option, text, f"a text, {option.metavar}: {option.help}")
    return text if not option.choices or text in option.choices else _refused(option, value, ", ".join(option.choices))


def _of_type(kind: type, option: Option, value: Any, accepted: str) -> Any:
    return value if isinstance(value, kind) else _refused(option, value, accepted)


def _refused(option: Option, value: Any, accepted: str) -> NoReturn:
    raise PolicyError(option.name, value, accepted)


def help_text(usage: str, table: Sequence[Option]) -> str:
    left = [f"  {option.flag} {option.metavar}".rstrip() for option in table]
    width = max(map(len, left)) + 2
    return "\n".join(
        [usage, "", *(f"{name:<{width}}{option.help}" for name, option in zip(left, table, strict=True)), ""]
    )


def _value(option: Option, text: str) -> Any:
    if option.kind == "size":
        if not text.isascii() or not text.isdecimal() or int(text) < 1:
            raise PolicyError(option.flag, text, "a whole number, 1 or more")
        return int(text)
    if option.choices and text not in option.choices:
        raise PolicyError(option.flag, text, ", ".join(option.choices))
    return text
