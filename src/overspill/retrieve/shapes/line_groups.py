"""Outputs whose lines belong to files or directories: diffs, listings, search hits."""

from __future__ import annotations

import re
from collections import Counter

from overspill.retrieve.shapes.model import Landmark, Shape, Stretch

_DIFF = re.compile(
    rb"^(?:commit ([0-9a-f]{7,40})\b|diff --git (?:\S+) b/([^\n]+)|(?:Index: |diff -\S+ \S+ )([^\n]+)|(@@ -[^\n]*)|"
    rb"([+-]))",
    re.MULTILINE,
)
_HIT = re.compile(rb"^([^\s:][^\n:]{0,300}):(?:\d+[:-]|[^\n/])")
_GREP_CONTEXT = re.compile(rb"^([^\s:][^\n:]{0,300}?)-\d+-")


def diff(stretch: Stretch) -> Shape:
    """Each file with its changed lines, each hunk with what it is in."""
    marks: list[Landmark] = []
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    commits, current, in_hunk = 0, "", False
    for block in stretch.blocks():
        line, at = block.line, 0
        for found in _DIFF.finditer(block.data):
            if found.start() == 0 and block.column:
                continue
            commit, file, other, hunk, sign = found.groups()
            if sign:
                if in_hunk:
                    (added if sign == b"+" else removed)[current] += 1
                continue
            line += block.data.count(b"\n", at, found.start())
            at = found.start()
            if commit:
                commits, in_hunk = commits + 1, False
                marks.append(Landmark(line, "commit " + commit[:9].decode(), 1))
            elif hunk:
                in_hunk = True
                name = hunk.partition(b" @@")[2].decode("utf-8", "replace").strip()
                marks.append(Landmark(line, f"@@ {name[:40]}".strip(), 3))
            else:
                in_hunk = False
                current = (file or other).decode("utf-8", "replace").strip()
                marks.append(Landmark(line, current, 2))
    named = [
        mark._replace(name=f"{mark.name} +{added[mark.name]} −{removed[mark.name]}") if mark.level == 2 else mark
        for mark in marks
    ]
    files = sorted({mark.name for mark in marks if mark.level == 2})
    headline = f"{len(files)} files, +{added.total()} −{removed.total()}" + (
        f" in {commits} commits" if commits else ""
    )
    facts = {"files": {name: (added[name], removed[name]) for name in files}, "commits": commits}
    return Shape("diff", headline, landmarks=named, facts=facts)


def listing(stretch: Stretch) -> Shape:
    """Where each directory begins, with the number of its entries."""
    marks: list[Landmark] = []
    counts: Counter[str] = Counter()
    current, entries = "", 0
    for block in stretch.blocks():
        for span in block.lines():
            if span.column:
                continue
            text = span.data.decode("utf-8", "replace").rstrip()
            if not text:
                continue
            if text.endswith(":") and not re.match(r"[-dlcbps][rwx-]{9}", text):
                current = text[:-1]
                marks.append(Landmark(span.line, current, 1 + current.count("/")))
                continue
            entries += 1
            path = text.split(None, 10)[-1] if "/" in text else ""
            if path and ":" not in (marks[-1].name if marks else ""):
                directory = path.rpartition("/")[0]
                if directory and directory != current:
                    current = directory
                    marks.append(Landmark(span.line, directory, 1 + directory.count("/")))
            counts[current] += 1
    return Shape(
        "listing", f"{entries} entries", landmarks=marks, facts={"entries": entries, "directories": dict(counts)}
    )


def search_hits(stretch: Stretch) -> Shape:
    """Each file with its number of hits and its first one."""
    first: dict[str, int] = {}
    counts: Counter[str] = Counter()
    for block in stretch.blocks():
        for span in block.lines():
            found = None if span.column else _HIT.match(span.data[:400])
            if found is None or _GREP_CONTEXT.match(span.data[:400]):
                continue
            path = found.group(1).decode("utf-8", "replace")
            first.setdefault(path, span.line)
            counts[path] += 1
    marks = [Landmark(line, f"{path} ×{counts[path]}") for path, line in first.items()]
    headline = f"{counts.total()} hits in {len(counts)} files"
    return Shape("search hits", headline, landmarks=marks, facts={"hits": dict(counts), "first_lines": first})
