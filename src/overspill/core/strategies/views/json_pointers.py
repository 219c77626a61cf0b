"""What a question asks for without spelling it: the latest version, the last 3.x, the records in one state.

Guarantees answers that stand in the document: a version that some key or value holds, a value that the field has.
Leaves to the view what is shown of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from overspill.core.strategies.views.json_fields import Field
from overspill.core.strategies.views.query_terms import Query, stem

_POINTER_WORDS = re.compile(r"\b(?:latest|current|default|active|stable|newest|head|main)\b")
_POINTER = re.compile(rb'"(latest|current|default|active|stable|newest|head|main)"\s*:\s*"([^"\\]{2,40})"')
_VERSION = re.compile(
    rb'(?:"v?(\d+(?:\.\d+)+)"\s*:|"(?:version|tag|tag_name|name|num|number|ref)"\s*:\s*"v?(\d+(?:\.\d+)+)")'
)
_LATEST = re.compile(r"\b(?:latest|newest|current|most recent)\b")
_FIRST_WORDS = ("first", "oldest", "earliest")
_SERIES = re.compile(r"\b(?:(first|oldest|earliest|last|latest|newest) (?:\w+ ){0,2})?v?(\d+(?:\.\d+)*)\.x\b")
VERSIONS_LEAST = 4
"""Fewer versions are no history."""
NAMED_VALUES_MOST = 12
"""A field of more values doesn't sort records into states."""
ENOUGH_RECORDS = 4


def resolved(asked: str, stretches: Iterable[bytes]) -> str:
    """The question with the values that it means by ``latest`` and the like, as the document has them."""
    question = asked.lower()
    named = set(_POINTER_WORDS.findall(question))
    wants_versions = bool(_LATEST.search(question) or _SERIES.search(question))
    if not (named or wants_versions):
        return asked
    found: dict[str, None] = {}
    versions: dict[tuple[int, ...], str] = {}
    for data in stretches:
        for key, value in _POINTER.findall(data):
            if key.decode() in named:
                found[value.decode("utf-8", "replace")] = None
        if wants_versions:
            for pair in _VERSION.findall(data):
                text = (pair[0] or pair[1]).decode()
                if len(text) < 24:
                    versions[tuple(map(int, text.split(".")))] = text
    if len(versions) >= VERSIONS_LEAST:
        found.update(dict.fromkeys(_versions_asked(question, versions)))
    return re.sub(_SERIES.pattern, " ", asked, flags=re.IGNORECASE) + "".join(f" `{value}`" for value in found)


def _versions_asked(question: str, versions: Mapping[tuple[int, ...], str]) -> list[str]:
    """The ends of the series that the question speaks of; without one, the end of them all."""
    asked = []
    for word, text in [*_SERIES.findall(question), ("", "")]:
        prefix = tuple(map(int, text.split("."))) if text else ()
        within = [version for version in versions if version[: len(prefix)] == prefix]
        if not within:
            continue
        if word in _FIRST_WORDS and text:
            asked.append(versions[min(within)])
        elif text or _LATEST.search(question):
            asked.append(versions[max(within)])
    return asked


def states_asked(fields: Mapping[tuple[int, str], Field], query: Query) -> dict[tuple[int, str], frozenset[Any]]:
    """For fields that sort records, the values that the question names: who asks for those doesn't ask for others."""
    asked: dict[tuple[int, str], frozenset[Any]] = {}
    words = {term.text for term in query.terms}
    for where, field in fields.items():
        values = field.values
        if values is None or not 2 <= len(values) <= NAMED_VALUES_MOST or field.seen < ENOUGH_RECORDS:
            continue
        named: set[Any]
        if values.keys() == {True, False}:
            named = {True} if stem(where[1].lower()) in words else set()
        else:
            named = {value for value in values if isinstance(value, str) and stem(value.lower()) in words}
        if named and len(named) < len(values):
            asked[where] = frozenset(named)
    return asked
