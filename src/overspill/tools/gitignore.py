"""The rules of a ``.gitignore`` file: what the last of them that fits says about one path, as git itself reads them.

A rule fits a path itself, never what is below it: whoever walks asks about every directory on the way, and
does not enter one that is ignored.  All is done in bytes, as git does, and in linear time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

_BOM = b"\xef\xbb\xbf"
_SLASH, _ESCAPE = b"/\\"
_NAME = re.compile(rb"\[:([^]]*):\]")
_MOST_LINE_BYTES = 4_096
"""No path is longer."""
_NAMED: dict[bytes, Callable[[int], bool]] = {
    b"alnum": lambda code: chr(code).isalnum(),
    b"alpha": lambda code: chr(code).isalpha(),
    b"blank": lambda code: code in b" \t",
    b"cntrl": lambda code: code < 32 or code == 127,
    b"digit": lambda code: 48 <= code <= 57,
    b"graph": lambda code: 32 < code < 127,
    b"lower": lambda code: 97 <= code <= 122,
    b"print": lambda code: 32 <= code < 127,
    b"punct": lambda code: 32 < code < 127 and not chr(code).isalnum(),
    b"space": lambda code: code in b" \t\n\v\f\r",
    b"upper": lambda code: 65 <= code <= 90,
    b"xdigit": lambda code: chr(code) in "0123456789abcdefABCDEF",
}


class _Rule(NamedTuple):
    regex: bytes
    ignores: bool
    directories_only: bool


class Rules:
    """Of one file, or of several one after the other; a line that is no rule is passed over."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        parsed = (_parsed(line) for line in lines if len(line) <= _MOST_LINE_BYTES)
        self._rules = [rule for rule in parsed if rule is not None]

    def __bool__(self) -> bool:
        return bool(self._rules)

    def verdict(self, name: str, *, is_directory: bool) -> bool | None:
        """Is a path, named from the rules' own directory, ignored? None when no rule fits."""
        path = os.fsencode(name)
        if self._any is not None and not self._any.fullmatch(path):
            return None
        for regex, rule in self._last_first:
            if (is_directory or not rule.directories_only) and regex.fullmatch(path):
                return rule.ignores
        return None

    @cached_property
    def _any(self) -> Any:
        """Most paths fit none: that is known at once. None when together they are too large."""
        return _engine(b"|".join(rule.regex for rule in self._rules))

    @cached_property
    def _last_first(self) -> list[tuple[Any, _Rule]]:
        known = ((_engine(rule.regex), rule) for rule in reversed(self._rules))
        return [(regex, rule) for regex, rule in known if regex is not None]


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a file, without their ends."""
    lines = data.removeprefix(_BOM).split(b"\n")
    return [line.removesuffix(b"\r") for line in lines]


def _engine(regex: bytes) -> Any:
    """Linear in time whatever it is; None when it is too large."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.dot_nl = True
    options.log_errors = False
    try:
        return re2.compile(regex, options)
    except re2.error:
        return None


def _parsed(line: bytes) -> _Rule | None:
    if line.startswith(b"#"):
        return None
    line = _without_trailing_spaces(line)
    ignores = not line.startswith(b"!")
    pattern = line if ignores else line[1:]
    directories_only = pattern.endswith(b"/")
    pattern = pattern.removesuffix(b"/")
    if not pattern:
        return None
    anywhere = b"/" not in pattern
    regex = _translated(pattern.removeprefix(b"/"))
    if regex is None:
        return None
    return _Rule((b"(?:.*/)?" if anywhere else b"") + regex, ignores, directories_only)


def _without_trailing_spaces(line: bytes) -> bytes:
    end = at = 0
    while at < len(line):
        escaped = line[at : at + 1] == b"\\"
        is_space = line[at : at + 1] == b" "
        at += 2 if escaped else 1
        if not is_space:
            end = at
    return line[:end]


def _translated(pattern: bytes) -> bytes | None:
    """The pattern as a regular expression; None when it fits nothing."""
    made: list[bytes] = []
    at = 0
    while at < len(pattern):
        char = pattern[at : at + 1]
        if char == b"*":
            part, at = _stars(pattern, at)
        elif char == b"?":
            part, at = b"[^/]", at + 1
        elif char == b"[":
            found = _class(pattern, at)
            if found is None:
                return None
            part, at = found
        else:
            at += char == b"\\"
            if at == len(pattern):
                return None
            part, at = b"\\x%02x" % pattern[at], at + 1
        made.append(part)
    return b"".join(made)


def _stars(pattern: bytes, start: int) -> tuple[bytes, int]:
    """What one or more stars stand for: two that are a whole part of a path, for any parts."""
    end = start
    while pattern[end : end + 1] == b"*":
        end += 1
    is_part = (start == 0 or pattern[start - 1] == _SLASH) and pattern[end : end + 1] in (b"", b"/")
    if end - start == 1 or not is_part:
        return b"[^/]*", end
    return (b".*", end) if end == len(pattern) else (b"(?:.*/)?", end + 1)


def _class(pattern: bytes, start: int) -> tuple[bytes, int] | None:
    """What a class in brackets stands for, and where it ends; None when it has no end."""
    at = start + 1
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    members: set[int] = set()
    before: int | None = None
    opening = at
    while at == opening or pattern[at : at + 1] != b"]":
        if at >= len(pattern):
            return None
        if pattern[at] == ord("-") and before is not None and pattern[at + 1 : at + 2] not in (b"", b"]"):
            at += 1 + (pattern[at + 1] == _ESCAPE)
            if at >= len(pattern):
                return None
            members.update(range(before, pattern[at] + 1))
            before = None
        elif named := _NAME.match(pattern, at):
            fits = _NAMED.get(named[1])
            if fits is None:
                return None
            members.update(code for code in range(128) if fits(code))
            at, before = named.end() - 1, None
        else:
            at += pattern[at] == _ESCAPE
            if at >= len(pattern):
                return None
            before = pattern[at]
            members.add(before)
        at += 1
    if negated:
        members = set(range(256)) - members
    members.discard(_SLASH)
    listed = b"".join(b"\\x%02x" % code for code in sorted(members))
    return (b"[" + listed + b"]" if listed else rb"[^\x00-\xff]"), at + 1
