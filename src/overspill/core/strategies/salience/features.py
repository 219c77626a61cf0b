"""What can be said of each unit of an output: small whole numbers, one column for each question asked of a line.

Guarantees that every column depends on the bytes, the call and the counts of the whole output only.
Leaves to others what an answer is worth (the weights) and what is taken (the selection).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, islice, pairwise
from operator import eq

from overspill.core.model import Call, Totals
from overspill.core.strategies.salience import severity
from overspill.core.strategies.salience.answering import columns_of_question
from overspill.core.strategies.salience.lanes import (
    MANY,
    added,
    around,
    either,
    log_bin,
    paired,
    ranked,
    spreading,
    table,
    times,
    where,
)
from overspill.core.strategies.salience.place import columns_of_place
from overspill.core.strategies.salience.question import Asked
from overspill.core.strategies.salience.scanner import compiled
from overspill.core.strategies.salience.shapes import columns_of_shape, quoted
from overspill.core.strategies.salience.templates import DROPPED, coarse_keys, fine_keys, plain_words
from overspill.core.strategies.salience.trouble import Trouble, read
from overspill.core.strategies.salience.units import Units
from overspill.core.strategies.salience.values import standing_out

_PLACE = (
    rb"(?m)[\w./+@~-]+\.[a-zA-Z+]{1,5}[:(][0-9]+|\", line [0-9]+|--> |^\s*at .*\(|^\s*#[0-9]+ |\bby 0x|\bat 0x|"
    rb"Caused by|Traceback|During handling"
)
_LIBRARY = re.compile(
    rb"site-packages|node_modules|/usr/lib|/lib/python|<frozen |java\.base|\b(?:sun|jdk|java|javax|junit|reflect)\.|"
    rb"org\.junit|importlib|dist-packages|/rustc/|/usr/local/go|\(in /usr|vg_replace|internal/"
)
_SUMMARY = (
    rb"(?m)[0-9][0-9,]* +(?:[a-z]+ ){0,2}(?:passed|failed|failures?|errors?|warnings?|problems?|skipped|issues?|"
    rb"vulnerabilit|files?|"
    rb"tests?|upgraded|newly|removed|changed|insertions?|deletions?|rows?|matches|records?|packages?|ok|total)\b|"
    rb"found [0-9]|tests? run|\bran [0-9]|build (?:failed|success|succe)|^failed|^total|summary|^tests?:|"
    rb"could not compile|"
    rb"^make(?:\[[0-9]+\])?: |exit(?:ed)?[ a-z_]*[ =:\"]+[0-9]|rc=[0-9]|finished|downloaded|all in use|definitely lost"
)
NAMES = (
    "severity", "severity_share", "fine", "coarse", "severity_coarse", "from_start", "from_end", "decile", "length",
    "indent", "first_char", "severe_before", "severe_after", "asked", "asked_near", "asked_terms", "place", "summary",
    "heading", "outlier", "weak", "digits", "symbols", "run", "severity_place", "asked_severity", "severity_fine",
    "coarse_share", "summary_end", "asked_rank", "size_place", "asked_heading", "block", "state_coarse", "place_severe",
    "isolation", "lead", "isolation_severity", "verdict", "rare_value", "exit",
)  # fmt: skip


QUOTED = (b"\0quoted",)
"""The form of the source lines that findings quote: many of them say no more than a few."""
OFTEN = 4
"""As many units of one form of trouble have a first one, others, and a last one."""
BLANK = 63
"""The form of a line without text."""
_COUNTS = (2, 3, 5, 10, 32, 128)
"""From which counts on a form is one of the next more frequent ones."""


@dataclass(slots=True)
class Evidence:
    """Everything known about the units: what is scored, and what gaps are described from."""

    units: Units
    levels: bytes
    columns: list[bytes]
    """One for each of ``NAMES``."""
    coarse: list[tuple[bytes, ...]]
    """The telling words of each unit."""
    news: dict[int, bytes]
    """For units that say something new in usual words what it is: a value that is rare, the last of its form."""


def gather(
    units: Units, counts: Mapping[bytes, int] | None, asked: Asked | None, call: Call, totals: Totals
) -> Evidence:
    """The evidence of the units. ``counts``: those of the whole output by fine key; None: the units are the whole."""
    texts = units.texts
    if not texts:
        return Evidence(units, b"", [b""] * len(NAMES), [], {})
    data = b"".join(texts)
    ends = [*accumulate(map(len, texts))]
    kinds = _kinds(texts, data, counts)
    trouble = read(texts, data, ends, exit_status=call.exit_status)
    columns = columns_of_place(units, totals)
    _add_shape(columns, kinds)
    ranks = _add_forms(columns, kinds)
    _add_trouble(columns, trouble, ranks, data, ends, texts)
    columns |= columns_of_question(asked, trouble.levels, columns, data, ends)
    standing = standing_out(texts, kinds.forms)
    columns["outlier"], columns["rare_value"] = bytes(standing.outliers), bytes(standing.rare)
    status = 0 if call.exit_status is None else 1 if call.exit_status == 0 else 2
    columns["exit"] = trouble.levels.translate(table(status * 8 + level for level in range(8)))
    news = _last_ones(kinds.forms, trouble.levels) | standing.rare_values
    return Evidence(units, trouble.levels, [columns[name] for name in NAMES], kinds.coarse, news)


def _last_ones(forms: Sequence[int], levels: bytes) -> dict[int, bytes]:
    """The last unit of each form of trouble that came often: when it ended is news."""
    times = Counter(forms)
    last = dict(zip(forms, range(len(forms)), strict=True))
    return {
        index: b"last %d" % form
        for form, index in last.items()
        if times[form] >= OFTEN and levels[index] >= severity.WARN
    }


@dataclass(slots=True)
class _Kinds:
    """The different fine keys of the units: what is the same for all units of one is found out once."""

    of: list[int]
    """The kind of each unit."""
    samples: list[bytes]
    """The first text of each kind."""
    counts: list[int]
    spread: Callable[[bytes], bytes]
    """Makes a column of the numbers of the kinds."""
    form_of: list[int]
    """The coarse form of each kind."""
    form_counts: list[int]
    forms: list[int]
    """The coarse form of each unit."""
    coarse: list[tuple[bytes, ...]]


def _kinds(texts: Sequence[bytes], data: bytes, counts: Mapping[bytes, int] | None) -> _Kinds:
    size = len(texts)
    keys = fine_keys(data)
    if len(keys) != size:  # where a unit is no whole line
        keys = [text.translate(None, DROPPED + b"\n") for text in texts]
    if counts is None:
        counts = Counter(keys)
    first_of = dict(zip(reversed(keys), range(size - 1, -1, -1), strict=True))
    number_of = dict(zip(first_of, range(len(first_of)), strict=True))
    of = [*map(number_of.__getitem__, keys)]
    samples = [*map(texts.__getitem__, first_of.values())]
    named = [*coarse_keys(dict(zip(first_of, plain_words(samples), strict=True)), counts).values()]
    if (begins := quoted(data)) is not None:
        named = [QUOTED if begins.match(sample) else name for sample, name in zip(samples, named, strict=True)]
    numbers: dict[tuple[bytes, ...], int] = {}
    form_of = [numbers.setdefault(name, len(numbers)) for name in named]
    held = [counts.get(key, 1) for key in first_of]
    form_counts = [0] * len(numbers)
    for form, count in zip(form_of, held, strict=True):
        form_counts[form] += count
    return _Kinds(
        of,
        samples,
        held,
        spreading(of, len(samples)),
        form_of,
        form_counts,
        [*map(form_of.__getitem__, of)],
        [*map(named.__getitem__, of)],
    )


def _add_shape(columns: dict[str, bytes], kinds: _Kinds) -> None:
    columns |= {name: kinds.spread(column) for name, column in columns_of_shape(kinds.samples).items()}
    blank = columns["blank"]
    columns["heading"] = paired(b"\1" + blank[:-1], 2, columns["heading"])
    depths = bytes(range(1, _DEEPEST)).ljust(len(blank), bytes([_DEEPEST]))
    columns["block"] = b"\0".join([depths[: len(block)] for block in blank.split(b"\1")])
    same = bytes(map(eq, kinds.of, islice(kinds.of, 1, None)))
    columns["run"] = paired(same + b"\0", 2, b"\0" + same)


_DEEPEST = 7
_FINE_PLACES = table([0, 1, 2, 2, 2, 2, 0, 0, 0, 3, 3, 3, 3, 3])
_COARSE_PLACES = table([0, 1, 2, 2, 2, 3, 0, 0, 0, 4, 4, 4, 4, 4])
_FIRST = table([1])
_LATER = table([0, *[1] * MANY])
_NEAR_NOVEL = table([0, 0, 1, 2, 2, 3, 3, 3, 3, *[4] * 16])
NEAR_UNITS = 8


def _add_forms(columns: dict[str, bytes], kinds: _Kinds) -> bytes:
    """How often each form comes, and which of its units this one is; returns the rank within the coarse form."""
    blank = columns["blank"].translate(times(BLANK, 2))
    fine = kinds.spread(bytes([4 * bisect_right(_COUNTS, count) for count in kinds.counts]))
    base_of = [5 * bisect_right(_COUNTS, count) for count in kinds.form_counts]
    share_of = [log_bin(100 * count / len(kinds.of)) for count in kinds.form_counts]
    coarse = kinds.spread(bytes(map(base_of.__getitem__, kinds.form_of)))
    columns["coarse_share"] = kinds.spread(bytes(map(share_of.__getitem__, kinds.form_of)))
    _, placed = ranked(kinds.of, len(kinds.samples))
    ranks, coarse_placed = ranked(kinds.forms, len(kinds.form_counts))
    # BLANK has all the bits that a form can have
    columns["fine"] = either(added(fine, placed.translate(_FINE_PLACES)), blank)
    columns["coarse"] = either(added(coarse, coarse_placed.translate(_COARSE_PLACES)), blank)
    columns["density"] = around(ranks.translate(_FIRST), NEAR_UNITS).translate(_NEAR_NOVEL)
    columns["isolation"] = paired(columns["density"], 4, ranks.translate(table([0, 1, 2, 3, 3, 3])))
    return ranks


def _add_trouble(
    columns: dict[str, bytes], trouble: Trouble, ranks: bytes, data: bytes, ends: list[int], texts: Sequence[bytes]
) -> None:
    """Severity, alone and together with how rare the unit is and what stands near it."""
    levels, state = trouble.levels, trouble.state
    size = len(levels)
    tally = [levels.count(level) for level in range(8)]
    shares = [min(5, log_bin(100 * sum(tally[bound:]) / size)) for bound in range(8)]
    columns["severity"] = levels
    columns["severity_share"] = levels.translate(table(level * 6 + share for level, share in enumerate(shares)))
    columns["weak"] = added(trouble.weak, levels.translate(table(4 * (level >= severity.NOTE) for level in range(8))))
    columns["verdict"] = trouble.ended
    coarse, fine = columns["coarse"], columns["fine"]
    blank = columns["blank"].translate(times(255, 2))
    steps = table(max(0, level - 1) * 35 for level in range(8))
    in_text = coarse.translate(table([*range(BLANK), 0]))
    columns["severity_coarse"] = either(added(levels.translate(steps), in_text), blank)
    columns["severity_fine"] = either(paired(levels, 28, fine.translate(table([*range(BLANK), 0]))), blank)
    columns["state_coarse"] = paired(state, 35, coarse.translate(table([*range(BLANK), 34])))
    columns["isolation_severity"] = added(
        columns["density"].translate(times(16, 8)), ranks.translate(_LATER).translate(times(8, 2)), levels
    )
    before, after = _neighbours(levels, ranks)
    columns["severe_before"], columns["severe_after"] = before, after
    place = bytearray(marked(_PLACE, data, ends))
    for index in where(place):
        if _LIBRARY.search(texts[index]):
            place[index] = 2
    summary = marked(_SUMMARY, data, ends)
    columns["place"] = paired(place, 2, columns["indented"])
    columns["severity_place"] = paired(levels, 3, place)
    columns["place_severe"] = paired(place, 6, before.translate(table((near + 7) // 8 for near in range(64))))
    columns["summary"] = paired(summary, 3, state)
    columns["summary_end"] = paired(summary, 16, columns["from_end"])


def marked(pattern: bytes, data: bytes, ends: list[int]) -> bytes:
    """Which units hold a match of the pattern."""
    found = bytearray(len(ends) + 1)
    for match in compiled(pattern, case="any").finditer(data):
        found[bisect_right(ends, match.end() - 1)] = 1
    return bytes(found[:-1])


def _neighbours(levels: bytes, ranks: bytes) -> tuple[bytes, bytes]:
    """How far the nearest severe unit is, before and after, and whether it is the first of its form."""
    size = len(levels)
    before, after = bytearray(size), bytearray(size)
    severe = where(levels.translate(_SEVERE))
    for index, following in pairwise([*severe, size - 1]):
        reach = min(len(_STEPS), following - index)
        before[index + 1 : index + 1 + reach] = _steps(levels[index], ranks[index])[:reach]
    for preceding, index in pairwise([0, *severe]):
        reach = min(len(_STEPS), index - preceding)
        after[index - reach : index] = _steps(levels[index], ranks[index])[:reach][::-1]
    return bytes(before), bytes(after)


@cache
def _steps(level: int, rank: int) -> bytes:
    near = (rank if rank < 2 else 2 if rank < MANY else 3) * 2 + (level >= severity.ERROR)
    return bytes(step + near for step in _STEPS)


_SEVERE = table(level >= severity.MENTION for level in range(8))
_STEPS = (1, 9, 17, 17, *[25] * 4, *[33] * 11)
"""By how near a severe unit is, the next one first."""
