"""An output gets its name, its journal line and its row in one transaction: it is there whole or not at all.

Equal outputs are kept once: the same bytes again count a call, and mend a file that is damaged or compressed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from overspill.core.model import Call
from overspill.core.ports import Stored
from overspill.store import upkeep
from overspill.store.handles import code_of
from overspill.store.names import DEFAULT, file_name, later
from overspill.store.recovery import is_regular

if TYPE_CHECKING:
    from overspill.store.index import Entry, Index
    from overspill.store.local import LocalStore
    from overspill.store.local_blobs import LocalSpill
    from overspill.store.tally import Tallied


def commit(store: LocalStore, index: Index, spill: LocalSpill, tallied: Tallied, call: Call) -> Stored:
    """The row of an output, known or new; on a fault everything is as before."""
    from overspill.store.journal import Kept

    code = code_of(tallied.digest)
    undo: Callable[[], None] | None = None
    try:
        with index.transaction():
            # The time is that of our turn, not of when we queued for it: so order of time is order of commit, and a
            # listing in progress never meets an output a second time, further down.
            now = store.clock()
            near = index.near(code)
            known = index.by_code(code) if code in near else None
            if known is not None:
                call = call.filled_from(known.row.call)
            handle = known.row.handle if known else index.handle_for(code, near)
            name = _plain_name(store, index, known, handle, call, now)
            times = known.row.times + 1 if known else 1
            store.journal.append(
                Kept(
                    digest=tallied.digest,
                    handle=handle,
                    name=name,
                    bytes=tallied.size,
                    lines=tallied.lines,
                    created=now,
                    call=call,
                    times=times,
                ),
                now=now,
            )
            final = os.path.join(store.where, name)
            if known is None or not _is_whole(store, known):
                spill.move_to(final)
                temporary = spill.path
                undo = lambda: os.replace(final, temporary)  # noqa: E731
            row = Stored(
                handle=handle, digest=tallied.digest, bytes=tallied.size, lines=tallied.lines, created=now,
                read=now, call=call, path=final, times=times, pinned=known.row.pinned if known else False,
            )  # fmt: skip
            if known is None:
                index.insert(row, name, tallied.line_starts)
                if code in near:
                    index.revive(code)
            else:
                index.seen_again(code, call, now, times=times)
                if known.name != name:
                    index.update(code, name=name, encoding="", kept_bytes=None)
    except BaseException:
        if undo:
            with suppress(OSError):
                undo()
        raise
    if undo:
        spill.settled()
    if known is not None and known.name != name:
        upkeep.drop_unnamed(store, index, known.name)
    return row


def _plain_name(store: LocalStore, index: Index, known: Entry | None, handle: str, call: Call, now: float) -> str:
    if known is not None:
        store.file_of(known)
        return known.name.removesuffix(".zst") if known.encoding else known.name
    store.named_at = now = later(now, store.named_at)
    name = file_name(store.naming, handle=handle, call=call, now=now)
    ordinal = 0
    while store.naming != DEFAULT and (index.has_name(name) or os.path.lexists(store.root / name)):
        ordinal += 1
        name = file_name(store.naming, handle=handle, call=call, now=now, ordinal=ordinal)
    return name


def _is_whole(store: LocalStore, entry: Entry) -> bool:
    """Is the plain file there in its full length? A compressed one counts as missing: it is made plain again."""
    if entry.encoding:
        return False
    try:
        found = os.lstat(store.file_of(entry))
    except OSError:
        return False
    return is_regular(found) and found.st_size == entry.row.bytes
