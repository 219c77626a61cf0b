"""Counts tokens without a vocabulary: an estimate fitted once, made of a few passes in C.

A text is read as pairs of neighbouring characters, seen in four ways: their shapes (lower case, digit,
space, bracket ...), their letters, their marks of punctuation, and the shapes of a longer run. Each pair
carries a weight in 1/128 tokens, and the estimate is their sum; what is not ASCII adds weights by script.
The weights aim a little above o200k_base and stay near cl100k_base; docs/decisions/0002-token-estimate.md
says how far off they are.

It guarantees, for any string at all: nothing is raised, equal texts give equal numbers, an empty text is 0
and any other at least 1, never more than one token for an ASCII character or three for another, never less
than one for 32 bytes, and texts joined at a line border cost no more than the two apart, give or take a
token. Exact numbers are left to a tokenizer of the caller's, which `exact` turns into a `TokenCounter`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Any

from overspill.core.model import BYTES_PER_TOKEN_CEILING
from overspill.core.ports import TokenCounter
from overspill.errors import PolicyError

_SCALE = 128
"""Weights are whole numbers of 1/128 tokens, so that four of them add up within one byte."""

_DEAREST = 122
"""No ASCII character costs more: it makes a ceiling of the length alone, below 2,000 for 2,048 characters."""

_BLOCK_CHARS = 1 << 14
_REACH = 3
"""A character's weight depends on this many characters before it."""


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
    00 27 1c 1b 05 25 4b 27 29 23 00 56 1b 2e 47 14
    2e 02 20 47 02 3a 4f 3b 31 12 50 24 00 23 4b 00
    30 17 18 3d 00 41 2b 0f 44 3d 31 33 46 3c 27 00
    51 54 51 1f 66 23 5f 31 65 62 08 48 63 4f 26 07
    00 07 00 60 01 3c 30 1f 3a 2d 19 2d 1f 0a 28 03
    16 64 56 4a 0b 1c 28 2a 49 27 4a 00 33 28 26 2c
    25 46 30 62 0e 24 34 2f 2f 27 34 55 1f 2b 26 40
    2d 00 2a 35 1f 2a 26 1f 30 24 3d 37 26 29 26 1b
    57 34 5a 44 2a 2b 36 3d 05 28 19 33 23 30 26 3c
    25 1d 14 37 14 26 26 1d 2d 05 00 2d 29 28 27 23
    0b 19 40 18 1e 2a 26 21 13 00 02 22 2a 2d 26 22
    0e 0d 00 4a 10 36 27 25 1c 0c 34 2a 0e 23 26 4c
    47 00 51 22 24 2c 29 26 34 16 2e 05 1e 34 26 00
    0f 3a 49 59 27 4c 3b 1d 25 27 23 09 1f 05 26 36
    26 26 26 26 26 26 26 26 26 26 26 3c 26 24 26 27
    00 00 00 19 5d 00 2a 1b 42 0c 25 27 2a 42 24 1b
    """
)
_LETTERS_WEIGHTS = bytes.fromhex(
    """
    00 1a 0c 1e 01 1a 16 00 00 2f 2a 03 09 19 22 10
    00 33 10 33 25 07 33 18 00 0a 21 00 28 15 00 00
    33 22 33 33 00 12 00 28 0e 00 00 00 00 32 2b 1d
    33 28 2f 33 00 2b 25 07 1f 28 27 00 00 2d 29 04
    00 1c 05 33 24 00 33 00 1f 00 33 15 00 00 0a 29
    00 00 0e 00 33 18 0a 16 17 00 12 22 28 33 19 1b
    02 00 04 00 20 1f 33 1d 33 00 15 1a 00 00 25 00
    2b 16 01 33 33 32 00 21 00 1f 1b 00 00 00 09 00
    00 00 33 1a 1f 21 1b 2c 10 1b 33 2b 05 33 2a 2e
    00 00 05 15 00 00 05 00 0f 0f 21 07 18 33 33 13
    08 0b 20 00 0e 00 1d 12 00 11 33 00 0f 01 33 19
    01 00 19 02 00 00 00 33 1a 0a 00 21 0b 1f 33 1d
    01 02 04 28 00 27 00 18 16 04 00 33 2a 33 33 00
    31 00 0f 00 1a 33 17 27 33 17 2e 33 14 32 33 33
    32 33 32 33 33 00 00 2b 0a 2b 00 21 33 33 33 33
    0d 00 00 04 01 00 00 09 2e 00 00 32 00 32 2c 00
    """
)
_MARKS_WEIGHTS = bytes.fromhex(
    """
    00 07 03 01 02 07 0d 07 09 07 25 00 18 00 09 27
    00 01 00 0c 15 0c 00 03 33 00 1b 00 00 18 22 14
    2f 00 02 10 1c 1f 28 00 00 00 27 00 33 1a 06 08
    03 05 1c 00 10 31 00 00 09 1a 33 00 0e 17 00 2c
    06 0e 28 0a 03 1c 00 00 08 00 10 0c 08 00 00 2b
    32 18 30 1b 00 08 07 07 07 08 02 00 06 1d 01 1a
    00 16 16 00 09 06 00 07 07 06 04 05 09 02 00 1b
    00 08 1d 07 07 06 08 0d 09 00 05 07 0d 00 07 17
    00 00 00 0a 00 07 04 08 09 00 0b 04 07 0a 00 08
    1f 02 00 00 10 00 00 1e 08 04 08 06 0a 0d 09 08
    15 1a 21 33 11 29 00 10 18 06 00 06 08 0b 33 2d
    03 00 00 00 03 11 06 04 08 00 0b 0c 05 00 10 00
    0e 02 33 05 00 0d 02 06 05 09 00 07 0b 14 14 00
    00 02 03 14 0a 0a 08 09 0b 03 0b 07 0c 00 00 03
    07 1d 01 04 11 0a 09 09 22 09 00 1b 00 08 00 33
    00 26 08 1d 12 17 0f 0c 00 2b 1c 19 00 0c 33 01
    """
)
_RUNS_WEIGHTS = bytes.fromhex(
    """
    00 1b 00 0d 10 0d 2b 00 0b 00 11 10 32 0f 00 02
    17 02 00 24 00 00 33 19 1d 00 15 03 33 1d 00 16
    0a 00 33 24 1b 32 21 17 24 27 0c 17 0b 30 22 0c
    00 33 30 13 1b 02 29 08 12 0b 06 1a 12 1c 22 07
    33 00 14 24 00 09 28 15 06 19 15 1c 1a 03 05 33
    0b 00 2e 01 25 31 33 1f 24 0d 15 11 08 08 11 09
    00 33 2b 23 29 22 00 00 24 00 15 2d 04 00 00 10
    1e 00 06 08 25 1f 00 05 0c 00 0e 18 19 07 2c 12
    10 2e 30 0f 29 2a 33 11 00 01 11 12 14 11 09 0b
    29 18 24 00 00 0c 0f 00 02 0e 04 28 30 33 05 05
    14 33 30 07 23 32 33 01 1c 00 13 14 1c 30 08 08
    27 07 16 24 33 12 1e 0d 24 00 15 33 29 33 33 10
    00 11 25 14 33 0c 26 08 05 33 04 19 00 13 2d 1d
    00 14 00 16 33 03 00 33 10 0c 15 10 18 00 01 00
    00 01 02 24 06 31 27 00 24 04 21 0d 33 00 0a 13
    23 2b 09 06 0e 09 0c 00 07 09 09 23 1a 00 29 00
    """
)
_LEAD_WEIGHTS = bytes(192) + bytes.fromhex(
    """
    4d 4d 3b 91 2d 98 0e 4e 4d 4d 4d 4f 50 4d 40 43
    00 1d 52 4d 4e 9a 61 35 1f 39 42 33 4d 4d 4d 4d
    2d 68 00 2a 00 00 3c 9a 9a 9a 43 1c 07 31 6e 01
    9a 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d
    """
)
_SCRIPT_WEIGHTS = bytes.fromhex(
    """
    19 06 1a 06 06 1a 0b 06 06 05 07 06 06 00 07 00
    1a 1a 1a 1a 1a 0a 0d 00 00 1a 00 0b 00 00 1a 00
    1a 00 1a 1a 1a 17 09 0b 1a 00 09 00 1a 00 00 1a
    1a 1a 1a 1a 1a 00 00 08 1a 1a 00 1a 00 1a 00 00
    1a 00 00 00 1a 13 16 00 00 1a 00 1a 00 00 00 00
    06 1a 1a 0f 00 06 06 06 06 06 06 06 06 06 06 06
    06 1a 00 0b 06 06 06 06 06 06 06 06 06 06 06 06
    06 00 0c 08 00 06 06 06 06 06 06 06 06 06 06 06
    06 00 1a 1a 00 06 06 06 06 06 06 06 06 06 06 06
    06 1a 00 1a 1a 06 06 06 06 06 06 06 06 06 06 06
    06 00 08 00 00 06 06 06 06 06 06 06 06 06 06 06
    06 06 06 00 0a 06 06 06 06 06 06 06 06 06 06 06
    06 1a 06 06 00 06 06 06 06 06 06 06 06 06 06 06
    06 18 00 1a 0d 06 06 06 06 06 06 06 06 06 06 06
    06 00 09 14 00 06 06 06 06 06 06 06 06 06 06 06
    06 1a 00 1a 00 06 06 06 06 06 06 06 06 06 06 06
    """
)

_CLAMP = bytes(min(weight, _DEAREST) for weight in range(256))


def estimate_tokens(text: str) -> int:
    """About as many tokens as o200k_base makes of the text, rather a few more than fewer."""
    size = len(text)
    if not size:
        return 0
    weight = 0
    for start in range(0, size, _BLOCK_CHARS):
        before = min(start, _REACH)
        block = text[start - before : start + _BLOCK_CHARS]
        weight += _total(_ascii_weights(block)[before:])
        if not block.isascii():
            wide = block[before:].encode("utf-8", "surrogatepass")
            size += len(wide) - (len(block) - before)
            weight += _wide_weight(wide.translate(None, _ASCII))
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


def _ascii_weights(block: str) -> bytes:
    """The weight of each character; one that is not ASCII weighs as a "?" here."""
    data = block.encode("ascii", "replace")
    shapes = _pairs(data.translate(_SHAPES))
    weights = (
        shapes.translate(_SHAPES_WEIGHTS),
        _pairs(data.translate(_LETTERS)).translate(_LETTERS_WEIGHTS),
        _pairs(data.translate(_MARKS)).translate(_MARKS_WEIGHTS),
        _pairs(shapes.translate(_RUNS), distance=2).translate(_RUNS_WEIGHTS),
    )
    # Big integers add all bytes at once; no byte carries, since the greatest weights add up to 255 at most.
    lanes = sum(int.from_bytes(each, "little") for each in weights)
    return lanes.to_bytes(len(data), "little").translate(_CLAMP)


def _pairs(classes: bytes, *, distance: int = 1) -> bytes:
    """Each byte joined with the one before it: that one's class in the high half, its own in the low."""
    lanes = int.from_bytes(classes, "little")
    size = len(classes)
    return (lanes | lanes << 8 * distance + 4).to_bytes(size + distance + 1, "little")[:size]


def _wide_weight(data: bytes) -> int:
    """What the characters beyond ASCII add, from the bytes of their UTF-8."""
    return _total(data.translate(_LEAD_WEIGHTS)) + _total(_pairs(data.translate(_SCRIPTS)).translate(_SCRIPT_WEIGHTS))


def _total(weights: bytes) -> int:
    """The sum of bytes, by the one loop of the standard library that adds them up in C."""
    from zlib import adler32

    # Modulo 65,521, which 256 bytes of at most 255 stay below.
    view = memoryview(weights)
    return sum(adler32(view[start : start + 256], 0) & 0xFFFF for start in range(0, len(weights), 256))
