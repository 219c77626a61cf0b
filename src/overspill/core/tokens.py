"""Counts tokens without a vocabulary: an estimate fitted once, made of a few passes in C.

A text is read as pairs of neighbouring characters, seen in four ways: their shapes (lower case, digit,
space, bracket ...), their letters, their marks of punctuation, and the shapes of a longer run. Each pair
carries a weight in 1/128 tokens, and the estimate is their sum; what is not ASCII adds weights by script and
by block, and what no vocabulary has pieces for, such as braille or the icons of a terminal, counts apart.
The weights aim a little above o200k_base and stay near cl100k_base; docs/decisions/0002-token-estimate.md
says how far off they are.

It guarantees, for any string at all: nothing is raised, equal texts give equal numbers, an empty text is 0
and any other at least 1, never more than one token for an ASCII character or three for another, never less
than one for 32 bytes, and texts joined at a line border cost no more than the two apart, give or take a
token. Exact numbers are left to a tokenizer of the caller's, which `exact` turns into a `TokenCounter`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Any

from overspill.core.model import BYTES_PER_TOKEN_CEILING
from overspill.core.ports import TokenCounter
from overspill.core.token_blocks import block_tables
from overspill.errors import PolicyError

_SCALE = 128
"""Weights are whole numbers of 1/128 tokens, so that four of them add up within one byte."""

_DEAREST = 122
"""No ASCII character costs more, taken with its neighbours: the length alone gives a ceiling below it."""

_BLOCK_CHARS = 1 << 14
_SPREAD = 3
"""A weight is spread over this many characters after its own before any is capped."""

_REACH = 3 + _SPREAD
"""What stands for a character depends on this many characters before it."""


def _classes(*groups: str, other: int) -> bytes:
    """A table for `bytes.translate` that gives each character the number of its group."""
    table = bytearray([other]) * 256
    for number, characters in enumerate(groups):
        for byte in characters.encode():
            table[byte] = number
    return bytes(table)


# Line ends are group 0 everywhere, which is also what stands before a text: a text and a line start alike.
# A "?" is a shape of its own because it stands for what is not ASCII.
_SHAPES = _classes(
    "\n\r", ascii_lowercase, ascii_uppercase, digits, " ", "!@$%^&|\\", "\t", "_",
    "-=*#~+", ".", "/", "([{<\"'`", ")]}>", ",;:", "", "?", other=14,
)  # fmt: skip
_LETTERS = _classes(
    "", "e", "a", "i", "o", "uy", "t", "n", "s", "r", "l", "dcm", "phgb", "fkwv", "jqxz", ascii_uppercase, other=0
)
_MARKS = _classes(
    "\n\r", " \t", ascii_letters + digits, '"', "'`", ",", ":", ";",
    "(", ")", "[]", "{}", "<>", "/\\", "-=_*#", other=15,
)  # fmt: skip


def _run(before: int, shape: int) -> int:
    """The state that two neighbouring shapes leave behind; two states at a distance see four characters."""
    match shape:
        case 0:
            return 0
        case 1:
            return {1: 1, 2: 2, 3: 3}.get(before, 4)
        case 2:
            return {1: 5, 2: 6, 3: 8}.get(before, 7)
        case 3:
            return {3: 9, 1: 10, 2: 10}.get(before, 11)
        case 4:
            return 12 if before == 4 else 13
        case 8 | 9 if before == shape:
            return 15
        case _:
            return 14


_RUNS = bytes(_run(pair >> 4, pair & 15) for pair in range(256))

_ASCII = bytes(range(128))
_SCRIPTS = bytes(
    0 if byte < 0x80
    else 1 + (byte - 0x80 >> 4) if byte < 0xC0  # continuation bytes, in four groups
    else next(
        script
        for script, end in enumerate((0xC4, 0xCD, 0xD0, 0xD5, 0xD8, 0xE0, 0xE1, 0xE2, 0xE3), 5)
        if byte < end
    ) if byte < 0xE3
    else 14 if byte in (0xE3, 0xEF)
    else 15 if byte < 0xF0
    else 0
    for byte in range(256)
)  # fmt: skip
"""Lead bytes by the scripts they begin; F0 and above (emoji and the rare planes) share 0 with the start."""

# The tables below are read by row (the character before) and column (the character itself).
_SHAPES_WEIGHTS = bytes.fromhex(
    """
    00 1e 05 02 14 00 48 04 05 13 00 66 00 5c 66 22
    66 00 36 55 00 57 66 17 00 24 21 00 00 07 66 00
    66 00 0e 66 00 66 66 00 66 41 66 1d 66 40 29 00
    66 66 66 08 5a 66 66 23 66 66 66 2e 24 5e 27 29
    00 00 00 66 00 21 0b 52 3d 66 00 17 20 00 2f 3d
    00 66 66 66 66 1d 2d 5f 64 00 63 00 10 35 26 66
    1f 34 5b 66 00 3c 33 66 46 2b 5b 53 1d 46 26 66
    50 00 51 64 0f 5b 1d 1b 59 09 66 66 25 41 26 42
    66 45 66 54 53 19 66 66 01 21 15 4d 41 56 27 61
    66 1b 00 62 1d 26 2c 19 26 01 00 20 0d 1c 29 09
    00 0d 3f 66 31 5e 1a 30 00 00 00 14 33 48 27 0d
    01 13 1d 37 12 18 2b 29 17 00 5a 1b 0a 13 27 36
    66 00 66 1a 31 5f 3d 1c 49 00 4e 00 1b 43 26 00
    2e 2d 66 62 42 33 5e 00 22 06 2f 18 00 00 26 66
    27 27 27 26 26 26 26 26 26 26 26 66 26 24 26 29
    00 00 00 55 66 00 66 2a 66 00 00 17 00 01 24 1e
    """
)
_LETTERS_WEIGHTS = bytes.fromhex(
    """
    00 14 1d 22 1c 21 29 00 16 33 31 10 16 33 2b 13
    05 33 13 33 33 13 31 25 00 10 23 00 24 1b 0b 00
    33 33 33 33 00 0e 03 33 1b 06 04 00 12 33 33 2a
    33 33 01 33 00 33 31 20 33 33 32 05 00 33 2d 00
    18 33 00 33 29 12 33 00 2f 00 33 28 00 06 00 33
    04 00 0b 00 33 2c 00 17 19 00 2f 33 33 33 00 1d
    04 00 00 08 18 1a 33 33 33 00 25 2b 09 00 33 00
    10 10 13 33 33 30 00 30 00 33 31 00 00 06 00 00
    00 00 33 06 2b 21 19 33 26 00 33 30 06 33 33 33
    00 00 03 1c 00 00 03 00 1b 14 33 16 09 33 33 19
    0d 0b 1a 00 0c 00 07 32 00 33 33 08 0d 02 33 24
    00 00 1d 00 00 00 00 33 22 12 00 22 10 24 33 00
    00 0c 04 0a 00 27 00 29 20 03 00 33 2a 33 33 00
    1a 00 07 00 06 33 00 25 33 09 33 33 24 2b 33 33
    1e 33 33 33 33 00 00 33 33 33 00 33 33 33 33 33
    00 00 00 00 00 00 00 00 33 00 00 33 00 33 33 00
    """
)
_MARKS_WEIGHTS = bytes.fromhex(
    """
    00 00 00 00 00 05 33 09 1b 20 33 00 13 00 00 00
    00 00 00 26 25 0f 00 16 33 00 08 00 00 1a 00 00
    33 00 02 2f 1f 33 33 00 04 00 31 00 33 33 1d 00
    11 03 04 00 33 33 00 00 00 33 33 00 33 33 00 33
    1b 03 33 1e 06 33 00 00 10 00 33 20 18 00 00 03
    33 00 2a 33 00 13 09 0c 0c 1a 00 00 01 33 00 33
    00 2d 31 00 14 08 00 0d 0d 01 00 07 21 00 00 19
    00 20 33 14 0c 00 12 25 1c 00 00 07 2a 00 13 33
    00 00 00 33 04 06 00 15 2b 00 12 00 14 2a 00 05
    33 29 00 00 33 00 00 33 33 05 2f 02 27 25 1c 00
    0f 00 20 33 33 33 00 33 33 00 00 02 00 1d 33 33
    00 27 00 00 0d 33 14 00 0f 00 25 2d 00 00 33 00
    0f 00 33 00 00 2a 00 03 00 13 00 00 19 00 2e 00
    00 00 03 00 28 17 0c 1b 1a 00 11 15 20 00 00 04
    00 06 00 00 22 06 27 25 33 2d 00 33 00 1c 00 33
    00 0f 00 33 33 00 33 00 00 2c 33 33 00 00 33 00
    """
)
_RUNS_WEIGHTS = bytes.fromhex(
    """
    00 00 00 13 00 1b 33 00 1b 00 15 00 14 33 00 06
    10 00 00 33 00 00 33 2c 00 00 11 14 33 14 00 33
    11 00 33 33 12 33 11 33 33 33 33 33 21 33 33 2a
    00 33 33 33 1d 00 1c 00 33 00 00 33 1f 33 33 07
    33 00 13 33 00 00 33 19 00 00 33 0a 33 18 00 33
    20 00 33 00 33 33 33 19 33 1a 33 33 0d 1d 20 10
    1d 33 33 33 33 33 0a 00 33 00 33 00 07 00 00 31
    33 00 00 01 25 03 00 00 21 00 08 26 33 33 0c 2d
    29 33 33 24 33 33 33 00 00 00 07 33 33 2f 09 00
    33 00 33 00 00 00 23 00 02 23 00 00 33 33 01 00
    33 33 33 00 00 33 33 00 33 00 1c 00 33 28 00 04
    33 00 33 33 33 33 33 2f 33 1a 28 33 33 33 23 27
    00 22 33 33 33 10 33 12 00 33 00 33 01 25 2c 1a
    33 0d 00 0d 33 00 00 33 33 10 11 33 0d 06 00 05
    00 00 00 10 00 33 15 00 33 00 19 33 33 00 03 2b
    33 1a 10 06 16 0b 24 00 06 15 10 33 33 00 33 05
    """
)
_LEAD_WEIGHTS = bytes(192) + bytes.fromhex(
    """
    4d 4d 4f 8b 12 9a 00 58 54 4f 52 5b 6c 4d 38 2a
    00 00 60 50 55 99 5b 27 00 2f 00 1d 4d 4d 4d 4d
    2b 62 00 0b 00 00 17 73 9a 9a 9a 00 08 00 7b 6f
    9a 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d
    """
)
# Row 13, column 2 (a run of one bar or box character) is set by hand: the fit knew no progress bars.
_SCRIPT_WEIGHTS = bytes.fromhex(
    """
    1a 06 1a 05 06 1a 1a 05 00 00 0d 03 00 14 00 00
    1a 1a 1a 1a 1a 1a 1a 04 00 1a 07 12 00 00 1a 1a
    1a 09 1a 1a 1a 1a 1a 1a 1a 0a 1a 00 1a 00 1a 1a
    1a 1a 1a 1a 1a 00 00 1a 1a 1a 0b 1a 00 1a 0c 00
    1a 1a 00 00 1a 04 1a 07 00 1a 1a 1a 00 1a 00 1a
    06 1a 1a 00 18 06 06 06 06 06 06 06 06 06 06 06
    06 1a 00 1a 1a 06 06 06 06 06 06 06 06 06 06 06
    06 01 1a 1a 05 06 06 06 06 06 06 06 06 06 06 06
    06 00 1a 1a 05 06 06 06 06 06 06 06 06 06 06 06
    06 1a 05 1a 1a 06 06 06 06 06 06 06 06 06 06 06
    06 00 1a 05 1a 06 06 06 06 06 06 06 06 06 06 06
    06 06 06 00 05 06 06 06 06 06 06 06 06 06 06 06
    06 1a 06 06 00 06 06 06 06 06 06 06 06 06 06 06
    06 1a 05 1a 10 06 06 06 06 06 06 06 06 06 06 06
    06 14 0a 1a 0f 06 06 06 06 06 06 06 06 06 06 06
    06 1a 00 1a 00 06 06 06 06 06 06 06 06 06 06 06
    """
)

_VIEWS = (_SHAPES_WEIGHTS, _LETTERS_WEIGHTS, _MARKS_WEIGHTS, _RUNS_WEIGHTS)

_ANY = b"\0" + b"\xff" * 255
_QUARTERS = tuple(bytes(255 * (place >> 6 == quarter) for place in range(256)) for quarter in range(4))
"""Which of the 256 characters of a row stand in a quarter of it: blocks are of 64."""

_RARE = {
    # Three bytes of UTF-8 and hardly ever fewer tokens: technical signs, braille, rare arrows, private use ...
    "\u1200-\u139f\u1800-\u18af\u1f00-\u1fff\u2300-\u245f\u2800-\u2fdf\u3100-\u312f\u3200-\u4dbf"
    "\ua000-\uabff\ue000-\ufdff\ufe10-\ufefe\U0001f100-\U0001f2ff\U0001f900-\U0001faff": 358,
    # Corners and crossings of a drawing; lines and branches of a tree are known to the vocabularies.
    "\u250c-\u2513\u2515-\u251b\u251d-\u254f\u2552-\u256f": 256,
    # Four bytes and up to four tokens, but a character counts three at most.
    "\U00010000-\U0001f0ff\U0001fb00-\U0010ffff": 384,
}
"""Set by hand: the characters that count for themselves, wherever they stand."""

_USUAL_ROWS = bytes([*range(0x12), *range(0x14, 0x18), *range(0x19, 0x1F), 0x20, 0x21, 0x22, 0x26, 0x27,
                     0x30, *range(0x4E, 0xA0), *range(0xAC, 0xD8), 0xFF])  # fmt: skip
"""The rows in which none of them stands."""

_ASCII_RUN = re.compile(r"[\x00-\x7f]{2,}")
"""What weighs nothing in the ways that see only what is not ASCII, but stands between others of those."""

_CLAMP = bytes(min(weight, _DEAREST) for weight in range(256))


def estimate_tokens(text: str) -> int:
    """About as many tokens as o200k_base makes of the text, rather a few more than fewer."""
    size = len(text)
    if not size:
        return 0
    if text.isascii():
        return max(-(-_near_weight(text) // _SCALE), -(-size // BYTES_PER_TOKEN_CEILING))
    size = len(text.encode("utf-8", "surrogatepass"))
    wide = _ASCII_RUN.sub(" ", text)
    if _may_have_rare(wide):
        text, weight = _without_rare(text)
        wide = _ASCII_RUN.sub(" ", text)
    else:
        weight = 0
    weight += _near_weight(text) + _wide_weight(wide)
    return max(-(-weight // _SCALE), -(-size // BYTES_PER_TOKEN_CEILING))


def tokens_ceiling(text: str) -> int:
    """A number that `estimate_tokens` never exceeds, from the length alone."""
    return len(text) * _DEAREST // _SCALE + 1 if text.isascii() else 3 * len(text)


def exact(encoding: object) -> TokenCounter:
    """A counter out of a tokenizer: anything with `encode_ordinary`, `count` or `encode`.

    A long text is counted in pieces cut at line borders, since tokenizers limit what they take at once,
    and a lone surrogate counts as U+FFFD, which is what a carrier would make of it.
    """
    tokens_of = _tokens_of(encoding)

    def count(text: str) -> int:
        sound = _without_lone_surrogates(text)
        total = start = 0
        while start < len(sound):
            end = start + _PIECE_CHARS
            if end < len(sound):
                end = sound.rfind("\n", start, end) + 1 or end
            total += tokens_of(sound[start:end])
            start = end
        return total

    return count


_PIECE_CHARS = 50_000
"""At four bytes to a character and one token to a byte, 200,000 tokens: the least limit of a known tokenizer."""


def _tokens_of(encoding: object) -> Callable[[str], int]:
    # `encode_ordinary` first: the plain `encode` of tiktoken refuses texts that spell a special token.
    for name in ("encode_ordinary", "count", "encode"):
        method: Callable[[str], Any] | None = getattr(encoding, name, None)
        # str, list and tuple have a `count` or an `encode` too, which mean something else.
        if callable(method) and not isinstance(encoding, str | bytes | list | tuple):
            return method if name == "count" else partial(_length, method)
    raise PolicyError("counter", encoding, "a tokenizer with encode_ordinary, count or encode")


def _length(encode: Callable[[str], Any], text: str) -> int:
    return len(encode(text))


def _without_lone_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _may_have_rare(text: str) -> bool:
    """By the rows of 256 characters, which is quicker to see than the characters themselves."""
    return bool(text.encode("utf-16-le", "surrogatepass")[1::2].translate(None, _USUAL_ROWS))


def _without_rare(text: str) -> tuple[str, int]:
    """The text without the characters of which a tokenizer sees only the bytes, and what those weigh."""
    weight = 0
    for characters, each in zip(_rare(), _RARE.values(), strict=True):
        text, count = characters.subn("", text)
        weight += count * each
    return text, weight


@cache
def _rare() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(f"[{ranges}]") for ranges in _RARE)


def _near_weight(text: str) -> int:
    """What the characters weigh by their neighbours, each that is not ASCII as a "?"."""
    size = len(text)
    if size <= _BLOCK_CHARS:
        return min(_total(_ascii_weights(text)), size * _DEAREST)
    weight = 0
    for start in range(0, size, _BLOCK_CHARS):
        before = min(start, _REACH)
        block = text[start - before : start + _BLOCK_CHARS]
        lanes = _ascii_weights(block)
        weight += _total(lanes[before : len(block)] if start + _BLOCK_CHARS < size else lanes[before:])
    return min(weight, size * _DEAREST)


def _codes(block: str) -> tuple[bytes, bytes, bytes, bytes]:
    """The pairs of a text as its four views have them, in the order of `_VIEWS`."""
    data = block.encode("ascii", "replace")
    shapes = _pairs(data.translate(_SHAPES))
    return (
        shapes,
        _pairs(data.translate(_LETTERS)),
        _pairs(data.translate(_MARKS)),
        _pairs(shapes.translate(_RUNS), distance=2),
    )


def _ascii_weights(block: str) -> bytes:
    """The weight of each character, spread and capped; one that is not ASCII weighs as a "?" here."""
    # Big integers add all bytes at once; no byte carries, since the greatest weights add up to 255 at most.
    lanes = sum(
        int.from_bytes(codes.translate(weights), "little") for codes, weights in zip(_codes(block), _VIEWS, strict=True)
    )
    size = len(block) + _SPREAD
    low_bits, other_bits = _bits_of_few(size) if size <= _FEW_BYTES else _bits(size)
    for distance in (1, 2):
        half, odd = lanes >> 1 & other_bits, lanes & low_bits
        lanes = half + (half + odd << 8 * distance)
    return lanes.to_bytes(size, "little").translate(_CLAMP)


def _bits(size: int) -> tuple[int, int]:
    """The lowest bit of each of so many bytes, and all but the highest."""
    low_bits = int.from_bytes(b"\x01" * size, "little")
    return low_bits, low_bits * 0x7F


_FEW_BYTES = 512
_bits_of_few = lru_cache(maxsize=_FEW_BYTES)(_bits)


def _pairs(classes: bytes, *, distance: int = 1) -> bytes:
    """Each byte joined with the one before it: that one's class in the high half, its own in the low."""
    lanes = int.from_bytes(classes, "little")
    size = len(classes)
    return (lanes | lanes << 8 * distance + 4).to_bytes(size + distance + 1, "little")[:size]


def _wide_weight(text: str) -> int:
    """What the characters beyond ASCII add: from the bytes of their UTF-8, and by their blocks."""
    data = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    weight = _total(data.translate(_LEAD_WEIGHTS)) + _total(_pairs(data.translate(_SCRIPTS)).translate(_SCRIPT_WEIGHTS))
    return weight + _total(_block_weights(text))


def _block_weights(text: str) -> bytes:
    """Of each unit of UTF-16 that differs from the one before: a run of one character is cheap."""
    units = text.encode("utf-16-le", "surrogatepass")
    size = len(units)
    lanes = int.from_bytes(units, "little")
    unlike = (lanes ^ lanes << 16).to_bytes(size + 2, "little")[:size]
    rows, places = units[1::2], units[::2]
    weights = sum(
        int.from_bytes(rows.translate(table), "little") & int.from_bytes(places.translate(quarter), "little")
        for table, quarter in zip(block_tables(), _QUARTERS, strict=True)
    )
    changed = int.from_bytes(unlike[1::2].translate(_ANY), "little") | int.from_bytes(
        unlike[::2].translate(_ANY), "little"
    )
    return (weights & changed).to_bytes(size // 2, "little")


def _total(weights: bytes) -> int:
    """The sum of bytes, by the one loop of the standard library that adds them up in C."""
    # Modulo 65,521, which 256 bytes of at most 255 stay below.
    added = _adler32()
    if len(weights) <= 256:
        return added(weights, 0) & 0xFFFF
    view = memoryview(weights)
    return sum([added(view[start : start + 256], 0) & 0xFFFF for start in range(0, len(weights), 256)])


@cache
def _adler32() -> Callable[[bytes | memoryview, int], int]:
    from zlib import adler32

    return adler32
