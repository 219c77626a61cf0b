"""`overspill run`: a command whose output reaches the reader bounded, and everything else of it unchanged.

While little has come, the bytes are only held: an output within the limit leaves as it came and the
engine is never loaded.  The exit status is the command's own.
"""

from __future__ import annotations

import os
import stat
import sys

from overspill.cli.live import Live
from overspill.cli.policies import Chosen
from overspill.cli.streams import write_all
from overspill.process import CannotStart, Ending, Following, Running
from overspill.surroundings import closed_streams, same_file, shell_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from overspill.bounder import Bounder, Capturing
    from overspill.cli.progress import Progress
    from overspill.core.model import Bounded
    from overspill.core.redact import Redactor
    from overspill.process_windows import RunningPortably
    from overspill.two_streams import TwoStreams

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
        write_all(2, f"overspill: {fault}\n".encode())
        return fault.status
    live = Live(output, _progress(output, options))
    try:
        ending = running.serve(
            output.take,
            timeout_seconds=options.get("timeout"),
            grace_seconds=options.get("grace", _GRACE_SECONDS),
            readers=[stream for stream in (1, 2) if stream not in closed and _is_pipe(stream)],
            tick=live,
        )
    finally:
        live.close()
        running.close()
    output.finish(ending)
    if ending.lingering:
        _leave_behind(ending, output)
    if ending.timed_out:
        write_all(2, f"overspill: stopped after {_seconds(ending.seconds)}, as --timeout asked\n".encode())
    return _end_like(ending)


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


class Output:
    """What the command writes, on its way: held, then bounded."""

    def __init__(self, chosen: Chosen, *, merged: bool, live: bool = False) -> None:
        self.merged = merged
        self.bytes = 0
        self.lines = 0
        self.counts_lines = False
        """For the progress on a terminal; without one it would be time for nothing."""
        self.chosen = chosen
        self._live = live
        self._held: list[tuple[int, bytes]] = []
        self._bounder: Bounder | None = None
        self._capturing: Capturing | None = None
        self._streams: TwoStreams | None = None
        self._redactors: dict[int, Redactor] = {}
        """Two streams are redacted each for itself: a place in the source must stay a place in a stream."""

    def take(self, stream: int, data: bytes) -> None:
        self.bytes += len(data)
        if self.counts_lines:
            self.lines += data.count(b"\n")
        if self.chosen.redacts and (self._live or not self.merged):
            data = self._redacted(stream, data)
        if data:
            self._take(stream, data)

    def _redacted(self, stream: int, data: bytes | None) -> bytes:
        redactor = self._redactors.get(stream)
        if redactor is None:
            from overspill.core.redact import Redactor

            redactor = self._redactors[stream] = Redactor(self.chosen.settlement().redact)
        return redactor.finish() if data is None else redactor.feed(data)

    def _take(self, stream: int, data: bytes) -> None:
        if self._live:
            write_all(2, data)
        if self.chosen.skip:
            write_all(stream, data)
            return
        if self._capturing is None:
            self._held.append((stream, data))
            if not self.chosen.surely_fits([data for _, data in self._held]):
                self._start_capturing()
            return
        self._hand_on(stream, data)
        if self._capturing.overflowed:
            self._held.clear()
        elif self._held:
            self._held.append((stream, data))

    def finish(self, ending: Ending) -> None:
        for stream in self._redactors:
            self._take(stream, self._redacted(stream, None))
        if self._capturing is None:
            self._pass_on(ending)
            return
        if self._streams is not None:
            self._streams.finish()
        assert self._bounder is not None
        last_line = _last_line(ending)
        if self._streams is not None or last_line:
            from overspill.cli.room import tighter

            self._bounder.policy, last_line = tighter(
                self._bounder.policy, last_line, two_streams=self._streams is not None
            )
        bounded = self._capturing.finish(exit_status=ending.status)
        if not bounded.truncated:
            if self.merged:
                self._held = [(1, bounded.output)]  # redacted, where that is asked for
            self._pass_on(ending)
            return
        self.chosen.remember(self._bounder, bounded, exit_status=ending.status)
        self._show(bounded, ending, last_line)

    def spooled(self) -> str | None:
        """The file in which all of it is so far, once it is on its way into the store."""
        capturing = self._capturing
        return capturing.spooled() if capturing is not None and capturing.overflowed else None

    def held(self) -> list[bytes]:
        return [] if self.chosen.redacts else [data for _, data in self._held]

    def again(self) -> Output:
        """The same for what comes after it."""
        return Output(self.chosen, merged=self.merged, live=self._live)

    def _start_capturing(self) -> None:
        self._bounder = self.chosen.bounder()
        self._capturing = self._bounder.capture(self.chosen.call())
        if not self.merged:
            from overspill.two_streams import TwoStreams

            self._streams = TwoStreams(self._capturing.feed)
        for stream, data in self._held:
            self._hand_on(stream, data)
        if self._capturing.overflowed:
            self._held.clear()

    def _hand_on(self, stream: int, data: bytes) -> None:
        if self._streams is not None:
            self._streams.take(stream, data)
        else:
            assert self._capturing is not None
            self._capturing.feed(data)

    def _pass_on(self, ending: Ending) -> None:
        """Everything as it came, each stream to its own descriptor."""
        if self.chosen.as_json:
            from overspill.cli.as_json import untouched

            data = b"".join(data for _, data in self._held)
            write_all(1, untouched(data, exit_status=ending.status, seconds=round(ending.seconds, 3)))
            return
        for stream, data in self._held:
            write_all(stream, data)

    def _show(self, bounded: Bounded, ending: Ending, last_line: str) -> None:
        if self.chosen.as_json:
            from overspill.cli.as_json import result

            write_all(1, result(bounded, exit_status=ending.status, seconds=round(ending.seconds, 3)))
            return
        texts = {1: bounded.text}
        if self._streams is not None:
            from overspill.two_streams import split

            policy = self.chosen.policy()
            texts = split(
                bounded, self._streams, fits=lambda text: policy.measure.fits(text + last_line, policy.budget)
            )
            self._streams.close()
        for stream, text in texts.items():
            if stream == min(stream for stream, text in texts.items() if text) and last_line:
                text += last_line if text.endswith("\n") else "\n" + last_line
            if text:
                write_all(stream, text.encode("utf-8", "replace"))


def _leave_behind(ending: Ending, output: Output) -> None:
    """Something in the background still writes: a process stays that reads it to its end.

    Without one the writer would be killed by its next line, which it would not be without overspill.
    What it prints is bounded in its turn and shown when it ends.
    """
    if os.fork():
        return
    status = 0
    try:
        late = output.again()
        late.finish(Following(ending.lingering).serve(late.take))
    except BaseException:
        status = 1
    finally:
        os._exit(status)


def _last_line(ending: Ending) -> str:
    if not ending.status:
        return ""
    by = f"signal {ending.signal}, " if ending.signal else ""
    return f"[overspill: {by}exit status {ending.status} after {_seconds(ending.seconds)}]\n"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _as_typed(words: tuple[str, ...]) -> str:
    if all(word.isascii() and word.replace("-", "").replace("_", "").replace("/", "").isalnum() for word in words):
        return " ".join(words)
    from shlex import join

    return join(words)


def _progress(output: Output, options: dict[str, Any]) -> Progress | None:
    if options.get("quiet") or options.get("live") or not os.isatty(2):
        return None
    from overspill.cli.progress import Progress

    output.counts_lines = True
    return Progress(output)


def _is_pipe(descriptor: int) -> bool:
    kind = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)


def _end_like(ending: Ending) -> int:
    """The command's status; a Ctrl-C ends overspill as it ended the command, so that a shell's loop stops too."""
    if ending.by_terminal:
        import signal

        sys.stdout = None
        signal.signal(ending.signal, signal.SIG_DFL)
        os.kill(os.getpid(), ending.signal)
    return ending.status
