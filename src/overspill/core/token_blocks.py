"""What characters beyond ASCII weigh besides, by blocks of 64: the part of the token estimate that no byte tells.

Fitted by bench/fit_blocks.py, in 1/128 tokens: no block weighs so much that a character of it could come to
more than three tokens. What a character weighs by its script and its neighbours is left to `tokens`.
"""

from __future__ import annotations

from functools import cache

_BLOCK_CHARS = 64

_WEIGHTS = {
    0x00C0: "04 65 38 3b 7a 7e 22 80 77 5b 32 04 0b 00 1a 72 82 00 00 77 17 00 10 34",
    0x06C0: "94 23 1d 85",
    0x09C0: "85 6b 25 6f 2f 8d 8d 3f 11 7d 44 7e 38 79 11 7d 83 00 00 8d 8d 74 8d 8d",
    0x0FC0: "00 33 08 00 23",
    0x1780: "28 0e",
    0x1E00: "56 56 56",
    0x2040: "26 44 00 33 8d 00 ae 1f 6b 3b",
    0x2440: "6a b8 a7 00 09 b8 a9 00 6f 00 a2 00 4e 00 b8",
    0x3080: "0b 11",
    0x5080: "48 00 48",
    0x52C0: "48",
    0x5540: "48 48 48 48 00 48",
    0x5800: "48 48 00 48",
    0x5C80: "15 28",
    0x5F80: "48",
    0x6140: "48 48 48",
    0x6640: "48 48",
    0x6840: "48 48 00 00 48 00 00 47 48 48",
    0x6E40: "48 00 00 07",
    0x7000: "45 00 45 00 45 00 09 00 45 00 00 45 00 45 00 45 00 00 45",
    0x7580: "45 00 00 45",
    0x7880: "45 00 00 45",
    0x7AC0: "45",
    0x7BC0: "45 45 00 1f 00 00 45 45 45 45 45",
    0x8080: "1e 00 00 1e 00 00 1e",
    0x8400: "12 00 1e 1e 00 00 1e 00 1e 1e 00 1e 00 00 1e 1e",
    0x8900: "1e",
    0x8A00: "1e 1e 1e 1e 1e 1e",
    0x8C80: "1e 1e",
    0x8E40: "1e 1e 1e 1e",
    0x9040: "1e 00 00 1e",
    0x9200: "1e 00 1e 1e 1e 1e 1e 1e 1e 1e",
    0x9580: "1e",
    0x9800: "1e",
    0x9900: "1e 00 00 1e 1e 1e 00 1e 1e",
    0x9CC0: "0e",
    0x9E80: "1e",
    0xB900: "3e",
    0xC940: "25",
    0xD480: "49 49",
    0xD700: "34",
    0xFE00: "49",
    0xFF80: "3c 49",
}
"""By the first character of a stretch of blocks."""


@cache
def block_tables() -> tuple[bytes, bytes, bytes, bytes]:
    """By the high byte of a unit of UTF-16: the weights of the first, second, third and fourth 64 of its 256."""
    tables = [bytearray(256) for _ in range(4)]
    for first, weights in _WEIGHTS.items():
        for block, weight in enumerate(bytes.fromhex(weights), first // _BLOCK_CHARS):
            tables[block % 4][block // 4] = weight
    one, two, three, four = map(bytes, tables)
    return one, two, three, four
