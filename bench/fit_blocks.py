"""Fits what blocks of characters weigh besides and prints the table to paste into `overspill.core.token_blocks`.

Run as `python bench/fit_blocks.py`. It learns from the message catalogues under /usr/share/locale, from drawings as
tools print them and, for blocks that neither has, from characters in any order: what the estimate lacks there to
0.93 of cl100k_base or to o200k_base, never less than nothing, and no character above three tokens. A sixth of the
windows is left out and measured. Needs numpy, as fit_tokens.py does.
"""

from __future__ import annotations

import random
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from overspill.core import tokens
from token_windows import _catalogue
from tokens import drawings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import bpe_openai

Floats = np.ndarray[Any, np.dtype[np.float64]]

AIM_NEW, AIM_OLD = 1.0, 0.93
WINDOWS, WINDOW_CHARS, LEAST_CHARS = 40, 1_500, 4_000
BLOCKS = 0x10000 // 64
WITHOUT_TEXTS = (0x180, 0x2AF), (0x300, 0x36F), (0xE80, 0xEFF), (0x1E00, 0x1E9F), (0xFF01, 0xFF9F)
SIGNS = (0x2150, 0x218F), (0x2460, 0x24FF), (0x2600, 0x26FF), (0x2740, 0x27FF)
SWEEPS = 200
MOST_OF_CJK = 72
"""In 1/128 tokens: which of 64 neighbours a sample has says little of the others."""
FIRST, SHARE_OF_FIRST = ("ru", "zh_CN", "zh_TW", "ja", "ko", "ar", "hi", "sparkline", "bars", "narrow table"), 8.0
"""Kinds that share characters with others, and weigh more than those."""


def catalogues() -> Iterator[tuple[str, str]]:
    for folder in sorted(Path("/usr/share/locale").glob("*/LC_MESSAGES")):
        messages = [
            message
            for path in sorted(folder.glob("*.mo"))
            if "iso_" not in path.name
            for message in _catalogue(path.read_bytes())
            if not message.isascii()
        ]
        random.Random(5).shuffle(messages)
        text = "\n".join(messages)[: WINDOWS * WINDOW_CHARS]
        if sum(not character.isascii() for character in text) > LEAST_CHARS:
            yield folder.parent.name, text


def any_order(draw: random.Random) -> Iterator[tuple[str, str]]:
    for first, last in WITHOUT_TEXTS + SIGNS:
        known = [chr(code) for code in range(first, last + 1) if unicodedata.category(chr(code)) != "Cn"]
        longest = 1 if (first, last) in SIGNS else 6
        words = ("".join(draw.choice(known) for _ in range(draw.randint(1, longest))) for _ in range(4_000))
        yield f"U+{first:04X}", " ".join(words)


def windows() -> Iterator[tuple[str, str]]:
    draw = random.Random(9)
    texts = [*catalogues(), *any_order(draw), *drawings(draw).items()]
    for kind, text in texts:
        for start in range(0, len(text) - 400, WINDOW_CHARS):
            yield kind, text[start : start + WINDOW_CHARS]


def most() -> Floats:
    """What a block may weigh besides, so that no character of it comes to more than three tokens."""
    room = np.zeros(BLOCKS)
    for block in range(2, BLOCKS):
        data = chr(64 * block).encode("utf-8", "surrogatepass")
        lead = tokens._LEAD_WEIGHTS[data[0]]
        pairs = len(data) * max(tokens._SCRIPT_WEIGHTS)
        surrogate = 0xD800 <= 64 * block < 0xE000
        room[block] = 0 if surrogate else min(255, 3 * tokens._SCALE - tokens._DEAREST - lead - pairs)
    room[0x4E00 // 64 : 0xA000 // 64] = np.minimum(room[0x4E00 // 64 : 0xA000 // 64], MOST_OF_CJK)
    return room / tokens._SCALE


def occurrences(text: str) -> Floats:
    units = np.frombuffer(tokens._without_rare(text)[0].encode("utf-16-le", "surrogatepass"), np.uint16)
    unlike = np.diff(units.astype(int), prepend=-1) != 0
    return np.bincount(units[unlike] // 64, minlength=BLOCKS).astype(float)


def solve(counts: Floats, lack: Floats, weights: Floats) -> Floats:
    root = np.sqrt(weights)
    rows = counts * root[:, None]
    used = np.flatnonzero(rows.any(axis=0))
    gram = rows[:, used].T @ rows[:, used]
    pull = 1e-4 * np.trace(gram) / len(gram)
    gram[np.diag_indices_from(gram)] += pull
    room = most()[used]
    values = np.zeros(len(used))
    slope = -rows[:, used].T @ (lack * root)
    for _ in range(SWEEPS):
        for at in range(len(values)):
            value = min(max(values[at] - slope[at] / gram[at, at], 0.0), room[at])
            if value != values[at]:
                slope += gram[:, at] * (value - values[at])
                values[at] = value
    whole = np.zeros(BLOCKS)
    whole[used] = values
    return whole


def table(values: Floats) -> Iterator[str]:
    """Stretches of blocks that weigh something, by the first character."""
    whole = np.rint(values * tokens._SCALE).astype(int)
    whole[:2] = 0
    whole[whole < 3] = 0
    at = 0
    while at < BLOCKS:
        if whole[at]:
            end = next((end for end in range(at + 1, BLOCKS + 1) if not whole[end : end + 3].any()), BLOCKS)
            for start in range(at, end, 24):
                yield f'    0x{64 * start:04X}: "{bytes(whole[start : min(end, start + 24)].tolist()).hex(" ")}",'
            at = end
        at += 1


def main() -> None:
    new, old = (tokens.exact(bpe_openai.get_encoding(name)) for name in ("o200k_base", "cl100k_base"))
    found = list(windows())
    kinds = np.array([kind for kind, _ in found])
    o200k, cl100k = (np.array([count(text) for _, text in found], float) for count in (new, old))
    counts = np.array([occurrences(text) for _, text in found])
    given = np.array([tokens._block_weights(tokens._without_rare(text)[0]) for _, text in found], object)
    plain = np.array([tokens.estimate_tokens(text) for _, text in found], float) - np.array(
        [sum(each) / tokens._SCALE for each in given]
    )
    aim = np.maximum(AIM_NEW * o200k, AIM_OLD * cl100k)
    left_out = np.random.default_rng(1).random(len(found)) < 1 / 6
    used = ~left_out
    share = np.array([(SHARE_OF_FIRST if kind in FIRST else 1.0) / (kinds == kind).sum() for kind in kinds])
    values = solve(counts[used], (aim - plain)[used], (share / aim**2)[used])
    print("\n".join(table(values)))
    estimates = plain + counts @ values
    for kind in dict.fromkeys(kinds):
        those = left_out & (kinds == kind)
        if those.any():
            ratios = (estimates[those] / each[those] for each in (o200k, cl100k))
            print(f"{kind:<12} {those.sum():>4}", *(f"{ratio.mean():.3f}" for ratio in ratios), file=sys.stderr)


if __name__ == "__main__":
    main()
