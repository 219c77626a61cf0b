"""What the package asks of a linear-time engine: all matches in bytes, in order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, Protocol


class Match(Protocol):
    def start(self) -> int: ...
    def end(self) -> int: ...
    def span(self) -> tuple[int, int]: ...
    def group(self) -> bytes: ...


class Scanner(Protocol):
    def finditer(self, data: bytes) -> Iterator[Match]: ...
    def search(self, data: bytes) -> Match | None: ...


@lru_cache(maxsize=16)
def compiled(pattern: bytes, *, case: Literal["same", "any"] = "same") -> Scanner:
    """The engine is imported here: it is only needed once an output is over the limit."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = case == "same"
    options.one_line = False
    scanner: Scanner = re2.compile(pattern, options)
    return scanner
