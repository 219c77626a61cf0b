"""Runs a shell command: its output goes into the store while it comes, and what matters of it to the model.

Memory does not depend on what the command prints.  It runs in a process group of its own, which is ended
as a whole when the time is up or nobody waits any more.  ``process`` serves a terminal and handles
signals for the whole program; a tool among others can do neither, and needs only the pipe.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import ClassVar

from overspill.core.model import Budget, Call
from overspill.core.policy import DEFAULT_BUDGET, Policy
from overspill.core.ports import Store
from overspill.errors import RequestError
from overspill.tools.base import Tool
from overspill.tools.result import ToolResult, metadata_of
from overspill.tools.root import Root

TIMEOUT_SECONDS = 120
MOST_SECONDS = 3_600
_CHUNK_BYTES = 1 << 18
_STATUS_BYTES = 120
"""Kept free for the line that says how it ended."""
GRACE_SECONDS = 2.0


def _default_policy() -> Policy:
    tokens, size = DEFAULT_BUDGET.max_tokens or 0, DEFAULT_BUDGET.max_bytes or 0
    return Policy(budget=Budget(max_tokens=tokens - _STATUS_BYTES // 2, max_bytes=size - _STATUS_BYTES))


class Bash(Tool):
    """Runs a command with bash in the project's directory; answers with what matters of its output."""

    name = "bash"
    policy: ClassVar[Policy | None] = None

    def __init__(
        self,
        root: str | os.PathLike[str] = ".",
        *,
        store: Store | str | None = None,
        policy: Policy | None = None,
        shell: str = "",
    ) -> None:
        super().__init__(store=store)
        self._root = Root(root)
        self._own_policy = policy or _default_policy()
        self._shell = shell or next((path for path in ("/bin/bash", "/usr/bin/bash") if os.access(path, os.X_OK)), "sh")
        from overspill.bounder import Bounder

        self.bounder = Bounder(self._own_policy, super().bounder.store)

    async def execute(self, command: str, timeout_seconds: int = TIMEOUT_SECONDS, directory: str = ".") -> ToolResult:
        if not 1 <= timeout_seconds <= MOST_SECONDS:
            raise RequestError("timeout_seconds", timeout_seconds, f"a number of seconds, 1 to {MOST_SECONDS}")
        if "\0" in command:
            raise RequestError("command", command[:80], "a command without NUL")
        place = self._root.directory(directory)
        capturing = self.bounder.capture(Call(tool=self.name, command=command))
        process = await asyncio.create_subprocess_exec(
            self._shell, "-c", command, cwd=place, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT, start_new_session=True, limit=_CHUNK_BYTES,
        )  # fmt: skip
        assert process.stdout is not None
        timed_out = False
        try:
            async with asyncio.timeout(timeout_seconds):
                while chunk := await process.stdout.read(_CHUNK_BYTES):
                    await capturing.afeed(chunk)
                await process.wait()
        except TimeoutError:
            timed_out = True
        finally:
            await _end(process)
        status = process.returncode if process.returncode is not None else -1
        bounded = await capturing.afinish(exit_status=124 if timed_out else status)
        ending = _ending(status, timed_out=timed_out, timeout_seconds=timeout_seconds)
        return ToolResult(
            content="\n".join(filter(None, (ending, bounded.text))),
            metadata={**metadata_of(bounded), "exit_status": None if timed_out else status, "timed_out": timed_out},
            is_error=timed_out,
        )


def _ending(status: int, *, timed_out: bool, timeout_seconds: int) -> str:
    if timed_out:
        return f"[stopped after {timeout_seconds} seconds]"
    if status < 0:
        with suppress(ValueError):
            return f"[ended by {signal.Signals(-status).name}]"
    return f"[exit status {status}]" if status else ""


async def _end(process: asyncio.subprocess.Process) -> None:
    """The whole group: a shell that is killed alone leaves its children behind."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            break
        _signal(process.pid, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                await process.wait()
    _signal(process.pid, signal.SIGKILL)


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
