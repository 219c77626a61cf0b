"""A second process beside a served command, for the two things that one process cannot know.

Was a signal sent to the whole group or to overspill alone?  In the first case the command has it
already, and passing it on would be a second one (many programs take that for "now!"); the watcher, in
the same group, tells them apart.  And when overspill is killed outright the watcher ends the command,
which would otherwise outlive what its parent believes to have killed.
"""

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable
    from typing import NoReturn
else:
    import _signal as signal

_LATE_SECONDS = 0.05
"""How much later than overspill the watcher may hear of a signal to both."""
_STALE_SECONDS = 1.0
_ANSWER_SECONDS = 5.0
"""How long the watcher may take to be heard at all, on a machine that has much else to do."""
_HERE = 0
"""Its answer when it is asked whether it is awake: no signal has that number."""


class Watcher:
    """Lives while the command lives: ``end`` it as soon as that has been waited for."""

    def __init__(self, command: int, *, of_group: bool, close: Iterable[int]) -> None:
        self._heard: dict[int, float] = {}
        self._unanswered = 0
        self._told, tell = os.pipe()
        alive, self._life = os.pipe()
        os.set_blocking(self._told, False)
        os.set_blocking(tell, False)
        # Nothing may reach it before it can tell: what comes until then waits.
        usual = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self._pid = os.fork()
        if self._pid == 0:
            _watch(command, tell, alive, usual, of_group=of_group, close=(*close, self._told, self._life))
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)
        os.close(tell)
        os.close(alive)

    def heard(self, number: int) -> bool:
        """Did the signal that overspill just got reach the whole group?

        What the watcher had not been told when it answered, and soon after, was not for it.
        """
        try:
            os.write(self._life, b"?")
        except OSError:  # somebody ended it
            return False
        self._unanswered += 1
        asked = time.monotonic()
        while True:
            now = time.monotonic()
            when = self._heard.pop(number, None)
            if when is not None and now - when < _STALE_SECONDS:
                return True
            left = asked + (_ANSWER_SECONDS if self._unanswered else _LATE_SECONDS) - now
            if left <= 0 or not select.select([self._told], [], [], left)[0]:
                return False
            told = os.read(self._told, 4096)
            if not told:
                return False
            self._unanswered -= told.count(_HERE)
            self._heard.update(dict.fromkeys(told, time.monotonic()))

    def end(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._told)
        os.close(self._life)


def _watch(
    command: int, tell: int, alive: int, unblocked: Iterable[int], *, of_group: bool, close: Iterable[int]
) -> NoReturn:
    """In the watcher: what reaches the group is told, and when overspill is gone the command goes.

    A command with a group of its own has the watcher in it: what kills overspill's whole group must not
    reach the watcher before it has done its duty.
    """
    try:
        if of_group:
            _join(command)
        signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        for descriptor in {*close, null}:
            os.close(descriptor)
        while os.read(alive, 1):
            os.write(tell, bytes((_HERE,)))
        (os.killpg if of_group else os.kill)(command, signal.SIGKILL)
    finally:
        os._exit(0)


def _join(group: int) -> None:
    try:
        os.setpgid(0, group)
    except OSError:
        os.setpgid(0, 0)  # one of another session, which has a terminal of its own
