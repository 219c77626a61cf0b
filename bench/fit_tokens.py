"""Fits the weights of `overspill.core.tokens` anew and prints the tables to paste there.

Run as `python bench/fit_tokens.py [FOLDER ...]`: the folders (unpacked packages, documentation in other
languages) add to what the machine has, see token_windows.py. Bounded least squares on relative errors, each kind
of text weighing the same; a sixth of the windows is left out and measured. Needs numpy, which nothing else does:
`pip install numpy`. What is counted apart (`_RARE`) is left out, and what blocks weigh besides is fitted after it by
fit_blocks.py. Another machine has other windows, and gives tables that do as well, not the same ones. Measure new
weights on outputs that were no part of it: `python bench/tokens.py --also DIR`.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from overspill.core import tokens
from token_windows import windows

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import bpe_openai

Floats = np.ndarray[Any, np.dtype[np.float64]]

AIM_NEW = 1.012
"""How many times the count of o200k_base is aimed at, for what is written in English or by machines."""
AIM_OLD, AIM_OLD_EAST = 0.9, 0.95
"""How many times the count of cl100k_base is aimed at in other languages, where that is more; the second is for
Chinese, Japanese and Korean, whose counts differ most from text to text."""

SHARE = {"dots": 0.3, "minified": 0.6, "json": 2.0, "python": 1.5, "documents": 1.5, "base64": 1.5}
SHARE_OF_LANGUAGE = 0.12
MOST_OF_SHAPES, MOST_OF_OTHERS = 102, 51
"""In 1/128 tokens: the four views of a character add up within one byte."""
MOST_OF_LEAD, MOST_OF_SCRIPT = 154, 26
"""With the "?" of a character beyond ASCII, three bytes or four, and the pair with the next: below three tokens."""

VIEWS = ("SHAPES", "LETTERS", "MARKS", "RUNS")
PAIRS = 256
LEADS = slice(192, 256)
ROUNDS, SWEEPS = 4, 60


class Sample:
    """Windows with their real counts and how often each pair occurs in them."""

    def __init__(self, found: list[tuple[str, str]]) -> None:
        new, old = (tokens.exact(bpe_openai.get_encoding(name)) for name in ("o200k_base", "cl100k_base"))
        self.kinds = [kind for kind, _ in found]
        self.texts = [text for _, text in found]
        self.new = np.array([new(text) for text in self.texts], float)
        self.old = np.array([old(text) for text in self.texts], float)
        self.counts = np.array([_occurrences(text) for text in self.texts], float)
        foreign = np.array([kind.startswith("language ") or "languages" in kind for kind in self.kinds])
        east = np.array([len(re.findall(r"[\u3040-\ud7a3]", text)) > 0.2 * len(text) for text in self.texts])
        old = np.where(east, AIM_OLD_EAST, AIM_OLD) * self.old
        self.aim = np.where(foreign, np.maximum(1.025 * self.new, old), AIM_NEW * self.new)
        self.aim -= [tokens._without_rare(text)[1] / tokens._SCALE for text in self.texts]
        sizes = Counter(self.kinds)
        share = [
            SHARE.get(kind, SHARE_OF_LANGUAGE if kind[:9] == "language " else 1.0) / sizes[kind] for kind in self.kinds
        ]
        self.weights = np.array(share) / self.aim**2


def _occurrences(text: str) -> Floats:
    text, _ = tokens._without_rare(text)
    wide = text.encode("utf-8", "surrogatepass").translate(None, tokens._ASCII)
    seen = [*tokens._codes(text), tokens._pairs(wide.translate(tokens._SCRIPTS))]
    found = [np.bincount(np.frombuffer(codes, np.uint8), minlength=PAIRS) for codes in seen]
    leads = np.bincount(np.frombuffer(wide, np.uint8), minlength=PAIRS)[LEADS]
    return np.concatenate([*found[:-1], leads, found[-1]]).astype(float)


def limits() -> tuple[Floats, Floats, Floats]:
    """The least, the most and the presumed value of each weight, in tokens."""
    ascii_views = len(VIEWS) - 1
    least = np.zeros(PAIRS * (len(VIEWS) + 1) + 64)
    most = np.concatenate(
        [
            np.full(PAIRS, MOST_OF_SHAPES),
            np.full(PAIRS * ascii_views, MOST_OF_OTHERS),
            np.full(64, MOST_OF_LEAD),
            np.full(PAIRS, MOST_OF_SCRIPT),
        ]
    )
    presumed = np.concatenate([np.full(PAIRS, 38), np.zeros(PAIRS * ascii_views), np.full(64, 77), np.full(PAIRS, 6)])
    return least / tokens._SCALE, most / tokens._SCALE, presumed / tokens._SCALE


def solve(counts: Floats, aim: Floats, weights: Floats, start: Floats) -> Floats:
    """Coordinate descent within the limits: a pair that hardly occurs stays near what is presumed of it."""
    least, most, presumed = limits()
    root = np.sqrt(weights / weights.sum())
    rows = counts * root[:, None]
    gram = rows.T @ rows
    pull = 3e-4 * np.trace(gram) / len(gram)
    gram[np.diag_indices_from(gram)] += pull
    values = start.copy()
    slope = gram @ values - rows.T @ (aim * root) - pull * presumed
    for _ in range(SWEEPS):
        for at in range(len(values)):
            value = min(max(values[at] - slope[at] / gram[at, at], least[at]), most[at])
            if value != values[at]:
                slope += gram[:, at] * (value - values[at])
                values[at] = value
    return values


def capped(values: Floats, texts: list[str]) -> Floats:
    """How far the estimate, which caps each character, differs from the plain sum of weights."""
    ascii_values = values[: PAIRS * len(VIEWS)].reshape(len(VIEWS), PAIRS)
    differences = []
    for text in texts:
        codes = (np.frombuffer(each, np.uint8) for each in tokens._codes(tokens._without_rare(text)[0]))
        plain = sum(view[each] for view, each in zip(ascii_values, codes, strict=True))
        spread = np.convolve(plain, np.full(tokens._SPREAD + 1, 1 / (tokens._SPREAD + 1)))
        differences.append((np.clip(spread, 0, tokens._DEAREST / tokens._SCALE) - spread).sum())
    return np.array(differences)


def tables(values: Floats) -> Iterator[str]:
    whole = np.rint(values * tokens._SCALE).astype(int)
    parts = np.split(whole, [*(PAIRS * number for number in range(1, len(VIEWS) + 1)), PAIRS * len(VIEWS) + 64])
    for name, part in zip((*VIEWS, "LEAD", "SCRIPT"), parts, strict=True):
        stored = bytes(part.tolist())
        yield f"_{name}_WEIGHTS = {'bytes(192) + ' if name == 'LEAD' else ''}bytes.fromhex("
        yield '    """'
        yield from (f"    {stored[at : at + 16].hex(' ')}" for at in range(0, len(stored), 16))
        yield '    """'
        yield ")"


def report(sample: Sample, estimates: Floats, shown: Floats) -> None:
    print(f"{'left out of the fit':<22} {'count':>5} {'o200k':>7} {'p5':>6} {'p95':>6} {'cl100k':>7}", file=sys.stderr)
    for kind in dict.fromkeys(sample.kinds):
        those = shown & np.array([each == kind for each in sample.kinds])
        if those.any():
            new, old = estimates[those] / sample.new[those], estimates[those] / sample.old[those]
            p5, p95 = np.quantile(new, [0.05, 0.95])
            print(
                f"{kind:<22} {those.sum():>5} {new.mean():>7.3f} {p5:>6.3f} {p95:>6.3f} {old.mean():>7.3f}",
                file=sys.stderr,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="more texts to learn from")
    parser.add_argument("--windows", type=int, default=300, help="how many of each kind")
    arguments = parser.parse_args()
    sample = Sample([each for each in windows(arguments.folders, arguments.windows) if len(each[1]) > 250])
    left_out = np.random.default_rng(1).random(len(sample.texts)) < 1 / 6
    used = ~left_out
    texts = [text for text, use in zip(sample.texts, used, strict=True) if use]
    _, _, values = limits()
    difference = np.zeros(len(texts))
    for _ in range(ROUNDS):
        values = solve(sample.counts[used], sample.aim[used] - difference, sample.weights[used], values)
        difference = capped(values, texts)
    print("\n".join(tables(values)))
    report(sample, sample.counts @ values + capped(values, sample.texts), left_out)


if __name__ == "__main__":
    main()
