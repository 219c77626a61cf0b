"""What others can see of a run in progress: a line on the terminal, a record for `ps` and `tail`.

Nothing of it happens in the first second: most commands have ended by then.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from overspill.cli.output import Output
    from overspill.cli.progress import Progress
    from overspill.store.running import Record

AFTER_SECONDS = 1.0
_EVERY_SECONDS = 0.5


class Live:
    """Called with the seconds gone; ``close`` when the command has ended."""

    def __init__(self, output: Output, progress: Progress | None) -> None:
        self._output = output
        self._progress = progress
        self._next = AFTER_SECONDS
        self._record: Record | None = None
        self._can_record = True

    def __call__(self, seconds: float) -> None:
        if seconds < self._next:
            return
        self._next = seconds + _EVERY_SECONDS
        if self._progress is not None:
            self._progress(seconds)
        if self._can_record:
            try:
                self._note(seconds)
            except Exception:  # being seen is a courtesy: it must not cost the command anything
                self._can_record = False

    def close(self) -> None:
        if self._progress is not None:
            self._progress.clear()
        if self._record is not None:
            self._record.close()

    def _note(self, seconds: float) -> None:
        if self._record is None:
            import time

            from overspill.store.running import Record

            internals = self._output.chosen.internals()
            if internals is None:
                self._can_record = False
                return
            self._record = Record(
                internals, pid=os.getpid(), started=time.time() - seconds, call=self._output.chosen.call()
            )
        path = self._output.spooled()
        if path:
            self._record.moved_to(path)
        else:
            self._record.early(self._output.held())
