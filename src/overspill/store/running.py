"""Outputs of commands that are still running: found by others, read like kept ones, gone when the command ends.

A record is one small file beside the index, locked by the process that serves the command: where the
lock is free the process has died, and the record is swept.  What is read is what has come so far.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overspill.core.model import Call
from overspill.core.ports import Blob, Spill, Store, Stored
from overspill.errors import StoreUnavailable, UnknownHandle
from overspill.store import files
from overspill.store.lines import LineCounter
from overspill.store.local_blobs import open_blob

DIRECTORY = "running"
PREFIX = "run-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A command in progress."""

    name: str
    """How it is called until its output has a handle: ``run-4711``."""
    pid: int
    """Of the process that serves it."""
    started: float
    tool: str
    command: str
    directory: str
    path: str
    """The file that holds what has come so far."""

    @property
    def bytes(self) -> int:
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0


class Record:
    """This process's own entry, from ``announce`` to ``close``."""

    def __init__(self, internals: Path, *, pid: int, started: float, call: Call) -> None:
        directory = internals / DIRECTORY
        files.private_directory(directory)
        name = f"{PREFIX}{pid}"
        self._record = str(directory / f"{name}.json")
        self._early = str(directory / f"{name}.out")
        self._early_bytes = 0
        self._running = Running(
            name=name,
            pid=pid,
            started=started,
            tool=call.tool,
            command=call.command,
            directory=os.getcwd(),
            path=self._early,
        )
        self._descriptor = files.open_held(self._record)
        self._write()

    def early(self, held: list[bytes]) -> None:
        """What came while little has come: it is in nobody's file yet."""
        data = b"".join(held)
        if len(data) > self._early_bytes:
            files.append(self._early, data[self._early_bytes :])
            self._early_bytes = len(data)

    def moved_to(self, path: str) -> None:
        """From now on the output is in this file."""
        if path != self._running.path:
            self._running = Running(**{**_facts(self._running), "path": path})
            self._write()

    def close(self) -> None:
        # Closed first: Windows removes no open file.
        with suppress(OSError):
            os.close(self._descriptor)
        for path in (self._record, self._early):
            with suppress(OSError):
                os.unlink(path)

    def _write(self) -> None:
        data = json.dumps(_facts(self._running)).encode()
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        files.write_all(self._descriptor, data)
        os.ftruncate(self._descriptor, len(data))


def running(store: Store) -> Iterator[Running]:
    """The commands in progress whose outputs go into this store; remains of dead ones are removed."""
    internals = getattr(store, "internals", None)
    if internals is None:
        return
    directory = Path(internals) / DIRECTORY
    for path in sorted(directory.glob(f"{PREFIX}*.json")) if directory.is_dir() else ():
        found = _read(path)
        if found is not None:
            yield found


class RunningStore:
    """One running command's output as a store of its own, so that whatever reads kept outputs reads it."""

    def __init__(self, store: Store, name: str) -> None:
        self.internals = getattr(store, "internals", None)
        found = next((one for one in running(store) if one.name == name), None)
        if found is None:
            raise UnknownHandle(name, "it has ended, or never ran here; `overspill ls` lists kept outputs")
        self._running = found

    def stored(self, handle: str) -> Stored:
        blob = self.open(handle)
        counter = LineCounter()
        for start in range(0, blob.size, 1 << 20):
            counter.feed(blob.read(start, 1 << 20))
        blob.close()
        one = self._running
        return Stored(
            handle=one.name,
            digest="",
            bytes=counter.size,
            lines=counter.lines,
            created=one.started,
            read=one.started,
            call=Call(tool=one.tool, command=one.command),
            path=one.path,
        )

    def open(self, handle: str) -> Blob:
        try:
            return open_blob(self._running.path, "")
        except FileNotFoundError:
            return _Nothing()

    def outputs(self) -> Iterator[Stored]:
        yield self.stored(self._running.name)

    def spill(self, call: Call) -> Spill:
        raise StoreUnavailable(self._running.name, "a running command's output can only be read")

    def remove(self, handle: str, *, reason: str) -> None:
        raise StoreUnavailable(self._running.name, "it is still running; end the command first")


class _Nothing:
    """Nothing has come yet."""

    size = 0

    def read(self, start: int, length: int) -> bytes:
        return b""

    def close(self) -> None:
        """Nothing was open."""


def _read(path: Path) -> Running | None:
    for _ in range(3):
        try:
            descriptor = files.open_regular(path)
        except OSError:
            return None
        try:
            if files.is_forsaken(descriptor):
                with suppress(OSError):
                    path.unlink()
                    path.with_suffix(".out").unlink()
                return None
            with suppress(ValueError, TypeError):
                values: dict[str, Any] = json.loads(os.read(descriptor, 1 << 20))
                return Running(**values)
        finally:
            os.close(descriptor)
        time.sleep(0.01)  # it is being written this moment
    return None


def _facts(running: Running) -> dict[str, Any]:
    return {name: getattr(running, name) for name in Running.__dataclass_fields__}
