"""A bounded text that comes in again, through a pipe or from a command that called overspill.

It is cut anew from what the other layer kept: not stored a second time, shown under one notice.  Only when
it is that text and nothing besides; what else a command printed would be lost.
"""

from __future__ import annotations

import re

from overspill.core.measure import readable
from overspill.core.notice import BOUNDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from overspill.bounder import Bounder
    from overspill.core.model import Bounded, Call
    from overspill.core.ports import Store

_LAST_LINE = re.compile(r"\n?\[overspill: [^\n]*exit status \d+ after [^\n]*\]\n\Z")
_END_BYTES = 200_000


def cut_anew(bounder: Bounder, data: bytes, call: Call) -> Bounded | None:
    """The same within the bounder's budget; None when it is an output like any other."""
    text = _LAST_LINE.sub("", readable(data))
    if bounder.store is None or not _is_all(text, bounder.store):
        return None
    again = bounder.bound(text, call)
    found = BOUNDED.match(text)
    return again if found and again.truncated and again.handle == (found["handle"] or found["handle_zh"]) else None


def _is_all(text: str, store: Store) -> bool:
    """One notice at the beginning, and after the last mark the very end of the original, or nothing?"""
    from overspill.errors import OverspillError

    found = BOUNDED.match(text)
    if found is None or BOUNDED.search(text, 1):
        return False
    mark, after = text.rpartition("[… ")[1:]
    omitted, closed, end = after.partition("]")
    if not (mark and closed) or "\n" in omitted:
        return False
    try:
        blob = store.open(found["handle"] or found["handle_zh"])
        try:
            original = readable(blob.read(max(0, blob.size - _END_BYTES), _END_BYTES))
        finally:
            blob.close()
    except (OverspillError, OSError):
        return False
    return original.rstrip("\n").endswith(end.strip("\n"))
