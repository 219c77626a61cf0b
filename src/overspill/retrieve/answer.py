"""The answers of read-back: a text within the budget, and the facts that it states.

An answer's first line says what it is, its last line the exact next call when there is more;
every line of the source between them begins with overspill's number, so that no line of the source
can be taken for a line of overspill's.  Everything is measured on the final text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from overspill.core.measure import cut_before, display, encode
from overspill.core.policy import Policy
from overspill.errors import PolicyError


@dataclass(frozen=True, slots=True)
class Page:
    """A stretch of the source that an answer shows, by byte offsets (the end exclusive)."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Found:
    """A match: where it is in the output, and in its line (bytes from 1)."""

    line: int
    first_byte: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model reads, and the same as facts."""

    text: str
    handle: str = ""
    exit_status: int = 0
    """0 when there was what was asked for, 1 when there was not: as grep has it."""
    pages: tuple[Page, ...] = ()
    """What of the source is shown, in order."""
    rest: str = ""
    """What of the asked is not shown: pass it as ``lines`` to go on; empty when nothing is left."""
    next: str = ""
    """The call for the rest, as the text ends with it."""
    matches: tuple[Found, ...] = ()
    """The matches shown."""
    total_matches: int | None = None
    """All matches; None when they were not all counted."""
    facts: object = None
    """Values of the answer as data: an outline's shape, a query's result."""

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=1)
def default_policy() -> Policy:
    from overspill.core.access import Shell

    return Policy(access=Shell())


def at_most(policy: Policy, tokens: int) -> Policy:
    """The policy with a budget of at most so many tokens."""
    from dataclasses import replace

    budget = policy.budget
    if budget.max_tokens is not None and budget.max_tokens <= tokens:
        return policy
    try:
        return replace(policy, budget=replace(budget, max_tokens=tokens), limit=None)
    except PolicyError:  # by this counter even a notice takes more
        return policy


Frame = Callable[[int], str]
"""Words of overspill's for a text that shows so many of its pieces."""


def largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest number up to ``most`` that fits, 0 when none does: what fits for one fits for less."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def fitted(head: Frame, pieces: Sequence[str], foot: Frame, policy: Policy) -> tuple[str, int]:
    """The text with as many leading pieces as fit, and their number."""
    measure, budget = policy.measure, policy.budget

    def text(count: int) -> str:
        return head(count) + "".join(pieces[:count]) + foot(count)

    count = largest(lambda number: measure.fits(text(number), budget), len(pieces))
    return within(text(count), policy), count


def within(text: str, policy: Policy) -> str:
    """The text itself when it fits, else as much of its start as does: for words of overspill's only."""
    measure, budget = policy.measure, policy.budget
    text = text if text.isascii() else display(encode(text))
    if measure.fits(text, budget):
        return text
    data = encode(text)

    def start(size: int) -> str:
        return data[: cut_before(data, size)].decode("utf-8", "replace").rstrip("\n") + "…\n"

    return start(largest(lambda size: measure.fits(start(size), budget), min(len(data), budget.bytes_ceiling)))


def opening(verb: str, handle: str, words: str) -> str:
    """The first line of every answer."""
    return f"[overspill {verb} {handle}: {words}]\n" if handle else f"[overspill {verb}: {words}]\n"


def closing(call: str) -> str:
    """The last line of an answer that has more."""
    return f"[more: {call}]\n" if call else ""
