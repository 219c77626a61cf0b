"""Handles: short names of outputs, derived from what they hold.

A handle is ``ovs_`` and the first characters of the output's *code*, its SHA-256 digest written
in 32 letters and digits of which no two look alike.  Equal bytes have equal codes on every machine.
How many characters a handle needs in one store is that store's to say; here is only the spelling.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from functools import lru_cache

from overspill.errors import UnknownHandle

PREFIX = "ovs_"
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
SHORT = 8
"""Characters after the prefix, unless that is ambiguous: 40 bits."""
CODE_LENGTH = 52
"""256 bits in characters of 5, the last one padded."""

_STANDARD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_OUR_LETTERS = bytes.maketrans(_STANDARD, ALPHABET.encode())
_THEIR_LETTERS = bytes.maketrans(ALPHABET.encode(), _STANDARD)
_AFTER_ALPHABET = "~"
_TYPED = re.compile(r"[0-9a-z]{1,52}")
_AS_READ = str.maketrans("ilo", "110")
_AROUND = " \t\r\n\"'`()[]{}<>,;:."


@lru_cache(maxsize=256)
def code_of(digest: str) -> str:
    """The full name of a hexadecimal SHA-256 digest."""
    return base64.b32encode(bytes.fromhex(digest)).translate(_OUR_LETTERS).decode()[:CODE_LENGTH]


def digest_of(code: str) -> str:
    """The hexadecimal digest of a full code."""
    return base64.b32decode(code.encode().translate(_THEIR_LETTERS) + b"====").hex()


def shortest(code: str, others: Iterable[str]) -> str:
    """The handle for ``code``: short, longer only while it would fit one of ``others`` too.

    ``others`` are codes or parts of codes that are taken; ``code`` itself among them is ignored.
    """
    length = SHORT
    for other in others:
        if other == code:
            continue
        shared = 0
        for mine, theirs in zip(code, other, strict=False):
            if mine != theirs:
                break
            shared += 1
        length = max(length, shared + 1)
    return PREFIX + code[:length]


def typed(text: str) -> str:
    """The characters after the prefix in what a model or a person typed.

    White space, quotes and brackets around it, capitals, and ``i l o`` for ``1 1 0`` are forgiven.
    Anything that could be a path or a pattern is refused: no handle looks like one.
    """
    bare = text.strip(_AROUND).lower().removeprefix(PREFIX)
    if not _TYPED.fullmatch(bare):
        shown = text if len(text) <= 80 else text[:77] + "…"
        raise UnknownHandle(shown, "a handle is ovs_ and letters and digits, as in ovs_7k2m9x4q; `overspill ls` lists")
    read = bare.translate(_AS_READ)
    if any(character not in ALPHABET for character in read):
        raise UnknownHandle(text.strip(_AROUND))
    return read


def unknown(text: str) -> UnknownHandle:
    """For what was typed and names nothing: quoted as it was typed, with what it was read as where that differs."""
    shown, read = text.strip(_AROUND), typed(text)
    if shown.lower().removeprefix(PREFIX) == read:
        return UnknownHandle(shown)
    return UnknownHandle(shown, f"it was read as {PREFIX}{read}; `overspill ls` lists what is kept")


def code_range(start: str) -> tuple[str, str]:
    """The half-open range that holds every code which begins with ``start``."""
    return start, start + _AFTER_ALPHABET
