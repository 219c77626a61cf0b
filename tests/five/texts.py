"""Generated outputs for the comparisons with reference algorithms, and bounders by preset."""

from __future__ import annotations

import random
from collections.abc import Iterator

from overspill import Bounder, MemoryStore
from overspill.api import preset

WORDS = ["a", "line", "of", "text", "ERROR", "漢字", "é", "😀", "tab\there", "", "   ", "\r", "x" * 40, "{}"]


def generated(count: int, *, seed: int, without: str = "", longest_line: int = 120) -> Iterator[str]:
    """Texts of all shapes: empty lines, no final line end, several, long lines, characters of 1 to 4 bytes."""
    source = random.Random(seed)
    words = [word for word in WORDS if word not in list(without)]
    for _ in range(count):
        lines = []
        for _ in range(source.randrange(1, 60)):
            line = " ".join(source.choices(words, k=source.randrange(0, 6)))
            if source.random() < 0.05:
                line = source.choice("xé漢😀") * source.randrange(1, longest_line)
            lines.append(line)
        yield "\n".join(lines) + "\n" * source.choice((0, 0, 1, 1, 2))


def bounder(name: str, **settings: object) -> Bounder:
    return preset(name, store=MemoryStore(), **settings)
