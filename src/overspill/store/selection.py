"""Which of the stored outputs somebody means: a filter over the rows of any store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from overspill.core.ports import Stored


def matching(
    rows: Iterable[Stored],
    *,
    tool: str = "",
    session: str = "",
    labels: Mapping[str, str] | None = None,
    created_since: float | None = None,
) -> Iterator[Stored]:
    """The rows that agree with everything that is given, in the order in which they come."""
    wanted = set((labels or {}).items())
    for row in rows:
        call = row.call
        if (
            (not tool or call.tool == tool)
            and (not session or call.session == session)
            and wanted <= set(call.labels)
            and (created_since is None or row.created >= created_since)
        ):
            yield row
