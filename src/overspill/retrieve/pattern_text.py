"""What is known of a pattern from its text alone: what it must hold, and how it reads for one line.

Guarantees that what it says of a pattern is true of every match; where the text is too involved to tell,
it says nothing.  Whether a pattern is a valid one, the engine decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_CLASSES = "dDsSwWbBAzZnrtfvaQEC"
_QUANTIFIERS = "?*+{"
_MOST_BRANCHES = 4
_REPEATED = re.compile(r"\{[0-9,]*\}")
_CODED = re.compile(r"\\[xpPuUQ0-9]")
"""Escapes that take more than their letter with them."""
_FLAGS = re.compile(r"\(\?([imsU]*)-([imsU]+)([:)])")
_MAY_CROSS = re.compile(r"[\0-\n]|\\[nWDCpPxQ0-7]|\[:|\\[at]-|\(\?[imU]*s")
"""What can match a line end, beside a class of what is not in it and ``\\s``."""
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_BLANK = r"[\t\f\r ]"
_END = r"(?:\r?$)"


class Known(NamedTuple):
    plain: str
    """The pattern as the very text that it stands for, if it is nothing else."""
    required: tuple[str, ...]
    """Every match holds one of these; empty when nothing is known."""
    tail: str
    """The pattern from the one required text on: whatever the pattern matches, this matches in the same line."""


def known(text: str) -> Known:
    nothing = Known("", (), "")
    if _CODED.search(text):
        return nothing
    branches: list[list[tuple[str, int]]] = [[("", 0)]]
    is_plain = True
    for token, start in _tokens(text):
        if token.startswith("(?") and not token.startswith(("(?:", "(?P<")):
            return nothing  # flags change what a letter stands for
        char = _char_of(token)
        behind = start + len(token)
        following = text[behind : behind + 1]
        if token == "|":
            branches.append([("", behind)])
        elif char is not None and (not following or following not in _QUANTIFIERS):
            run, at = branches[-1][-1]
            branches[-1][-1] = (run + char, at if run else start)
            continue
        else:
            branches[-1].append(("", behind))
        is_plain = False
    longest = [max(runs, key=lambda run: len(run[0])) for runs in branches]
    if is_plain:
        return Known(longest[0][0], (), "")
    if len(longest) > _MOST_BRANCHES or not all(run for run, _ in longest):
        return nothing
    tail = text[longest[0][1] :] if len(longest) == 1 else ""
    return Known("", tuple(run for run, _ in longest), tail)


def in_lines(text: str) -> str:
    """The same pattern where the ends of the text are those of a line; ``$`` also before the ``\\r`` of a line end."""
    return "".join(
        {r"\A": "^", r"\z": _END, "$": _END}.get(part) or (_FLAGS.sub(_multiline, part) if part[0] == "(" else part)
        for part in _parts(text)
    )


def within_lines(text: str) -> str:
    """The same pattern, sure to match no line end by itself; empty when that can't be seen."""
    if _MAY_CROSS.search(text):
        return ""
    return "".join(_within_lines(part) for part in _parts(text))


def _within_lines(part: str) -> str:
    if not part.startswith("["):
        return _BLANK if part == r"\s" else part
    blanks = _ESCAPE.sub(lambda escape: _BLANK[1:-1] if escape[0] == r"\s" else escape[0], part)
    return "[^\\n" + blanks[2:] if part.startswith("[^") else blanks


def _multiline(flags: re.Match[str]) -> str:
    off = flags[2].replace("m", "")
    changes = f"{flags[1]}{'-' if off else ''}{off}"
    return f"(?{changes}{flags[3]}" if changes or flags[3] == ":" else ""


def _parts(text: str) -> Iterator[str]:
    """Escapes, quoted text, classes, what turns flags off, and single characters, inside groups too."""
    at = 0
    while at < len(text):
        start = at
        if text.startswith(r"\Q", at):
            quoted = text.find(r"\E", at + 2)
            at = quoted + 2 if quoted >= 0 else len(text)
        elif text[at] == "\\":
            at += 2
        elif text[at] == "[":
            at = _class_end(text, at)
        else:
            flags = _FLAGS.match(text, at)
            at = flags.end() if flags else at + 1
        yield text[start:at]


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


def _char_of(token: str) -> str | None:
    """The one character that a token stands for, if it stands for one."""
    if len(token) == 1:
        return None if token in ".^$*+?{}[]()|\\" else token
    if len(token) == 2 and token[0] == "\\" and token[1] not in _CLASSES:
        return token[1]
    return None
