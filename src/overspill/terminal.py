"""A command with a terminal of its own, for programs that behave differently without one.

What it writes comes as written (the terminal's own rewriting of line ends is off).  Where standard
input is a terminal its keys are passed through, else the command reads the input itself.
"""

from __future__ import annotations

import fcntl
import os
import signal
import termios
import tty
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from overspill.process import Running, cannot_start

_KEYS_BYTES = 4096
_USUAL_SIZE = (24, 80)
_OUTPUT_FLAGS, _LOCAL_FLAGS = 1, 3
"""Where a terminal's state has them."""
_END, _SUSPEND = b"\x04", b"\x1a"
_ENDS_COMMAND = frozenset(b"\x03\x1c")


class RunningInTerminal(Running):
    """The command is a session of its own: signals go to its whole group."""

    def _start(self, words: Sequence[str], environment: Mapping[bytes, bytes], **_: Any) -> int:
        self._own_group = True
        self._outer = 0 if os.isatty(0) else None
        self._outer_state: list[Any] | None = None
        master, slave = os.openpty()
        self._master = master
        self.pipes.add(master, 1)
        _write_as_it_comes(slave)
        self._copy_size(slave)
        failed, failing = os.pipe()
        pid = os.fork()
        if pid == 0:
            _become(words, environment, slave, failing, self._blocked, keys=self._outer is not None)
        os.close(slave)
        os.close(failing)
        with os.fdopen(failed, "rb") as report:
            reason = report.read()
        if reason:
            os.waitpid(pid, 0)
            error = OSError(int(reason), os.strerror(int(reason)))
            raise cannot_start(words[0], error) from error
        if self._outer is not None:
            self.keys = self._outer
            self._take_keys()
        signal.signal(signal.SIGWINCH, lambda *_: self._copy_size(self._master))
        return pid

    def pass_keys(self) -> bool:
        """What was typed goes to the command; False when there will be no more."""
        try:
            data = os.read(0, _KEYS_BYTES)
        except OSError:  # the terminal is gone
            data = b""
        with suppress(OSError, termios.error):
            local = termios.tcgetattr(self._master)[_LOCAL_FLAGS]
            os.write(self._master, data or _END)
            if local & termios.ISIG:
                self._by_terminal |= bool(_ENDS_COMMAND & set(data))
                if _SUSPEND in data:
                    # Its own terminal's signal can't stop a command that has no shell above it.
                    self._signal(signal.SIGSTOP)
        return bool(data)

    def close(self) -> None:
        self._give_back_keys()
        super().close()

    def _stop_too(self, number: int) -> None:
        self._give_back_keys()
        super()._stop_too(number)
        self._take_keys()

    def _take_keys(self) -> None:
        """Every key goes to the command, Ctrl-C included: its own terminal knows what it means."""
        if self._outer is not None:
            self._outer_state = termios.tcgetattr(self._outer)
            tty.setraw(self._outer, termios.TCSADRAIN)
            # What is shown meanwhile, by --live or by the progress, still consists of lines.
            state = termios.tcgetattr(self._outer)
            state[_OUTPUT_FLAGS] |= self._outer_state[_OUTPUT_FLAGS]
            termios.tcsetattr(self._outer, termios.TCSADRAIN, state)

    def _give_back_keys(self) -> None:
        if self._outer is not None and self._outer_state is not None:
            termios.tcsetattr(self._outer, termios.TCSADRAIN, self._outer_state)
            self._outer_state = None

    def _copy_size(self, inner: int) -> None:
        for outer in (0, 1, 2):
            if os.isatty(outer):
                with suppress(OSError, termios.error):
                    termios.tcsetwinsize(inner, termios.tcgetwinsize(outer))
                return
        termios.tcsetwinsize(inner, _USUAL_SIZE)


def _write_as_it_comes(slave: int) -> None:
    state = termios.tcgetattr(slave)
    state[_OUTPUT_FLAGS] &= ~termios.OPOST
    termios.tcsetattr(slave, termios.TCSANOW, state)


def _become(
    words: Sequence[str],
    environment: Mapping[bytes, bytes],
    slave: int,
    failing: int,
    blocked: Iterable[int],
    *,
    keys: bool,
) -> NoReturn:
    """In the child: the terminal becomes ours, then we become the command."""
    try:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for stream in (0, 1, 2) if keys else (1, 2):
            os.dup2(slave, stream)
        for number in (signal.SIGPIPE, getattr(signal, "SIGXFSZ", signal.SIGPIPE)):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        os.execvpe(words[0], list(words), environment)
    except OSError as error:
        os.write(failing, str(error.errno).encode())
    finally:
        os._exit(127)
