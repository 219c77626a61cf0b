"""A search pattern, compiled for a linear-time engine, and what can be known of it before searching.

Guarantees that no pattern can hang a search; one the engine refuses is an error with the engine's
sentence and the position.  Patterns match inside one line; ``^`` and ``$`` are the line's ends, a ``\\r``
before the line end left aside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

from overspill.errors import PatternError
from overspill.retrieve.find import find
from overspill.retrieve.pattern_text import in_lines, known, within_lines

MOST_PATTERN_CHARS = 10_000

Case = Literal["match", "ignore"]
Syntax = Literal["regex", "literal"]


class Engine(Protocol):
    """What is used of a compiled pattern: the first match of a stretch, context around it known."""

    def Match(self, anchor: object, text: bytes, pos: int, endpos: int) -> list[tuple[int, int]]: ...


@dataclass(frozen=True, slots=True)
class Pattern:
    """What to look for, ready to be searched."""

    text: str
    literal: bytes | None
    """When the pattern is nothing but these bytes."""
    required: tuple[bytes, ...]
    """Every match holds one of these; empty when nothing is known."""
    _source: str
    _case: Case
    _engine: Engine | None
    _tail: Engine | None

    def search(self, data: bytes, start: int, end: int) -> tuple[int, int]:
        """The first match between two offsets, (-1, -1) without one; the bytes around are its context."""
        if self._engine is None:
            assert self.literal is not None
            at = find(data, self.literal, start, end)
            return (at, at + len(self.literal)) if at >= 0 else (-1, -1)
        return self._engine.Match(_anchor("UNANCHORED"), data, start, end)[0]

    def candidate(self, data: bytes, start: int, end: int) -> int:
        """Where the next match might be, by what is quick to see: no match ends before it; -1 when there is none."""
        if not self.required:
            return start
        at = min((place for part in self.required if (place := find(data, part, start, end)) >= 0), default=-1)
        if at < 0 or self._tail is None:
            return at
        return self._tail.Match(_anchor("UNANCHORED"), data, at, end)[0][0]

    def run_end(self) -> Callable[[bytes, int, int], int]:
        """Finds the end of the lines that match one after the other, from the start of the first of them.

        That very start when it can't be told: searching line by line tells it then.
        """
        engine, anchor = _run_engine(self._source, self._case), _anchor("ANCHOR_START")
        if engine is None:
            return lambda data, start, end: start
        match = engine.Match
        return lambda data, start, end: match(anchor, data, start, end)[0][1]


def compiled(text: str, *, syntax: Syntax = "regex", case: Case = "match") -> Pattern:
    import re2

    if not text:
        raise PatternError(text, "it is empty", None, "write what to look for; `.` matches any character")
    if len(text) > MOST_PATTERN_CHARS:
        raise PatternError(text[:60] + "…", f"it has {len(text)} characters, {MOST_PATTERN_CHARS} are the most", None)
    if syntax == "literal":
        if "\n" in text:
            raise PatternError(text, "a match is inside one line", text.index("\n"), "search for one of its lines")
        source: str = re2.escape(text)
        if case == "match":
            data = _encoded(text)
            return Pattern(text, data, (data,), source, case, None, None)
        return Pattern(text, None, (), source, case, _engine(source, case), None)
    source = in_lines(text)
    engine = _engine(source, case)
    if not engine.ok():
        raise _refusal(text, engine.error())
    plain, required, tail = known(text) if case == "match" else ("", (), "")
    if plain:
        return Pattern(text, _encoded(plain), (_encoded(plain),), source, case, None, None)
    begins = _engine(in_lines(tail), case) if tail not in ("", text, *required) else None
    return Pattern(text, None, tuple(map(_encoded, required)), source, case, engine, begins)


def _engine(source: str, case: Case, *, longest: bool = False) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.never_nl = not longest
    options.longest_match = longest
    options.case_sensitive = case == "match"
    return re2._re2.RE2(_encoded(f"(?m){source}"), options)


@lru_cache(maxsize=8)
def _run_engine(source: str, case: Case) -> Engine | None:
    within = within_lines(source)
    engine = _engine(rf"(?:[^\n]*(?:{within})[^\n]*\n)+", case, longest=True) if within else None
    return engine if engine is not None and engine.ok() else None


@lru_cache(maxsize=2)
def _anchor(name: str) -> object:
    import re2

    return getattr(re2._Anchor, name)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _refusal(text: str, reason: object) -> PatternError:
    said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    said, _, part = said.partition(": ")
    part = part.removeprefix("(?m)")
    position = text.find(part) if part else len(text) - 1 if said.startswith("trailing") else None
    if position is not None and position < 0:
        position = None
    if "perl operator" in said:
        what = {"(?=": "lookahead", "(?!": "lookahead", "(?<": "lookbehind", "(?P": "a named backreference"}.get(
            part[:3], f"the group {part}"
        )
        said, advice = f"{what} isn't supported", "search for a plainer pattern and read around its matches"
    elif "escape" in said and part[1:2].isdigit():
        said, advice = "backreferences aren't supported", "write out what they stand for"
    else:
        said = f"{said}: {part}" if part else said
        advice = "to search for these very characters, search literally (-F, literal=true)"
    return PatternError(text, said, position, advice)
