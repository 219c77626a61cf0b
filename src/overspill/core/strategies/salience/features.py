"""What can be said of each unit of an output: small whole numbers, one column for each question asked of a line.

Guarantees that every column depends on the bytes, the call and the counts of the whole output only.
Leaves to others what an answer is worth (the weights) and what is taken (the selection).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, count, pairwise
from operator import add, sub
from typing import TYPE_CHECKING

from overspill.core.model import Call, Totals
from overspill.core.strategies.salience import severity
from overspill.core.strategies.salience.question import Asked
from overspill.core.strategies.salience.shapes import Shape, quoted, shape
from overspill.core.strategies.salience.templates import DROPPED, coarse_keys, plain_words
from overspill.core.strategies.salience.units import Units
from overspill.core.strategies.salience.values import standing_out

if TYPE_CHECKING:
    from overspill.core.strategies.salience.scanner import Scanner

_PLACE = (
    r"[\w./+@~-]+\.[a-zA-Z+]{1,5}[:(][0-9]+|\", line [0-9]+|--> |^\s*at .*\(|^\s*#[0-9]+ |\bby 0x|\bat 0x|Caused by|"
    r"Traceback|During handling"
)
_LIBRARY = re.compile(
    rb"site-packages|node_modules|/usr/lib|/lib/python|<frozen |java\.base|\b(?:sun|jdk|java|javax|junit|reflect)\.|"
    rb"org\.junit|importlib|dist-packages|/rustc/|/usr/local/go|\(in /usr|vg_replace|internal/"
)
_SUMMARY = (
    r"[0-9][0-9,]* +(?:[a-z]+ ){0,2}(?:passed|failed|failures?|errors?|warnings?|problems?|skipped|issues?|"
    r"vulnerabilit|files?|"
    r"tests?|upgraded|newly|removed|changed|insertions?|deletions?|rows?|matches|records?|packages?|ok|total)\b|"
    r"found [0-9]|tests? run|\bran [0-9]|build (?:failed|success|succe)|^failed|^total|summary|^tests?:|"
    r"could not compile|"
    r"^make(?:\[[0-9]+\])?: |exit(?:ed)?[ a-z_]*[ =:\"]+[0-9]|rc=[0-9]|finished|downloaded|all in use|definitely lost"
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


def log_bin(value: float) -> int:
    """0 for nothing, then one more for each doubling."""
    return min(12, int(value).bit_length())


def _count_bin(count: int) -> int:
    return (
        0
        if count <= 1
        else 1
        if count == 2
        else 2
        if count <= 4
        else 3
        if count <= 9
        else 4
        if count <= 31
        else 5
        if count <= 127
        else 6
    )


@dataclass(slots=True)
class Evidence:
    """Everything known about the units: what is scored, and what gaps are described from."""

    units: Units
    levels: bytearray
    keys: list[bytes]
    columns: list[bytearray]
    coarse: list[tuple[bytes, ...]]
    """The telling words of each unit."""
    asked: list[float]
    news: dict[int, bytes]
    """For units that say something new in usual words what it is: a value that is rare, the last of its form."""


@lru_cache(maxsize=4)
def _compiled(pattern: str) -> Scanner:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = False
    options.one_line = False
    scanner: Scanner = re2.compile(("(?m)" + pattern).encode(), options)
    return scanner


def _marked(pattern: str, data: bytes, ends: list[int], size: int) -> bytearray:
    """Which units hold a match of the pattern."""
    marked = bytearray(size)
    for match in _compiled(pattern).finditer(data):
        unit = bisect_right(ends, match.end() - 1)
        if unit < size:
            marked[unit] = 1
    return marked


def gather(
    units: Units, counts: Mapping[bytes, int] | None, asked: Asked | None, call: Call, totals: Totals
) -> Evidence:
    """The evidence of the units. ``counts``: those of the whole output by fine key; None: the units are the whole."""
    texts = units.texts
    size = len(texts)
    if not size:
        return Evidence(units, bytearray(), [], [bytearray() for _ in NAMES], [], [], {})
    data = b"".join(texts)
    ends = list(accumulate(map(len, texts)))
    keys = [text.translate(None, DROPPED) for text in texts]
    if counts is None:
        counts = Counter(keys)
    first_of = dict(zip(reversed(keys), range(size - 1, -1, -1), strict=True))
    coarse_of = coarse_keys({key: plain_words(texts[index]) for key, index in reversed(first_of.items())}, counts)
    begins = quoted(data)
    if begins is not None:
        coarse_of |= {key: QUOTED for key, index in first_of.items() if begins.match(texts[index])}
    coarse = [*map(coarse_of.__getitem__, keys)]
    numbers: dict[tuple[bytes, ...], int] = {}
    forms = [*map({key: numbers.setdefault(name, len(numbers)) for key, name in coarse_of.items()}.__getitem__, keys)]
    trouble = _trouble(texts, data, ends)
    columns: dict[str, Sequence[int]] = {}
    _columns_of_shape(columns, texts, keys, first_of)
    _columns_of_place(columns, units, totals)
    coarse_ranks = _columns_of_forms(columns, keys, forms, coarse_of, numbers, counts)
    _columns_of_trouble(columns, trouble, coarse_ranks, data, ends, texts)
    scores = _columns_of_question(columns, asked, trouble.levels, data, ends)
    standing = standing_out(texts, forms)
    columns["outlier"] = standing.outliers
    columns["rare_value"] = standing.rare
    status = 0 if call.exit_status is None else 1 if call.exit_status == 0 else 2
    columns["exit"] = [status * 8 + level for level in trouble.levels]
    news = _last_ones(forms, trouble.levels) | standing.rare_values
    return Evidence(
        units,
        trouble.levels,
        keys,
        [bytearray(columns[name]) for name in NAMES],
        coarse,
        scores,
        news,
    )


def _last_ones(forms: Sequence[int], levels: bytearray) -> dict[int, bytes]:
    """The last unit of each form of trouble that came often: when it ended is news."""
    times = Counter(forms)
    last = dict(zip(forms, range(len(forms)), strict=True))
    return {
        index: b"last %d" % form
        for form, index in last.items()
        if times[form] >= OFTEN and levels[index] >= severity.WARN
    }


@dataclass(slots=True)
class _Trouble:
    levels: bytearray
    weak: bytearray
    state: bytearray
    ended: bytearray


def _trouble(texts: Sequence[bytes], data: bytes, ends: Sequence[int]) -> _Trouble:
    """How bad each unit says things are, verdicts and code understood."""
    size = len(texts)
    levels, weak, state, ended = bytearray(size), bytearray(size), bytearray(size), bytearray(size)
    unit = 0
    for hit in severity.scan(data):
        while ends[unit] <= hit.at:
            unit += 1
        level = hit.level
        if level == severity.WEAK:
            weak[unit] = min(3, weak[unit] + 1)
        elif level == severity.STATE:
            state[unit] = min(2, state[unit] + 1)
        if level > levels[unit]:
            levels[unit] = level
    for at, verdict in severity.verdicts(data):
        ended[bisect_right(ends, at)] = verdict
    told = [index for index, pair in enumerate(zip(levels, ended, strict=True)) if pair[1] or pair[0] >= severity.WARN]
    for index in told:
        level = levels[index]
        if ended[index]:
            if ended[index] == severity.GOOD:
                levels[index], weak[index] = min(level, severity.STATE), 0
            else:
                levels[index] = max(level, severity.ERROR)
        elif severity.is_code(texts[index]):
            levels[index], ended[index] = severity.NONE, 3
    return _Trouble(levels, weak, state, ended)


def _columns_of_shape(
    columns: dict[str, Sequence[int]], texts: Sequence[bytes], keys: Sequence[bytes], first_of: Mapping[bytes, int]
) -> None:
    shape_of = {key: shape(texts[index]) for key, index in first_of.items()}
    shapes = [shape_of[key] for key in keys]
    columns |= dict(zip(Shape._fields, zip(*shapes, strict=True), strict=True))
    blank = columns["blank"]
    after_blank = [1, *blank[:-1]] if shapes else []
    columns["heading"] = [a + 2 * b for a, b in zip(columns["heading"], after_blank, strict=True)]
    block, depth = [], 0
    for is_blank in blank:
        depth = 0 if is_blank else min(7, depth + 1)
        block.append(depth)
    columns["block"] = block
    same = [a == b for a, b in pairwise(keys)]
    columns["run"] = [b + 2 * a for b, a in zip([False, *same], [*same, False], strict=True)] if keys else []


_FAR = bytes([*range(4), *(3 + min(12, (distance // 4).bit_length()) for distance in range(4, (4 << 11) + 1))])
"""Distances as they are counted: exactly when near, then one more for each doubling."""
_FARTHEST = len(_FAR) - 1


def _columns_of_place(columns: dict[str, Sequence[int]], units: Units, totals: Totals) -> None:
    """Where the units stand: near the start, near the end, in which tenth."""
    lines, total = units.lines, totals.lines
    before = (
        [line - 1 + column // 200 for line, column in zip(lines, units.columns, strict=True)]
        if any(units.columns)
        else [line - 1 for line in lines]
    )
    columns["from_start"] = [_FAR[at] if at < _FARTHEST else _FAR[_FARTHEST] for at in before]
    rest = [(totals.bytes - start - len(text)) // 40 for start, text in zip(units.starts, units.texts, strict=True)]
    left = [left if left <= total - line else total - line + 1 for line, left in zip(lines, rest, strict=True)]
    ends = [_FAR[_FARTHEST] if at >= _FARTHEST else _FAR[at] if at > 0 else 0 for at in left]
    columns["from_end"] = ends
    scale = 10 / max(1, totals.bytes)
    columns["decile"] = [9 if (tenth := int(start * scale)) > 9 else tenth for start in units.starts]
    base = 10 * min(4, log_bin(totals.bytes / 8000) // 2)
    columns["size_place"] = [base + end if end < 9 else base + 9 for end in ends]


def _ranked(names: Sequence[Hashable]) -> tuple[list[int], bytearray]:
    """For each name how many of the same stood before it, and whether it is the last of them."""
    seen: defaultdict[Hashable, count[int]] = defaultdict(count)
    ranks = [*map(next, map(seen.__getitem__, names))]
    last = bytearray(len(names))
    for index in dict(zip(names, range(len(names)), strict=True)).values():
        last[index] = 1
    return ranks, last


def _columns_of_forms(
    columns: dict[str, Sequence[int]],
    keys: Sequence[bytes],
    forms: Sequence[int],
    coarse_of: Mapping[bytes, tuple[bytes, ...]],
    numbers: Mapping[tuple[bytes, ...], int],
    counts: Mapping[bytes, int],
) -> list[int]:
    """How often each form comes, and which of its units this one is; returns the rank within the coarse form."""
    size = max(1, len(keys))
    coarse_counts = [0] * len(numbers)
    for key, name in coarse_of.items():
        coarse_counts[numbers[name]] += counts.get(key, 1)
    fine_base = {key: 4 * _count_bin(counts.get(key, 1)) for key in coarse_of}
    coarse_base = [5 * _count_bin(held) for held in coarse_counts]
    share = [log_bin(100 * held / size) for held in coarse_counts]
    ranks, last = _ranked(keys)
    coarse_ranks, coarse_last = _ranked(forms)
    blank = columns["blank"]
    columns["fine"] = [
        BLANK if empty else fine_base[key] + (0 if rank == 0 else 3 if final else 1 if rank == 1 else 2)
        for key, rank, final, empty in zip(keys, ranks, last, blank, strict=True)
    ]
    columns["coarse"] = [
        BLANK
        if empty
        else coarse_base[form] + (0 if rank == 0 else 4 if final else 1 if rank == 1 else 2 if rank <= 4 else 3)
        for form, rank, final, empty in zip(forms, coarse_ranks, coarse_last, blank, strict=True)
    ]
    columns["coarse_share"] = [*map(share.__getitem__, forms)]
    novel = list(accumulate([rank == 0 for rank in coarse_ranks], initial=0))
    length = len(keys)
    padded = [*[0] * 8, *novel, *[novel[-1]] * 8]
    around = map(sub, padded[17:], padded[:length])
    density = [_NEAR_NOVEL[count] for count in around]
    columns["isolation"] = [
        near * 4 + (rank if rank < 3 else 3) for near, rank in zip(density, coarse_ranks, strict=True)
    ]
    columns["density"] = density
    return coarse_ranks


def _paired(high: bytearray, factor: int, low: Iterable[int]) -> list[int]:
    """One column of two: ``high`` times the factor, and ``low``."""
    return [*map(add, map(range(0, 256 * factor, factor).__getitem__, high), low)] if any(high) else [*low]


_NEAR_NOVEL = [0, 0, 1, 2, 2, 3, 3, 3, 3, *[4] * 16]


def _columns_of_trouble(
    columns: dict[str, Sequence[int]],
    trouble: _Trouble,
    coarse_ranks: Sequence[int],
    data: bytes,
    ends: list[int],
    texts: Sequence[bytes],
) -> None:
    """Severity, alone and together with how rare the unit is and what stands near it."""
    levels = trouble.levels
    size = len(levels)
    tally = [levels.count(level) for level in range(9)]
    shares = [min(5, log_bin(100 * sum(tally[bound:]) / max(1, size))) for bound in range(9)]
    columns["severity"] = levels
    columns["severity_share"] = [*map([level * 6 + share for level, share in enumerate(shares)].__getitem__, levels)]
    columns["weak"] = [*map(add, trouble.weak, map([4 * (level >= 3) for level in range(9)].__getitem__, levels))]
    columns["verdict"] = trouble.ended
    coarse, fine = columns["coarse"], columns["fine"]
    steps = [(0 if level < 2 else level - 1) * 35 for level in range(9)]
    severity_coarse, severity_fine = [*map(add, map(steps.__getitem__, levels), coarse)], _paired(levels, 28, fine)
    state_coarse = _paired(trouble.state, 35, coarse)
    for index in [index for index, form in enumerate(coarse) if form == BLANK]:
        severity_coarse[index] = severity_fine[index] = 255
        state_coarse[index] = trouble.state[index] * 35 + 34
    columns["severity_coarse"], columns["severity_fine"] = severity_coarse, severity_fine
    columns["state_coarse"] = state_coarse
    columns["isolation_severity"] = [
        (near * 2 + (rank > 0)) * 8 + level
        for near, rank, level in zip(columns["density"], coarse_ranks, levels, strict=True)
    ]
    before, after = _neighbours(levels, coarse_ranks)
    columns["severe_before"], columns["severe_after"] = before, after
    place = _marked(_PLACE, data, ends, size)
    for index in [index for index, at in enumerate(place) if at]:
        if _LIBRARY.search(texts[index]):
            place[index] = 2
    summary = _marked(_SUMMARY, data, ends, size)
    columns["place"] = _paired(place, 2, columns["indented"])
    columns["severity_place"] = _paired(levels, 3, place)
    columns["place_severe"] = [at * 6 + (near + 7) // 8 for at, near in zip(place, before, strict=True)]
    columns["summary"] = _paired(summary, 3, trouble.state)
    columns["summary_end"] = _paired(summary, 16, columns["from_end"])


def _columns_of_question(
    columns: dict[str, Sequence[int]], asked: Asked | None, levels: bytearray, data: bytes, ends: list[int]
) -> list[float]:
    """How much each unit, its surroundings and its heading speak to the question; returns the units' own scores."""
    size = len(ends)
    if asked is None or not asked.terms:
        for name in ("asked", "asked_near", "asked_terms", "asked_rank"):
            columns[name] = bytes([15]) * size
        columns["asked_heading"] = bytes([31]) * size
        columns["asked_severity"] = [level * 4 for level in levels]
        return [0.0] * size
    scores, near, term_counts, order = _asked(asked, data, ends, size)
    top = max(scores, default=0.0) or 1.0
    columns["asked"] = [1 + min(9, int(10 * score / top)) if score else 0 for score in scores]
    columns["asked_near"] = [min(10, int(10 * value)) for value in near]
    columns["asked_terms"] = [min(6, count) for count in term_counts]
    columns["asked_rank"] = order
    columns["asked_severity"] = [
        level * 4 + (1 + min(2, int(3 * score / top)) if score else 0)
        for level, score in zip(levels, scores, strict=True)
    ]
    headings, heading_score, age = [], 0.0, 99
    for kind, indented, score in zip(columns["heading"], columns["indented"], scores, strict=True):
        if kind in (1, 3) or (kind & 2 and not indented):
            heading_score, age = score, 0
        else:
            age += 1
        headings.append(min(3, age // 4) * 5 + min(4, int(5 * heading_score / top)) if heading_score else 0)
    columns["asked_heading"] = headings
    return scores


def _neighbours(levels: bytearray, coarse_ranks: Sequence[int]) -> tuple[list[int], list[int]]:
    """How far the nearest severe unit is, before and after, and whether it is the first of its form."""
    size = len(levels)
    before, after = [0] * size, [0] * size
    severe = [index for index, level in enumerate(levels) if level >= severity.MENTION]
    for index, following in pairwise([*severe, size - 1]):
        near = _near(levels[index], coarse_ranks[index])
        reach = min(len(_STEPS), following - index)
        before[index + 1 : index + 1 + reach] = [step + near for step in _STEPS[:reach]]
    for preceding, index in pairwise([0, *severe]):
        near = _near(levels[index], coarse_ranks[index])
        reach = min(len(_STEPS), index - preceding)
        after[index - reach : index] = [step + near for step in reversed(_STEPS[:reach])]
    return before, after


def _near(level: int, rank: int) -> int:
    return (rank if rank < 2 else 2 if rank <= 4 else 3) * 2 + (level >= severity.ERROR)


_STEPS = [1, 9, 17, 17, *[25] * 4, *[33] * 11]
"""By how near a severe unit is, the next one first."""


def _asked(
    asked: Asked | None, data: bytes, ends: list[int], size: int
) -> tuple[list[float], list[float], list[int], list[int]]:
    """For each unit: its own score, that of its surroundings (0 to 1), its terms, its rank among all (0: none)."""
    none = [0.0] * size
    if asked is None or not asked.terms or not size:
        return none, none, [0] * size, [0] * size
    per_unit: dict[int, set[int]] = {}
    for at, term in asked.each_hit(data):
        per_unit.setdefault(bisect_right(ends, at), set()).add(term)
    lines_with = [0] * len(asked.terms)
    for held in per_unit.values():
        for term in sorted(held):
            lines_with[term] += 1
    rarity = asked.rarity(lines_with, size)
    scores = [0.0] * size
    term_counts = [0] * size
    for index, held in per_unit.items():
        scores[index] = sum(rarity[term] for term in sorted(held))
        term_counts[index] = len(held)
    # the surroundings: the best of each term within a few units, nearer ones counting more
    near = [0.0] * size
    for reach, share in ((2, 0.5), (8, 0.3), (25, 0.2)):
        sums = list(accumulate(scores, initial=0.0))
        window = [sums[min(size, i + reach + 1)] - sums[max(0, i - reach)] - scores[i] for i in range(size)]
        most = max(window) or 1.0
        for index, value in enumerate(window):
            near[index] += share * value / most
    ranked = sorted(per_unit, key=lambda index: (-scores[index], index))
    order = [0] * size
    for position, index in enumerate(ranked):
        order[index] = min(12, 1 + log_bin(position))
    return scores, near, term_counts, order
