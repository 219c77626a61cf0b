"""``search``: words over all kept outputs, best match first, each as an exact line with its place.

Guarantees: every line shown holds what it was found by, read from the stored bytes; that there are more, which words
no line holds, and what is not looked at is said.  The index is made on the first search and brought up to date by
each; words too short for it, and any where none can be kept, are looked for in the outputs themselves, newest first,
while there is time.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing as closed
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from overspill.core.access import Rest, worded
from overspill.core.measure import cut_after, cut_before, encode, readable
from overspill.core.policy import Policy
from overspill.core.ports import Store, Stored
from overspill.errors import OverspillError, QueryError
from overspill.retrieve.address import whole_number
from overspill.retrieve.answer import Answer, Found, closing, default_policy, fitted, opening, within
from overspill.retrieve.pattern import Pattern, compiled
from overspill.retrieve.rows import Row
from overspill.retrieve.scan import tally
from overspill.retrieve.source import Source

if TYPE_CHECKING:
    from overspill.retrieve.search_index import Piece

DEFAULT_LINES = 10
SECONDS = 15.0
_LEAST_CHARS = 3
"""The index is of trigrams: a shorter word can't be looked up."""
_MOST_OF_ONE = 50
_MOST_OF_A_PIECE = 3
_PIECE_BYTES = 4096
_BINARY_SAMPLE = 8192
_MOST_PIECES = 400
_WINDOW_BYTES = 200
_MOST_ORDERED = 3
"""So many words are looked for in any order by one pattern."""
_MOST_NAMED = 3
_SPECIAL = re.compile(r"[\\.^$|?*+(){}\[\]]")
_WORDS = re.compile(r'"([^"]+)"|(\S+)')


def search(
    store: Store,
    words: str,
    *,
    session: str = "",
    max_lines: int | str = DEFAULT_LINES,
    policy: Policy | None = None,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> Answer:
    """The lines that hold all the ``words`` (in double quotes: a phrase), or else most of them.

    ``session`` limits it to the outputs of one session.
    """
    policy = policy or default_policy()
    most = whole_number("max", max_lines)
    words = readable(encode(words))  # typed at a terminal of another encoding, they may be no Unicode
    terms = [phrase or word for phrase, word in _WORDS.findall(words)]
    if not terms:
        example = worded(policy.access, "search", Rest("", None, 1, 1, 0), words="disk full") or "disk full"
        raise QueryError(words, f"write the words to look for, as in `{example}`")
    usable = [term for term in terms if len(term) >= _LEAST_CHARS]
    rows = [row for row in store.outputs() if not session or row.call.session == session]
    until = clock() + seconds
    found = _by_index(store, rows, usable, until, clock, policy) if usable else None
    if found is None:
        why = "no index can be kept here" if usable else "such short words aren't indexed"
        found = _by_scanning(store, rows, terms, until, clock, why)
    lines = _lines(store, {row.digest: row for row in rows}, found.pieces, terms, most)
    left_out = [*_missing(lines, terms), *found.left_out]
    return _answer(words, terms, lines, rows, left_out, policy)


class _Found(NamedTuple):
    pieces: list[Piece]
    left_out: list[str]
    """What was not looked at, in words."""


class _Lines(NamedTuple):
    """The lines that were found, best first."""

    shown: list[tuple[str, Row, Found]]
    by_output: Counter[str]
    """How many hold as many of the words as the best does, at least, by handle."""
    held: set[str]
    """The words that lines hold."""
    holds_all: bool
    """Does one line hold all of them?"""


def _by_index(
    store: Store, rows: list[Stored], terms: list[str], until: float, clock: Callable[[], float], policy: Policy
) -> _Found | None:
    """None when there can't be an index: the store is read-only, or the disk full."""
    import sqlite3  # loaded when somebody searches

    from overspill.retrieve.search_index import SearchIndex

    quoted = ['"' + term.replace('"', '""') + '"' for term in terms]
    handles = {row.digest: row.handle for row in rows}
    try:
        with closed(SearchIndex(_place(store))) as index:
            waiting, unread = len(index.update(store, rows, until=until, clock=clock)), index.unread
            notes = {handles[digest]: note for digest, note in index.partly().items() if digest in handles}
            pieces = index.pieces(" AND ".join(quoted), _MOST_PIECES) or index.pieces(" OR ".join(quoted), _MOST_PIECES)
    except (OSError, sqlite3.Error):
        return None
    binary = [*notes.values()].count("binary")
    partly = [handle for handle, note in notes.items() if note != "binary"]
    left_out = [f"{waiting} of {len(rows)} not indexed yet: search again to go on"] if waiting else []
    left_out += _not_seen(binary, unread)
    if partly:
        named = ", ".join(partly[:_MOST_NAMED]) + (
            f" and {len(partly) - _MOST_NAMED} more" * (len(partly) > _MOST_NAMED)
        )
        call = _grep_call(policy, partly[0], terms)
        left_out.append(f"of {named} only the start is indexed{f', for the rest: {call}' if call else ''}")
    return _Found(pieces, left_out)


def _by_scanning(
    store: Store, rows: list[Stored], terms: list[str], until: float, clock: Callable[[], float], why: str
) -> _Found:
    from overspill.retrieve.search_index import Piece

    patterns = [compiled(term, syntax="literal", case="ignore") for term in terms]
    pieces: list[Piece] = []
    left_out = [f"searched newest first: {why}"]
    binary = unread = 0
    for place, row in enumerate(rows):
        if clock() > until:
            left_out.append(f"{len(rows) - place} of {len(rows)} not looked at for time")
            break
        try:
            with Source(store, row.handle) as source:
                if b"\0" in source.read(0, _BINARY_SAMPLE):
                    binary += 1
                    continue
                for pattern in patterns:
                    pieces += [Piece(row.digest, *part, float(place)) for part in _parts(source, pattern, until, clock)]
        except LookupError:
            continue  # removed meanwhile
        except OverspillError:
            unread += 1
    return _Found(pieces, left_out + _not_seen(binary, unread))


def _not_seen(binary: int, unread: int) -> list[str]:
    words = [f"{binary} binary left out"] if binary else []
    return [*words, f"{unread} can't be read: `overspill doctor` says why"] if unread else words


def _parts(source: Source, pattern: Pattern, until: float, clock: Callable[[], float]) -> Iterator[tuple[int, int]]:
    """Where the first lines with a word are, or the windows around it in long ones: their starts and lengths."""
    found = tally(
        source,
        pattern,
        0,
        source.size,
        most=_MOST_OF_ONE,
        enough=_MOST_OF_ONE,
        long_line=_PIECE_BYTES,
        seconds=until - clock(),
        clock=clock,
    )
    for hit in found.shown:
        start = max(hit.line_start, hit.start - _WINDOW_BYTES)
        yield start, min(hit.line_end, hit.end + _PIECE_BYTES) - start


def _place(store: Store) -> Path | None:
    """In the store's own directory; in memory for a store that has none."""
    from overspill.retrieve.search_index import FILE

    root = getattr(store, "root", None)
    return Path(root) / FILE if root is not None and Path(root).is_dir() else None


def _lines(store: Store, rows: dict[str, Stored], pieces: list[Piece], terms: list[str], most: int) -> _Lines:
    """The best lines of each piece, those with more of the words first, pieces by their rank."""
    ranked: list[tuple[int, float, int, tuple[str, Row, Found]]] = []
    places: dict[int, set[tuple[str, int]]] = {}
    held: set[str] = set()
    for order, piece in enumerate(pieces):
        row = rows.get(piece.digest)
        if row is None:
            continue
        try:
            with Source(store, row.handle) as source:
                count, best = _best_lines(source, piece, terms, held)
                places.setdefault(count, set()).update((row.handle, piece.start + at) for at, _ in best)
                for at, line in best[:_MOST_OF_A_PIECE]:
                    ranked.append(
                        (-count, piece.rank, order, (row.handle, *_row(source, piece.start + at, line, terms)))
                    )
        except (OverspillError, LookupError):
            continue
    ranked.sort(key=lambda entry: entry[:3])
    chosen: list[tuple[str, Row, Found]] = []
    seen: set[tuple[str, int]] = set()
    for *_, hit in ranked:
        if (hit[0], hit[2].start) not in seen:
            seen.add((hit[0], hit[2].start))
            chosen.append(hit)
    top = max(places, default=0)
    by_output = Counter(handle for handle, _ in places.get(top, ()))
    return _Lines(chosen[:most], by_output, held, top == len(terms))


def _best_lines(source: Source, piece: Piece, terms: list[str], held: set[str]) -> tuple[int, list[tuple[int, bytes]]]:
    """The lines of a piece with the most of the words, and how many these are; ``held`` gains the words there are."""
    data = source.read(piece.start, piece.length)
    folded = data.decode("utf-8", "replace").casefold()
    there = [(term, folded_term) for term in terms if (folded_term := term.casefold()) in folded]
    held.update(term for term, _ in there)
    most, best, at = 0, [], 0
    for line in _split(data) if there else ():
        text = line.decode("utf-8", "replace").casefold()
        count = sum(term in text for _, term in there)
        if count > most:
            most, best = count, [(at, line)]
        elif count and count == most:
            best.append((at, line))
        at += len(line)
    return most, best


def _split(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    return [*lines[:-1], lines[-1][:-1]]


def _row(source: Source, start: int, line: bytes, wanted: list[str]) -> tuple[Row, Found]:
    """The line, or the window around the first of the words in a long one."""
    number = source.line_at(start)
    base = source.line_start(number)
    text = line.decode("utf-8", "surrogateescape")
    # Not in the folded text: folding can make it longer.
    places = [found.span() for term in wanted if (found := re.search(re.escape(term), text, re.IGNORECASE))]
    hit, hit_end = (len(text[:at].encode("utf-8", "surrogateescape")) for at in min(places, default=(0, 0)))
    first = 0 if len(line) <= 2 * _WINDOW_BYTES else cut_before(line, max(0, hit - _WINDOW_BYTES))
    last = len(line) if len(line) <= 2 * _WINDOW_BYTES else cut_after(line, min(len(line), hit + _WINDOW_BYTES))
    part = line[first:last]
    ends_line = part.endswith(b"\n") or start + last >= source.size
    row = Row(start + first, part, number, start + first - base, ends_line)
    return row.showing(start + hit, start + hit_end)[0], Found(number, start + hit - base + 1, start + hit, start + hit)


def _missing(lines: _Lines, terms: list[str]) -> list[str]:
    """What is to be said when the words are not together in a line."""
    if lines.holds_all or not lines.shown:
        return []
    missing = ", ".join(repr(term[:40]) for term in terms if term not in lines.held)
    return [f"none of these lines has all the words{f', none has {missing}' if missing else ''}"]


def _grep_call(policy: Policy, handle: str, terms: list[str], *, together: bool = True) -> str:
    """The call that finds every line of an output with all the words, or any of them; with the longest of many."""
    if 1 < len(terms) <= _MOST_ORDERED:
        escaped = [_SPECIAL.sub(r"\\\g<0>", term) for term in terms]
        wanted = [".*".join(order) for order in permutations(escaped)] if together else escaped
        options: dict[str, object] = {"pattern": "|".join(wanted)}
    else:
        options = {"pattern": max(terms, key=len), "literal": True}
    return worded(policy.access, "grep", Rest(handle, None, 1, 1, 0), **options, ignore_case=True)


def _answer(
    words: str,
    terms: list[str],
    found: _Lines,
    rows: list[Stored],
    left_out: list[str],
    policy: Policy,
) -> Answer:
    hits, total = found.shown, found.by_output.total()
    lines = [f"{handle}:{row.shown()}" for handle, row, _ in hits]
    honest = "".join(f"; {part}" for part in left_out)

    def head(count: int) -> str:
        amount = f"{count} line{'s' if count != 1 else ''}" if lines else "nothing"
        if total > count:
            amount = f"{count} of at least {total} lines"
        outputs = f"{len(rows)} output{'s' if len(rows) != 1 else ''}"
        return opening("search", "", f"{amount} for {words!r} in {outputs}{honest}")

    def foot(count: int) -> str:
        if not count:
            return ""
        if total > count:
            shown = Counter(handle for handle, _, _ in hits[:count])
            ((handle, _),) = (found.by_output - shown).most_common(1) or [(hits[0][0], 0)]
            held = [term for term in terms if term in found.held]
            return closing(_grep_call(policy, handle, held, together=found.holds_all))
        handle, _, best = hits[0]
        return closing(
            worded(policy.access, "read", Rest(handle, None, best.line, best.line, 0), around=str(best.line))
        )

    text, count = fitted(head, lines, foot, policy)
    return Answer(
        text=within(text, policy),
        exit_status=int(not hits),
        matches=tuple(place for _, _, place in hits[:count]),
        next=foot(count).removeprefix("[more: ").removesuffix("]\n"),
        facts=[(handle, place.line) for handle, _, place in hits[:count]],
    )
