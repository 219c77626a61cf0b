"""Diffs, patches and logs of commits: every file with its counts, and the hunks that fit or answer.

Changed lines weigh more than their context; lock files and generated files come last.  Lines are counted as far as
the header of their hunk says that it goes; of a form whose hunks say it otherwise (a merge's) nothing is counted.
What is told of a gap counts the gap's own lines, and nothing is where they can't be told from the file's others.
"""

from __future__ import annotations

import re
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

from overspill.core.model import Block, Budget, Call, Gap, Span, Totals, join
from overspill.core.strategies.views.code import defined_name
from overspill.core.strategies.views.landmarks import Found
from overspill.core.strategies.views.offers import ASKED_SHARE, ViewSelection, counted, interleave
from overspill.core.strategies.views.passages import LASTING_WITHIN, Passages
from overspill.core.strategies.views.query_terms import query_for

_MARK = re.compile(
    rb"^(?:(?P<commit>commit [0-9a-f]{7,40}\b[^\n]*)|(?P<file>diff --git [^\n]*|diff -[^\n]*|Index: [^\n]*)"
    rb"|(?P<hunk>@@ -[^\n]*)|(?P<subject>    \S[^\n]*)|(?P<minus>--- [^\n]+\n\+\+\+ [^\n]+))",
    re.MULTILINE,
)
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_OTHER_COUNTS = ("diff --cc ", "diff --combined ")
FILES_KEPT = 4_000
"""Of a diff of more files the first ones are named, and none are counted."""
CHANGES_KEPT = 200_000
"""Changed lines whose places are remembered; beyond, a file is counted whole or not at all."""
NAMED = 4
"""Files that are named in what is told of a gap."""
_GENERATED = re.compile(r"lock\b|\.lock|\.min\.|\.snap\b|\.svg\b|dist/|vendor/|generated|package-lock|\.map\b|\.pb\.")


def sniff(sample: bytes, call: Call) -> float:
    """By its file and hunk headers, or the headers of ``git log``."""
    if b"@@ -" in sample:
        if re.search(rb"^diff --git ", sample, re.MULTILINE) and re.search(rb"^@@ -\d", sample, re.MULTILINE):
            return 0.97
        if re.search(rb"^--- [^\n]+\n\+\+\+ [^\n]+\n@@ -\d", sample, re.MULTILINE):
            return 0.95
    if b"Author: " in sample and re.search(
        rb"^commit [0-9a-f]{40}\b[^\n]*\n(?:Merge: [^\n]*\n)?Author: ", sample, re.MULTILINE
    ):
        return 0.9
    return 0.6 if "git diff" in call.command and re.search(rb"^[+-]", sample, re.MULTILINE) else 0.0


@dataclass(slots=True)
class _File:
    start: int
    name: str
    added: int = 0
    removed: int = 0
    is_counted: bool = True
    end: int = sys.maxsize


class DiffView:
    """One diff, or commits with theirs."""

    def __init__(self, room: Budget, call: Call) -> None:
        self._query = query_for(call.question)
        self._commits = 0
        self._subject_open = False
        self._files: list[_File] = []
        self._open: _File | None = None
        """The one whose hunks are being read."""
        self._files_seen = 0
        self._in_header = False
        """Since a file's first line no hunk has begun."""
        self._old_left = self._new_left = 0
        """Lines of the hunk at hand that are still to come, on either side."""
        self._added_at, self._removed_at = array("Q"), array("Q")
        """Where the changed lines begin."""
        self._known_until = sys.maxsize
        """From here on the places of changed lines are not remembered."""
        self._passages = Passages(
            room, self._query, landmarks=self._marks, force_of=_force, defines=defined_name, lasting=LASTING_WITHIN
        )

    def feed(self, block: Block) -> None:
        self._passages.feed(block)

    def _marks(self, block: Block) -> Iterator[Found]:
        data = block.data
        pending = (data.find(b"\n") + 1 or len(data)) if block.column else 0
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
            self._count(block, pending, start)
            pending = start
            if kind == "minus" and (self._in_header or self._old_left or self._new_left):
                self._in_header = False
                continue  # the second half of a header, or two changed lines that look like one
            if kind == "commit":
                self._commits += 1
                self._subject_open = True
                self._close(block.start + start)
                yield start, 0.8, 1, label[:60]
            elif kind in ("file", "minus"):
                self._close(block.start + start)
                self._in_header = kind == "file"
                name = _name_in(match.group().decode("utf-8", "replace"))
                self._files_seen += 1
                self._open = _File(block.start + start, name, is_counted=not label.startswith(_OTHER_COUNTS))
                if len(self._files) < FILES_KEPT:
                    self._files.append(self._open)
                yield start, 0.35 if _GENERATED.search(name) else 0.75, 3, name[:160]
            else:
                self._open_hunk(match.group())
                pending = match.end() + 1
                yield start, 0.3, 4, label[label.find("@@", 2) + 2 :].strip()[:120]
        self._count(block, pending, len(data))

    def _close(self, end: int) -> None:
        self._old_left = self._new_left = 0
        if self._open:
            self._open.end = end
            self._open = None

    def _open_hunk(self, header: bytes) -> None:
        self._in_header = False
        found = _HUNK.match(header)
        self._old_left, self._new_left = (int(size or 1) for size in found.groups()) if found else (0, 0)
        if found is None and self._open:
            self._open.is_counted = False

    def _count(self, block: Block, start: int, end: int) -> None:
        """Adds the changed lines of a stretch to the file it belongs to, as far as the hunk goes."""
        if start >= end or not ((self._old_left or self._new_left) and self._open):
            return
        part = block.data[start:end]
        added = part.count(b"\n+") + part.startswith(b"+")
        removed = part.count(b"\n-") + part.startswith(b"-")
        noted = part.count(b"\n\\") + part.startswith(b"\\")
        both = part.count(b"\n") + (not part.endswith(b"\n")) - added - removed - noted
        if added + both > self._new_left or removed + both > self._old_left:
            part, added, removed, both = self._counted_by_line(part)
        self._new_left -= added + both
        self._old_left -= removed + both
        self._open.added += added
        self._open.removed += removed
        self._note_places(part, block.start + start)

    def _note_places(self, part: bytes, start: int) -> None:
        if self._known_until < start:
            return
        if len(self._added_at) + len(self._removed_at) > CHANGES_KEPT:
            self._known_until = start
            return
        for places, sign in ((self._added_at, b"+"), (self._removed_at, b"-")):
            if part.startswith(sign):
                places.append(start)
            at = part.find(b"\n" + sign) + 1
            while at:
                places.append(start + at)
                at = part.find(b"\n" + sign, at) + 1

    def _counted_by_line(self, part: bytes) -> tuple[bytes, int, int, int]:
        """As much of the stretch as belongs to the hunk, and its lines: added, removed, on both sides."""
        added = removed = both = at = 0
        for line in part.split(b"\n"):
            old_left, new_left = self._old_left - removed - both, self._new_left - added - both
            if old_left <= 0 and new_left <= 0:
                break
            if line.startswith(b"+"):
                added += 1
            elif line.startswith(b"-"):
                removed += 1
            elif not line.startswith(b"\\"):
                both += 1
            at += len(line) + 1
        return part[: max(0, at - 1)], added, removed, both

    def finish(self, totals: Totals, call: Call) -> ViewSelection:
        passages = self._passages
        asked = bool(self._query)

        def ranked(room: Budget) -> Iterable[Span]:
            return interleave(
                (ASKED_SHARE if asked else 0.0, passages.passages(totals)),
                (1 - ASKED_SHARE if asked else 0.5, passages.outline()),
                (0.0 if asked else 0.5, self._hunks()),
            )

        return ViewSelection("diff", self._headline(), ranked, self._describe)

    def _headline(self) -> str:
        if self._files_seen != len(self._files):
            return ""
        said = counted(len({file.name for file in self._files}), "file") if self._files else ""
        if self._files and all(file.is_counted for file in self._files):
            said += f", +{sum(file.added for file in self._files)} −{sum(file.removed for file in self._files)}"
        commits = counted(self._commits, "commit") if self._commits else ""
        return " in ".join(filter(None, (said, commits)))

    def _hunks(self) -> Iterator[Span]:
        """Whole hunks, the small ones first: more changes are told in the same room."""
        marks = {mark.start: mark for mark in self._passages.landmarks}
        hunks: list[list[Span]] = []
        open_hunk: list[Span] | None = None
        for span, _ in self._passages.atoms():
            mark = marks.get(span.start)
            if mark is not None:
                open_hunk = [] if mark.level == 4 else None
                if open_hunk is not None:
                    hunks.append(open_hunk)
            elif open_hunk and open_hunk[-1].end != span.start:
                open_hunk = None  # its middle is not held
            if open_hunk is not None:
                open_hunk.append(span)
        sized = [(spans[-1].end - spans[0].start, spans) for spans in hunks]
        for size, spans in sorted(sized, key=lambda hunk: (hunk[0], hunk[1][0].start)):
            if size < 6_000:
                yield join(spans)

    def _describe(self, gap: Gap) -> str:
        """The files that begin in a gap, and the one before them if it goes on there; with what changes in the gap."""
        first = bisect_left(self._files, gap.start, key=attrgetter("start"))
        last = bisect_left(self._files, gap.end, lo=first, key=attrgetter("start"))
        if first == last:
            return ""
        inside = self._files[first:last]
        if first and self._files[first - 1].end > gap.start:
            begun = self._files[first - 1]
            inside = inside if self._changes(begun, gap) == (0, 0) else [begun, *inside]
        by_name: dict[str, list[tuple[int, int] | None]] = {}
        for file in inside:
            by_name.setdefault(file.name, []).append(self._changes(file, gap))
        words = ", ".join(name + _sum(changes) for name, changes in islice(by_name.items(), NAMED))
        if last == len(self._files) < self._files_seen:
            return words + ", …"
        return words + (f", {counted(len(by_name) - NAMED, 'more file')}" if len(by_name) > NAMED else "")

    def _changes(self, file: _File, gap: Gap) -> tuple[int, int] | None:
        """Lines added and removed in the part of a file that a gap holds, if that is known."""
        if not file.is_counted:
            return None
        first, last = max(file.start, gap.start), min(file.end, gap.end)
        if (first, last) == (file.start, file.end):
            return file.added, file.removed
        if last > self._known_until:
            return None
        added, removed = self._added_at, self._removed_at
        return (
            bisect_left(added, last) - bisect_left(added, first),
            bisect_left(removed, last) - bisect_left(removed, first),
        )


def _sum(changes: Sequence[tuple[int, int] | None]) -> str:
    """What changes in one file, of which a log of commits may tell several times."""
    known = [one for one in changes if one is not None]
    added, removed = (sum(one[side] for one in known) for side in (0, 1))
    return f" +{added} −{removed}" if None not in changes and (added or removed) else ""


def _name_in(header: str) -> str:
    """The file that a header speaks of: the new one, unless it is no more."""
    first, _, second = header.partition("\n")
    if not second:
        return first.split(" b/")[-1] if " b/" in first else first.split()[-1]
    old, new = (line[4:].split("\t")[0].strip() for line in (first, second))
    name = old if new == "/dev/null" else new
    return name[2:] if name.startswith(("a/", "b/")) else name


def _force(data: bytes) -> float:
    first = data[:1]
    if first in (b"+", b"-"):
        return 1.3
    return 1.4 if data.startswith(b"    ") and not data.startswith(b"     ") else 0.9
