"""`overspill run`: a command whose output reaches the reader bounded, and everything else of it unchanged.

While little has come, the bytes are only held: an output within the limit leaves as it came and the
engine is never loaded.  The exit status is the command's own.
"""

from __future__ import annotations

import os
import stat
import sys

from overspill.cli import READER_GONE
from overspill.cli.live import Live
from overspill.cli.output import Output
from overspill.cli.policies import Chosen
from overspill.cli.streams import write_all
from overspill.process import CannotStart, Ending, Following, Running
from overspill.surroundings import closed_streams, same_file, shell_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from overspill.cli.progress import Progress
    from overspill.process_windows import RunningPortably

_GRACE_SECONDS = 5.0


def run(options: dict[str, Any]) -> int:
    words: tuple[str, ...] = options["words"]
    if "shell_command" in options:
        words = shell_words(options["shell_command"], options.get("shell"))
    closed = closed_streams()
    output = Output(
        Chosen(options, tool="shell", command=options.get("shell_command") or _as_typed(words)),
        merged=not closed and same_file(1, 2),
        live=options.get("live", False),
    )
    try:
        running = _started(words, options, output, closed)
    except CannotStart as fault:
        write_all(2, f"overspill: {fault}\n".encode("utf-8", "surrogateescape"))
        return fault.status
    live = Live(output, _progress(output, options))
    readers = [stream for stream in (1, 2) if stream not in closed and _is_pipe(stream)]
    try:
        ending = running.serve(
            output.take,
            timeout_seconds=options.get("timeout"),
            grace_seconds=options.get("grace", _GRACE_SECONDS),
            readers=readers,
            tick=live,
        )
    finally:
        live.close()
        running.close()
    output.finish(ending)
    if ending.lingering:
        _leave_behind(ending, output, readers)
    return _end_like(ending, output.fault)


def _started(
    words: tuple[str, ...], options: dict[str, Any], output: Output, closed: tuple[int, ...]
) -> Running | RunningPortably:
    own_group = "timeout" in options and not os.isatty(0)
    if options.get("pty"):
        from overspill.terminal import RunningInTerminal

        return RunningInTerminal(words)
    if os.name == "nt":
        from overspill.process_windows import RunningPortably

        return RunningPortably(words, merged=output.merged)
    return Running(words, merged=output.merged, closed=closed, own_group=own_group)


def _leave_behind(ending: Ending, output: Output, readers: list[int]) -> None:
    """Something in the background still writes: a process stays that reads it to its end.

    Without one the writer would be killed by its next line, which it would not be without overspill.
    What it prints is bounded in its turn and shown when it ends.
    """
    if os.fork():
        return
    status = 0
    try:
        late = output.again()
        Following(ending.lingering).serve(late.take, readers=readers)
        if late.bytes:
            late.finish(ending.afterwards())
    except BaseException:
        status = 1
    finally:
        os._exit(status)


def _as_typed(words: tuple[str, ...]) -> str:
    if all(word.isascii() and word.replace("-", "").replace("_", "").replace("/", "").isalnum() for word in words):
        return " ".join(words)
    from shlex import join

    return join(words)


def _progress(output: Output, options: dict[str, Any]) -> Progress | None:
    if options.get("quiet") or options.get("live") or output.chosen.skip or not os.isatty(2):
        return None
    from overspill.cli.progress import Progress

    output.counts_lines = True
    return Progress(output, prompts=os.isatty(0) and not output.chosen.redacts)


def _is_pipe(descriptor: int) -> bool:
    kind = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)


def _end_like(ending: Ending, fault: OSError | None) -> int:
    """The command's status; a Ctrl-C ends overspill as it ended the command, so that a shell's loop stops too."""
    if ending.by_terminal:
        import signal

        sys.stdout = None
        signal.signal(ending.signal, signal.SIG_DFL)
        os.kill(os.getpid(), ending.signal)
    if isinstance(fault, BrokenPipeError):
        return ending.status or READER_GONE
    if fault is not None:
        raise fault
    return ending.status
