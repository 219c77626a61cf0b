"""The strategy whose excerpt is a model's summary: its settings, and the seam for whoever writes the summary.

A core strategy decides without waiting, so what is here cuts by its fallback; the summary is asked for
where something can be awaited, by ``overspill.summarise``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from overspill.core.model import Budget, Call
from overspill.core.ports import Selector, Strategy
from overspill.core.strategies.ends import Ends
from overspill.errors import PolicyError

MAX_INPUT_CHARS = 50_000
TRIGGER_CHARS = 20_000
TIMEOUT_SECONDS = 30.0

INSTRUCTIONS = (
    "Summarise the tool output below for a coding agent that will not see it. Keep names of definitions, "
    "signatures, paths, the structure, line numbers, exact error messages, figures and results. Say nothing that "
    "is not there. Answer with the summary alone, in at most {max_chars} characters."
)


class Summary(NamedTuple):
    """What a model said, and what it cost."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """What is handed to a summariser."""

    text: str
    max_chars: int
    call: Call
    first_line: int = 1
    last_line: int = 1

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS.format(max_chars=self.max_chars)


Summarizer = Callable[[Request], Awaitable[Summary | str]]
"""Any async callable: a request in, a summary out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise:
    """The strategy: ``Policy(strategy=Summarise(summarizer=…))``, used by ``await bounder.abound(…)``.

    Where nothing can be awaited, and whenever the summariser fails, ``fallback`` cuts.
    """

    summarizer: Summarizer | None = None
    max_input_chars: int = MAX_INPUT_CHARS
    trigger_chars: int = TRIGGER_CHARS
    timeout_seconds: float = TIMEOUT_SECONDS
    fallback: Strategy = field(default_factory=Ends)
    name: str = "summarize"

    def __post_init__(self) -> None:
        for setting in ("max_input_chars", "trigger_chars"):
            if getattr(self, setting) < 1:
                raise PolicyError(setting, getattr(self, setting), "a whole number, 1 or more")
        if not self.timeout_seconds > 0:
            raise PolicyError("timeout_seconds", self.timeout_seconds, "a number of seconds above 0")

    def selector(self, room: Budget, call: Call) -> Selector:
        return self.fallback.selector(room, call)
