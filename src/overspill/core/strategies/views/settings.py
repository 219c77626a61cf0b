"""Configuration files: the settings in force over the comments around them, by section.

A setting that is commented out is a comment; with a question, the passages that speak to it
come first, comments included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from overspill.core.model import Block, Budget, Call, Gap, Span, Totals
from overspill.core.strategies.views.landmarks import Found, names_within
from overspill.core.strategies.views.offers import ASKED_SHARE, ViewSelection, interleave
from overspill.core.strategies.views.passages import Passages
from overspill.core.strategies.views.query_terms import query_for

_LINE = re.compile(
    rb"^(?:(?P<section>[ \t]*\[[^\]\n]{1,80}\][ \t]*\r?$|[#;][#;=*\- \t]{2,}[A-Z][^\n]{2,60}[#;=*\-]{2,}[ \t]*\r?$)"
    rb"|(?P<setting>[ \t]*[A-Za-z_][\w.\-/]*(?:[ \t]*[=:][ \t]*|[ \t]+)\S[^\n]*))",
    re.MULTILINE,
)
_NAMES = re.compile(r"\.(?:conf|cfg|ini|cnf|properties|toml|ya?ml|env|service)\b|/etc/|sysctl|\.\w+rc\b", re.IGNORECASE)


_SETS = re.compile(
    rb"[ \t]*(?:[#;]+[ \t]*(?=[\w.]*[-_.]))?(?P<name>[A-Za-z_][\w.\-]*)[ \t]*[=: \t][ \t]*\S+(?:[ \t]+\S+){0,3}\s*$"
)


def set_name(line: bytes) -> bytes:
    """The name that a line sets, or would set were it no comment; a sentence sets nothing."""
    match = _SETS.match(line[:200])
    return match.group("name").lower() if match else b""


def sniff(sample: bytes, call: Call) -> float:
    """Comments, sections and ``name value`` lines, and little else."""
    lines = [line.strip() for line in sample.split(b"\n")[:600] if line.strip()]
    if len(lines) < 8:
        return 0.0
    comments = sum(line.startswith((b"#", b";")) for line in lines)
    settings = sum(
        bool(re.match(rb"[A-Za-z_][\w.\-]*(\s*[=:]\s*\S|\s+\S+(\s\S+){0,3}$)|\[[^\]]+\]$", line)) for line in lines
    )
    share = (comments + settings) / len(lines)
    named = bool(_NAMES.search(call.command))
    if share < 0.9 or not settings or (comments < 0.25 * len(lines) and not named):
        return 0.0
    return 0.8 if named else 0.6


def _lines(block: Block) -> Iterator[Found]:
    for match in _LINE.finditer(block.data):
        if match.start() == 0 and block.column:
            continue
        label = match.group().strip().decode("utf-8", "replace")[:160]
        if match.lastgroup == "section":
            yield match.start(), 0.4, 1, label
        else:
            yield match.start(), 0.7, 0, label


class SettingsView:
    """One configuration file."""

    def __init__(self, room: Budget, call: Call) -> None:
        self._query = query_for(call.question)
        self._passages = Passages(room, self._query, landmarks=_lines, defines=set_name)

    def feed(self, block: Block) -> None:
        self._passages.feed(block)

    def finish(self, totals: Totals, call: Call) -> ViewSelection:
        passages = self._passages

        def ranked(room: Budget) -> Iterable[Span]:
            return interleave(
                (ASKED_SHARE if self._query else 0.0, passages.passages(totals)),
                (1 - ASKED_SHARE if self._query else 0.9, passages.outline()),
                (0.05, passages.edges(200, 0)),
            )

        settings = sum(1 for mark in passages.landmarks if not mark.level)
        complete = passages.landmarks_seen == len(passages.landmarks)
        headline = f"{settings} settings in force in {totals.lines} lines" if complete else ""
        return ViewSelection("configuration", headline, ranked, self._describe)

    def _describe(self, gap: Gap) -> str:
        inside = names_within(self._passages.landmarks, gap, most=4)
        named = ((mark.label.strip("[]#;=*- ").split(), mark.line) for mark in inside)
        return ", ".join(f"{words[0]} {line}" for words, line in named if words)
