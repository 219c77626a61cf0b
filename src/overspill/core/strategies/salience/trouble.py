"""How bad each unit says things are, once verdicts and code are understood.

Guarantees levels that depend on the units' bytes only. Leaves to others how much a level is worth where it stands.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from overspill.core.measure import states
from overspill.core.strategies.salience import severity
from overspill.core.strategies.salience.lanes import either, table, where

HEADLINE_CHARS = 120
_TOLD = {least: table(level >= least for level in range(8)) for least in (severity.WARN, severity.ERROR)}

_ANSWERED_NO = re.compile(rb"\.\.\. ?no\s*$")
"""What a probe found missing, which a command that succeeded could do without."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One number for each unit, question by question."""

    levels: bytes
    weak: bytes
    """How many words of failure, of those that name no error."""
    state: bytes
    """How many words of a change of state."""
    ended: bytes
    """The verdict; 3 where code only speaks of trouble."""


def read(texts: Sequence[bytes], data: bytes, ends: Sequence[int], *, exit_status: int | None = None) -> Trouble:
    """``data``: the texts joined; ``ends``: where each of them ends in it."""
    size = len(texts)
    levels, weak, state, ended = bytearray(size), bytearray(size), bytearray(size), bytearray(size)
    unit = 0
    for at, level in severity.scan(data):
        if ends[unit] <= at:
            unit = bisect_right(ends, at, unit)
        if level == severity.WEAK:
            weak[unit] = min(3, weak[unit] + 1)
        elif level == severity.STATE:
            state[unit] = min(2, state[unit] + 1)
        if level > levels[unit]:
            levels[unit] = level
    for at, verdict in severity.verdicts(data):
        unit = bisect_right(ends, at)
        ended[unit] = max(ended[unit], verdict)
    for index in where(either(levels.translate(_TOLD[severity.WARN]), ended)):
        level = levels[index]
        if ended[index]:
            if exit_status == 0 and _ANSWERED_NO.search(texts[index]):
                ended[index] = severity.GOOD
            if ended[index] == severity.GOOD:
                levels[index], weak[index] = min(level, severity.STATE), 0
            else:
                levels[index] = max(level, severity.ERROR)
        elif severity.is_code(texts[index]):
            levels[index], ended[index] = severity.NONE, 3
    return Trouble(bytes(levels), bytes(weak), bytes(state), bytes(ended))


def told(levels: bytes, least: int = severity.WARN) -> list[int]:
    """The units that are at least so bad."""
    return where(levels.translate(_TOLD[least]))


def telling(text: bytes) -> str:
    """The part of a line that fits a headline: its start, or from shortly before the word of trouble."""
    words = " ".join(states(text).split())
    if len(words) <= HEADLINE_CHARS:
        return words
    worst = max(severity.scan(text), key=lambda hit: hit.level, default=None)
    if worst is None or worst.at < HEADLINE_CHARS // 2:
        return words[:HEADLINE_CHARS]
    return " ".join(states(text[worst.at :]).split())[:HEADLINE_CHARS]
