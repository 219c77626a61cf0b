"""Runs a shell command: its output goes into the store while it comes, and what matters of it to the model.

Memory does not depend on what the command prints.  It runs in a process group of its own, which is ended
as a whole with the shell, when the time is up, or when nobody waits any more.  ``process`` serves a
terminal and handles signals for the whole program; a tool among others can do neither, and needs only
the pipe.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from overspill.core.model import Budget, Call
from overspill.core.policy import DEFAULT_BUDGET, Policy
from overspill.core.ports import Store
from overspill.errors import PolicyError, RequestError
from overspill.tools.base import Tool
from overspill.tools.result import ToolResult, metadata_of
from overspill.tools.root import Root
from overspill.tools.running import in_own_thread

if TYPE_CHECKING:
    from overspill.bounder import Capturing

TIMEOUT_SECONDS = 120
MOST_SECONDS = 3_600
GRACE_SECONDS = 2.0
"""For a group that was told to end, and for what a shell left in the background and still prints."""
SILENCE_SECONDS = 0.2
"""After that much of it an open pipe has nothing more of the shell's."""
_CHUNK_BYTES = 1 << 18
_STATUS_BYTES = 120
"""Kept free for the line that says how it ended."""


def _default_policy() -> Policy:
    tokens, size = DEFAULT_BUDGET.max_tokens or 0, DEFAULT_BUDGET.max_bytes or 0
    return Policy(budget=Budget(max_tokens=tokens - _STATUS_BYTES // 2, max_bytes=size - _STATUS_BYTES))


class Bash(Tool):
    """Runs a command with bash in the project's directory; answers with what matters of its output.

    What it leaves in the background ends with it.
    """

    name = "bash"
    timeout_seconds = MOST_SECONDS + 60.0
    """Its own time-out is an argument of each call."""
    policy: ClassVar[Policy | None] = None

    def __init__(
        self,
        root: str | os.PathLike[str] = ".",
        *,
        store: Store | str | None = None,
        policy: Policy | None = None,
        shell: str = "",
    ) -> None:
        if not hasattr(os, "killpg"):
            raise PolicyError(
                "bash", sys.platform, "a POSIX system; elsewhere make a tool of `overspill run -- COMMAND`"
            )
        super().__init__(store=store)
        self._root = Root(root)
        self._shell = shell or next((path for path in ("/bin/bash", "/usr/bin/bash") if os.access(path, os.X_OK)), "sh")
        from overspill.bounder import Bounder

        self.bounder = Bounder(policy or _default_policy(), super().bounder.store)

    async def execute(self, command: str, timeout_seconds: int = TIMEOUT_SECONDS, directory: str = ".") -> ToolResult:
        if not 1 <= timeout_seconds <= MOST_SECONDS:
            raise RequestError("timeout_seconds", timeout_seconds, f"a number of seconds, 1 to {MOST_SECONDS}")
        if "\0" in command:
            raise RequestError("command", command[:80], "a command without NUL")
        place = self._root.directory(directory)
        starting = asyncio.ensure_future(self._started(command, place))
        try:
            started = await asyncio.shield(starting)
        except asyncio.CancelledError:  # half started it would be nobody's
            if not isinstance(started := await starting, str):
                await _end(started.process)
                started.pipe.close()
            raise
        if isinstance(started, str):
            return ToolResult(content=started, is_error=True)
        process, reader, pipe = started
        capturing = self.bounder.capture(Call(tool=self.name, command=command))
        ending = ""
        try:
            async with asyncio.timeout(timeout_seconds):
                await _read(process, reader, capturing)
        except TimeoutError:
            ending = f"[stopped after {timeout_seconds} seconds]"
        except asyncio.CancelledError:  # what it printed is an answer all the same
            ending = "[stopped: nobody waited any longer]"
        finally:
            await _end(process)
            pipe.close()
        stopped = bool(ending)
        status = process.returncode if process.returncode is not None else -1
        bounded = await in_own_thread(lambda: capturing.finish(exit_status=124 if stopped else status))
        return ToolResult(
            content="\n".join(filter(None, (ending or _ending(status), bounded.text))),
            metadata={**metadata_of(bounded), "exit_status": None if stopped else status, "timed_out": stopped},
            is_error=stopped,
        )

    async def _started(self, command: str, place: Path) -> _Started | str:
        """Reads through a pipe of our own: asyncio's would make the end of the shell wait for whoever holds it open."""
        ours, its = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                self._shell, "-c", command, cwd=place, stdin=asyncio.subprocess.DEVNULL, stdout=its,
                stderr=asyncio.subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            os.close(ours)
            return f"the command could not be started: {getattr(error, 'strerror', '') or error}"
        finally:
            os.close(its)
        reader = asyncio.StreamReader(limit=_CHUNK_BYTES)
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb", 0)
        )
        return _Started(process, reader, pipe)


class _Started(NamedTuple):
    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    pipe: asyncio.ReadTransport


async def _read(process: asyncio.subprocess.Process, reader: asyncio.StreamReader, capturing: Capturing) -> None:
    """All that the command prints. What it left in the background may hold the pipe open: then, what is in it
    when the shell has ended."""
    ended = asyncio.ensure_future(process.wait())
    try:
        while chunk := await _chunk(reader, ended):
            await capturing.afeed(chunk)
        async with asyncio.timeout(GRACE_SECONDS):
            while chunk := await asyncio.wait_for(reader.read(_CHUNK_BYTES), SILENCE_SECONDS):
                await capturing.afeed(chunk)
    except TimeoutError:
        if not ended.done():
            raise
    finally:
        ended.cancel()


async def _chunk(reader: asyncio.StreamReader, ended: asyncio.Future[int]) -> bytes:
    """What comes next; nothing once the shell has ended."""
    reading = asyncio.ensure_future(reader.read(_CHUNK_BYTES))
    either: set[asyncio.Future[Any]] = {reading, ended}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        reading.cancel()
    await asyncio.wait({reading})  # two at a time may not read
    if not reading.cancelled() and (chunk := reading.result()):
        return chunk
    await asyncio.wait({ended})  # it may close its output and go on
    return b""


def _ending(status: int) -> str:
    if status < 0:
        with suppress(ValueError):
            return f"[ended by {signal.Signals(-status).name}]"
    return f"[exit status {status}]" if status else ""


async def _end(process: asyncio.subprocess.Process) -> None:
    """The whole group: a shell that is killed alone leaves its children behind."""
    for name in ("SIGTERM", "SIGKILL"):
        if process.returncode is not None:
            break
        _signal(process, name)
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                await process.wait()
    _signal(process, "SIGKILL")


def _signal(process: asyncio.subprocess.Process, name: str) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, getattr(signal, name))
