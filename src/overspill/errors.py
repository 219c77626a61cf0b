"""Every exception overspill raises on purpose.

    OverspillError
    ├── PolicyError          a setting is wrong: its path, its value, what would be accepted
    ├── MissingExtra         an optional dependency is not installed
    ├── RequestError         what was asked of a kept output makes no sense: its part, its value, what would
    │   ├── PatternError         the search pattern: the engine's sentence and the position
    │   └── QueryError           the query: the engine's sentence
    ├── EndpointError        a chat endpoint answered what is no answer
    └── StoreError           the store could not do what was asked
        ├── UnknownHandle    no output of that name is kept
        │   └── ExpiredHandle    it was kept once; a tombstone says when and why it went
        ├── AmbiguousHandle  the prefix fits several outputs
        └── StoreUnavailable the disk is full, read-only or gone, or the service does not answer

Each carries its data as attributes and says the next step in its text. None of them
reaches the caller of a tool from the bounding path: there a fault becomes a sentence
in the notice.
"""

from __future__ import annotations

from collections.abc import Sequence


class OverspillError(Exception):
    """The root: catch this to catch everything overspill raises on purpose."""


class PolicyError(OverspillError, ValueError):
    """A wrong setting, refused when the policy is built."""

    def __init__(self, setting: str, value: object, accepted: str) -> None:
        super().__init__(f"{setting} = {value!r} is not accepted: {accepted}")
        self.setting = setting
        self.value = value
        self.accepted = accepted


class MissingExtra(OverspillError, ImportError):
    """A feature needs an optional dependency."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install 'overspill[{extra}]'")
        self.feature = feature
        self.extra = extra


class RequestError(OverspillError, ValueError):
    """What was asked of a kept output makes no sense."""

    def __init__(self, parameter: str, value: object, accepted: str) -> None:
        super().__init__(f"{parameter} {value!r} is not understood: {accepted}")
        self.parameter = parameter
        self.value = value
        self.accepted = accepted


class PatternError(RequestError):
    """The search pattern is refused by the engine."""

    def __init__(self, pattern: str, reason: str, position: int | None, advice: str = "") -> None:
        place = f" at character {position + 1}" if position is not None else ""
        text = f"bad pattern {pattern!r}{place}: {reason}" + (f"; {advice}" if advice else "")
        OverspillError.__init__(self, text)
        self.parameter, self.value, self.accepted = "pattern", pattern, advice
        self.pattern = pattern
        self.reason = reason
        self.position = position


class QueryError(RequestError):
    """The query is refused by its engine, or asks for what this output is not."""

    def __init__(self, query: str, reason: str) -> None:
        OverspillError.__init__(self, f"query {query!r}: {reason}")
        self.parameter, self.value, self.accepted = "query", query, reason
        self.reason = reason


class EndpointError(OverspillError):
    """A chat endpoint answered what is no answer of a model's."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the endpoint's answer is none of the chat-completions protocol: {reason}; "
            "see that base_url leads to one (it mostly ends in /v1) and what its server's log says"
        )
        self.reason = reason


class StoreError(OverspillError):
    """The store could not do what was asked."""


class UnknownHandle(StoreError, LookupError):
    """No output of that name is kept."""

    def __init__(self, handle: str, hint: str = "`overspill ls` lists what is kept") -> None:
        super().__init__(f"no output {handle!r} is kept here; {hint}")
        self.handle = handle


class ExpiredHandle(UnknownHandle):
    """The output was kept once and has been removed; the tombstone says when and why."""

    def __init__(self, handle: str, tombstone: str) -> None:
        StoreError.__init__(self, f"output {handle} is gone: {tombstone}")
        self.handle = handle
        self.tombstone = tombstone


class AmbiguousHandle(StoreError, LookupError):
    """The prefix fits several outputs."""

    def __init__(self, prefix: str, candidates: Sequence[str]) -> None:
        shown = ", ".join(candidates[:5]) + (", …" if len(candidates) > 5 else "")
        super().__init__(f"{prefix!r} fits {len(candidates)} outputs; use one of: {shown}")
        self.prefix = prefix
        self.candidates = tuple(candidates)


class StoreUnavailable(StoreError):
    """The disk is full, read-only or gone, or the service does not answer."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"the store at {where} can't be used: {reason}")
        self.where = where
        self.reason = reason
