"""The command line: words in, a printed answer and an exit code out.

``main`` is the error boundary, the only place that turns an error into an exit code.  It loads
what the command at hand needs and nothing else: `bound` and `run` of a small output must cost
little more than starting Python.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OK, FAILED, WRONG_USE = 0, 1, 2
READER_GONE = 128 + 13
"""Of one whose output nobody reads: as one that SIGPIPE ended."""
DELEGATED = {
    "mcp": ("overspill.mcp.command", "main", "Stand before an MCP server: its results fit."),
    "serve": ("overspill.mcp.command", "serve_main", "Serve kept outputs to any MCP client."),
}
"""Commands that read their own words: a function that takes them and answers an exit code."""
_COMPLETING = "_OVERSPILL_COMPLETE"


def main(words: list[str]) -> int:
    """Runs one command; every fault ends as one sentence on stderr and a documented exit code."""
    debug = words[:1] == ["--debug"]
    try:
        return _dispatch(words[1:] if debug else words)
    except BrokenPipeError:
        return _closed_stdout()
    except KeyboardInterrupt:
        return 130
    except Exception as fault:
        if debug:
            raise
        from overspill.cli.faults import explain

        return explain(fault)


def _dispatch(words: list[str]) -> int:
    if _COMPLETING in os.environ:
        return _completed()
    if not words and not os.isatty(0):
        words = ["bound"]
    elif words and words[0].startswith("-") and words[0] not in ("-h", "--help", "--version"):
        words = ["bound", *words]
    if words[:1] != ["run"]:  # it passes on what is closed
        from overspill.surroundings import closed_streams

        closed_streams()
    if words and words[0] in ("bound", "run"):
        from overspill.cli.options import parsed

        options = parsed(words[0], words[1:])
        if options is not None:
            if words[0] == "bound":
                from overspill.cli.bound import bound as command
            else:
                from overspill.cli.run import run as command
            return command(options)
    if words and words[0] in DELEGATED:
        return delegated(words[0])(words[1:])
    from overspill.cli.app import app

    return app(words)


def delegated(name: str) -> Callable[[list[str]], int]:
    from importlib import import_module

    module, function, _ = DELEGATED[name]
    command: Callable[[list[str]], int] = getattr(import_module(module), function)
    return command


def _completed() -> int:
    """A shell asks what a word could become."""
    from overspill.cli.app import group

    group().main(args=[], prog_name="overspill", complete_var=_COMPLETING)
    return OK


def _closed_stdout() -> int:
    """The reader has gone: nobody is left to tell, and Python must not try to at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return READER_GONE
