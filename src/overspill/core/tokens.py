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
    00 2e 01 14 08 49 4b 00 03 18 00 5d 00 5d 66 23
    4d 00 3b 51 00 40 66 16 00 07 25 00 00 09 66 00
    66 00 11 66 00 66 66 00 66 43 66 14 66 44 29 00
    66 66 66 0d 54 00 66 44 66 66 00 3f 41 64 27 1a
    00 05 00 66 00 47 00 59 43 3b 11 1e 16 00 30 00
    16 66 66 66 2e 2a 2d 3c 59 00 66 00 66 2b 26 66
    1b 33 66 66 00 31 36 66 4c 2a 65 5d 0d 49 26 66
    4b 00 48 66 00 5b 1e 19 49 11 66 66 1b 2a 26 24
    66 40 66 66 53 36 66 66 01 26 3d 51 2c 59 27 5a
    64 38 07 66 16 30 2b 3a 3d 02 00 36 15 22 29 02
    00 30 64 46 24 50 18 40 00 00 00 1b 36 41 27 04
    13 08 12 2f 1f 10 2d 2c 13 00 46 15 09 17 27 28
    66 00 66 16 29 66 3d 19 54 00 4d 01 17 46 26 00
    25 29 66 65 3e 37 4c 00 3a 06 23 16 03 00 26 66
    27 27 27 26 26 26 26 26 26 26 26 66 26 21 26 29
    00 00 00 42 66 00 66 17 66 00 00 30 00 27 21 1d
    """
)
_LETTERS_WEIGHTS = bytes.fromhex(
    """
    00 14 14 1d 20 23 2f 00 0a 33 33 0f 18 2b 22 14
    05 33 16 33 33 1a 2f 22 00 10 22 00 25 1a 08 00
    33 33 33 33 00 0e 01 31 14 03 00 00 15 33 33 21
    33 2d 00 33 00 33 27 1b 33 33 33 07 03 33 33 00
    13 33 00 33 28 0e 33 00 33 00 33 25 00 00 00 33
    00 00 02 00 33 20 00 13 1f 00 2b 31 33 33 00 15
    07 00 00 05 12 1c 33 33 33 00 24 22 0b 00 33 00
    13 12 08 33 33 32 00 2a 00 33 26 00 00 07 00 00
    00 00 33 09 24 1e 19 33 21 15 33 33 0d 33 33 33
    00 00 0c 1b 00 00 08 00 14 09 33 0d 10 33 33 16
    0f 07 16 00 11 00 06 33 00 31 33 01 14 08 33 19
    00 00 18 00 00 00 00 33 2a 12 00 1e 11 19 33 00
    00 01 01 0b 00 2a 00 2b 13 01 00 33 25 33 33 00
    24 00 0c 00 03 33 00 33 33 12 33 33 16 26 33 33
    2b 33 33 33 33 00 00 33 18 33 00 32 33 33 33 33
    00 00 00 00 01 00 00 00 33 00 00 33 00 33 33 00
    """
)
_MARKS_WEIGHTS = bytes.fromhex(
    """
    00 00 00 00 00 06 33 0a 18 16 33 00 1a 00 00 00
    00 00 00 29 27 1e 00 06 33 00 16 00 00 0e 00 00
    33 00 02 31 25 26 33 00 19 00 28 00 33 1b 21 00
    09 00 0b 00 33 33 00 00 00 33 33 00 33 33 00 33
    09 00 33 25 10 33 00 00 11 00 33 25 1f 0a 00 00
    33 00 33 33 01 12 09 0a 0d 1f 00 00 01 33 00 33
    00 25 33 00 12 07 00 0c 0e 01 00 05 1c 00 00 15
    00 1e 33 0d 0e 03 13 2b 1c 00 00 07 33 00 10 33
    00 00 00 33 13 07 00 13 2d 00 1b 00 16 2a 00 00
    33 33 00 00 33 00 00 33 2c 13 29 10 1e 2d 24 00
    28 18 33 33 33 33 00 33 33 0c 00 06 00 21 33 33
    08 1b 00 00 12 27 12 00 13 00 27 1a 00 00 33 00
    05 00 33 00 00 32 00 02 06 13 00 00 1a 00 33 00
    00 03 00 1b 33 1d 01 17 1d 00 15 14 29 00 08 03
    03 02 00 00 33 0a 1f 13 33 20 00 33 00 04 00 33
    00 00 00 33 33 00 33 00 00 33 33 33 00 02 33 00
    """
)
_RUNS_WEIGHTS = bytes.fromhex(
    """
    00 00 00 00 00 18 33 00 1f 00 1a 00 1a 33 00 03
    22 00 00 33 00 00 33 24 00 00 1d 0b 33 1f 00 33
    1f 00 33 33 07 33 02 33 33 33 33 33 23 33 33 27
    00 33 33 33 07 00 0e 00 2d 00 00 2f 2c 2d 33 05
    33 00 0f 33 00 00 33 29 00 00 33 0b 33 06 00 33
    27 00 33 00 33 33 33 12 33 14 33 33 0b 2a 20 13
    0a 33 33 33 33 33 06 00 33 00 33 00 16 00 00 33
    33 00 00 00 33 02 00 00 22 00 04 33 33 33 15 33
    1e 29 33 21 33 33 33 00 00 00 00 33 33 33 00 14
    33 00 33 00 00 00 19 00 00 1f 00 00 33 33 09 00
    29 33 33 00 00 33 33 00 33 00 02 00 33 24 00 01
    33 00 33 2f 33 33 33 25 33 07 0b 33 33 33 05 2a
    00 17 33 2b 33 0e 33 12 00 33 00 33 01 32 33 33
    00 0b 00 28 33 00 00 33 33 14 30 33 13 00 00 00
    00 00 02 14 00 33 0c 00 33 00 08 33 33 00 02 0a
    33 2b 18 06 10 0f 27 00 07 11 0d 33 33 00 33 04
    """
)
_LEAD_WEIGHTS = bytes(192) + bytes.fromhex(
    """
    4d 4d 5f 90 1a 9a 00 56 53 4f 52 58 71 4d 49 35
    09 00 60 4f 59 9a 9a 31 08 47 26 41 4d 4d 4d 4d
    3b 6f 00 13 00 00 2c 85 9a 9a 9a 00 3c 00 7d 5f
    9a 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d 4d
    """
)
_SCRIPT_WEIGHTS = bytes.fromhex(
    """
    1a 06 1a 05 06 1a 1a 07 00 00 10 03 00 00 04 00
    1a 1a 1a 1a 1a 1a 1a 04 00 1a 09 05 00 00 1a 1a
    1a 04 1a 1a 1a 1a 1a 1a 1a 12 1a 00 1a 00 1a 1a
    1a 1a 1a 1a 1a 00 08 1a 1a 1a 0b 1a 00 1a 09 00
    1a 17 00 00 1a 00 1a 03 06 1a 1a 1a 00 1a 00 1a
    06 1a 1a 00 19 06 06 06 06 06 06 06 06 06 06 06
    06 1a 00 1a 1a 06 06 06 06 06 06 06 06 06 06 06
    06 08 1a 1a 01 06 06 06 06 06 06 06 06 06 06 06
    06 00 1a 1a 08 06 06 06 06 06 06 06 06 06 06 06
    06 1a 04 1a 1a 06 06 06 06 06 06 06 06 06 06 06
    06 00 1a 04 1a 06 06 06 06 06 06 06 06 06 06 06
    06 06 06 02 00 06 06 06 06 06 06 06 06 06 06 06
    06 1a 06 06 00 06 06 06 06 06 06 06 06 06 06 06
    06 1a 00 1a 10 06 06 06 06 06 06 06 06 06 06 06
    06 11 0a 1a 05 06 06 06 06 06 06 06 06 06 06 06
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
        lanes = _ascii_weights(block)
        weight += _total(lanes[before : len(block)] if start + _BLOCK_CHARS < size else lanes[before:])
    weight = min(weight, size * _DEAREST)
    if not text.isascii():
        wide = text.encode("utf-8", "surrogatepass")
        size = len(wide)
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
    """The weight of each character, spread and capped; one that is not ASCII weighs as a "?" here."""
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
    size = len(data) + _SPREAD
    low_bits = int.from_bytes(b"\x01" * size, "little")
    other_bits = low_bits * 0x7F
    for distance in (1, 2):
        half, odd = lanes >> 1 & other_bits, lanes & low_bits
        lanes = half + (half + odd << 8 * distance)
    return lanes.to_bytes(size, "little").translate(_CLAMP)


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
