"""What has to go, and why: a pure function of rows, policy and the time.

Age is counted from the latest call that made the output.  Where room is short, what was read least
recently goes first.  Pinned outputs, leased ones (being read right now) and, for the limits on bytes and
count, the newest one never go.  A time that lies ahead was taken from a wrong clock and tells nothing: such an
output counts as the least recently read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from overspill.core.ports import Stored
from overspill.errors import PolicyError
from overspill.store.quantities import duration_days, size_bytes

DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long and how much; None: no limit."""

    days: float | None = 7.0
    max_total_bytes: int | None = 2_000_000_000
    max_outputs: int | None = None
    max_per_session: int | None = None

    @classmethod
    def of(
        cls,
        *,
        retention_days: float | str | None,
        max_total_bytes: int | str | None,
        max_outputs: int | None,
        max_per_session: int | None,
    ) -> Retention:
        """From settings as people write them; a wrong one is refused with its name."""
        for setting, count in (("max_outputs", max_outputs), ("max_per_session", max_per_session)):
            if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
                raise PolicyError(f"store.{setting}", count, "a whole number, 1 or more, or nothing")
        return cls(
            days=None if retention_days is None else duration_days(retention_days, setting="store.retention_days"),
            max_total_bytes=(
                None if max_total_bytes is None else size_bytes(max_total_bytes, setting="store.max_total_bytes")
            ),
            max_outputs=max_outputs,
            max_per_session=max_per_session,
        )


class Doomed(NamedTuple):
    """An output that retention takes, and the reason in words."""

    row: Stored
    reason: str


def doomed(rows: Iterable[Stored], retention: Retention, *, now: float, leased: Collection[str] = ()) -> list[Doomed]:
    """The outputs that go, in the order in which they do. ``leased`` are handles that are in use."""

    def past(moment: float) -> float:
        return moment if moment <= now + DAY_SECONDS else 0.0

    alive = sorted(rows, key=lambda row: (past(row.read), past(row.created), row.handle))
    newest = max(alive, key=lambda row: (past(row.created), past(row.read), row.handle)).handle if alive else ""
    gone: list[Doomed] = []

    def spared(row: Stored) -> bool:
        return row.pinned or row.handle in leased

    if retention.days is not None:
        limit = now - retention.days * DAY_SECONDS
        reason = f"older than {_days(retention.days)}"
        gone += [Doomed(row, reason) for row in alive if row.created <= limit and not spared(row)]
        alive = [row for row in alive if row.created > limit or spared(row)]
    if retention.max_per_session is not None:
        over = _surplus(alive, retention.max_per_session, spared)
        reason = f"over {retention.max_per_session:,} outputs of one session, least recently read"
        gone += [Doomed(row, reason) for row in alive if row.handle in over]
        alive = [row for row in alive if row.handle not in over]

    total = sum(_cost(row) for row in alive)
    count = len(alive)
    for row in alive:
        too_many = retention.max_outputs is not None and count > retention.max_outputs
        too_big = retention.max_total_bytes is not None and total > retention.max_total_bytes
        if not (too_many or too_big):
            break
        if spared(row) or row.handle == newest:
            continue
        total -= _cost(row)
        count -= 1
        reason = f"over {retention.max_outputs:,} outputs" if too_many else f"over {retention.max_total_bytes:,} bytes"
        gone.append(Doomed(row, f"{reason}, least recently read"))
    return gone


def _surplus(rows: Iterable[Stored], most: int, spared: Callable[[Stored], bool]) -> set[str]:
    """The handles over ``most`` in each session; rows come least recently read first."""
    by_session: dict[str, list[Stored]] = defaultdict(list)
    for row in rows:
        if row.call.session:
            by_session[row.call.session].append(row)
    over: set[str] = set()
    for of_session in by_session.values():
        free = [row.handle for row in of_session if not spared(row)]
        over.update(free[: max(len(of_session) - most, 0)])
    return over


def _cost(row: Stored) -> int:
    return row.bytes if row.kept_bytes is None else row.kept_bytes


def _days(days: float) -> str:
    return f"{days:g} day" if days == 1 else f"{days:g} days"
