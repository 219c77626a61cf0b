"""Looks a store over: what it holds by tool and age, what is wrong with it, and the command that mends each.

Only looks: nothing is written, removed or rebuilt here, except that a damaged index mends itself when it
is opened, which is then reported.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from overspill.core.ports import Store, Stored
from overspill.errors import StoreError
from overspill.store import files, recovery
from overspill.store.local import LocalStore
from overspill.store.object import ObjectStore

if TYPE_CHECKING:
    from overspill.store.index import Entry

REBUILD = "overspill doctor --rebuild"
COLLECT = "overspill gc"
ELSEWHERE = "OVERSPILL_DIR=… names another place"
AGES = (("today", 1.0), ("this week", 7.0), ("this month", 30.0), ("older", float("inf")))
LOW_BYTES = 200_000_000
MOST_FINDINGS_OF_A_KIND = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, and what to type."""

    what: str
    command: str


@dataclass(frozen=True, slots=True)
class Group:
    """Outputs that have a tool or an age in common."""

    name: str
    outputs: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """What a look at a store found."""

    where: str
    outputs: int
    bytes: int
    by_tool: tuple[Group, ...]
    by_age: tuple[Group, ...]
    findings: tuple[Finding, ...]


def examine(store: Store, *, now: float) -> Checkup:
    """A checkup of any store; our local one is looked over file by file (sizes and kinds, not contents)."""
    findings: list[Finding] = []
    rows: list[Stored] = []
    where = str(getattr(store, "where", type(store).__name__))
    if isinstance(store, LocalStore):
        findings += _directory(store)
        entries = _entries(store, findings)
        rows = [entry.row for entry in entries]
        if os.path.isdir(store.internals):
            findings += _limited(_outputs(store, entries))
            findings += _remains(store, entries)
    else:
        try:
            rows = list(store.outputs())
            findings += _limited(_objects(store)) if isinstance(store, ObjectStore) else []
        except StoreError as error:
            findings.append(Finding(str(error), "check the address, the credentials and the network"))
    return Checkup(
        where=where,
        outputs=len(rows),
        bytes=sum(_cost(row) for row in rows),
        by_tool=_groups((row.call.tool or "(no tool)", row) for row in rows),
        by_age=_groups(((_age(now - row.created), row) for row in rows), order=[name for name, _ in AGES]),
        findings=tuple(findings),
    )


def verify(store: Store) -> Iterator[Finding]:
    """Reads every output whole and compares its digest; slow, and the only way to see a changed byte."""
    for row in store.outputs():
        try:
            blob = store.open(row.handle)
        except StoreError as error:
            yield Finding(str(error), f"overspill rm {row.handle}")
            continue
        digest = hashlib.sha256()
        for start in range(0, blob.size, 1 << 20):
            digest.update(blob.read(start, 1 << 20))
        blob.close()
        if digest.hexdigest() != row.digest:
            yield Finding(f"{row.handle} no longer holds what the tool printed", f"overspill rm {row.handle}")


def _directory(store: LocalStore) -> Iterator[Finding]:
    root = store.root
    quoted = shlex.quote(str(root))
    try:
        found = os.stat(root)
    except FileNotFoundError:
        above = next(parent for parent in root.parents if parent.exists())
        if files.is_read_only(above) or not os.access(above, os.W_OK | os.X_OK):
            yield Finding(f"{root} can't be made: {above} can't be written; new outputs are not saved", ELSEWHERE)
        return
    except OSError as error:
        yield Finding(f"{root}: {files.in_words(error)}", f"ls -ld {quoted}")
        return
    if not stat.S_ISDIR(found.st_mode):
        yield Finding(f"{root} is not a directory", ELSEWHERE)
        return
    if os.name != "nt" and found.st_mode & 0o077:
        yield Finding(f"others can look into {root}", f"chmod 700 {quoted}")
    if files.is_read_only(root):
        yield Finding(f"{root} is on a read-only disk: new outputs are not saved", ELSEWHERE)
        return
    for directory in (root, store.internals, store.temporary, store.journal_path):
        try:
            files.require_directory(directory) if directory != root else None
        except FileNotFoundError:
            continue
        except OSError as error:
            yield Finding(f"{directory}: {files.in_words(error)}", f"rm {shlex.quote(str(directory))}")
            continue
        if not os.access(directory, os.W_OK | os.X_OK):
            yield Finding(
                f"{directory} can't be written: new outputs are not saved", f"chmod u+rwx {shlex.quote(str(directory))}"
            )
    broken = store.internals / recovery.ASIDE
    if os.path.exists(broken):
        yield Finding("a damaged index was moved aside and built again", f"rm {shlex.quote(str(broken))}*")
    free = shutil.disk_usage(root).free
    if free < LOW_BYTES:
        yield Finding(f"the disk has {free:,} bytes left", COLLECT)


def _entries(store: LocalStore, findings: list[Finding]) -> list[Entry]:
    broken = store.internals / recovery.ASIDE
    was_broken = os.path.exists(broken)
    try:
        entries = list(store.entries())
        problems = store.run(lambda index: index.problems()) if os.path.exists(store.where) else []
    except StoreError as error:
        findings.append(Finding(str(error), REBUILD))
        return []
    findings += [Finding(f"the index is damaged: {problem}", REBUILD) for problem in problems[:1]]
    if os.path.exists(broken) and not was_broken:
        findings.append(
            Finding("the index was damaged; it was built again just now", f"rm {shlex.quote(str(broken))}*")
        )
    return entries


def _outputs(store: LocalStore, entries: list[Entry]) -> Iterator[Finding]:
    for entry in entries:
        handle, size = entry.row.handle, entry.row.bytes
        try:
            path = store.file_of(entry)
            found = os.lstat(path)
        except FileNotFoundError:
            yield Finding(f"{handle}: its file was deleted from outside", COLLECT)
            continue
        except (OSError, StoreError) as error:
            yield Finding(f"{handle}: {error}", f"overspill rm {handle}")
            continue
        if not recovery.is_regular(found):
            yield Finding(f"{handle}: {path} is not a regular file; it is never read", f"overspill rm {handle}")
        elif not os.access(path, os.R_OK):
            yield Finding(f"{handle}: {path} can't be read", f"chmod u+r {shlex.quote(path)}")
        elif not entry.encoding and found.st_size != size:
            yield Finding(f"{handle} has {found.st_size:,} bytes instead of {size:,}", f"overspill rm {handle}")


def _objects(store: ObjectStore) -> Iterator[Finding]:
    """What an object store can tell by listing."""
    for path in store.rows.damaged():
        yield Finding(f"the row {path} is damaged", COLLECT)
    for row in store.lost():
        yield Finding(f"{row.handle}: its object was deleted", COLLECT)
    if uploads := store.unnamed():
        yield Finding(f"{len(uploads)} uploads that no row names", COLLECT)


def _remains(store: LocalStore, entries: list[Entry]) -> Iterator[Finding]:
    try:
        remains = files.abandoned(store.temporary)
    except OSError:
        remains = []
    if remains:
        size = sum(os.lstat(path).st_size for path in remains)
        yield Finding(f"{len(remains)} unfinished outputs of processes that died ({size:,} bytes)", COLLECT)
    named = {entry.name for entry in entries}
    twins = set(recovery.twins(store, known=named))
    if lost := [path for path in recovery.orphans(store, known=named) if path not in twins]:
        names = ", ".join(path.name for path in lost[:3]) + (", …" if len(lost) > 3 else "")
        yield Finding(f"{len(lost)} files that no row names: {names}", REBUILD)
    if twins:
        yield Finding(f"{len(twins)} files that are there twice, plain and compressed", COLLECT)
    try:
        doomed = store.plan_gc()
    except StoreError:
        return
    if doomed:
        size = sum(_cost(row) for row, _ in doomed)
        yield Finding(f"{len(doomed)} outputs are over the limits ({size:,} bytes)", COLLECT)


def _limited(findings: Iterable[Finding]) -> list[Finding]:
    """A thousand files deleted at once are one message, not a thousand."""
    found = list(findings)
    if len(found) <= MOST_FINDINGS_OF_A_KIND:
        return found
    more = len(found) - MOST_FINDINGS_OF_A_KIND
    return [*found[:MOST_FINDINGS_OF_A_KIND], Finding(f"{more:,} more outputs like these", COLLECT)]


def _groups(named: Iterable[tuple[str, Stored]], *, order: list[str] | None = None) -> tuple[Group, ...]:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, row in named:
        sums[name][0] += 1
        sums[name][1] += _cost(row)
    groups = [Group(name, count, size) for name, (count, size) in sums.items()]
    if order is not None:
        return tuple(sorted(groups, key=lambda group: order.index(group.name)))
    return tuple(sorted(groups, key=lambda group: (-group.bytes, group.name)))


def _age(seconds: float) -> str:
    return next(name for name, days in AGES if seconds < days * 86_400 or days == float("inf"))


def _cost(row: Stored) -> int:
    return row.bytes if row.kept_bytes is None else row.kept_bytes
