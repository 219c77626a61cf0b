"""Generated outputs for the comparisons with reference algorithms, the one of whole lines, and bounders by preset."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from overspill import Bounder, MemoryStore
from overspill.api import preset

WORDS = ["a", "line", "of", "text", "ERROR", "漢字", "é", "😀", "tab\there", "", "   ", "\r", "x" * 40, "{}"]

HINT = re.compile(r"\[overspill ovs_[a-z0-9]+: .*?\](?=\n|$)", re.DOTALL)


def generated(count: int, *, seed: int, without: str = "", longest_line: int = 120) -> Iterator[str]:
    """Texts of all shapes: empty lines, no final line end, several, long lines, characters of 1 to 4 bytes."""
    source = random.Random(seed)
    words = [word for word in WORDS if word not in list(without)]
    lines = [" ".join(source.choices(words, k=source.randrange(0, 6))) for _ in range(1_000)]
    for at in source.sample(range(len(lines)), len(lines) // 20):
        lines[at] = source.choice("xé漢😀") * source.randrange(1, longest_line)
    for _ in range(count):
        yield "\n".join(source.choices(lines, k=source.randrange(1, 100))) + "\n" * source.choice((0, 0, 1, 1, 2))


def bounder(name: str, **settings: object) -> Bounder:
    return preset(name, store=MemoryStore(), **settings)


class Reference(NamedTuple):
    preview: str
    removed: int
    unit: str


def reference(
    text: str, max_lines: int, max_bytes: int, direction: str, *, after_last: bool = True
) -> Reference | None:
    """E1 as its specification: None when the text passes uncut. Others count no line after the last line end."""
    lines = text.split("\n")
    if not after_last and not lines[-1]:
        lines.pop()
    total = len(text.encode())
    if len(lines) <= max_lines and total <= max_bytes:
        return None
    kept: list[str] = []
    size, by_bytes = 0, False
    for line in lines if direction == "head" else reversed(lines):
        if len(kept) == max_lines:
            break
        cost = len(line.encode()) + (1 if kept else 0)
        if size + cost > max_bytes:
            by_bytes = True
            break
        kept.append(line)
        size += cost
    if direction == "tail":
        kept.reverse()
    removed = total - size if by_bytes else len(lines) - len(kept)
    return Reference("\n".join(kept), removed, "bytes" if by_bytes else "lines")


def message(found: Reference, hint: str, direction: str) -> str:
    marker = f"...{found.removed} {found.unit} truncated..."
    if direction == "head":
        return f"{found.preview}\n\n{marker}\n\n{hint}"
    return f"{marker}\n\n{hint}\n\n{found.preview}"
