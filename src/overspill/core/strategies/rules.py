"""What people who know their tool say of its lines: which to keep, which to drop, which belong together.

Guarantees that a pattern that is none is refused when the rules are made, and that patterns run in linear time.
Leaves to salience everything that no rule speaks of.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from overspill.errors import PolicyError

if TYPE_CHECKING:
    from overspill.core.strategies.salience.scanner import Scanner

BLOCK_UNITS = 200
"""A block that does not end is cut off here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Patterns in RE2's syntax, by name; ``^`` and ``$`` stand for the ends of a line."""

    keep: Mapping[str, str] = field(default_factory=dict)
    """Lines that come first, as long as there is room."""
    drop: Mapping[str, str] = field(default_factory=dict)
    """Lines that are not worth showing, whatever they say."""
    block_starts: Mapping[str, str] = field(default_factory=dict)
    """First lines of what is only useful whole."""
    block_ends: Mapping[str, str] = field(default_factory=dict)
    """Last lines, by the names of the first ones; without, a block ends before the next blank line."""

    def __post_init__(self) -> None:
        for setting, patterns in (
            ("keep_lines", self.keep),
            ("drop_lines", self.drop),
            ("block_starts", self.block_starts),
            ("block_ends", self.block_ends),
        ):
            for name, pattern in patterns.items():
                _checked(f"{setting}.{name}", pattern, may_be_empty=setting == "block_ends")
        for name in sorted(self.block_ends.keys() - self.block_starts.keys()):
            raise PolicyError(f"block_ends.{name}", self.block_ends[name], f"a pattern in block_starts.{name} as well")

    def __bool__(self) -> bool:
        return bool(self.keep or self.drop or self.block_starts)

    def places(self, data: bytes) -> Iterator[int]:
        """Where lines stand that a long output must not lose: those to keep, and first lines of blocks."""
        for pattern in (*self.keep.values(), *self.block_starts.values()):
            for match in _compiled(pattern).finditer(data):
                yield match.start()

    def judged(self, texts: Sequence[bytes]) -> Judged:
        """What the rules say of the units of an output."""
        data = b"".join(texts)
        ends = list(accumulate(map(len, texts)))
        return Judged(
            _units(self.keep.values(), data, ends), _units(self.drop.values(), data, ends), self._blocks(texts)
        )

    def _blocks(self, texts: Sequence[bytes]) -> dict[int, range]:
        """For each unit of a block, the units of the block."""
        blocks: dict[int, range] = {}
        for name, pattern in self.block_starts.items():
            starts, end = _compiled(pattern), self.block_ends.get(name)
            first = 0
            while first < len(texts):
                if first in blocks or not starts.search(_line(texts[first])):
                    first += 1
                    continue
                last = first
                while last + 1 < len(texts) and last + 1 - first < BLOCK_UNITS and last + 1 not in blocks:
                    following = _line(texts[last + 1])
                    if end is None and (not following.strip() or starts.search(following)):
                        break
                    last += 1
                    if end is not None and _compiled(end).search(following):
                        break
                block = range(first, last + 1)
                blocks.update(dict.fromkeys(block, block))
                first = last + 1
        return blocks


class Judged(NamedTuple):
    """The units that rules speak of."""

    keep: frozenset[int]
    drop: frozenset[int]
    blocks: Mapping[int, range]


def _units(patterns: Iterable[str], data: bytes, ends: list[int]) -> frozenset[int]:
    found = set()
    for pattern in patterns:
        for match in _compiled(pattern).finditer(data):
            found.add(min(bisect_right(ends, match.start()), len(ends) - 1))
    return frozenset(found)


def _line(text: bytes) -> bytes:
    return text.rstrip(b"\r\n")


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Scanner:
    """By the linear-time engine, imported only where rules are given."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    scanner: Scanner = re2.compile(b"(?m)(?:" + pattern.encode() + b")", options)
    return scanner


def _checked(setting: str, pattern: object, *, may_be_empty: bool) -> None:
    import re2

    accepted = "a pattern in RE2's syntax"
    if not isinstance(pattern, str):
        raise PolicyError(setting, pattern, accepted)
    try:
        empty = _compiled(pattern).search(b"") is not None
    except re2.error as error:
        told = error.args[0] if error.args else ""
        told = told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)
        raise PolicyError(setting, pattern, f"{accepted} ({told})") from None
    if empty and not may_be_empty:
        raise PolicyError(setting, pattern, f"{accepted} that does not match an empty line")
