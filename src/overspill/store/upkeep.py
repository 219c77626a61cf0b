"""What keeps a local store in order: retention, the end of what is told of it, compression of what is cold.

All of it may be interrupted anywhere and run by several processes at once.  Files go inside the transaction
that removes their row, so that nobody's new output of the same content is ever taken with the old one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from overspill.store import files
from overspill.store.local_blobs import open_blob
from overspill.store.recovery import catch_up, found_again, is_lost, twins
from overspill.store.retention import DAY_SECONDS, Doomed, doomed
from overspill.store.tombstones import KEPT_DAYS, MOST_TOMBSTONES, Tombstone

if TYPE_CHECKING:
    from overspill.store.index import Entry, Index
    from overspill.store.local import LocalStore

COMPRESSED_AT_LEAST = 16 * 1024
_BATCH = 200
"""Removals per transaction: others who want to write wait no longer than that."""


def plan(store: LocalStore, index: Index) -> list[tuple[Entry, Doomed]]:
    """What retention takes now."""
    now = store.clock()
    leased = index.leased(now)
    by_handle = {entry.row.handle: entry for entry in index.entries()}
    spared = {handle for handle, entry in by_handle.items() if entry.code in leased}
    taken = doomed((entry.row for entry in by_handle.values()), store.retention, now=now, leased=spared)
    return [(by_handle[found.row.handle], found) for found in taken]


def _anything_doomed(store: LocalStore, index: Index) -> bool:
    """A quick look that spares most processes the whole list."""
    count, size, oldest = index.totals()
    limits = store.retention
    return bool(
        (limits.days is not None and oldest is not None and oldest <= store.clock() - limits.days * DAY_SECONDS)
        or (limits.max_total_bytes is not None and size > limits.max_total_bytes)
        or (limits.max_outputs is not None and count > limits.max_outputs)
        or (limits.max_per_session is not None and index.most_of_a_session() > limits.max_per_session)
    )


def remove(
    store: LocalStore,
    index: Index,
    doomed_entries: Iterable[tuple[Entry, str]],
    *,
    by: Literal["hand", "retention"],
) -> list[Entry]:
    """Takes files and rows, leaves tombstones; what others removed or renewed since is passed over.

    Retention passes over what was pinned or is being read by now, too.
    """
    from overspill.store.journal import Removed

    pending, gone = list(doomed_entries), []
    for start in range(0, len(pending), _BATCH):
        with index.transaction():
            now = store.clock()
            leased = index.leased(now) if by == "retention" else set()
            for entry, reason in pending[start : start + _BATCH]:
                current = index.by_code(entry.code)
                if current is None or current.row.created != entry.row.created or current.name != entry.name:
                    continue
                if by == "retention" and (current.row.pinned or current.code in leased):
                    continue
                row = current.row
                stone = Tombstone.of(row, reason=reason, now=now)
                store.journal.append(
                    Removed(
                        digest=row.digest, handle=row.handle, removed=now, reason=reason, bytes=row.bytes,
                        lines=row.lines, call=row.call,
                    ),
                    now=now,
                )  # fmt: skip
                try:
                    os.unlink(store.file_of(current))
                except FileNotFoundError:
                    pass
                except PermissionError:
                    if os.name != "nt":
                        raise
                    continue  # Windows: someone has it open, which is as good as a lease.
                index.bury(current, stone)
                gone.append(current)
    return gone


def light_pass(store: LocalStore, index: Index) -> None:
    """Once per process: what crashes left, and retention where anything is due."""
    files.sweep(store.temporary)
    catch_up(store, index)
    if _anything_doomed(store, index):
        _retire(store, index)
    _forget(store, index)


def whole_pass(store: LocalStore, index: Index) -> list[Doomed]:
    """All upkeep; the outputs that went: those that retention took, and those whose file was gone already."""
    files.sweep(store.temporary)
    catch_up(store, index)
    missing = [found_again(store, index, entry.code) for entry in index.entries() if is_lost(store, entry)]
    lost = [entry for entry in missing if entry is not None and is_lost(store, entry)]
    reason = "its file was deleted from outside"
    gone = [Doomed(entry.row, reason) for entry in remove(store, index, [(one, reason) for one in lost], by="hand")]
    taken = _retire(store, index)
    if store.compress_after_days is not None:
        cold = store.clock() - store.compress_after_days * DAY_SECONDS
        for entry in list(index.entries()):
            if not entry.encoding and entry.row.read <= cold and entry.row.bytes >= COMPRESSED_AT_LEAST:
                _compress(store, index, entry)
    _drop_twins(store, index)
    _forget(store, index)
    return gone + taken


def _retire(store: LocalStore, index: Index) -> list[Doomed]:
    planned = plan(store, index)
    taken = remove(store, index, [(entry, found.reason) for entry, found in planned], by="retention")
    gone = {entry.code for entry in taken}
    return [found for entry, found in planned if entry.code in gone]


def _forget(store: LocalStore, index: Index) -> None:
    """What is told of outputs that went is bounded as well: tombstones, and the journal that tells of them."""
    now = store.clock()
    with index.transaction():
        index.forget(removed_before=now - KEPT_DAYS * DAY_SECONDS, most=MOST_TOMBSTONES, now=now)
    store.journal.forget(oldest_needed=index.oldest_told() or now, now=now)


def drop_unnamed(store: LocalStore, index: Index, name: str) -> None:
    """Removes a file that no row names any more: plain where it was compressed, or compressed where it is plain again.

    Looked up and removed in one transaction: in between, another process could have given the name to an output.
    """
    from overspill.store.index import Replaced

    # What is left lying because of a fault goes with the next whole pass.
    with contextlib.suppress(OSError, Replaced), index.transaction():
        if not index.has_name(name):
            os.unlink(store.root / name)


def _drop_twins(store: LocalStore, index: Index) -> None:
    """What a process left that was killed while it compressed, or made plain again."""
    for path in twins(store, known={entry.name for entry in index.entries()}):
        drop_unnamed(store, index, path.name)


def _compress(store: LocalStore, index: Index, entry: Entry) -> None:
    from overspill.store.compress import SUFFIX, compress

    try:
        plain = store.file_of(entry)
        blob = open_blob(plain, "")
    except OSError:
        return
    handle, temporary = files.open_temporary(str(store.temporary))
    try:
        size = compress(blob, handle)
        with index.transaction():
            current = index.by_code(entry.code)
            if current is None or current.encoding or size >= entry.row.bytes or blob.size != entry.row.bytes:
                return
            os.replace(temporary, plain + SUFFIX)
            index.update(entry.code, name=entry.name + SUFFIX, encoding="zstd", kept_bytes=size)
        drop_unnamed(store, index, entry.name)
    finally:
        blob.close()
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        os.close(handle)
