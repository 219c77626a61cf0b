"""The table of contents of a gap: what trouble it holds and in which lines, its headings, what most of it is.

Guarantees that every count and every line number is that of the source, and that words in quotation marks stand in the
lines they count; says nothing rather than something inexact.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cached_property
from itertools import compress

from overspill.core.model import Gap
from overspill.core.strategies.salience.units import Units

HEADING_CHARS = 40
LEAST_LINES = 24
"""A gap of fewer lines isn't worth the words that say what most of it is."""
MOST_SHARE = 0.5
_HEADING = re.compile(rb"\s{0,3}(?:#{1,6} |={3,} ?|\*{3,} ?|-{3,} ?|_{3,} ?)(?=[^\W_])([^\r\n=*#_;]{3,120})")
_HEADING_STARTS = frozenset(b" \t\n\r\f\v#=*-_")
_PHRASE = re.compile(rb"[A-Za-z]{2,}(?:[ _:-]{1,2}[A-Za-z]{2,}){1,5}")


class Contents:
    """Where the severe lines and the headings of an output stand, and which forms its lines have."""

    def __init__(
        self,
        severe: Sequence[tuple[int, int, str]],
        *,
        complete: bool,
        units: Units | None = None,
        forms: Sequence[Hashable] = (),
    ) -> None:
        """``severe``: (byte offset, line, level's name) in order; ``complete``: none of the output's is missing."""
        self._starts = [start for start, _, _ in severe]
        self._severe = severe
        self._complete = complete
        self._units, self._forms = units or Units(), forms
        self._usual: dict[tuple[int, int], str] = {}

    def describe(self, gap: Gap, *, listed: int = 2) -> str:
        """The severe lines of a gap, by level, with the numbers of the first ``listed``; then the rest."""
        items = self._severe_items(gap, listed)
        if gap.last_line - gap.first_line + 1 >= LEAST_LINES:
            key = (gap.start, gap.end)
            if key not in self._usual:
                self._usual[key] = self._told_of(gap)
            items += [self._usual[key]] if self._usual[key] else []
        return "; ".join(items)

    def severe(self, gap: Gap) -> str:
        """The severe lines alone, for whoever has more to tell of a gap: where the first of each level is."""
        return "; ".join(self._severe_items(gap, 1))

    def _severe_items(self, gap: Gap, listed: int) -> list[str]:
        first = bisect_left(self._starts, gap.start)
        last = bisect_left(self._starts, gap.end)
        by_name: dict[str, list[int]] = {}
        for _, line, name in self._severe[first:last]:
            lines = by_name.setdefault(name, [])
            if not lines or lines[-1] != line:
                lines.append(line)
        return [
            _item(name, by_name[name], listed, complete=self._complete)
            for name in ("fatal", "error", "warning")
            if name in by_name
        ]

    @cached_property
    def _headings(self) -> list[int]:
        """The units that are headings."""
        texts, columns = self._units.texts, self._units.columns
        likely = [index for index, text in enumerate(texts) if text[0] in _HEADING_STARTS]
        return [index for index in likely if not columns[index] and _HEADING.match(texts[index])]

    def _told_of(self, gap: Gap) -> str:
        """The first heading of a gap, or the words that most of its lines share."""
        units = self._units
        first, last = bisect_left(units.starts, gap.start), bisect_left(units.starts, gap.end)
        heading = bisect_left(self._headings, first)
        if heading < len(self._headings) and self._headings[heading] < last:
            index = self._headings[heading]
            found = _HEADING.match(units.texts[index])
            assert found
            return f"{_quoted(found.group(1))} in {units.lines[index]}"
        if not self._complete:
            return ""
        ranked = Counter(self._forms[first:last]).most_common(1)
        if not ranked:
            return ""
        sample = units.texts[first + self._forms[first:last].index(ranked[0][0])]
        phrases = sorted(_PHRASE.findall(sample[:400]), key=len, reverse=True)
        for phrase in phrases[:2]:
            if len(phrase) <= HEADING_CHARS:
                in_texts = [phrase in text for text in units.texts[first:last]]
                held = {*compress(units.lines[first:last], in_texts)}
                if len(held) >= MOST_SHARE * (gap.last_line - gap.first_line + 1):
                    return f"{_quoted(phrase)} ×{len(held)}"
        return ""


def _quoted(text: bytes) -> str:
    words = " ".join(text.decode("utf-8", "replace").split())
    words = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in words)
    return f"“{words if len(words) <= HEADING_CHARS else words[: HEADING_CHARS - 1].rstrip() + '…'}”".replace(
        "; ", ", "
    )


def _item(name: str, lines: list[int], listed: int, *, complete: bool) -> str:
    numbers = ", ".join(map(str, lines[:listed]))
    count = len(lines)
    if count == 1 and complete:
        return f"{name} in {numbers}"
    return f"{count}{'' if complete else '+'} {name}s: {numbers}{', …' if count > listed or not complete else ''}"
