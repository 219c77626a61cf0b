"""Runs one command as if nobody stood between: its bytes come here, everything else stays its own.

The command shares overspill's process group, terminal, standard input, directory, limits and
environment, so that Ctrl-C, job control and a harness that kills the group reach it as they would
anyway; a signal sent to overspill alone is passed on.  What it writes is handed to ``take`` as it
comes, at most ``READ_BYTES`` at a time, and never held here.  What is done with the bytes, and what
is shown, is the caller's.  POSIX; ``process_windows`` offers the same elsewhere.
"""

from __future__ import annotations

import errno
import os
import select
import time

from overspill.process_pipes import PIPE_BYTES, Pipes, read_some
from overspill.surroundings import in_foreground, original_environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from overspill.watch import Watcher
else:
    import _signal as signal  # `signal` makes enumerations of these numbers, which costs a third of a start

LINGER_SECONDS = 0.3
"""How long an output may go on after its command ended before it counts as left in the background."""
TICK_SECONDS = 0.25
WATCH_AFTER_SECONDS = 0.1
"""A command that ends sooner gets no watcher: that would cost more than the command."""
TIMED_OUT = 124
"""The exit status for a command that was stopped by its time-out, as coreutils' `timeout` has it."""

_PASSED_ON = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCONT", "SIGTSTP")
_FROM_TERMINAL = ("SIGINT", "SIGQUIT", "SIGTSTP")


class CannotStart(Exception):
    """The command could not be started; ``status`` is what a shell would answer: 126 or 127."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Ending:
    """How a command ended."""

    __slots__ = ("by_terminal", "lingering", "seconds", "signal", "status", "timed_out")

    def __init__(
        self, exit_code: int, seconds: float, *, timed_out: bool, by_terminal: bool, lingering: dict[int, int]
    ) -> None:
        self.signal = max(-exit_code, 0)
        """The number of the signal that ended it, or 0."""
        self.status = TIMED_OUT if timed_out else 128 + self.signal if self.signal else exit_code
        self.seconds = seconds
        self.timed_out = timed_out
        self.by_terminal = by_terminal and self.signal > 0
        """Did the person at the terminal end it? Then overspill has to end the same way, for the shell to know."""
        self.lingering = lingering
        """The streams, by pipe, that something in the background still holds: reading them is the caller's business."""

    def afterwards(self) -> Ending:
        """The same for what is printed after it: the status is still the command's."""
        exit_code = -self.signal if self.signal and not self.timed_out else self.status
        return Ending(exit_code, self.seconds, timed_out=False, by_terminal=False, lingering={})


class Running:
    """A command that was started, and the loop that serves it until it ends."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        merged: bool = True,
        environment: Mapping[bytes, bytes] | None = None,
        closed: Sequence[int] = (),
        own_group: bool = False,
    ) -> None:
        self._started = time.monotonic()
        self.pipes = Pipes()
        self._ended: int | None = None
        self._ended_at = 0.0
        self._own_group = own_group
        self._blocked: Iterable[int] = ()
        """The signals that overspill was started with blocked: so is the command."""
        self._started_by_it: list[int] = []
        self._by_terminal = False
        self.keys: int | None = None
        """A descriptor whose bytes are handed on by ``pass_keys``."""
        self._watcher: Watcher | None = None
        self._wake, self._wake_end = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._wake_end, False)
        self._handle_signals()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _numbers(_PASSED_ON))
        try:
            came_before = read_some(self._wake)
            self.pid = self._start(words, environment or original_environment(), merged=merged, closed=closed)
        except BaseException:
            self.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number in _numbers(_PASSED_ON).intersection(came_before):
            self._signal(number)  # no terminal could send it to a command that was not there yet

    def close(self) -> None:
        self.pipes.close()
        signal.set_wakeup_fd(-1)
        for end in (self._wake, self._wake_end):
            os.close(end)

    def serve(
        self,
        take: Callable[[int, bytes], None],
        *,
        timeout_seconds: float | None = None,
        grace_seconds: float = 5.0,
        readers: Sequence[int] = (),
        tick: Callable[[float], None] | None = None,
    ) -> Ending:
        """Hands over what comes until the command has ended and its pipes are read.

        ``readers`` are streams whose readers may go away: then the command's is closed as well.
        ``tick`` is called with the seconds gone, now and then.
        """
        pipes, poll = self.pipes, self.pipes.poll
        poll.register(self._wake, select.POLLIN)
        pipes.mind(readers)
        if self.keys is not None:
            poll.register(self.keys, select.POLLIN)
        stop_at = self._started + timeout_seconds if timeout_seconds else None
        timed_out = False
        unread = PIPE_BYTES * len(pipes.streams)
        """What the command may have left in its pipes when it ended: its own output, however late it is read."""
        while True:
            heard_before = pipes.heard_bytes
            if self._ended is not None and not pipes.streams:
                break
            for descriptor, _ in poll.poll(self._patience_ms(stop_at, ticking=tick is not None)):
                if descriptor == self._wake:
                    self._heed()
                elif descriptor == self.keys:
                    if not self.pass_keys():
                        poll.unregister(descriptor)
                else:
                    pipes.heed(descriptor, take)
            now = time.monotonic()
            if self._ended is not None:
                heard = pipes.heard_bytes - heard_before
                unread -= heard
                if now - self._ended_at >= LINGER_SECONDS and (not heard or unread < 0):
                    break
            if self._watcher is None and self._ended is None and now - self._started >= WATCH_AFTER_SECONDS:
                self._watch()
            if stop_at is not None and now >= stop_at and self._ended is None:
                self._stop(signal.SIGKILL if timed_out else signal.SIGTERM)
                stop_at = None if timed_out else now + grace_seconds
                timed_out = True
            if tick is not None:
                tick(now - self._started)
        seconds = self._ended_at - self._started
        return Ending(
            self._ended, seconds, timed_out=timed_out, by_terminal=self._by_terminal, lingering=pipes.handed_over()
        )

    def pass_keys(self) -> bool:
        """Hands on what was typed, for a command that has a terminal of ours."""
        raise NotImplementedError

    # -- inside ------------------------------------------------------------------------------------

    def _start(
        self, words: Sequence[str], environment: Mapping[bytes, bytes], *, merged: bool, closed: Sequence[int]
    ) -> int:
        ends = self._open_pipes(merged=merged, closed=closed)
        actions: list[tuple[int, ...]] = [(os.POSIX_SPAWN_DUP2, end, stream) for stream, end in ends.items()]
        actions += [(os.POSIX_SPAWN_CLOSE, stream) for stream in closed]
        try:
            return _spawn(words, actions, environment, blocked=self._blocked, own_group=self._own_group)
        finally:
            for end in set(ends.values()):
                os.close(end)

    def _stop_too(self, number: int) -> None:
        """The shell above shall see a job stopped by that signal; whoever continues us continues the command."""
        ours = signal.getsignal(number) if number != signal.SIGSTOP else None
        if ours is not None:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        if ours is not None:
            signal.signal(number, ours)
        self._signal(signal.SIGCONT)

    def _open_pipes(self, *, merged: bool, closed: Sequence[int]) -> dict[int, int]:
        """The end that the command gets for each of its streams."""
        ends: dict[int, int] = {}
        for stream in (1, 2):
            if merged and ends:
                ends[stream] = ends[1]
            elif stream not in closed:
                pipe, ends[stream] = os.pipe()
                self.pipes.add(pipe, stream)
        return ends

    def _patience_ms(self, stop_at: float | None, *, ticking: bool) -> int | None:
        now = time.monotonic()
        waits = []
        if self._ended is not None:
            waits.append(self._ended_at + LINGER_SECONDS - now)
        elif self._watcher is None:
            waits.append(self._started + WATCH_AFTER_SECONDS - now)
        if stop_at is not None:
            waits.append(stop_at - now)
        if ticking:
            waits.append(TICK_SECONDS)
        return max(0, int(min(waits) * 1000) + 1) if waits else None

    def _handle_signals(self) -> None:
        """From here on a signal wakes the loop; what is ignored stays ignored, here and in the command."""
        signal.set_wakeup_fd(self._wake_end, warn_on_full_buffer=False)
        for name in _PASSED_ON:
            number = getattr(signal, name)
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _woken)
        signal.signal(signal.SIGCHLD, _woken)
        # Whoever started us may have blocked it, and we would wait for the command's end for ever.
        self._blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD,))

    def _heed(self) -> None:
        for number in set(read_some(self._wake)):
            if number == signal.SIGCHLD:
                self._look_at_child()
            elif self._own_group or not self._reached_group(number):
                self._signal(number)

    def _reached_group(self, number: int) -> bool:
        """Has the command got this signal as well, as one of the group?"""
        from_terminal = number in _numbers(_FROM_TERMINAL) and in_foreground()
        reached = from_terminal if self._watcher is None else self._watcher.heard(number)
        self._by_terminal |= from_terminal and reached and number != signal.SIGTSTP
        return reached

    def _watch(self) -> None:
        from overspill.watch import Watcher

        ours = (*self.pipes.streams, self._wake, self._wake_end)
        self._watcher = Watcher(self.pid, of_group=self._own_group, close=ours)

    def _look_at_child(self) -> None:
        while self._ended is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                # Somebody above ignores SIGCHLD, so the kernel keeps no status.
                pid, status = self.pid, 0
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                self._stop_too(os.WSTOPSIG(status))
            else:
                self._ended, self._ended_at = os.waitstatus_to_exitcode(status), time.monotonic()
                if self._watcher is not None:
                    self._watcher.end()
                    self._watcher = None

    def _stop(self, number: int) -> None:
        """For a time-out: what the command started goes with it, also where the group is not its own."""
        if not self._own_group and not self._started_by_it:
            from overspill.surroundings import descendants

            self._started_by_it = descendants(self.pid)
        self._signal(number)
        for pid in self._started_by_it:
            _send(os.kill, pid, number)

    def _signal(self, number: int) -> None:
        if self._ended is None:
            _send(os.killpg if self._own_group else os.kill, self.pid, number)


class Following:
    """What is left of an output when its command has ended: read to the end, by a process that is left behind."""

    def __init__(self, left: dict[int, int]) -> None:
        self._pipes = Pipes(left)
        signal.set_wakeup_fd(-1)
        for name in (*_PASSED_ON, "SIGCHLD"):
            number = getattr(signal, name)
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)

    def serve(self, take: Callable[[int, bytes], None], *, readers: Sequence[int]) -> None:
        self._pipes.mind(readers)
        while self._pipes.streams:
            for descriptor, _ in self._pipes.poll.poll():
                self._pipes.heed(descriptor, take)


def _spawn(
    words: Sequence[str],
    file_actions: Sequence[tuple[int, ...]],
    environment: Mapping[bytes, bytes],
    *,
    blocked: Iterable[int],
    own_group: bool,
) -> int:
    settings: dict[str, object] = {
        "file_actions": file_actions,
        # Python ignores these two for itself; no command expects that.
        "setsigdef": [signal.SIGPIPE, signal.SIGXFSZ],
        "setsigmask": blocked,
    }
    if own_group:
        settings["setpgroup"] = 0
    try:
        return os.posix_spawnp(words[0], words, environment, **settings)  # type: ignore[arg-type]
    except ValueError:
        raise cannot_start("''", FileNotFoundError(errno.ENOENT, "")) from None
    except OSError as error:
        if error.errno == errno.ENOEXEC:
            # A script without a `#!` line: shells run it themselves.
            from shutil import which

            script = which(words[0]) or words[0]
            return os.posix_spawn("/bin/sh", ("/bin/sh", script, *words[1:]), environment, **settings)  # type: ignore[arg-type]
        raise cannot_start(words[0], error) from error


def cannot_start(word: str, error: OSError) -> CannotStart:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        if "/" in word and os.path.lexists(word):
            return CannotStart(f"{word}: its interpreter is missing; look at its first line", 127)
        where = "no such file" if "/" in word else "command not found; is it installed and on PATH?"
        return CannotStart(f"{word}: {where}", 127)
    return CannotStart(f"{word}: {error.strerror}", 126)


def _send(kill: Callable[[int, int], None], to: int, number: int) -> None:
    try:
        kill(to, number)
    except (ProcessLookupError, PermissionError):
        # Gone this moment, or it runs as somebody else (sudo), who may not be told.
        return


def _numbers(names: Sequence[str]) -> set[int]:
    return {int(getattr(signal, name)) for name in names}


def _woken(number: int, frame: object) -> None:
    """The wake-up descriptor has said it already."""
