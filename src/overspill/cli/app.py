"""The commands as click has them: each in its own file, loaded when it is called.

`bound` and `run` are described by the table in ``options``, which their quick parser reads as well.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from overspill.cli import DELEGATED, OK, WRONG_USE, delegated
from overspill.cli.options import TABLES, Option, value_of

COMMANDS: dict[str, tuple[str, str]] = {
    "bound": ("bound", "Bound what comes on standard input: `… | overspill`."),
    "run": ("run", "Run a command; show what matters of its output, keep the whole."),
    "read": ("read", "Read any part of a kept output, or of one still running."),
    "grep": ("grep", "Search a kept output, or one still running."),
    "outline": ("outline", "Say what a kept output holds, and where."),
    "query": ("query", "Ask a kept output by JMESPath or SQL."),
    "search": ("search", "Search all kept outputs for words."),
    "ls": ("ls", "List what is kept, newest first."),
    "show": ("show", "Look at a kept output as a person would; `--raw` writes its exact bytes."),
    "diff": ("diff", "Compare two kept outputs: what is new, what went."),
    "ps": ("ps", "List the commands that `overspill run` is running."),
    "tail": ("tail", "Show the end of an output, also while its command runs."),
    "pin": ("pin", "Keep an output whatever its age."),
    "unpin": ("pin", "Let retention have an output again."),
    "rm": ("rm", "Remove outputs."),
    "gc": ("gc", "Remove what is over the limits."),
    "doctor": ("doctor", "Look the store over and say what to type where something is wrong."),
    "stats": ("stats", "Show what bounding saved, and where it was too tight."),
    "config": ("config", "Show, check or start a configuration."),
    "completion": ("completion", "Print the completion script of a shell."),
}
_HELP = {
    "bound": """Bound what comes on standard input; `overspill` alone does the same in a pipe.

Input within the limit comes out byte for byte. Of more, what matters is shown, the whole is kept, and
the first line says under which handle and how to get the rest.

\b
Examples:
  pytest 2>&1 | overspill bound --command pytest
  curl -s https://example.com/api | overspill --for 'which items failed'
""",
    "run": """Run a COMMAND, or a shell string by -c; show what matters of its output, keep the whole.

The command has overspill's standard input, environment, directory, terminal and process group. When
stdout and stderr lead to the same place they are one output in the order in which it came; otherwise
each goes to its own, under one budget and one handle. An output within the limit comes as it is.

Of an output that was cut, the last line says the exit status and the time when that is not 0.
Something that stays in the background is not waited for; what it prints later is bounded in its turn,
and both within the one budget (with --json it is an object of its own, on the next line).
After a second the command is listed by `overspill ps`, and `tail`, `read` and `grep` see what came so far.

What it prints is shown when it has ended. At a terminal the line without an end, a prompt such as "name? ", is
on the live line after a second; elsewhere only --live shows it before.

\b
Exit status: the command's own; 128 + n when signal n ended it; 124 after --timeout;
126 or 127 when it can't be started; 2 when overspill is used wrongly.

\b
Examples:
  overspill run -- pytest -x
  overspill run --for 'which test failed' --timeout 10m -c 'make test 2>&1 | tee log'
""",
}
_TOP = """Tool output that always fits, and nothing is ever lost.

\b
  overspill run -- pytest -x            run a command, see what matters
  some-tool | overspill                 the same as a filter
  overspill grep ovs_7k2m9x4q ERROR     find the rest
"""


if TYPE_CHECKING:
    _AnyParamType = click.ParamType[Any]
else:
    _AnyParamType = click.ParamType
_OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""A fault without a name is of what click printed: files have names."""


class Commands(click.Group):
    """The group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *DELEGATED]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return command_of(name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            own = [(name, sentence) for name, (_, sentence) in COMMANDS.items()]
            formatter.write_dl(own + [(name, sentence) for name, (_, _, sentence) in DELEGATED.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            import difflib

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), 1)
            hint = f"did you mean `overspill {near[0]}`?" if near else "`overspill --help` lists the commands"
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}", ctx) from None


def command_of(name: str) -> click.Command | None:
    if name in TABLES:
        return _tabled(name)
    if name in DELEGATED:
        return _passed_on(name)
    if name not in COMMANDS:
        return None
    module = import_module(f"overspill.cli.{COMMANDS[name][0]}")
    command: click.Command = getattr(module, name)
    return command


def app(words: Sequence[str]) -> int:
    """Runs a command; click's errors become one sentence and the exit code for wrong use."""
    from overspill.cli.faults import wrong_use

    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
    top = group()
    if not words:
        words = ["--help"]
    try:
        answer = top.main(args=list(words), prog_name="overspill", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.Abort:
        return 130
    except SystemExit as leaving:  # click's own way with a reader that has gone
        raise BrokenPipeError from leaving
    except OSError as fault:
        if fault.filename is None and fault.errno in _OF_WRITING:
            fault.filename = "standard output"
        raise
    except click.ClickException as fault:
        wrong_use(fault, command=words[0])
        return WRONG_USE
    return answer if isinstance(answer, int) else OK


def group() -> click.Group:
    top = Commands(
        "overspill", help=_TOP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
    )
    top.params.append(click.Option(["--debug"], is_flag=True, expose_value=False, help="Show where an error arose."))
    top.params.append(
        click.Option(
            ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version."
        )
    )
    return top


class _Kind(_AnyParamType):
    """A kind of the options' table as a click type: the same function decides."""

    def __init__(self, kind: str) -> None:
        self.kind = self.name = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return value_of(self.kind, value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(f"{value!r} is not {error}", param, ctx)


def _tabled(name: str) -> click.Command:
    arguments: list[click.Parameter] = [_option(option) for option in TABLES[name]]
    if name == "run":
        words = click.Argument(
            ["words"], nargs=-1, type=click.UNPROCESSED, metavar="[--] [COMMAND]...", shell_complete=_files
        )
        arguments.append(words)
    return click.Command(
        name,
        params=arguments,
        callback=_called(name),
        help=_HELP[name],
        short_help=COMMANDS[name][1],
        context_settings={"ignore_unknown_options": False, "allow_interspersed_args": name != "run"},
    )


def _files(ctx: click.Context, param: click.Parameter, beginning: str) -> list[CompletionItem]:
    """The shell knows best what a command's words may be; file names are what it can be asked for."""
    return [CompletionItem(beginning, type="file")]


def table_option(option: Option) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option of the table for a command that click reads itself."""
    return click.option(option.name, *option.flags, type=_Kind(option.kind), metavar=option.metavar, help=option.help)


def _option(option: Option) -> click.Option:
    if option.kind == "flag":
        return click.Option([option.name, *option.flags], is_flag=True, default=None, help=option.help)
    kind = click.STRING if option.kind == "text" else _Kind(option.kind)
    return click.Option([option.name, *option.flags], type=kind, metavar=option.metavar, help=option.help)


def _passed_on(name: str) -> click.Command:
    """For the list of commands and for completion: its words are its own business."""
    return click.Command(
        name,
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)],
        callback=lambda words: delegated(name)(list(words)),
        short_help=DELEGATED[name][2],
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )


def _called(name: str) -> Callable[..., int]:
    def called(**values: Any) -> int:
        words = values.pop("words", ())
        options = {key: value for key, value in values.items() if value is not None}
        options["words"] = words
        if name == "run" and bool(words) == ("shell_command" in options):
            raise click.UsageError(
                "give a command, `overspill run -- pytest -x`, or one shell string, `overspill run -c 'make | tail'`"
            )
        if name == "run":
            from overspill.cli.run import run

            return run(options)
        from overspill.cli.bound import bound

        return bound(options)

    return called


def _version(ctx: click.Context, _: click.Parameter, wanted: Any) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"overspill {version('overspill')}")
        ctx.exit()
