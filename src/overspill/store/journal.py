"""The store's log in plain text: one JSON line for each output kept, removed or pinned, in files by day.

The index is derived and may be lost; from these lines and the files it is built again, with the tool
calls and the tombstones.  Lines are appended in one write; a line torn by a crash is skipped, and
every line starts fresh so that it tears no other.  A day goes when nothing kept or remembered needs it.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from overspill.core.model import Call
from overspill.store.files import append, open_regular, read_at

DAY_SECONDS = 86_400


class Kept(msgspec.Struct, tag="kept", tag_field="event", omit_defaults=True, frozen=True):
    """An output came in, or came again."""

    digest: str
    handle: str
    name: str
    bytes: int
    lines: int
    created: float
    call: Call
    times: int = 1


class Removed(msgspec.Struct, tag="removed", tag_field="event", omit_defaults=True, frozen=True):
    """An output went."""

    digest: str
    handle: str
    removed: float
    reason: str
    bytes: int
    lines: int
    call: Call


class Pinned(msgspec.Struct, tag="pinned", tag_field="event", omit_defaults=True, frozen=True):
    """An output was pinned or let go."""

    digest: str
    pinned: bool


Event = Kept | Removed | Pinned

_encoder = msgspec.json.Encoder()


def encoded(value: object) -> bytes:
    """JSON of a value; what UTF-8 can't say (a lone surrogate in a command) is escaped."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value)).encode()


class Journal:
    """The log of one store; safe for any number of processes to append to."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._day = -1
        self._path = ""

    def append(self, event: Event, *, now: float) -> None:
        day = int(now // DAY_SECONDS)
        if day != self._day:
            date = datetime.datetime.fromtimestamp(now, datetime.UTC)
            self._path = os.path.join(self._directory, f"{date:%Y-%m-%d}.jsonl")
            self._day = day
        append(self._path, b"\n" + encoded(event) + b"\n")

    def events(self) -> Iterator[Event]:
        """Everything still told, oldest first."""
        for path in self._files():
            with os.fdopen(open_regular(path), "rb") as lines:
                for line in lines:
                    if (event := _decoded(line)) is not None:
                        yield event

    def latest(self, most_bytes: int) -> list[Event]:
        """The last events, oldest first: those within the last ``most_bytes``."""
        found: list[Event] = []
        for path in reversed(self._files()):
            handle = open_regular(path)
            try:
                size = os.fstat(handle).st_size
                tail = read_at(handle, max(size - most_bytes, 0), most_bytes)
            finally:
                os.close(handle)
            found[:0] = [event for line in tail.split(b"\n") if (event := _decoded(line)) is not None]
            most_bytes -= len(tail)
            if most_bytes <= 0:
                break
        return found

    def forget(self, *, oldest_needed: float, now: float) -> None:
        """Removes the days before what is still told of."""
        needed = min(oldest_needed, now) - DAY_SECONDS
        limit = f"{datetime.datetime.fromtimestamp(max(needed, 0), datetime.UTC):%Y-%m-%d}.jsonl"
        for path in self._files():
            if path.name < limit:
                path.unlink(missing_ok=True)

    def is_empty(self) -> bool:
        return not self._files()

    def _files(self) -> list[Path]:
        try:
            return sorted(Path(entry.path) for entry in os.scandir(self._directory) if entry.name.endswith(".jsonl"))
        except FileNotFoundError:
            return []


def decoded(text: bytes | str, kind: Any) -> Any:
    """The value that ``encoded`` wrote, lone surrogates and all; None where that can't be read."""
    try:
        try:
            return msgspec.json.decode(text, type=kind)
        except msgspec.DecodeError:
            return msgspec.convert(json.loads(text), kind)
    except (msgspec.ValidationError, ValueError):
        return None


def _decoded(line: bytes) -> Event | None:
    event: Event | None = decoded(line, Event) if len(line) > 1 else None
    return event
