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
    from overspill.core.policy import Policy
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


class Output:
    """What the command writes, on its way: held, then bounded."""

    def __init__(self, chosen: Chosen, *, merged: bool, live: bool = False) -> None:
        self.merged = merged
        self.bytes = 0
        self.lines = 0
        self.counts_lines = False
        """For the progress on a terminal; without one it would be time for nothing."""
        self.chosen = chosen
        self.fault: OSError | None = None
        """What went wrong with writing; one stream's reader may be gone while the other's waits."""
        self._live = live
        self._held = chosen.held()
        self._shown: list[bytes] = []
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

    def finish(self, ending: Ending) -> None:
        for stream in self._redactors:
            self._take(stream, self._redacted(stream, None))
        said = last_line(ending)
        if self._capturing is None and (
            self.chosen.skip or self._held.surely_fits(said.encode() if ending.timed_out else b"")
        ):
            self._pass_on(ending)
            return
        from overspill.cli.room import tighter

        policy, said = tighter(
            self.chosen.policy(),
            said and last_line(ending, longest=True),
            two_streams=not self.merged,
            goes_on=bool(ending.lingering),
        )
        bounded, texts = self._cut(policy, ending, said and last_line(ending))
        if not bounded.truncated:
            self._pass_on(ending, bounded)
            return
        assert self._bounder is not None
        self.chosen.remember(self._bounder, bounded, exit_status=ending.status)
        if self.chosen.as_json:
            from overspill.cli.as_json import result

            self._write(1, result(bounded, **_facts(ending), **self._by_stream(texts)))
            return
        if said:
            main = min(texts)
            texts[main] += ("" if texts[main].endswith("\n") else "\n") + last_line(ending)
        for stream, text in texts.items():
            self._write(stream, text.encode("utf-8", "replace"))

    def spooled(self) -> str | None:
        """The file in which all of it is so far, once it is on its way into the store."""
        capturing = self._capturing
        return capturing.spooled() if capturing is not None and capturing.overflowed else None

    def held(self) -> list[bytes]:
        return [] if self.chosen.redacts else [data for _, data in self._held.chunks]

    def again(self) -> Output:
        """The same for what comes after it, within what it left of the budget."""
        return Output(self.chosen.after(b"".join(self._shown)), merged=self.merged, live=self._live)

    # -- inside ------------------------------------------------------------------------------------

    def _redacted(self, stream: int, data: bytes | None) -> bytes:
        redactor = self._redactors.get(stream)
        if redactor is None:
            from overspill.core.redact import Redactor

            redactor = self._redactors[stream] = Redactor(self.chosen.settlement().redact)
        return redactor.finish() if data is None else redactor.feed(data)

    def _take(self, stream: int, data: bytes) -> None:
        if self._live:
            self._copy(data)
        if self.chosen.skip and not self.chosen.as_json:
            self._write(stream, data)
            return
        if self._capturing is None:
            self._held.add(stream, data)
            if not (self.chosen.skip or self._held.surely_fits() or self._held.may_be_ours):
                self._start_capturing(self.chosen.policy())
            return
        self._hand_on(stream, data)
        if self._capturing.overflowed:
            self._held.clear()
        else:
            self._held.add(stream, data)

    def _start_capturing(self, policy: Policy) -> None:
        """From what is held: all of it so far."""
        self._bounder = self.chosen.bounder(policy)
        self._capturing = self._bounder.capture(self.chosen.call())
        if not self.merged:
            from overspill.two_streams import TwoStreams

            self._streams = TwoStreams(self._capturing.feed)
        for stream, data in self._held.chunks:
            self._hand_on(stream, data)
        if self._capturing.overflowed:
            self._held.clear()

    def _hand_on(self, stream: int, data: bytes) -> None:
        if self._streams is not None:
            self._streams.take(stream, data)
        else:
            assert self._capturing is not None
            self._capturing.feed(data)

    def _cut(self, policy: Policy, ending: Ending, said: str) -> tuple[Bounded, dict[int, str]]:
        """The bounded output, and what of it goes to which stream; ``said`` has to fit besides."""
        if self._held.may_be_ours:
            from overspill.cli.ours import cut_anew

            self._bounder = self.chosen.bounder(policy)
            if anew := cut_anew(self._bounder, self._held.data, self.chosen.call(exit_status=ending.status)):
                return anew, {self._held.chunks[0][0]: anew.text}
        if self._capturing is None or (not self._capturing.overflowed and (ending.timed_out or ending.lingering)):
            self._start_capturing(policy)
        assert self._bounder is not None
        assert self._capturing is not None
        self._bounder.policy = policy
        if self._streams is None:
            bounded = self._capturing.finish(exit_status=ending.status)
            return bounded, {1: bounded.text}
        self._streams.finish()
        bounded = self._capturing.finish(exit_status=ending.status)
        if not bounded.truncated:
            return bounded, {}
        from overspill.two_streams import split

        whole = self.chosen.policy()
        texts = split(bounded, self._streams, fits=lambda text: whole.measure.fits(text + said, whole.budget))
        self._streams.close()
        return bounded, {stream: text for stream, text in texts.items() if text}

    def _pass_on(self, ending: Ending, bounded: Bounded | None = None) -> None:
        """Everything as it came, each stream to its own descriptor."""
        chunks = self._held.chunks
        if bounded is not None and self.merged:
            chunks = [(1, bounded.output)]  # redacted, where that is asked for
        if self.chosen.as_json:
            from overspill.cli.as_json import untouched

            texts = {
                one: b"".join(data for of, data in chunks if of == one).decode("utf-8", "replace") for one in (1, 2)
            }
            whole = b"".join(data for _, data in chunks)
            self._write(1, untouched(whole, **_facts(ending), **self._by_stream(texts)))
            return
        for stream, data in chunks:
            self._write(stream, data)
        if ending.timed_out:
            self._write(2, f"overspill: stopped after {_seconds(ending.seconds)}, as --timeout asked\n".encode())

    def _copy(self, data: bytes) -> None:
        try:
            write_all(2, data)
        except OSError:  # nobody looks on any more
            self._live = False

    def _by_stream(self, texts: dict[int, str]) -> dict[str, str]:
        """For programs: what each stream shows, where there are two."""
        return {} if self.merged else {"stdout": texts.get(1, ""), "stderr": texts.get(2, "")}

    def _write(self, stream: int, data: bytes) -> None:
        if not self.chosen.skip:
            self._shown.append(data)
        try:
            write_all(stream, data)
        except OSError as fault:
            self.fault = self.fault or fault


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
        late_ending = Following(ending.lingering).serve(late.take, readers=readers)
        if late.bytes:
            late.finish(late_ending)
    except BaseException:
        status = 1
    finally:
        os._exit(status)


def last_line(ending: Ending, *, longest: bool = False) -> str:
    """How the command ended, where that is worth a line.

    ``longest`` is for the room it takes: what else is shown must not depend on how long the command took.
    """
    if not ending.status:
        return ""
    by = "stopped by --timeout, " if ending.timed_out else f"signal {ending.signal}, " if ending.signal else ""
    seconds = "88888.8 min" if longest else _seconds(ending.seconds)
    return f"[overspill: {by}exit status {ending.status} after {seconds}]\n"


def _facts(ending: Ending) -> dict[str, object]:
    """How it ended, for programs."""
    return {
        "exit_status": ending.status,
        "signal": ending.signal or None,
        "timed_out": ending.timed_out,
        "seconds": round(ending.seconds, 3),
    }


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


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
    return Progress(output)


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
