"""Logs, builds and test runs: how many lines of each severity and where, and the kinds of lines.

A template is a line with its values masked; those that stand once or twice come first: they are what a
log is read for.
"""

from __future__ import annotations

from collections import Counter

from overspill.core.strategies.salience import severity, templates
from overspill.retrieve.shapes.model import Landmark, Shape, Stretch, places

_TEMPLATES_KEPT = 20_000
_RARE = 2
_LISTED = 40


def log(stretch: Stretch, *, kind: str) -> Shape:
    severe: dict[str, list[int]] = {}
    counts: Counter[bytes] = Counter()
    first: dict[bytes, tuple[int, bytes]] = {}
    full = False
    for block in stretch.blocks():
        _note_severe(block.data, block.line, severe)
        for number, (key, text) in enumerate(
            zip(templates.fine_keys(block.data), block.data.split(b"\n"), strict=False), block.line
        ):
            if key in counts:
                counts[key] += 1
            elif len(counts) < _TEMPLATES_KEPT:
                counts[key] = 1
                first[key] = (number, text[:400])
            else:
                full = True
    lines = [
        f"{len(found)} {name} line{'s' if len(found) != 1 else ''}: {places(found, most=8)}"
        for name in ("fatal", "error", "warning")
        if (found := severe.get(name, []))
    ]
    groups = _groups(counts, first)
    marks = [Landmark(line, words) for words, count, line in groups if count <= _RARE and words][:_LISTED]
    lines += [f"×{count} since line {line}: {words}" for words, count, line in groups[:3] if count > 20 and words]
    headline = f"{'over ' if full else ''}{len(groups)} kinds of lines" if len(groups) > 1 else ""
    facts = {"severities": severe, "templates": {words: (count, line) for words, count, line in groups}}
    return Shape(kind, headline, lines, sorted(marks), facts)


def _note_severe(data: bytes, first_line: int, severe: dict[str, list[int]]) -> None:
    line, at = first_line, 0
    for hit in severity.scan(data):
        if hit.level < severity.WARN:
            continue
        line += data.count(b"\n", at, hit.at)
        at = hit.at
        found = severe.setdefault(severity.NAMES[hit.level], [])
        if not found or found[-1] != line:
            found.append(line)


def _groups(counts: Counter[bytes], first: dict[bytes, tuple[int, bytes]]) -> list[tuple[str, int, int]]:
    """Lines of the same plain words, as (words, how many, the first one), the most frequent first."""
    grouped: dict[str, tuple[int, int]] = {}
    for key, count in counts.items():
        line, text = first[key]
        words = b" ".join(templates.plain_words([text])[0][:7]).decode("utf-8", "replace")
        before, earliest = grouped.get(words, (0, line))
        grouped[words] = (before + count, min(line, earliest))
    ranked = [(words, count, line) for words, (count, line) in grouped.items()]
    return sorted(ranked, key=lambda group: (-group[1], group[2]))
