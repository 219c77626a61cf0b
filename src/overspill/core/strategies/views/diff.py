"""Diffs, patches and logs of commits: every file with its counts, and the hunks that fit or answer.

Changed lines weigh more than their context; lock files and generated files come last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from overspill.core.model import Block, Budget, Call, Gap, Span, Totals
from overspill.core.strategies.views import passages as P
from overspill.core.strategies.views.code import defined_name
from overspill.core.strategies.views.passages import Found, Passages, ViewSelection, interleave
from overspill.core.strategies.views.query_terms import query_for

_MARK = re.compile(
    rb"^(?:(?P<commit>commit [0-9a-f]{7,40}\b[^\n]*)|(?P<file>diff --git [^\n]*|diff -[^\n]*|Index: [^\n]*)"
    rb"|(?P<hunk>@@ -[^\n]*)|(?P<subject>    \S[^\n]*)|(?P<minus>--- [^\n]+\n\+\+\+ [^\n]+))",
    re.MULTILINE,
)
_GENERATED = re.compile(r"lock\b|\.lock|\.min\.|\.snap\b|\.svg\b|dist/|vendor/|generated|package-lock|\.map\b|\.pb\.")


def sniff(sample: bytes, call: Call) -> float:
    """By its file and hunk headers, or the headers of ``git log``."""
    if re.search(rb"^diff --git ", sample, re.MULTILINE) and re.search(rb"^@@ -\d", sample, re.MULTILINE):
        return 0.97
    if re.search(rb"^--- [^\n]+\n\+\+\+ [^\n]+\n@@ -\d", sample, re.MULTILINE):
        return 0.95
    if len(re.findall(rb"^commit [0-9a-f]{40}\b[^\n]*\n(?:Merge: [^\n]*\n)?Author: ", sample, re.MULTILINE)) >= 1:
        return 0.9
    return 0.6 if "git diff" in call.command and re.search(rb"^[+-]", sample, re.MULTILINE) else 0.0


@dataclass(slots=True)
class _File:
    start: int
    line: int
    name: str
    added: int = 0
    removed: int = 0


class DiffView:
    """One diff, or commits with theirs."""

    def __init__(self, room: Budget, call: Call) -> None:
        self._query = query_for(call.question)
        self._commits = 0
        self._subject_open = False
        self._files: list[_File] = []
        self._files_seen = 0
        self._in_hunk = False
        self._passages = Passages(room, self._query, landmarks=self._marks, force_of=_force, defines=defined_name)

    def feed(self, block: Block) -> None:
        self._passages.feed(block)

    def _marks(self, block: Block) -> Iterator[Found]:
        data = block.data
        pending = 0
        for match in _MARK.finditer(data):
            kind, start = match.lastgroup, match.start()
            if start == 0 and block.column:
                continue
            if kind == "subject" and not self._subject_open:
                continue
            label = match.group().split(b"\n")[0].decode("utf-8", "replace")
            if kind == "subject":
                self._subject_open = False
                yield start, 0.95, 2, label.strip()[:160]
                continue
            if kind == "minus" and self._files and self._files[-1].line >= block.line + data.count(b"\n", 0, start) - 6:
                continue
            self._count(data, pending, start)
            pending = start
            if kind == "commit":
                self._commits += 1
                self._subject_open, self._in_hunk = True, False
                yield start, 0.8, 1, label[:60]
            elif kind in ("file", "minus"):
                self._in_hunk = False
                name = label.split(" b/")[-1] if " b/" in label else label.split()[-1]
                self._files_seen += 1
                if len(self._files) < 4_000:
                    line = block.line + data.count(b"\n", 0, start)
                    self._files.append(_File(block.start + start, line, name))
                yield start, 0.35 if _GENERATED.search(name) else 0.75, 3, name[:160]
            else:
                self._in_hunk = True
                yield start, 0.3, 4, label[label.find("@@", 2) + 2 :].strip()[:120]
        self._count(data, pending, len(data))

    def _count(self, data: bytes, start: int, end: int) -> None:
        """Adds the changed lines of a stretch to the file it belongs to."""
        if not (self._in_hunk and self._files):
            return
        part = data[start:end]
        first = part[:1]
        self._files[-1].added += part.count(b"\n+") + (first == b"+")
        self._files[-1].removed += part.count(b"\n-") + (first == b"-")

    def finish(self, totals: Totals, call: Call) -> ViewSelection:
        passages = self._passages
        asked = bool(self._query)

        def ranked(room: Budget) -> Iterable[Span]:
            return interleave(
                (P.ASKED_SHARE if asked else 0.0, passages.passages(totals)),
                (1 - P.ASKED_SHARE if asked else 0.5, passages.outline()),
                (0.0 if asked else 0.5, self._hunks()),
            )

        added, removed = (sum(getattr(file, side) for file in self._files) for side in ("added", "removed"))
        headline = ""
        if self._files_seen == len(self._files):
            headline = f"{len(self._files)} files, +{added} −{removed}" + (
                f" in {self._commits} commits" if self._commits else ""
            )
        return ViewSelection("diff", headline, ranked, self._describe)

    def _hunks(self) -> Iterator[Span]:
        """Whole hunks, the small ones first: more changes are told in the same room."""
        atoms = self._passages.atoms()
        marks = {mark.start: mark for mark in self._passages.landmarks}
        hunks: list[tuple[int, int, list[Span]]] = []
        open_hunk: list[Span] | None = None
        for atom in atoms:
            mark = marks.get(atom.span.start)
            if mark is not None:
                open_hunk = [] if mark.level == 4 else None
                if open_hunk is not None:
                    hunks.append((0, atom.span.start, open_hunk))
            if open_hunk is not None:
                open_hunk.append(atom.span)
        sized = [(sum(len(span.data) for span in spans), start, spans) for _, start, spans in hunks]
        for size, _, spans in sorted(sized, key=lambda hunk: (hunk[0], hunk[1])):
            if spans and size < 6_000:
                yield spans[0]._replace(data=b"".join(span.data for span in spans))

    def _describe(self, gap: Gap) -> str:
        inside = [file for file in self._files if gap.start <= file.start < gap.end]
        words = ", ".join(f"{file.name} +{file.added} −{file.removed}" for file in inside[:4])
        return words + (f", {len(inside) - 4} more files" if len(inside) > 4 else "")


def _force(data: bytes) -> float:
    first = data[:1]
    if first in (b"+", b"-"):
        return 1.3
    return 1.4 if data.startswith(b"    ") and not data.startswith(b"     ") else 0.9
