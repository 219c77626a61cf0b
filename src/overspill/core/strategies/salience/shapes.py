"""What the form of a line says by itself: how it begins, how it is indented, what it is made of.

Guarantees answers that depend on one line's bytes only, so that lines of one fine key share them.
Leaves to others where the line stands and how often.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

_HEADING = re.compile(
    rb"^\s*(?:(?:[=*#~_>-]+|\xe2\x97\x8f|\xe2\x9c\x96|\xe2\x80\xa2)\s*\S|[A-Z][A-Z0-9 _/-]{3,}\b:?\s*$|"
    rb"[\w][\w .()/-]{1,60}:\s*$|\x1b\[1m)"
)
_RULER = re.compile(rb"^\s*[=*#~_+|-]{4,}\s*$")
_LEAD = re.compile(
    rb"\s*(E {2}|> {2}|>|\+\+\+|\+|---|-|@@|\||\^|~|=+|\*+|#|at |File |Caused|\.\.\. |\d+\)|[A-Z]+:|[a-z]+:|\[|<|\$)"
)
_LEADS = {
    lead: number
    for number, lead in enumerate(
        (b"E  ", b">  ", b">", b"+++", b"+", b"---", b"-", b"@@", b"|"
            b"", b"^", b"~", b"#", b"at ", b"File ", b"Caused", b"... ", b"[",
         b"<", b"$"), 2)
}  # fmt: skip
_STARTS = (
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz", b"0123456789", b"[", b"(", b"<", b"{}", b"#", b"=",
    b"+", b"-", b"*", b"|", b">", b'"', b"'`", b"@", b"/.~", b"\x1b",
)  # fmt: skip
_START = {char: number for number, chars in enumerate(_STARTS, 1) for char in chars}
_HEAD = re.compile(
    rb"(?:[=_*#-]{3,} +\S.*|(?:ERROR|FAIL|FAILED|FAILURE)\b.*|\s*(?:\xe2\x97\x8f|\xe2\x9c\x95) .*|\s*--- FAIL.*|"
    rb"\d+\) .*|"
    rb"\[.{10,40}\] ERROR.*|thread '.*|\".*\" prio=.*|goroutine \d.*)"
)
HEAD_REACH = 60
_MARKED = (b"---", b"\xe2\x97\x8f", b"\xe2\x9c\x95")


def heads(texts: Sequence[bytes]) -> list[int]:
    """For each unit the one that names its section (-1: none near): the test that failed, the thread that stopped."""
    found = [-1] * len(texts)
    like = [index for index, text in enumerate(texts) if _HEAD.match(text)]
    named = [index for index in like if texts[index][:1] not in b" \t\n" or texts[index].lstrip()[:3] in _MARKED]
    for head, following in pairwise([*named, len(texts)]):
        end = min(head + HEAD_REACH + 1, following)
        found[head + 1 : end] = [head] * (end - head - 1)
    return found


_FILE = re.compile(rb"[\w.~@/\\:-]*[/\\.][\w.~@/\\-]+\s*$")
_POINTER = re.compile(rb" *--> \S+:\d+")


def places(texts: Sequence[bytes]) -> dict[int, int]:
    """For the findings that don't say where they are the unit that does: their file's name above, or a line below."""
    found: dict[int, int] = {}
    flush = [index for index, text in enumerate(texts) if text[:1] > b" "]
    for index, following in pairwise([*flush, len(texts)]):
        end = index + 1
        if end == following:
            continue
        if _POINTER.match(texts[end]):
            found[index] = end
        elif texts[end].lstrip(b" \t")[:1].isdigit() and _FILE.match(texts[index]):
            while end < following and texts[end][:1] in b" \t":
                found[end] = index
                end += 1
    return found


_POINTS = re.compile(rb"^ *--> \S+:\d", re.MULTILINE)
_GUTTER = re.compile(rb" *(?:\d* +[|+-]|\d+ \|)(?: |$)")
_INDENTED = re.compile(rb" {4}")


def quoted(data: bytes) -> re.Pattern[bytes] | None:
    """What lines begin with where this output quotes the source that its findings are about; None if it quotes none."""
    if b"--> " in data and _POINTS.search(data):
        return _GUTTER
    return _INDENTED if b"\nE   " in data and b"\n>   " in data else None


_DIGITS = b"0123456789"
_SIGNS = b"{}[]()<>:;,.'\"`=+-*/\\|_!@#$%^&~?"


class Shape(NamedTuple):
    """Small numbers, one for each question asked of the form alone."""

    length: int
    indent: int
    first_char: int
    lead: int
    heading: int
    """1: reads like a heading; 4: is a ruler."""
    digits: int
    symbols: int
    indented: int
    blank: int


def shape(text: bytes) -> Shape:
    stripped = text.lstrip()
    size = max(1, len(text))
    indent = len(text) - len(stripped)
    length = len(stripped)
    lead = _LEAD.match(text)
    ruler = _RULER.match(text) is not None
    return Shape(
        length=min(15, length // 12) if length < 192 else 16,
        indent=min(6, (indent + 1) // 2) if length else 7,
        first_char=_START.get(stripped[0], 0) if stripped else 31,
        lead=_LEADS.get(lead.group(1), 1) if lead else 0,
        heading=(_HEADING.match(text) is not None) + 4 * ruler,
        digits=min(7, 16 * (len(text) - len(text.translate(None, _DIGITS))) // size),
        symbols=min(7, 16 * (len(text) - len(text.translate(None, _SIGNS))) // size),
        indented=int(indent > 0),
        blank=int(not stripped),
    )
