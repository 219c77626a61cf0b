"""What lines look like with their values masked: which are repeats of one another, and which stand alone.

Guarantees keys that depend on the line's bytes only: the fine key drops digits and hexadecimal letters (native, for
every line of any output), the coarse form keeps the plain words (for the distinct fine keys alone).
Leaves to others what rarity is worth.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

DROPPED = b"0123456789abcdefABCDEF"
KEY_WORDS = 10
SLOT_WORDS = 6
"""As many different words between the same neighbours make the place one of values."""

_VALUES = re.compile(
    rb"\"[^\"]{0,200}\"|'[^' ]{0,120}'|`[^`]{0,120}`|\xe2\x80\x98[^\xe2]{0,120}\xe2\x80\x99|\x1b\[[0-9;?]*[A-Za-z]|"
    rb"https?://\S+|[~.\w-]*/[\w./@+~:-]+|[\w.+-]+@[\w.-]+|[\w.]*[0-9_][\w.:-]*|<[^<> ]{1,80}>|"
    rb"\w+(?:[.:]{1,2}\w+)+|\w+(?:-\w+)+"
)
_WORDS = re.compile(rb"[A-Z][a-z]+(?:[A-Z][a-z]+)*(?:Error|Exception|Warning)\b|\b[a-z]+\b|\b[A-Z][a-z]+\b|\b[A-Z]+\b")
_CODE = re.compile(rb"(?:^|[ \t\[(])([A-Z]{1,5}[0-9]{2,5})(?=[ :\])])|\[[a-zA-Z-]{4,40}\]|@[a-z-]+/[a-z-]+")


def fine_keys(data: bytes) -> list[bytes]:
    """One key per line of the bytes; a last line without its end counts, an empty rest does not."""
    keys = data.translate(None, DROPPED).split(b"\n")
    if data.endswith(b"\n"):
        keys.pop()
    return keys


def plain_words(text: bytes) -> list[bytes]:
    """The words of a line that are no values: no numbers, names, paths or quotations."""
    head = text[:400]
    words: list[bytes] = _WORDS.findall(_VALUES.sub(b" ", head))[:24]
    code = _CODE.search(head)
    if code:
        words.insert(0, code.group().strip(b" \t[("))
    return words


def coarse_keys(words_of: Mapping[bytes, list[bytes]], counts: Mapping[bytes, int]) -> dict[bytes, tuple[bytes, ...]]:
    """For each fine key the first of its plain words that mean something.

    Left out: words that most lines share (the host, the month), and words in a place where many different ones
    stand between the same two neighbours (the name in "user … logged").
    """
    tally: dict[bytes, int] = {}
    lines = 0
    fillers: dict[tuple[bytes, bytes], set[bytes]] = {}
    for key, words in words_of.items():
        count = counts.get(key, 1)
        lines += count
        for word in dict.fromkeys(words):
            tally[word] = tally.get(word, 0) + count
        before = b"^"
        for word, after in zip(words, [*words[1:], b"$"], strict=False):
            place = fillers.get((before, after))
            if place is None:
                fillers[(before, after)] = {word}
            elif len(place) < SLOT_WORDS:
                place.add(word)
            before = word
    usual = {word for word, count in tally.items() if count > 0.6 * lines and lines > 20}
    slots = {place for place, held in fillers.items() if len(held) >= SLOT_WORDS}
    keys = {}
    for key, words in words_of.items():
        named = []
        for before, word, after in zip([b"^", *words], words, [*words[1:], b"$"], strict=False):
            if (before, after) in slots:
                word = b"*"
            if word not in usual:
                named.append(word)
        keys[key] = tuple(named[:KEY_WORDS])
    return keys
