"""Search hits: every file with its count, and the hits that say most.

One line is one hit; lines of context, and lines that name no file, belong to the search without counting for one.
"""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

from overspill.core.model import Block, Budget, Call, Gap, Span, Totals
from overspill.core.strategies.views.landmarks import Found
from overspill.core.strategies.views.offers import Replay, ViewSelection, counted, interleave
from overspill.core.strategies.views.passages import Passages
from overspill.core.strategies.views.query_terms import query_for

RUNS_KEPT = 20_000
_HIT = re.compile(rb"^(?P<path>(?:[A-Za-z]:)?[^:\n\x00]{1,300}?)[:-](?P<number>\d+)[:-]", re.MULTILINE)
_MATCH = re.compile(rb"(?P<path>(?:[A-Za-z]:)?[^:\s\x00]{1,300}?):(?P<number>\d+)[:-]")
_CONTEXT = re.compile(rb"(?P<path>(?:[A-Za-z]:)?[^:\n\x00]{1,300}?)-(?P<number>\d+)-")
"""What a searcher prints beside a hit when it was asked for context."""
_PLAIN_HIT = re.compile(rb"^(?P<path>[\w./@+-]+[./][\w./@+-]*):", re.MULTILINE)
_SEARCH = re.compile(
    r"(?:^|[|;&(]\s*|\s)(?:[ef]?grep|rg|ag|ack|ripgrep|git\s+grep|findstr|Select-String)\b|grep|search", re.IGNORECASE
)
_DEFINES = re.compile(
    rb"^[\s:\d-]*(?:export |public |static |async |pub |private )*"
    rb"(?:def|class|function|func|fn|struct|interface|type|enum|trait|const|#define)\b"
)
_DIAGNOSTIC = re.compile(rb":\d+(?::\d+)?:? *(?:error|warning|note|[A-Z]+\d{2,4})\b")
_IMPORTS = re.compile(rb"^\s*(?:from\s+\S+\s+import|import|#include|use |require|\} from)\b")


def sniff(sample: bytes, call: Call) -> float:
    """By the share of lines that begin with a path and a number, or a path alone for a known searcher."""
    lines = [line for line in sample.split(b"\n")[:300] if line.strip()]
    if len(lines) < 3:
        return 0.0
    searched = bool(_SEARCH.search(f"{call.tool} {call.command}"))
    numbered = [match for line in lines if (match := _HIT.match(line)) and _looks_like_path(match.group("path"))]
    share = len(numbered) / len(lines)
    if share > 0.6:
        diagnostic = sum(
            1 for line in lines if re.search(rb":\d+(?::\d+)?:? *(?:error|warning|note|[A-Z]+\d{2,4})\b", line)
        )
        if not searched and diagnostic > 0.3 * len(lines):
            return 0.2
        return 0.95 if searched else 0.7
    if not searched:
        return 0.0
    plain = sum(1 for line in lines if _PLAIN_HIT.match(line)) / len(lines)
    return 0.85 if plain > 0.6 else 0.5 + 0.1 * plain


def _looks_like_path(path: bytes) -> bool:
    return b"/" in path or b"." in path or b"\\" in path


class _Run(NamedTuple):
    start: int
    line: int
    path: bytes


class SearchView:
    """The hits of one search."""

    def __init__(self, room: Budget, call: Call) -> None:
        words = " ".join(re.findall(r"['\"]([^'\"]{2,60})['\"]", call.command))
        self._query = query_for(call.question)
        self._pattern = words
        self._runs: list[_Run] = []
        self._runs_dropped = False
        self._files: Counter[bytes] = Counter()
        self._current = b""
        self._last_path = b""
        self._passages = Passages(room, self._query, landmarks=self._marks, force_of=_force, reach=1)

    def feed(self, block: Block) -> None:
        self._passages.feed(block)

    def _marks(self, block: Block) -> Iterator[Found]:
        """The first hit of each file, and hits that define something."""
        data, line, at = block.data, block.line, 0
        if block.column:
            at = data.find(b"\n") + 1 or len(data)
            line += 1
        while at < len(data):
            end = data.find(b"\n", at) + 1 or len(data)
            before = self._last_path
            match = self._hit_at(data, at, min(end, at + 330))
            if match is not None and _looks_like_path(match.group("path")):
                path = match.group("path")
                self._files[path] += 1
                text = data[match.end() : min(end, match.end() + 200)]
                if path != self._current:
                    self._current = path
                    if len(self._runs) < RUNS_KEPT:
                        self._runs.append(_Run(block.start + at, line, path))
                    else:
                        self._runs_dropped = True
                if path != before:
                    yield at, 0.5 + _worth(text), 0, path.decode("utf-8", "replace")
                elif _DEFINES.match(text):
                    yield at, 0.45 + _worth(text), 0, path.decode("utf-8", "replace")
            elif self._current:
                self._current = b""
                if len(self._runs) < RUNS_KEPT:
                    self._runs.append(_Run(block.start + at, line, b""))
            at, line = end, line + 1
            if len(self._files) > RUNS_KEPT:
                self._runs_dropped = True
                self._files.clear()

    def _hit_at(self, data: bytes, at: int, end: int) -> re.Match[bytes] | None:
        context = _CONTEXT.match(data, at, end)
        if context is not None and context.group("path") in (self._current, self._last_path):
            return None
        match = _MATCH.match(data, at, end)
        if match is None and context is None:
            match = _HIT.match(data, at, end) or _PLAIN_HIT.match(data, at, end)
        if match is not None:
            self._last_path = match.group("path")
        return match

    def finish(self, totals: Totals, call: Call) -> ViewSelection:
        passages = self._passages
        asked = bool(self._query)
        spread_out = Replay(self._spread_out(passages.outline()))

        def ranked(room: Budget) -> Iterable[Span]:
            return interleave(
                (0.75 if asked else 0.0, passages.passages(totals)),
                (0.25 if asked else 0.95, spread_out),
                (0.05, passages.edges(1, 1)),
            )

        headline = ""
        if self._files and not self._runs_dropped:
            top = ", ".join(
                f"{path.decode('utf-8', 'replace')} ×{count}"
                for path, count in sorted(self._files.items(), key=lambda entry: (-entry[1], entry[0]))[:3]
            )
            headline = f"{counted(self._files.total(), 'hit')} in {counted(len(self._files), 'file')}: {top}"
        return ViewSelection("search hits", headline, ranked, self._describe)

    def _spread_out(self, spans: Iterable[Span]) -> Iterator[Span]:
        """Rare kinds of hits before the many alike, folders in turn."""
        seen: Counter[bytes] = Counter()
        ranked = []
        for order, span in enumerate(spans):
            path, _, text = span.data.partition(b":")
            words = b" ".join(re.findall(rb"[A-Za-z_]{3,}", text)[:6])
            folder = path.rsplit(b"/", 1)[0]
            seen[words] += 1
            seen[folder] += 1
            ranked.append((seen[words] * 3 + seen[folder], order, span))
        for _, _, span in sorted(ranked, key=lambda entry: entry[:2]):
            yield span

    def _describe(self, gap: Gap) -> str:
        if self._runs_dropped or not self._runs or gap.first_column or gap.last_column is not None:
            return ""
        first = max(0, bisect.bisect_right(self._runs, gap.first_line, key=attrgetter("line")) - 1)
        counts: Counter[bytes] = Counter()
        for index in range(first, len(self._runs)):
            run = self._runs[index]
            if run.line > gap.last_line:
                break
            until = self._runs[index + 1].line - 1 if index + 1 < len(self._runs) else gap.last_line
            lines = min(until, gap.last_line) - max(run.line, gap.first_line) + 1
            if run.path and lines > 0:
                counts[run.path] += lines
        if not counts:
            return ""
        ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
        words = ", ".join(f"{path.decode('utf-8', 'replace')} ×{count}" for path, count in ranked[:4])
        rest = len(ranked) - 4
        return words + (f", {counted(rest, 'more file')} ×{sum(count for _, count in ranked[4:])}" if rest > 0 else "")


def _worth(text: bytes) -> float:
    if _DEFINES.match(text):
        return 0.3
    return -0.2 if _IMPORTS.match(text) else 0.0


def _force(data: bytes) -> float:
    match = _HIT.match(data)
    return 1.0 + _worth(data[match.end() :]) if match else 0.9
