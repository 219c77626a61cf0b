"""How often the outputs of each tool are cut, over time: a listener for a bounder's events."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from overspill.core.events import Event
from overspill.errors import PolicyError

DAY_SECONDS = 86_400


class Period(NamedTuple):
    """What happened to one tool's outputs in a stretch of time."""

    start: float
    outputs: int
    cuts: int

    @property
    def rate(self) -> float:
        return self.cuts / self.outputs if self.outputs else 0.0


class CutRates:
    """``Bounder(…, on_event=rates)``; holds two numbers for each tool and period, for ``most_periods`` of them."""

    def __init__(
        self, *, period_seconds: float = DAY_SECONDS, most_periods: int = 400, clock: Callable[[], float] = time.time
    ) -> None:
        if not period_seconds > 0:
            raise PolicyError("period_seconds", period_seconds, "a number of seconds above 0")
        if most_periods < 1:
            raise PolicyError("most_periods", most_periods, "a whole number, 1 or more")
        self._period_seconds, self._most_periods, self._clock = period_seconds, most_periods, clock
        self._lock = threading.Lock()
        self._counts: dict[str, dict[int, list[int]]] = defaultdict(dict)

    def __call__(self, event: Event) -> None:
        if event.kind not in ("truncated", "skipped"):
            return
        period = int(self._clock() // self._period_seconds)
        with self._lock:
            periods = self._counts[event.call.tool]
            counts = periods.setdefault(period, [0, 0])
            counts[0] += 1
            counts[1] += event.kind == "truncated"
            while len(periods) > self._most_periods:
                del periods[min(periods)]

    def over_time(self, tool: str) -> list[Period]:
        """The periods in which the tool was used, the earliest first."""
        with self._lock:
            periods = sorted(self._counts.get(tool, {}).items())
        return [Period(period * self._period_seconds, outputs, cuts) for period, (outputs, cuts) in periods]

    def rate(self, tool: str, *, since: float = 0.0) -> float:
        """The share of the tool's outputs that was cut."""
        periods = [period for period in self.over_time(tool) if period.start + self._period_seconds > since]
        outputs = sum(period.outputs for period in periods)
        return sum(period.cuts for period in periods) / outputs if outputs else 0.0

    def rates(self, *, since: float = 0.0) -> dict[str, float]:
        """Of every tool, by name."""
        with self._lock:
            tools = sorted(self._counts)
        return {tool: self.rate(tool, since=since) for tool in tools}
