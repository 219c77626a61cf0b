"""What lines look like with their values masked: which are repeats of one another, and which stand alone.

Guarantees keys that depend on the line's bytes only: the fine key drops digits and hexadecimal letters (native, for
every line of any output), the coarse form keeps the plain words (for the distinct fine keys alone).
Leaves to others what rarity is worth.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, compress
from operator import itemgetter

from overspill.core.strategies.salience.scanner import compiled

DROPPED = b"0123456789abcdefABCDEF"
KEY_WORDS = 10
SLOT_WORDS = 6
"""As many different words between the same neighbours make the place one of values."""
USUAL_SHARE = 0.6
"""A word in more of the lines says nothing about any of them."""
FEW_LINES = 20
"""Among no more lines no word is usual."""

HEAD_BYTES = 400
WORDS = 24
"""No more of a line says what form it has."""
LINES_AT_ONCE = 512
_VALUE = (
    rb"\"[^\"\n]{0,200}+\"|'[^' \n]{0,120}+'|`[^`\n]{0,120}+`|\xe2\x80\x98[^\xe2\n]{0,120}+\xe2\x80\x99|"
    rb"\x1b\[[0-9;?]*+[A-Za-z]|https?://\S+|[~.\w-]*+/[\w./@+~:-]+|[\w.+-]++@[\w.-]+|[A-Za-z.]*+[0-9_][\w.:-]*+|"
    rb"<[^<> \n]{1,80}+>|\w++(?:[.:]{1,2}+\w++)+|\w++(?:-\w++)+"
)
_PLAIN = rb"[A-Za-z]++(?![\w./~@+:-])"
"""What no value begins with, seen at a glance."""
_BETWEEN = rb"[^\w\"'`\xe2\x1b~./+<\n-]"
_PARTS = re.compile(
    rb"(?!\n|" + _PLAIN + rb")(?:" + _VALUE + rb")|"
    rb"(" + _PLAIN + rb"|[A-Za-z]+?(?=https?://)|[A-Za-z]++|\n)" + _BETWEEN + rb"*+|" + _BETWEEN + rb"++"
)  # fmt: skip
"""Values, between words and line ends that are caught."""
_WORD = re.compile(rb"[A-Z][a-z]+(?:[A-Z][a-z]+)*(?:Error|Exception|Warning)\Z|\A(?:[a-z]+|[A-Z][a-z]+|[A-Z]+)\Z")
_CODE = re.compile(rb"(?:^|[ \t\[(])([A-Z]{1,5}[0-9]{2,5})(?=[ :\])])|\[[a-zA-Z-]{4,40}\]|@[a-z-]+/[a-z-]+")
_CODE_LIKE = rb"(?m)(?:^|[ \t\[(])[A-Z]{1,5}[0-9]{2,5}[ :\])]|\[[a-zA-Z-]{4,40}\]|@[a-z-]+/[a-z-]+"
"""Where a code may stand, for an engine that can't look ahead."""


_EDGE = b""
"""What stands before the first word of a line, and after its last."""


class _Words(dict[bytes, bytes]):
    """What each run of letters is as a word; nothing when it is the name of something."""

    def __missing__(self, letters: bytes) -> bytes:
        found = _WORD.search(letters)
        word = self[letters] = found.group() if found else b""
        return word


def fine_keys(data: bytes) -> list[bytes]:
    """One key per line of the bytes; a last line without its end counts, an empty rest does not."""
    keys = data.translate(None, DROPPED).split(b"\n")
    if data.endswith(b"\n"):
        keys.pop()
    return keys


def plain_words(texts: Sequence[bytes]) -> list[list[bytes]]:
    """The words of each line that are no values: no numbers, names, paths or quotations."""
    known = _Words({b"\n": b"\n"})
    words_of: list[list[bytes]] = []
    for first in range(0, len(texts), LINES_AT_ONCE):
        heads = [text[:HEAD_BYTES].rstrip(b"\n") for text in texts[first : first + LINES_AT_ONCE]]
        data = b"\n".join([*heads, b""])
        codes = _codes(heads, data)
        words: list[bytes] = []
        for word in filter(None, map(known.__getitem__, filter(None, _PARTS.findall(data)))):
            if word != b"\n":
                words.append(word)
                continue
            del words[WORDS:]
            code = codes.get(len(words_of) - first)
            if code:
                words.insert(0, code)
            words_of.append(words)
            words = []
    return words_of


def _codes(heads: Sequence[bytes], data: bytes) -> dict[int, bytes]:
    """The code of each line that has one, such as the name of a rule."""
    ends = [*accumulate([len(head) + 1 for head in heads])]
    likely = {bisect_right(ends, match.end() - 1) for match in compiled(_CODE_LIKE).finditer(data)}
    found = [(index, _CODE.search(heads[index])) for index in likely]
    return {index: code.group().strip(b" \t[(") for index, code in found if code}


def coarse_keys(words_of: Mapping[bytes, list[bytes]], counts: Mapping[bytes, int]) -> dict[bytes, tuple[bytes, ...]]:
    """For each fine key the first of its plain words that mean something.

    Left out: words that most lines share (the host, the month), and words in a place where many different ones
    stand between the same two neighbours (the name in "user … logged").
    """
    named = {key: tuple(words) for key, words in words_of.items()}
    lines: dict[tuple[bytes, ...], int] = {}
    for key, words in named.items():
        lines[words] = lines.get(words, 0) + counts.get(key, 1)
    flat = [_EDGE]
    for words in lines:
        flat += words
        flat.append(_EDGE)
    usual = _usual(lines, Counter(flat))
    places = set(zip(flat, flat[1:], flat[2:], strict=False))
    slots = {
        (before, after)
        for (before, after), held in Counter(map(itemgetter(0, 2), places)).items()
        if held >= SLOT_WORDS and held - ((before, _EDGE, after) in places) >= SLOT_WORDS
    }
    if not usual and not slots:
        return {key: words[:KEY_WORDS] for key, words in named.items()}
    names = [*flat[1:-1]]
    if usual:
        names = [b"" if name in usual else name for name in names]
    for at in compress(range(len(names)), map(slots.__contains__, zip(flat, flat[2:], strict=False))):
        names[at] = b"*"
    forms = {}
    at = 0
    for words in lines:
        forms[words] = tuple([*filter(None, names[at : at + len(words)])][:KEY_WORDS])
        at += len(words) + 1
    return {key: forms[words] for key, words in named.items()}


def _usual(lines: Mapping[tuple[bytes, ...], int], most: Counter[bytes]) -> list[bytes]:
    """The words that most lines share. ``most``: how often each word stands in the different lines."""
    total = sum(lines.values())
    if total <= FEW_LINES:
        return []
    for words, count in lines.items():
        if count > 1:
            for word in words:
                most[word] += count - 1
    likely = [word for word, held in most.items() if held > USUAL_SHARE * total and word != _EDGE]
    return [
        word for word in likely if sum([count for words, count in lines.items() if word in words]) > USUAL_SHARE * total
    ]
