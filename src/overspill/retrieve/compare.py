"""``compare``: two outputs by their lines, as sets: what is new, what went.

Order does not count, how often a line stands does.  Guarantees an answer within the budget; memory
follows from the number of different lines, of which more than ``MOST_LINES`` are refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from overspill.core.measure import display
from overspill.core.policy import Policy
from overspill.core.ports import Store
from overspill.errors import RequestError
from overspill.retrieve.answer import Answer, closing, default_policy, fitted, opening

MOST_LINES = 2_000_000
_MOST_SHOWN = 2_000
_SHOWN_CHARS = 300
_READ_BYTES = 1 << 20
_VOLATILE = re.compile(
    rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    rb"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
    rb"|\b\d+(?:\.\d+)?\s?(?:ns|us|ms|s|sec|secs|seconds|min|minutes)\b"
    rb"|\b0x[0-9a-fA-F]{6,}\b"
    rb"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
)


def compare(
    store: Store,
    before: str,
    after: str,
    *,
    volatile: Literal["ignored", "counts"] = "ignored",
    policy: Policy | None = None,
) -> Answer:
    """The lines of ``after`` that ``before`` does not have, then those that went; ``exit_status`` 1 when any."""
    policy = policy or default_policy()
    old, new = store.stored(before), store.stored(after)
    blank = volatile == "ignored"
    old_counts = _counts(store, old.handle, blank=blank)
    new_counts = _counts(store, new.handle, blank=blank)
    added, added_lines = _surplus(store, new.handle, new_counts, old_counts, "+", blank=blank)
    gone, gone_lines = _surplus(store, old.handle, old_counts, new_counts, "-", blank=blank)
    same = sum((new_counts & old_counts).values())
    words = f"{added} new, {gone} went, {same} the same; + are lines of {new.handle}, - of {old.handle}"
    pieces = [*added_lines, *gone_lines]
    read = f"overspill read {new.handle}" if added else f"overspill read {old.handle}"
    text, shown = fitted(
        lambda count: opening("diff", "", words),
        pieces,
        lambda count: closing(f"{added + gone - count} more differences; {read}") if count < added + gone else "",
        policy,
    )
    return Answer(
        text=text,
        handle=new.handle,
        exit_status=1 if added or gone else 0,
        facts={"new": added, "went": gone, "same": same, "shown": shown},
    )


def _counts(store: Store, handle: str, *, blank: bool) -> Counter[int]:
    counts: Counter[int] = Counter()
    for line in _lines(store, handle):
        counts[_key(line, blank=blank)] += 1
        if len(counts) > MOST_LINES:
            raise RequestError("output", handle, f"at most {MOST_LINES:,} different lines can be compared; use diff")
    return counts


def _surplus(
    store: Store, handle: str, mine: Counter[int], theirs: Counter[int], sign: str, *, blank: bool
) -> tuple[int, list[str]]:
    """How many lines are over, and the first of them as text."""
    left = mine - theirs
    total = left.total()
    shown: list[str] = []
    if not total:
        return 0, shown
    for number, line in enumerate(_lines(store, handle), 1):
        key = _key(line, blank=blank)
        if left[key] > 0:
            left[key] -= 1
            text = display(line).rstrip("\n").replace("\n", " ")
            shown.append(f"{sign} {number}: {text[:_SHOWN_CHARS]}{'…' if len(text) > _SHOWN_CHARS else ''}\n")
            if len(shown) == min(total, _MOST_SHOWN):
                break
    return total, shown


def _key(line: bytes, *, blank: bool) -> int:
    line = line.rstrip(b"\r\n")
    return hash(_VOLATILE.sub(b"\0", line) if blank else line)


def _lines(store: Store, handle: str) -> Iterator[bytes]:
    """Line by line; one without an end comes in pieces of a read's size."""
    blob = store.open(handle)
    rest = b""
    try:
        for start in range(0, blob.size, _READ_BYTES):
            data = rest + blob.read(start, _READ_BYTES)
            whole = data.rfind(b"\n") + 1
            yield from data[:whole].splitlines(keepends=True) if b"\r" not in data else _split(data[:whole])
            rest = data[whole:]
            if len(rest) > _READ_BYTES:
                yield rest
                rest = b""
    finally:
        blob.close()
    if rest:
        yield rest


def _split(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]]
