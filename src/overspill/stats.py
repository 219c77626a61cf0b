"""What bounding saved: one short line for every cut and every read-back, and the sums over them.

Noted beside the local store's index, by appending: a cut costs one small write, an output that passed
untouched costs none.  Tokens of a whole output, and of a plain cut of it, are estimated by the rates of what
was shown of it.  The sums are a pure function of the notes.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from overspill.core.model import Bounded, Call
    from overspill.core.ports import Store

PLAIN_CUT_CHARS = 30_000
"""What a host without overspill would have sent: a plain cut of so many characters."""
FOLLOWED_SECONDS = 1_800
"""A read-back this soon after a cut belongs to it."""
AGAIN_SECONDS = 600
"""The same command this soon after its output was cut was run again for what was not shown."""
MOST_BYTES = 8_000_000
_COMMAND_CHARS = 200
_NAME = "stats.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """An output was cut; sizes in tokens."""

    time: float
    handle: str
    tool: str
    command: str
    raw: int
    plain: int
    shown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBack:
    """A part of a kept output was asked for."""

    time: float
    handle: str
    verb: str
    shown: int


Note = Cut | ReadBack


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What happened to the outputs of one tool or command."""

    name: str
    cuts: int
    raw: int
    """Tokens of the whole outputs."""
    plain: int
    """Tokens of them after a plain cut."""
    shown: int
    read_back: int
    """Tokens of the answers about them."""
    followed: int
    """Cuts after which something was read back."""
    again: int
    """Cuts after which the same command was run again."""

    @property
    def saved(self) -> int:
        return self.raw - self.shown - self.read_back

    @property
    def saved_over_plain(self) -> int:
        return self.plain - self.shown - self.read_back

    @property
    def too_tight(self) -> bool:
        """Half of the cuts were not enough: this tool wants a larger budget, or another strategy."""
        return self.cuts >= 4 and 2 * (self.followed + self.again) >= self.cuts


def sums(notes: Iterable[Note], *, by: str = "tool") -> list[Sums]:
    """Sums by ``tool`` or by ``command`` (its first word), the most tokens first."""
    cuts: list[Cut] = []
    reads: dict[str, list[ReadBack]] = defaultdict(list)
    for note in sorted(notes, key=lambda note: note.time):
        if isinstance(note, Cut):
            cuts.append(note)
        else:
            reads[note.handle].append(note)
    groups: dict[str, list[Cut]] = defaultdict(list)
    for cut in cuts:
        groups[_name_of(cut, by)].append(cut)
    owners = _owners(cuts, reads)
    again = _run_again(cuts)
    found = [
        Sums(
            name=name,
            cuts=len(group),
            raw=sum(cut.raw for cut in group),
            plain=sum(cut.plain for cut in group),
            shown=sum(cut.shown for cut in group),
            read_back=sum(note.shown for cut in group for note in owners.get(id(cut), ())),
            followed=sum(
                any(note.time - cut.time <= FOLLOWED_SECONDS for note in owners.get(id(cut), ())) for cut in group
            ),
            again=sum(id(cut) in again for cut in group),
        )
        for name, group in groups.items()
    ]
    return sorted(found, key=lambda one: (-one.raw, one.name))


def _owners(cuts: Iterable[Cut], reads: dict[str, list[ReadBack]]) -> dict[int, list[ReadBack]]:
    """Every read-back counts once: for the latest cut of its handle before it."""
    by_handle: dict[str, list[Cut]] = defaultdict(list)
    for cut in cuts:
        by_handle[cut.handle].append(cut)
    owners: dict[int, list[ReadBack]] = defaultdict(list)
    for handle, notes in reads.items():
        for note in notes:
            before = [cut for cut in by_handle.get(handle, ()) if cut.time <= note.time]
            if before:
                owners[id(before[-1])].append(note)
    return owners


def _run_again(cuts: Iterable[Cut]) -> set[int]:
    found: set[int] = set()
    latest: dict[tuple[str, str], Cut] = {}
    for cut in cuts:
        key = (cut.tool, cut.command)
        before = latest.get(key)
        if cut.command and before is not None and cut.time - before.time <= AGAIN_SECONDS:
            found.add(id(before))
        latest[key] = cut
    return found


def _name_of(cut: Cut, by: str) -> str:
    if by == "command":
        words = cut.command.split()
        return os.path.basename(words[0]) if words else "(none)"
    return cut.tool or "(none)"


# -- the notes on disk ---------------------------------------------------------------------------------


def note_cut(store: Store, bounded: Bounded, call: Call) -> None:
    """Notes that an output was cut. A fault is no reason to disturb anybody."""
    from overspill.core.tokens import estimate_tokens

    excerpt = "".join(part.text for part in bounded.parts if part.span is not None)
    shown_bytes = len(excerpt.encode("utf-8", "replace"))
    rate = estimate_tokens(excerpt) / shown_bytes if shown_bytes else 0.25
    plain_bytes = PLAIN_CUT_CHARS * (shown_bytes / len(excerpt) if excerpt else 1)
    _append(
        store,
        kind="cut",
        handle=bounded.handle or "",
        tool=call.tool,
        command=call.command[:_COMMAND_CHARS],
        raw=round(bounded.total_bytes * rate),
        plain=round(min(bounded.total_bytes, plain_bytes) * rate),
        shown=estimate_tokens(bounded.text),
    )


def note_read_back(store: Store, *, handle: str, verb: str, text: str) -> None:
    from overspill.core.tokens import estimate_tokens

    _append(store, kind="read", handle=handle, verb=verb, shown=estimate_tokens(text))


def notes(store: Store) -> Iterator[Note]:
    """All that was noted; what cannot be read is left out."""
    import json

    path = _path(store)
    if path is None:
        return
    for name in (path + ".1", path):
        try:
            with open(name, encoding="utf-8", errors="replace") as file:
                lines = file.readlines()
        except OSError:
            continue
        for line in lines:
            with suppress(ValueError, TypeError, KeyError):
                values = json.loads(line)
                yield (Cut if values.pop("kind") == "cut" else ReadBack)(**values)


def _append(store: Store, **values: Any) -> None:
    import json
    import time

    path = _path(store)
    if path is None:
        return
    line = json.dumps({"time": round(time.time(), 3), **values}).encode() + b"\n"
    with suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # One write of a short line is whole or not there, also with others writing.
            os.write(descriptor, line)
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        if size > MOST_BYTES:
            os.replace(path, path + ".1")


def _path(store: Store) -> str | None:
    internals = getattr(store, "internals", None)
    return os.path.join(internals, _NAME) if internals is not None and os.path.isdir(internals) else None
