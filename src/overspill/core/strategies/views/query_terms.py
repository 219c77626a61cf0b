"""Turns a question into weighted terms and finds them in bytes, by one native scan.

It guarantees that the same question gives the same terms everywhere; how much a hit is
worth where it stands is left to the views.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

MAX_TERMS = 40
JOINTS = ("", "_", "-")
"""How names in programs join the words that a question says apart."""
JOINED = 0.95
"""Just under a word by itself: pairs must not crowd words out."""

_WORD = re.compile(r"[#@$]?[^\W_]+(?:[._:/@+-]+[^\W_]+|_+[^\W_]*)*|_+[^\W_]\w*", re.UNICODE)
_QUOTED = re.compile(r"`([^`]{2,80})`|\"([^\"]{2,80})\"|'([^'\s]{2,60})'|([\w.:/-]+)\(\)")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+", re.UNICODE)

STOP_WORDS = frozenset(
    re.findall(
        r"\S+",
        """
    a about above across actually after again all also although am among an and any anyone anything are aren't
    around as ask at basically be because been before being below between both but by can can't cannot come
    correct could currently did didn't do does doesn't doing don don't done down during each either else ever
    every exactly file files find five for four from further get gets give given go goes going got had has have
    having he help her here hers him his how however i if in instead into is isn't it it's its just keep know let
    like line lines look looks made make makes many may me mean means might more most much must my need needs no
    nor not now of off on once one ones only opposed or other others our ours out output over own page per please
    put quite rather really right same say says see seen shall she should show since so some someone something
    soon still such take tell text than that the their them then there there's these they thing things this those
    three through to today together too two under until up upon us use used uses using very want was way we were
    what what's whatever when where whether which while who whom whose why will with within without won't would
    yes yet you your
    """,
    )
)

_SUFFIXES: tuple[tuple[str, str], ...] = tuple(
    (pair.partition(">")[0], pair.partition(">")[2])
    for pair in re.findall(
        r"\S+",
        "izations>iz ization>iz ations>at ation>at ically>ic ities> ments> ment> ness> ions> ings> ing> "
        "ion> ies> ity> ied> ers> ed> er> ly> es> al> s> e> y>",
    )
)
"""Endings and what stands for them in a stem."""


def stem(word: str) -> str:
    """A prefix that the forms of a word share: rough on purpose, never under four letters."""
    for suffix, ending in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) + len(ending) >= 4:
            shorter = word[: len(word) - len(suffix)] + ending
            if len(shorter) > 4 and shorter[-1] == shorter[-2] and shorter[-1] not in "ls":
                shorter = shorter[:-1]
            return shorter
    return word


_VALUE_EDGES = frozenset((b'"', b"/", b"@", b"#"))


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for, in lower case."""

    text: str
    weight: float
    exact: bool
    """A number, a name or a quotation: found only as it stands, not as the beginning of a word."""


def _is_name(token: str) -> bool:
    """Written like an identifier, a version, a number or an acronym rather than a word of a sentence."""
    inner = token[1:]
    return (
        any(ch.isdigit() or ch in "_./:@#$+" for ch in token)
        or any(ch.isupper() for ch in inner)
        or (len(token) > 1 and token.isupper())
    )


def terms_of(question: str) -> tuple[Term, ...]:
    """The terms of a question, the most telling first."""
    found: dict[str, Term] = {}

    def add(text: str, weight: float, exact: bool) -> None:  # noqa: FBT001 - internal to this function
        text = text.lower()
        if len(text) < 2 and not text.isdigit():
            return
        old = found.get(text)
        if old is None or old.weight < weight:
            found[text] = Term(text, weight, exact)

    for match in _QUOTED.finditer(question):
        quoted = next(group for group in match.groups() if group)
        add(quoted.strip(), 1.6, True)
    before, end_before = "", -1
    for match in _WORD.finditer(question):
        token = match.group().rstrip(".:/-+@")
        lower = token.lower()
        if not token or lower in STOP_WORDS:
            continue
        pieces = [piece.lower() for piece in _PIECE.findall(token)]
        if before and match.start() == end_before + 1:
            for joint in JOINTS:
                add(before + joint + ("".join(pieces) if token[0].isdigit() else stem(lower)), JOINED, False)
        before, end_before = (lower, match.end()) if lower.isalpha() else ("", -1)
        if re.fullmatch(r"[A-Za-z]+(?:/[A-Za-z]+)+", token):
            for piece in token.lower().split("/"):
                if len(piece) > 2 and piece not in STOP_WORDS:
                    add(stem(piece), 1.0, False)
        elif re.fullmatch(r"v?[\d.]+\.[xX]", token):
            add(token[:-1], 1.2, False)
        elif _is_name(token):
            add(token, 1.6 if len(token) > 2 else 0.8, True)
            last = re.split(r"[.:/]", token)[-1]
            if last != token and len(last) > 3 and not last.isdigit() and last.lower() not in STOP_WORDS:
                add(last, 1.2, False)
            if token[0] in "#@$" and len(token) > 3:
                add(token[1:], 1.4, True)
            if len(pieces) > 1:
                for piece in pieces:
                    if len(piece) > 2 and piece not in STOP_WORDS and not piece.isdigit():
                        add(stem(piece), 0.45, False)
        elif "-" in token:
            add(token, 1.5, True)
            add("".join(pieces), 1.0, False)
            for piece in pieces:
                if len(piece) > 2 and piece not in STOP_WORDS:
                    add(stem(piece), 0.7, False)
        elif len(lower) > 2 or not lower.isascii():
            add(stem(lower), 1.0, len(lower) <= 3)
    ranked = sorted(found.values(), key=lambda term: (-term.weight, -len(term.text), term.text))
    return tuple(ranked[:MAX_TERMS])


def _pattern(term: Term) -> str:
    body = re.escape(term.text)
    if not term.text.isascii():
        return body
    first, last = term.text[0], term.text[-1]
    if term.exact:
        before = r"\b" if first.isalnum() else ""
        after = r"\b" if last.isalnum() else ""
        return f"{before}{body}{after}"
    return body if len(term.text) > 4 else rf"(?:\b|_){body}"


@dataclass(frozen=True, slots=True)
class Query:
    """The terms of one question and the machine that finds them."""

    terms: tuple[Term, ...]
    _engine: Any
    _lookup: dict[bytes, tuple[int, ...]] = field(repr=False)

    def __bool__(self) -> bool:
        return bool(self.terms)

    def hits(self, data: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Where terms stand in the data: offset and the indexes of the terms, left to right."""
        if not self.terms:
            return
        lookup = self._lookup
        for match in self._engine.finditer(data):
            at, end = match.span()  # the engine makes a call of each question asked of a match
            known = lookup.get(data[at:end].lower().lstrip(b"_"))
            if known:
                yield at, known

    def forces(self, data: bytes, counts: list[int] | None = None) -> dict[int, float]:
        """How strongly each term speaks in quoted values: most where it is a value, or its last part, by itself."""
        found: dict[int, float] = {}
        for at, terms in self.hits(data):
            begins = at == 0 or data[at - 1 : at] in _VALUE_EDGES
            for term in terms:
                if counts is not None:
                    counts[term] += 1
                after = at + len(self.terms[term].text)
                ends = data.find(b'"', after, after + 14) >= 0 if begins else False
                force = (1.2 if ends else 0.7) if begins else 0.45
                if found.get(term, 0.0) < force:
                    found[term] = force
        return found

    def mask(self, data: bytes) -> int:
        """The terms that stand anywhere in the data, as bits."""
        bits = 0
        for _, found in self.hits(data):
            for index in found:
                bits |= 1 << index
        return bits


@lru_cache(maxsize=64)
def query_for(question: str) -> Query:
    """The query of a question; an empty question gives one that finds nothing."""
    import re2

    terms = terms_of(question)
    if not terms:
        return Query((), None, {})
    longest_first = sorted(terms, key=lambda term: (-len(term.text), term.text))
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 16 << 20
    options.encoding = re2.Options.Encoding.LATIN1
    engine = re2.compile(b"(?i)" + b"|".join(_pattern(term).encode() for term in longest_first), options=options)
    lookup: dict[bytes, tuple[int, ...]] = {}
    for term in terms:
        # a name found as a whole speaks for its pieces as well
        inside = tuple(i for i, other in enumerate(terms) if other is term or other.text in term.text)
        lookup[term.text.encode().lstrip(b"_")] = inside
    return Query(terms, engine, lookup)


def rarity(hits: int, places: int) -> float:
    """What one hit of a term tells, by how often the term stands in so many places: 0 when it is everywhere."""
    return max(0.0, math.log((places + 1) / (hits + 0.5)))


def worths(query: Query, counts: Sequence[int], places: int) -> list[float]:
    """The worth of each term of a query, given how often each was hit."""
    return [term.weight * rarity(hits, places) if hits else 0.0 for term, hits in zip(query.terms, counts, strict=True)]


def terms_in(mask: int) -> Iterator[int]:
    """The indexes of the terms that a mask names."""
    index = 0
    while mask:
        if mask & 1:
            yield index
        mask >>= 1
        index += 1
