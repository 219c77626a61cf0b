"""A summary as other layers meet it: recognised by its header, which says how long it is, and shortened in its words.

The header alone names the output, so it stays whole.  What is longer than its header says holds something
else besides, and is an output like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from overspill.core.measure import cut_before

_HEADER = re.compile(
    r"\[overspill (?P<handle>ovs_[a-z0-9]+): 0 of [0-9]+ lines shown\. SUMMARY of (?:lines|the first) [^\n]{1,60}? "
    r"in (?P<chars>[0-9]{1,9}) characters[^\n]{0,9000}\]\n|"
    r"\[overspill (?P<handle_zh>ovs_[a-z0-9]+)：共 [0-9]+ 行，显示 0 行。[^\n]{1,60}?的摘要，"
    r"摘要共 (?P<chars_zh>[0-9]{1,9}) 字[^\n]{0,9000}\]\n"
)


class Found(NamedTuple):
    """A summary and nothing besides."""

    handle: str
    words: str
    header: Callable[[int], str]
    """The header of so many characters."""


def summary_in(text: str) -> Found | None:
    found = _HEADER.match(text)
    if found is None:
        return None
    group = "chars" if found["chars"] else "chars_zh"
    words = text[found.end() :].removesuffix("\n")
    before, after = text[: found.start(group)], text[found.end(group) : found.end()]
    if len(words) != int(found[group]):
        return None
    return Found(found["handle"] or found["handle_zh"], words, lambda chars: f"{before}{chars}{after}")


def as_much_as_fits(header: Callable[[int], str], words: str, fits: Callable[[str], bool]) -> tuple[str, str] | None:
    """The header and as much of the words as fit, by halving; None when nothing does."""
    data = words.encode()

    def start(size: int) -> str:
        return words if size == len(data) else data[: cut_before(data, size)].decode() + "…"

    def laid_out(size: int) -> tuple[str, str]:
        return header(len(start(size))), start(size)

    low, high = 0, len(data)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits("".join(laid_out(middle))) else (low, middle - 1)
    return laid_out(low) if cut_before(data, low) else None
