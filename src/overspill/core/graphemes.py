"""Whether two neighbouring code points may belong to one grapheme cluster.

Errs on one side only: it may join what the Unicode rules (UAX 29) would part, never part
what they join; a cut then merely moves by a character.  Small enough to need no tables
beyond ``unicodedata``; the tests compare it with a full implementation.
"""

from __future__ import annotations

import unicodedata

_ZWJ = "\u200d"
# Joined to what stands before them though they are not combining marks: the halfwidth
# voiced sound marks, the am vowels of Thai and Lao, and the emoji skin tones.
_JOIN_BACK = frozenset("\uff9e\uff9f\u0e33\u0eb3\u200c" + "".join(map(chr, range(0x1F3FB, 0x1F400))))
# Letters that are joined to what follows (Prepend in UAX 29) though they are not format characters.
_JOIN_ON = frozenset(
    map(chr, (0x0D4E, 0x111C2, 0x111C3, 0x113D1, 0x1193F, 0x11941, 0x11A3A, *range(0x11A84, 0x11A8A), 0x11D46, 0x11F02))
)
_VIRAMA = 9


def joined(before: str, right: str) -> bool:
    """Does ``right`` continue a cluster that ``before``, the text in front of it, ends with?"""
    left = before[-1]
    category = unicodedata.category(right)
    if category == "Cc" or unicodedata.category(left) == "Cc":
        return False
    if category[0] == "M" or category in ("Cf", "Cn") or right in _JOIN_BACK:
        return True
    if left == _ZWJ:
        return not right.isascii()  # it joins pictures and some letters of India's scripts
    if left in _JOIN_ON or unicodedata.category(left) == "Cf":
        return True
    if _is_flag(right):
        run = len(before) - len(before.rstrip(_FLAGS))
        return run % 2 == 1
    if _is_hangul_part(right) or (_is_leading_jamo(left) and _is_hangul(right)):
        return True
    return category == "Lo" and _ends_with_virama(before)


_FLAGS = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_leading_jamo(char: str) -> bool:
    return "\u1100" <= char <= "\u115f" or "\ua960" <= char <= "\ua97c"


def _is_hangul_part(char: str) -> bool:
    return "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7fb"


def _is_hangul(char: str) -> bool:
    return "\uac00" <= char <= "\ud7a3" or _is_leading_jamo(char)


def _ends_with_virama(before: str) -> bool:
    """An Indic conjunct: a virama among the marks that end the text ties the next consonant to it."""
    for char in reversed(before[-8:]):
        if unicodedata.combining(char) == _VIRAMA:
            return True
        if unicodedata.category(char)[0] != "M" and char != _ZWJ:
            return False
    return False
