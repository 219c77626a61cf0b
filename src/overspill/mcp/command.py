"""`overspill mcp` and `overspill serve`: words in, an exit status out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from overspill.mcp.options import MCP, SERVE, help_text, parsed

if TYPE_CHECKING:
    from overspill.mcp.messages import Conversation

USAGE = """Usage: overspill mcp [OPTIONS] -- SERVER…
       overspill mcp [OPTIONS] --url URL
       overspill mcp doctor [OPTIONS] -- SERVER…

Stands before an MCP server: its results fit, the whole is kept, read-back tools are added."""
SERVE_USAGE = """Usage: overspill serve [OPTIONS]

An MCP server with the read-back tools alone."""


def main(argv: list[str]) -> int:
    """`overspill mcp …`."""
    if argv[:1] == ["doctor"]:
        from overspill.mcp.doctor import doctor

        return doctor(*parsed(MCP, argv[1:]))
    options, words = parsed(MCP, argv)
    if options.get("help"):
        print(help_text(USAGE, MCP), end="")
        return 0
    if "url" in options:
        return _over_http(options, words)
    if not words:
        print("overspill: say which server: overspill mcp -- SERVER…, or --url URL", file=sys.stderr)
        return 2
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


def _over_http(options: dict[str, Any], words: list[str]) -> int:
    if words:
        print(f"overspill: either --url or a server's command, not both ({words[0]!r})", file=sys.stderr)
        return 2
    from overspill.mcp.http import run

    return run(options)
