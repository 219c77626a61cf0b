"""Stands between a host and a server that talk over pipes.

Guarantees: two pumps, one for each direction, that read no faster than the other side takes; memory of
the largest single message; every message keeps its place; stderr is the server's own; what is asked when
the server has ended is answered, and its end at the start is overspill's end with the same status.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overspill.mcp.messages import Conversation, OwnCall, Turn
    from overspill.mcp.unlisted import Unlisted

READ_BYTES = 1 << 20
PIPE_BYTES = 1 << 20
WORKERS = 4
WAITING_CALLS = 64
ENDING_SECONDS = 1.5
"""Hosts give a server two seconds to end by itself."""
KILLING_SECONDS = 0.4
SWITCHING_SECONDS = 0.0005
"""What a message the other way waits, each time, for the thread that bounds a large one; Python has ten times this."""


def run(command: Sequence[str], prepare: Callable[[], Conversation]) -> int:
    """Runs the server's command until the host or the server is done; answers the exit status."""
    _binary(0, 1)
    sys.setswitchinterval(SWITCHING_SECONDS)
    try:
        process = _start(command)
    except OSError as fault:
        reason = fault.strerror or str(fault)
        print(f"overspill: can't start {command[0]!r}: {reason}; check the command after `--`", file=sys.stderr)
        return 127 if isinstance(fault, FileNotFoundError) else 126
    try:
        conversation = prepare()  # everything else is loaded while the server starts
    except BaseException:
        process.kill()
        process.wait()
        raise
    return Pump(process, conversation).run()


class Pump:
    """One server process and its host, on the descriptors 0 and 1."""

    def __init__(self, process: subprocess.Popen[bytes], conversation: Conversation) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._conversation = conversation
        self._to_server = process.stdin.fileno()
        self._from_server = process.stdout.fileno()
        self._host = Outlet(1)
        self._own = OwnCalls(conversation, self._host)
        self._host_done = threading.Event()
        self._server_done = threading.Event()
        self._ended = threading.Event()
        """Either side, or a signal: the main thread looks what it is."""
        self._signal = 0
        self._heard_chunks = 0
        self._is_bounding = False

    def run(self) -> int:
        self._catch_signals()
        for target in (self._host_to_server, self._server_to_host):
            threading.Thread(target=target, daemon=True).start()
        while not (self._signal or self._host_done.is_set() or self._is_stillborn()):
            self._ended.wait()
            self._ended.clear()
        if self._host_done.is_set() and not self._signal:
            self._own.drain(ENDING_SECONDS)
            self._let_the_server_finish()
        status = self._end_server()
        if self._signal:
            return 128 + self._signal
        return status if self._is_stillborn() else 0

    def _let_the_server_finish(self) -> None:
        """For as long as it says something that the host still reads, or that is on its way there."""
        before = -1
        while (before != self._heard_chunks or self._is_bounding) and not self._signal:
            before = self._heard_chunks
            if self._server_done.wait(ENDING_SECONDS):
                return

    def _is_stillborn(self) -> bool:
        """The server ended before it had answered anything: so would the host see it without overspill."""
        return self._server_done.is_set() and not self._conversation.is_started

    def _host_to_server(self) -> None:
        from overspill.mcp.wire import Lines

        lines = Lines()
        try:
            while chunk := os.read(0, READ_BYTES):
                self._pass_on([self._conversation.from_host(line) for line in lines.feed(chunk)])
            if rest := lines.rest():
                self._pass_on([self._conversation.from_host(rest)])
        except OSError:
            pass  # the host has gone
        finally:
            with suppress(OSError):
                os.close(self._to_server)
            self._host_done.set()
            self._ended.set()

    def _pass_on(self, turns: list[Turn]) -> None:
        forward: list[bytes] = []
        answers = b"".join([turn.answer + b"\n" for turn in turns if turn.answer])
        for turn in turns:
            for call in turn.calls:
                self._own.put(call)
            if turn.unlisted:
                self._to_the_server(b"".join(forward))
                forward.clear()
                self._list(turn.unlisted)
            forward.append(turn.forward)
        if answers:
            self._host.write(answers)
        self._to_the_server(b"".join(forward))

    def _to_the_server(self, data: bytes) -> None:
        if data:
            with suppress(BrokenPipeError):  # the reader of its output sees the end and answers what waits
                write_all(self._to_server, data)

    def _list(self, unlisted: Unlisted) -> None:
        while unlisted.request and not unlisted.is_known:
            self._conversation.expect(unlisted)
            self._to_the_server(unlisted.request + b"\n")
            unlisted.listed(self._conversation.heard())

    def _server_to_host(self) -> None:
        from overspill.mcp.wire import Lines

        lines = Lines()
        with suppress(OSError):
            while chunk := os.read(self._from_server, READ_BYTES):
                self._to_host(lines.feed(chunk))
                self._heard_chunks += 1
            if rest := lines.rest():
                last = self._conversation.from_server(rest)
                self._host.write(last + b"\n" if self._conversation.is_started else last)
        refused = self._conversation.server_gone(self._epitaph())
        with suppress(OSError):
            self._host.write(b"".join([message + b"\n" for message in refused]))
        self._server_done.set()
        self._ended.set()

    def _to_host(self, lines: list[bytes]) -> None:
        """In their order; what is ready does not wait for a large result that has still to be bounded."""
        ready: list[bytes] = []
        lines.reverse()
        while lines:
            became = self._conversation.begun_from_server(lines.pop())  # the work alone holds it
            if not isinstance(became, bytes):
                self._host.write(b"".join(ready))
                ready.clear()
                self._is_bounding = True
                became = became()
                self._is_bounding = False
            ready.append(became)
        self._host.write(b"".join(ready))

    def _epitaph(self) -> str:
        """Why the server does not answer any more, for the host's log and the model."""
        try:
            status = self._process.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            how = "has closed its output"
        else:
            how = f"was ended by signal {-status}" if status < 0 else f"has ended with exit status {status}"
        return f"the MCP server {how}; only the read-back tools answer now: restart it to go on"

    def _end_server(self) -> int:
        process = self._process
        for end, seconds in ((process.terminate, ENDING_SECONDS), (process.kill, KILLING_SECONDS)):
            if process.poll() is not None:
                break
            with suppress(OSError):
                end()
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
        status = process.returncode
        return 1 if status is None else 128 - status if status < 0 else status

    def _catch_signals(self) -> None:
        def caught(number: int, frame: object) -> None:
            self._signal = number
            self._ended.set()
            with suppress(OSError, ValueError):
                self._process.send_signal(number)

        for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK"):
            if hasattr(signal, name):
                with suppress(ValueError, OSError):  # not in the main thread, or not here
                    signal.signal(getattr(signal, name), caught)


class Outlet:
    """A descriptor that several threads write whole messages to."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def write(self, data: bytes) -> None:
        if data:
            with self._lock:
                write_all(self._descriptor, data)


class OwnCalls:
    """Answers read-back calls beside the stream of messages, a few at a time."""

    def __init__(self, conversation: Conversation, host: Outlet) -> None:
        self._conversation = conversation
        self._host = host
        self._waiting: queue.Queue[OwnCall] = queue.Queue(WAITING_CALLS)
        self._threads = 0

    def put(self, call: OwnCall) -> None:
        """Waits for a place among those that wait: a host that does not read its answers is not read either."""
        if self._threads < WORKERS:
            self._threads += 1
            threading.Thread(target=self._work, daemon=True).start()
        self._waiting.put(call)

    def drain(self, seconds: float) -> None:
        """Waits until all are answered, but not for ever: the host has closed its side."""
        waiting = threading.Thread(target=self._waiting.join, daemon=True)
        waiting.start()
        waiting.join(seconds)

    def _work(self) -> None:
        while True:
            call = self._waiting.get()
            try:
                answer = self._conversation.answer(call)
                if answer:
                    with suppress(OSError):
                        self._host.write(answer + b"\n")
            finally:
                self._waiting.task_done()


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            import select

            select.select([], [descriptor], [])


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    words = list(command)
    if sys.platform == "win32":
        import shutil

        words[0] = shutil.which(words[0]) or words[0]  # finds npx.cmd as well
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    for stream in (process.stdin, process.stdout):
        _widen(stream.fileno() if stream else 0)
    return process


def _widen(descriptor: int) -> None:
    """A larger pipe takes fewer turns for a large message; where that can't be had it works the same."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def _binary(*descriptors: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        for descriptor in descriptors:
            msvcrt.setmode(descriptor, os.O_BINARY)
