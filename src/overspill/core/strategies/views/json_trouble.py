"""What documents in a row say of trouble, since a row of documents is most often a log.

Guarantees that a level counts for less the more documents speak of it. Leaves single documents alone, in which such
words are but vocabulary.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from overspill.core.strategies.salience import severity
from overspill.core.strategies.views.json_scan import Run

OUTRIGHT = {severity.ERROR: 0.9, severity.FATAL: 1.2}
"""What a document that speaks of an error is worth, if it is the only one."""
FEW = 3
"""So many of one level don't make it common."""
COMMON = 12
"""How fast a level loses worth with the share of documents that have it."""


class Troubles:
    """Gathers while the documents flow."""

    def __init__(self) -> None:
        self._seen: Counter[int] = Counter()
        self._documents = 0

    def see(self, run: Run) -> None:
        """Notes where a run of documents speaks of errors."""
        self._documents += run.count
        run.troubles = [(run.start + at, level) for at, level in severity.scan(run.data) if level >= severity.ERROR]
        self._seen.update([level for _, level in run.troubles])

    def worth(self, level: int) -> float:
        """What a document is worth that speaks of trouble this bad."""
        if level not in OUTRIGHT:
            return 0.0
        excess = max(0, self._seen[level] - FEW) / max(1, self._documents)
        return OUTRIGHT[level] / (1 + COMMON * excess)

    def of_run(self, run: Run) -> float:
        """The same of a run, by the worst that it says."""
        return max([self.worth(level) for level in {level for _, level in run.troubles}], default=0.0)


def worst_between(troubles: Sequence[tuple[int, int]], start: int, end: int) -> int:
    """The worst level between two places of the source; none is 0."""
    first, last = bisect_left(troubles, (start, 0)), bisect_left(troubles, (end, 0))
    return max([level for _, level in troubles[first:last]], default=0)
