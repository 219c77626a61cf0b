"""`overspill mcp` and `overspill serve`: words in, an exit status out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from overspill.mcp.options import MCP, SERVE, help_text, parsed

if TYPE_CHECKING:
    from overspill.mcp.messages import Conversation

USAGE = """Usage: overspill mcp [OPTIONS] -- SERVER…
       overspill mcp [OPTIONS] --url URL
       overspill mcp doctor [OPTIONS] -- SERVER…
       overspill mcp doctor [OPTIONS] --url URL

Stands before an MCP server: its results fit, the whole is kept, read-back tools are added."""
SERVE_USAGE = """Usage: overspill serve [OPTIONS]

An MCP server with the read-back tools alone."""


def main(argv: list[str]) -> int:
    """`overspill mcp …`."""
    is_doctor = argv[:1] == ["doctor"]
    options, words = parsed(MCP, argv[is_doctor:])
    if options.get("help"):
        print(help_text(USAGE, MCP), end="")
        return 0
    if problem := _problem(options, words, "overspill mcp doctor" if is_doctor else "overspill mcp"):
        print(f"overspill: {problem}", file=sys.stderr)
        return 2
    if is_doctor:
        from overspill.mcp.doctor import doctor

        return doctor(options, words)
    if "url" in options:
        from overspill.mcp.http import run as run_over_http

        return run_over_http(options)
    from overspill.mcp.stdio import run

    return run(words, conversation(options))


def serve_main(argv: list[str]) -> int:
    """`overspill serve`."""
    options, words = parsed(SERVE, argv)
    if options.get("help"):
        print(help_text(SERVE_USAGE, SERVE), end="")
        return 0
    if words:
        print(f"overspill: serve takes no words ({words[0]!r}); see overspill serve --help", file=sys.stderr)
        return 2
    from overspill.mcp.serve import serve

    return serve(conversation(options, verbs="all"))


def conversation(options: dict[str, Any], verbs: Literal["usual", "all"] = "usual") -> Callable[[], Conversation]:
    """What the options ask for, loaded when it is called: a server that is starting need not wait for it."""

    def prepare() -> Conversation:
        from overspill.mcp.assembly import assembled

        return assembled(options, start=os.getcwd(), env=os.environ, verbs=verbs).conversation()

    return prepare


def _problem(options: Mapping[str, Any], words: Sequence[str], command: str) -> str:
    """Of options and words together."""
    if "url" in options:
        return f"either --url or a server's command, not both ({words[0]!r})" if words else ""
    for flag in ("listen", "header"):
        if flag in options:
            return f"--{flag} is for a server at an address: give --url as well"
    return "" if words else f"say which server: {command} -- SERVER…, or --url URL"
