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

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping, Sequence
else:
    import _signal as signal  # `signal` makes enumerations of these numbers, which costs a third of a start

READ_BYTES = 1 << 18
PIPE_BYTES = 1 << 20
"""Asked of the kernel for a command that prints much: fewer, larger reads."""
LINGER_SECONDS = 0.3
"""How long an output may go on after its command ended before it counts as left in the background."""
TICK_SECONDS = 0.25
TIMED_OUT = 124
"""The exit status for a command that was stopped by its time-out, as coreutils' `timeout` has it."""

_PASSED_ON = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCONT", "SIGTSTP")
_FROM_TERMINAL = ("SIGINT", "SIGQUIT", "SIGTSTP")
_CHUNKS_BEFORE_LARGE_PIPE = 4


class CannotStart(Exception):
    """The command could not be started; ``status`` is what a shell would answer: 126 or 127."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Ending:
    """How a command ended."""

    __slots__ = ("by_terminal", "lingering", "seconds", "signal", "status", "timed_out")

    def __init__(
        self, wait_status: int, seconds: float, *, timed_out: bool, by_terminal: bool, lingering: dict[int, int]
    ) -> None:
        self.signal = os.WTERMSIG(wait_status) if os.WIFSIGNALED(wait_status) else 0
        """The number of the signal that ended it, or 0."""
        ended = 128 + self.signal if self.signal else os.WEXITSTATUS(wait_status)
        self.status = TIMED_OUT if timed_out else ended
        self.seconds = seconds
        self.timed_out = timed_out
        self.by_terminal = by_terminal and self.signal in (signal.SIGINT, signal.SIGQUIT)
        """Did the person at the terminal end it? Then overspill has to end the same way, for the shell to know."""
        self.lingering = lingering
        """Pipes that something in the background still holds, by stream: reading them is the caller's business."""


class Running:
    """A command that was started, and the loop that serves it until it ends."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        merged: bool,
        environment: Mapping[bytes, bytes] | None = None,
        closed: Sequence[int] = (),
        own_group: bool = False,
    ) -> None:
        self._started = time.monotonic()
        self.pipes: dict[int, int] = {}
        """The stream (1 or 2) that each descriptor carries."""
        self._ended: int | None = None
        self._ended_at = 0.0
        self._own_group = own_group
        self._by_terminal = False
        self._wake, self._wake_end = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._wake_end, False)
        self._handle_signals()
        ends = self._open_pipes(merged=merged, closed=closed)
        actions = [(os.POSIX_SPAWN_DUP2, end, stream) for stream, end in ends.items()]
        actions += [(os.POSIX_SPAWN_CLOSE, stream) for stream in closed]
        try:
            self.pid = _spawn(words, actions, environment or original_environment(), own_group=own_group)
        except BaseException:
            self.close()
            raise
        finally:
            for end in set(ends.values()):
                os.close(end)

    def close(self) -> None:
        for pipe in self.pipes:
            os.close(pipe)
        self.pipes = {}
        signal.set_wakeup_fd(-1)
        os.close(self._wake)
        os.close(self._wake_end)

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

        ``readers`` are descriptors whose readers may go away: then the pipes are closed, so that the
        command learns it as it would have.  ``tick`` is called with the seconds gone, now and then.
        """
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        for pipe in self.pipes:
            poll.register(pipe, select.POLLIN)
        for reader in readers:
            poll.register(reader, 0)
        stop_at = self._started + timeout_seconds if timeout_seconds else None
        timed_out = False
        chunks = 0
        while True:
            if self._ended is not None and (not self.pipes or time.monotonic() - self._ended_at >= LINGER_SECONDS):
                break
            for descriptor, events in poll.poll(self._patience_ms(stop_at, ticking=tick is not None)):
                if descriptor == self._wake:
                    self._heed()
                elif descriptor in self.pipes:
                    data = _read(descriptor)
                    if data:
                        take(self.pipes[descriptor], data)
                        chunks += 1
                        if chunks == _CHUNKS_BEFORE_LARGE_PIPE:
                            _enlarge(descriptor)
                    else:
                        poll.unregister(descriptor)
                        self._close_pipe(descriptor)
                elif descriptor in readers and events & (select.POLLERR | select.POLLNVAL):
                    poll.unregister(descriptor)
                    for pipe in list(self.pipes):
                        poll.unregister(pipe)
                        self._close_pipe(pipe)
            now = time.monotonic()
            if stop_at is not None and now >= stop_at and self._ended is None:
                self._signal(signal.SIGKILL if timed_out else signal.SIGTERM)
                stop_at = None if timed_out else now + grace_seconds
                timed_out = True
            if tick is not None:
                tick(now - self._started)
        seconds = self._ended_at - self._started
        lingering = {stream: pipe for pipe, stream in self.pipes.items()}
        return Ending(self._ended, seconds, timed_out=timed_out, by_terminal=self._by_terminal, lingering=lingering)

    # -- inside ------------------------------------------------------------------------------------

    def _open_pipes(self, *, merged: bool, closed: Sequence[int]) -> dict[int, int]:
        """The end that the command gets for each of its streams."""
        ends: dict[int, int] = {}
        for stream in (1, 2):
            if merged and ends:
                ends[stream] = ends[1]
            elif stream not in closed:
                pipe, ends[stream] = os.pipe()
                self.pipes[pipe] = stream
        return ends

    def _patience_ms(self, stop_at: float | None, *, ticking: bool) -> int | None:
        now = time.monotonic()
        waits = []
        if self._ended is not None:
            waits.append(self._ended_at + LINGER_SECONDS - now)
        if stop_at is not None:
            waits.append(stop_at - now)
        if ticking:
            waits.append(TICK_SECONDS)
        return max(0, int(min(waits) * 1000) + 1) if waits else None

    def _close_pipe(self, pipe: int) -> None:
        del self.pipes[pipe]
        os.close(pipe)

    def _handle_signals(self) -> None:
        """From here on a signal wakes the loop; what is ignored stays ignored, here and in the command."""
        signal.set_wakeup_fd(self._wake_end, warn_on_full_buffer=False)
        for name in _PASSED_ON:
            number = getattr(signal, name)
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _woken)
        signal.signal(signal.SIGCHLD, _woken)

    def _heed(self) -> None:
        for number in set(_read(self._wake)):
            if number == signal.SIGCHLD:
                self._look_at_child()
            elif number in _numbers(_FROM_TERMINAL) and not self._own_group and in_foreground():
                self._by_terminal = True  # the terminal has told the whole group
            else:
                self._signal(number)

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
                # The shell above shall see a stopped job; whoever continues us continues the command.
                os.kill(os.getpid(), signal.SIGSTOP)
                self._signal(signal.SIGCONT)
            else:
                self._ended, self._ended_at = status, time.monotonic()

    def _signal(self, number: int) -> None:
        if self._ended is not None:
            return
        try:
            (os.killpg if self._own_group else os.kill)(self.pid, number)
        except (ProcessLookupError, PermissionError):
            # Gone this moment, or it runs as somebody else (sudo), who may not be told.
            return


def in_foreground() -> bool:
    """Does a terminal's Ctrl-C reach this process by itself?"""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def same_file(one: int, other: int) -> bool:
    """Do two descriptors lead to the same place? Not when either is closed."""
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:
        return False


def closed_streams() -> tuple[int, ...]:
    """The standard descriptors that overspill was started without; they get a stand-in, so that no pipe takes their number."""
    closed = []
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            closed.append(stream)
            os.open(os.devnull, os.O_RDWR)
    return tuple(closed)


def original_environment() -> Mapping[bytes, bytes]:
    """The environment as overspill got it: in the C locale Python adds LC_CTYPE to its own."""
    if b"LC_CTYPE" not in os.environb or os.environb.get(b"LC_ALL"):
        return os.environb
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib costs as much as the rest
            given = file.read()
    except OSError:
        return os.environb
    if given.startswith(b"LC_CTYPE=") or b"\0LC_CTYPE=" in given:
        return os.environb
    return {name: value for name, value in os.environb.items() if name != b"LC_CTYPE"}


def shell_words(string: str, shell: str | None) -> tuple[str, ...]:
    """The command that runs a shell string: by the shell asked for, the user's own, bash, or sh."""
    if shell is None:
        shell = os.environ.get("SHELL", "")
        if os.path.basename(shell) not in ("bash", "zsh", "ksh", "mksh", "dash", "ash", "sh"):
            shell = next((path for path in ("/bin/bash", "/usr/bin/bash") if os.access(path, os.X_OK)), "/bin/sh")
    return shell, "-c", string


def _spawn(
    words: Sequence[str],
    file_actions: Sequence[tuple[int, ...]],
    environment: Mapping[bytes, bytes],
    *,
    own_group: bool,
) -> int:
    settings: dict[str, object] = {
        "file_actions": file_actions,
        # Python ignores these two for itself; no command expects that.
        "setsigdef": [signal.SIGPIPE, signal.SIGXFSZ],
    }
    if own_group:
        settings["setpgroup"] = 0
    try:
        return os.posix_spawnp(words[0], words, environment, **settings)  # type: ignore[arg-type]
    except OSError as error:
        if error.errno == errno.ENOEXEC:
            # A script without a `#!` line: shells run it themselves.
            from shutil import which

            script = which(words[0]) or words[0]
            return os.posix_spawn("/bin/sh", ("/bin/sh", script, *words[1:]), environment, **settings)  # type: ignore[arg-type]
        raise _cannot_start(words[0], error) from error


def _cannot_start(word: str, error: OSError) -> CannotStart:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        if "/" in word and os.path.lexists(word):
            return CannotStart(f"{word}: its interpreter is missing; look at its first line", 127)
        where = "no such file" if "/" in word else "command not found; is it installed and on PATH?"
        return CannotStart(f"{word}: {where}", 127)
    return CannotStart(f"{word}: {error.strerror}", 126)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, READ_BYTES)
    except BlockingIOError:
        return b""
    except OSError as error:
        if error.errno == errno.EIO:  # how a pseudo-terminal ends
            return b""
        raise


def _enlarge(pipe: int) -> None:
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (ImportError, AttributeError, OSError):
        pass  # not Linux, or over the user's share: the usual size will do


def _numbers(names: Sequence[str]) -> set[int]:
    return {int(getattr(signal, name)) for name in names}


def _woken(number: int, frame: object) -> None:  # noqa: ARG001 - a signal handler's arguments
    """The wake-up descriptor has said it already."""
