"""``search``: words over all kept outputs, best match first, each as an exact line with its place.

Guarantees: every line shown holds what it was found by, read from the stored bytes; what is not
looked at is said.  The index is made on the first search and brought up to date by each; words too short
for it, and any where none can be kept, are looked for in the outputs themselves, newest first, while there is time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing as closed
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
    found = _by_index(store, rows, usable, until, clock) if usable else None
    if found is None:
        why = "no index can be kept here" if usable else "such short words aren't indexed"
        found = _by_scanning(store, rows, terms, until, clock, why)
    shown = _lines(store, {row.digest: row for row in rows}, found.pieces, terms, most)
    return _answer(words, shown, rows, found.left_out, policy)


class _Found(NamedTuple):
    pieces: list[Piece]
    left_out: list[str]
    """What was not looked at, in words."""


def _by_index(
    store: Store, rows: list[Stored], terms: list[str], until: float, clock: Callable[[], float]
) -> _Found | None:
    """None when there can't be an index: the store is read-only, or the disk full."""
    import sqlite3  # loaded when somebody searches

    from overspill.retrieve.search_index import SearchIndex

    quoted = ['"' + term.replace('"', '""') + '"' for term in terms]
    digests = {row.digest for row in rows}
    try:
        with closed(SearchIndex(_place(store))) as index:
            waiting, unread = len(index.update(store, rows, until=until, clock=clock)), index.unread
            notes = [note for digest, note in index.partly().items() if digest in digests]
            pieces = index.pieces(" AND ".join(quoted), _MOST_PIECES) or index.pieces(" OR ".join(quoted), _MOST_PIECES)
    except (OSError, sqlite3.Error):
        return None
    binary = notes.count("binary")
    left_out = [f"{waiting} of {len(rows)} not indexed yet: search again to go on"] if waiting else []
    left_out += _not_seen(binary, unread)
    left_out += [f"{len(notes) - binary} indexed only in part"] if len(notes) > binary else []
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


def _lines(
    store: Store, rows: dict[str, Stored], pieces: list[Piece], terms: list[str], most: int
) -> list[tuple[str, Row, Found]]:
    """The best line of each piece, those with more of the words first, pieces by their rank."""
    ranked: list[tuple[int, float, int, tuple[str, Row, Found]]] = []
    for order, piece in enumerate(pieces):
        row = rows.get(piece.digest)
        if row is None:
            continue
        try:
            with Source(store, row.handle) as source:
                for count, line in _best_lines(source, piece, terms):
                    ranked.append((-count, piece.rank, order, (row.handle, *line)))
        except (OverspillError, LookupError):
            continue
    ranked.sort(key=lambda entry: entry[:3])
    chosen: list[tuple[str, Row, Found]] = []
    seen: set[tuple[str, int]] = set()
    for *_, hit in ranked:
        if (hit[0], hit[2].start) not in seen:
            seen.add((hit[0], hit[2].start))
            chosen.append(hit)
    return chosen[:most]


def _best_lines(source: Source, piece: Piece, terms: list[str]) -> Iterator[tuple[int, tuple[Row, Found]]]:
    data = source.read(piece.start, piece.length)
    folded = data.decode("utf-8", "replace").casefold()
    wanted = [term.casefold() for term in terms]
    if not any(term in folded for term in wanted):
        return
    best: list[tuple[int, int, bytes]] = []
    at = 0
    for line in _split(data):
        text = line.decode("utf-8", "replace").casefold()
        count = sum(term in text for term in wanted)
        most = best[0][0] if best else 0
        if count > most:
            best = [(count, at, line)]
        elif count and count == most and len(best) < _MOST_OF_A_PIECE:
            best.append((count, at, line))
        at += len(line)
    for count, offset, line in best:
        yield count, _row(source, piece.start + offset, line, wanted)


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


def _answer(
    words: str,
    hits: list[tuple[str, Row, Found]],
    rows: list[Stored],
    left_out: list[str],
    policy: Policy,
) -> Answer:
    lines = [f"{handle}:{row.shown()}" for handle, row, _ in hits]
    honest = "".join(f"; {part}" for part in left_out)

    def head(count: int) -> str:
        amount = f"{count} line{'s' if count != 1 else ''}" if lines else "nothing"
        outputs = f"{len(rows)} output{'s' if len(rows) != 1 else ''}"
        return opening("search", "", f"{amount} for {words!r} in {outputs}{honest}")

    def foot(count: int) -> str:
        if not count:
            return ""
        handle, _, found = hits[0]
        call = worded(policy.access, "read", Rest(handle, None, found.line, found.line, 0), around=str(found.line))
        return closing(call)

    text, count = fitted(head, lines, foot, policy)
    return Answer(
        text=within(text, policy),
        exit_status=int(not hits),
        matches=tuple(found for _, _, found in hits[:count]),
        next=foot(count).removeprefix("[more: ").removesuffix("]\n"),
        facts=[(handle, found.line) for handle, _, found in hits[:count]],
    )
