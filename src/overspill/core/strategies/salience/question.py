"""What a question asks for, as terms that can be found by one native scan, weighted by how rare they are in the output.

Guarantees the same terms for the same words, bounded in number; matches are whole words, their inflections, and the
parts of identifiers. Leaves to others how much the answer counts beside other evidence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overspill.core.strategies.salience.scanner import Scanner

MAX_TERMS = 40

_STOP_WORDS = """
    a about after all also am an and any are as at be been before being below between both but by can come comes
    could did do does does's doing down each else ever every exactly few find first for from further get give
    given had happen happened has have having he her here him his how i if in into is it it's its itself just kind
    kinds know last let list look many may me mean means might more most much must my need new no nor not now of
    off on once one only or other our out over own per please re really same say see shall she should show so some
    still such tell than that the their them then there there's these they thing this those through to too under
    up us use used using very was we were what when where whether which while who whom whose why will with within
    without would you your
"""
_STOP = frozenset(_STOP_WORDS.split())
_TOKEN = re.compile(r"[A-Za-z_$][\w$]*(?:[.:-]+[\w$]+)*|\d[\w.:-]*\w|\d")
_QUOTED = re.compile(r"[\"“`']([^\"“”`']{2,60})[\"”`']")
_SUFFIX = re.compile(r"(?:ations?|ings?|ments?|edly|ed|ies|es|ly|ors?|ers?|ions?|al|ive|s|e|y)$")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def stem(word: str) -> str:
    """The start of a word that its inflections share, at least four letters."""
    shorter = _SUFFIX.sub("", word)
    if len(shorter) >= 4 and shorter != word:
        if len(shorter) > 4 and shorter[-1] == shorter[-2]:
            shorter = shorter[:-1]
        return shorter
    return word


@dataclass(frozen=True, slots=True)
class Term:
    """One thing asked for: its text in lower case, and how much its own form promises."""

    text: str
    weight: float


def terms(question: str, command: str = "") -> tuple[Term, ...]:
    """The terms of a question, the most telling forms (quoted, identifiers, numbers) weighing more."""
    found: dict[str, float] = {}

    def add(text: str, weight: float) -> None:
        key = text.lower()
        if len(key) >= 2 and (key not in found or found[key] < weight):
            found[key] = weight

    for quoted in _QUOTED.findall(question):
        add(quoted.strip(), 1.6)
    for match in _TOKEN.finditer(question):
        token = match.group().strip("-:.")
        lower = token.lower()
        if lower in _STOP or (len(token) < 3 and not (token.isupper() or token.isdigit())):
            continue
        special = bool(re.search(r"[\d_.:$-]|[a-z][A-Z]|^[A-Z]{2,}", token))
        if special:
            add(token, 1.5)
            for hump in _HUMPS.findall(token):
                if len(hump) >= 4 and hump.lower() not in _STOP:
                    add(stem(hump.lower()), 0.5)
        else:
            add(stem(lower), 1.0)
    return tuple(Term(text, weight) for text, weight in list(found.items())[:MAX_TERMS])


@dataclass
class Asked:
    """A question made ready: scans bytes for its terms."""

    terms: Sequence[Term]
    _index: dict[bytes, int] = field(init=False)

    def __post_init__(self) -> None:
        self._index = {term.text.encode(): number for number, term in enumerate(self.terms)}

    @cached_property
    def _scanner(self) -> Scanner:
        import re2

        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.case_sensitive = False
        longest_first = sorted(self._index, key=lambda text: (-len(text), text))
        scanner: Scanner = re2.compile(b"|".join(re2.escape(text) for text in longest_first), options)
        return scanner

    def each_hit(self, data: bytes) -> Iterator[tuple[int, int]]:
        """(offset, number of the term) for every term in the bytes that starts a word or a part of one."""
        if not self._index:
            return
        for match in self._scanner.finditer(data):
            at, end = match.span()
            first = data[at : at + 1]
            if at and first.isalpha():
                before = data[at - 1 : at]
                if before.isalpha() and not (first.isupper() and before.islower()):
                    continue
            elif at and first.isdigit() and data[at - 1 : at].isdigit():
                continue
            yield at, self._index[data[at:end].lower()]

    def rarity(self, lines_with: Sequence[int], lines: int) -> list[float]:
        """How much one match of each term says, given in how many of the lines it stands."""
        return [
            term.weight * math.log(1 + (lines - with_it + 0.5) / (with_it + 0.5)) if with_it else 0.0
            for term, with_it in zip(self.terms, lines_with, strict=True)
        ]
