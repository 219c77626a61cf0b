"""A search pattern, compiled for a linear-time engine, and what can be known of it before searching.

Guarantees that no pattern can hang a search; one the engine refuses is an error with the engine's
sentence and the position.  Patterns match inside one line; ``^`` and ``$`` are the line's ends, a ``\\r``
before the line end left aside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from overspill.errors import PatternError

MOST_PATTERN_CHARS = 10_000
_CLASSES = "dDsSwWbBAzZnrtfvaQEC"
_QUANTIFIERS = "?*+{"
_MOST_BRANCHES = 4
_REPEATED = re.compile(r"\{[0-9,]*\}")
_CODED = re.compile(r"\\[xpPuUQ0-9]")
"""Escapes that take more than their letter with them."""

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
    _engine: Engine
    _unanchored: object

    def search(self, data: bytes, start: int, end: int) -> tuple[int, int]:
        """The first match between two offsets, (-1, -1) without one; the bytes around are its context."""
        if self.literal is not None:
            at = data.find(self.literal, start, end)
            return (at, at + len(self.literal)) if at >= 0 else (-1, -1)
        return self._engine.Match(self._unanchored, data, start, end)[0]


def compiled(text: str, *, syntax: Syntax = "regex", case: Case = "match", crlf: bool = False) -> Pattern:
    import re2

    if not text:
        raise PatternError(text, "it is empty", None, "write what to look for; `.` matches any character")
    if len(text) > MOST_PATTERN_CHARS:
        raise PatternError(text[:60] + "…", f"it has {len(text)} characters, {MOST_PATTERN_CHARS} are the most", None)
    data = text.encode("utf-8", "surrogatepass")
    if syntax == "literal":
        if "\n" in text:
            raise PatternError(text, "a match is inside one line", text.index("\n"), "search for one of its lines")
        if case == "match":
            return Pattern(text, data, (data,), None, None)  # type: ignore[arg-type]
        source = re2.escape(data)
    else:
        source = (_with_crlf(text) if crlf else text).encode("utf-8", "surrogatepass")
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.case_sensitive = case == "match"
    engine = re2._re2.RE2(b"(?m)" + source, options)
    if not engine.ok():
        raise _refusal(text, engine.error())
    plain, required = ("", ()) if case == "ignore" or syntax == "literal" else _literals(text)
    if plain:
        data = plain.encode("utf-8", "surrogatepass")
        return Pattern(text, data, (data,), engine, re2._Anchor.UNANCHORED)
    return Pattern(text, None, required, engine, re2._Anchor.UNANCHORED)


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


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """The parts of a pattern at its outermost level: an escape, a class, a group or one character."""
    at = 0
    while at < len(text):
        start, char = at, text[at]
        if char == "\\":
            at += 2
        elif char == "[":
            at = _class_end(text, at)
        elif char == "(":
            at = _group_end(text, at)
        elif char == "{" and (repeated := _REPEATED.match(text, at)):
            at = repeated.end()
        else:
            at += 1
        yield text[start:at], start


def _class_end(text: str, at: int) -> int:
    at += 1
    if text[at : at + 1] == "^":
        at += 1
    if text[at : at + 1] == "]":
        at += 1
    while at < len(text) and text[at] != "]":
        if text[at] == "\\":
            at += 1
        elif text.startswith("[:", at) and ":]" in text[at:]:
            at = text.index(":]", at) + 1
        at += 1
    return at + 1


def _group_end(text: str, at: int) -> int:
    depth = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "[":
            at = _class_end(text, at) - 1
        elif char in "()":
            depth += 1 if char == "(" else -1
            if not depth:
                return at + 1
        at += 1
    return at


def _literals(text: str) -> tuple[str, tuple[bytes, ...]]:
    """The pattern as plain text if it is nothing else, and the texts of which every match holds one."""
    if _CODED.search(text):
        return "", ()
    branches: list[list[str]] = [[""]]
    plain = True
    for token, start in _tokens(text):
        if token.startswith("(?") and not token.startswith(("(?:", "(?P<")):
            return "", ()  # flags change what a letter stands for
        char = _char_of(token)
        following = text[start + len(token) : start + len(token) + 1]
        if token == "|":
            branches.append([""])
        elif char is not None and (not following or following not in _QUANTIFIERS):
            branches[-1][-1] += char
            continue
        else:
            branches[-1].append("")
        plain = False
    longest = [max(runs, key=len) for runs in branches]
    if plain:
        return longest[0], ()
    if not all(longest) or len(longest) > _MOST_BRANCHES:
        return "", ()
    return "", tuple(run.encode("utf-8", "surrogatepass") for run in longest)


def _char_of(token: str) -> str | None:
    """The one character that a token stands for, if it stands for one."""
    if len(token) == 1:
        return None if token in ".^$*+?{}[]()|\\" else token
    if len(token) == 2 and token[0] == "\\" and token[1] not in _CLASSES:
        return token[1]
    return None


def _with_crlf(text: str) -> str:
    """``$`` also before the ``\\r`` of a line end; inside groups too, but not where it is a character."""
    made, at = [], 0
    while at < len(text):
        if text[at] == "\\":
            made.append(text[at : at + 2])
            at += 2
        elif text[at] == "[":
            end = _class_end(text, at)
            made.append(text[at:end])
            at = end
        else:
            made.append(r"(?:\r?$)" if text[at] == "$" else text[at])
            at += 1
    return "".join(made)
