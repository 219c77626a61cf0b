"""What the form of a line says by itself: how it begins, how it is indented, what it is made of.

Guarantees answers that depend on one line's bytes only, so that lines of one fine key share them.
Leaves to others where the line stands and how often.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from operator import add, sub

_HEADING = re.compile(
    rb"^\s*(?:(?:[=*#~_>-]+|\xe2\x97\x8f|\xe2\x9c\x96|\xe2\x80\xa2)\s*\S|[A-Z][A-Z0-9 _/-]{3,}\b:?\s*$|"
    rb"[\w][\w .()/-]{1,60}:\s*$|\x1b\[1m)"
)
_RULER = re.compile(rb"^\s*[=*#~_+|-]{4,}\s*$")
_LEAD = re.compile(
    rb"(E {2}|> {2}|>|\+\+\+|\+|---|-|@@|\||\^|~|=+|\*+|#|at |File |Caused|\.\.\. |\d+\)|[A-Z]+:|[a-z]+:|\[|<|\$)"
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
_BLANK = 10
"""What stands for the first character where there is none."""
_START = bytes(
    31 if char == _BLANK else next((number for number, chars in enumerate(_STARTS, 1) if char in chars), 0)
    for char in range(256)
)
_HEAD = re.compile(
    rb"(?:[=_*#-]{3,} +\S.*|(?:ERROR|FAIL|FAILED|FAILURE)\b.*|\s*(?:\xe2\x97\x8f|\xe2\x9c\x95) .*|\s*--- FAIL.*|"
    rb"\d+\) .*|"
    rb"\[.{10,40}\] ERROR.*|thread '.*|\".*\" prio=.*|goroutine \d.*)"
)
_HEAD_STARTS = frozenset(b'=_*#-EF \t\n\r\f\v\xe2[t"g')
_NUMBERS = frozenset(b"0123456789")
HEAD_REACH = 60
_MARKED = (b"---", b"\xe2\x97\x8f", b"\xe2\x9c\x95")


def heads(texts: Sequence[bytes]) -> list[int]:
    """For each unit the one that names its section (-1: none near): the test that failed, the thread that stopped."""
    found = [-1] * len(texts)
    starts = _HEAD_STARTS | _NUMBERS if b") " in b"".join(texts) else _HEAD_STARTS
    like = [index for index, text in enumerate(texts) if text[0] in starts and _HEAD.match(text)]
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


_HEADS = frozenset(b"=*#~_>-\xe2\x1bABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""What a heading begins with that does not end like one."""
_RULERS = frozenset(b"=*#~_+|-")
_LONGEST = 192
_LENGTHS = bytes(min(15, length // 12) for length in range(_LONGEST)) + b"\x10"
_INDENTS = bytes(min(6, (indent + 1) // 2) for indent in range(12))


def columns_of_shape(texts: Sequence[bytes]) -> dict[str, bytes]:
    """Small numbers, one for each question asked of the form of a line alone."""
    bare = [text.lstrip() for text in texts]
    lengths = [*map(len, bare)]
    sizes = [*map(len, texts)]
    indents = [*map(sub, sizes, lengths)]
    blank = bytes([not length for length in lengths])
    firsts = bytes([line[0] if line else _BLANK for line in bare])
    headings = [
        (first in _HEADS or text.rstrip()[-1:] == b":") and _HEADING.match(text) is not None
        for first, text in zip(firsts, texts, strict=True)
    ]
    rulers = [4 if first in _RULERS and _RULER.match(line) else 0 for first, line in zip(firsts, bare, strict=True)]
    return {
        "length": bytes([_LENGTHS[length] if length < _LONGEST else 16 for length in lengths]),
        "indent": bytes(
            [
                7 if not length else _INDENTS[indent] if indent < 12 else 6
                for indent, length in zip(indents, lengths, strict=True)
            ]
        ),
        "first_char": firsts.translate(_START),
        "lead": bytes([_LEADS.get(lead[1], 1) if (lead := _LEAD.match(line)) else 0 for line in bare]),
        "heading": bytes(map(add, headings, rulers)),
        "digits": _share(texts, sizes, _DIGITS),
        "symbols": _share(texts, sizes, _SIGNS),
        "indented": bytes([indent > 0 for indent in indents]),
        "blank": blank,
    }


def _share(texts: Sequence[bytes], sizes: Sequence[int], chars: bytes) -> bytes:
    """How much of each line the characters are, in sixteenths."""
    return bytes(
        [
            min(7, 16 * (size - len(text.translate(None, chars))) // (size or 1))
            for text, size in zip(texts, sizes, strict=True)
        ]
    )
