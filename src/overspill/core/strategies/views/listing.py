"""Listings of files and trees: directories with their counts and sizes, the odd ones out, every error.

One line is one entry; a line that ends in a colon after an empty one opens a directory (as ``ls -R`` prints).
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from overspill.core.model import Block, Budget, Call, Gap, Span, Totals
from overspill.core.strategies.views.landmarks import Found
from overspill.core.strategies.views.offers import ViewSelection, counted, interleave
from overspill.core.strategies.views.passages import Passages
from overspill.core.strategies.views.query_terms import query_for

DIRECTORIES_KEPT = 8_000
ODD_KEPT = 24
RARE_KEPT = 6
"""Entries of a mode or an ending that has more than four times as many are nothing special."""
TROUBLE_KEPT = 400
LINEAGES_KEPT = 2_000
_TROUBLE = (
    rb"(?i)permission denied|no such file|cannot (?:access|open)|not permitted|input/output error|unmet |"
    rb"missing:|invalid:|extraneous|elsproblems|error: "
)
_ODD_WORDS = re.compile(
    r"\b(?:large|larger|largest|big|bigger|biggest|small|smallest|size|sizes|new|newer|newest|old|older|oldest|recent|latest|empty|"
    r"executable|permission|permissions|symlink|links?|owner|unusual|odd|rare|extension|extensions|space|disk)\b",
    re.IGNORECASE,
)
_LS = re.compile(rb"(?P<mode>[-bcdlpsDCM?][-rwxsStTl]{9}[.+@]?)\s+\d+\s+\S+\s+\S+\s+(?P<size>\d+(?:\.\d+)?[KMGTP]?)\s")
_SIZED = re.compile(rb"(?P<size>\d+(?:\.\d+)?[KMGTP]?)\s+\S")
_DATE = re.compile(rb"\b(\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?)")
_TREE = re.compile(
    rb"^(?:[\s\xe2\x94\x82\x82|`+\\-]|\xe2\x94[\x80-\xbf]|\xc2\xa0)*(?:\xe2\x94\x80|--|-- )\s?", re.MULTILINE
)
_BRANCH = re.compile(rb"^(?:[\s|`+\\-]|\xe2[\x94\x95][\x80-\xbf]|\xc2\xa0)+")
_BRANCH_ENDS = (b"\xe2\x94\x80", b"-- ")
_LISTER = re.compile(
    r"(?:^|[|;&(]\s*|\s)(?:ls|find|tree|du|dir|fd|exa|eza|ncdu|locate|npm ls|pip list|git ls-files|tar -?t\w*)\b"
)
_PATH = re.compile(rb"^(?:\S+\s+){0,5}(?:\.{0,2}/|[\w.-]+/)[^\s:]*$")
_NUMBERED = re.compile(rb":\d+[:-]")
_NO_ENTRY = re.compile(
    rb"total |(?:ls|find|du|df|tree|fd|tar|rsync)(?: error| warning)?: |\[error\]: |"
    rb"Filesystem +(?:\S+-blocks|Size|Inodes|Type|Mounted) |(?:sending|receiving) incremental |sent [\d,.]+\w? bytes "
)
"""How lines begin that a lister says about its entries."""
_UNITS = {b"K": 1 << 10, b"M": 1 << 20, b"G": 1 << 30, b"T": 1 << 40, b"P": 1 << 50}


def sniff(sample: bytes, call: Call) -> float:
    """By the share of lines that are entries: modes, paths, branches of a tree."""
    lines = [line for line in sample.split(b"\n")[:400] if line.strip()]
    if len(lines) < 4:
        return 0.0
    listed = bool(_LISTER.search(call.command)) or call.tool.lower() in ("ls", "find", "glob", "list", "tree")
    least = 0.3 if listed else 0.7
    share = 1.0
    others = (line for line in lines if not _is_entry(line))
    for number, _ in enumerate(others, 1):
        share = (len(lines) - number) / len(lines)
        if share <= least:
            return 0.0
    if share > 0.7:
        return 0.95 if listed else 0.75
    return 0.55


def _is_entry(line: bytes) -> bool:
    return bool(
        _LS.match(line) or _PATH.match(line.strip()) or _TREE.match(line) or _opens(line) or line.startswith(b"total ")
    )


def _opens(line: bytes) -> bool:
    """Whether a directory begins here; a colon also ends many a line that a search has found."""
    return line.endswith(b":") and not _LS.match(line) and not _NUMBERED.search(line)


class _Directory(NamedTuple):
    start: int
    line: int
    name: bytes


def size_of(text: bytes) -> float:
    """Bytes of a size as printed (``12K``)."""
    return float(text[:-1]) * _UNITS[text[-1:]] if text[-1:] in _UNITS else float(text)


class ListingView:
    """The entries of one listing."""

    def __init__(self, room: Budget, call: Call) -> None:
        import re2

        self._errors = re2.compile(_TROUBLE)
        self._reported: set[bytes] = set()
        self._branch: list[tuple[int, Span]] = []
        self._lineage: dict[int, tuple[Span, ...]] = {}
        self._asks_odd = bool(_ODD_WORDS.search(call.question))
        self._query = query_for(call.question)
        self._directories: list[_Directory] = []
        self._dropped = False
        self._largest: list[tuple[Any, int, Span]] = []
        self._newest: list[tuple[Any, int, Span]] = []
        self._modes: Counter[bytes] = Counter()
        self._endings: Counter[bytes] = Counter()
        self._rare: dict[bytes, list[Span]] = {}
        self._trouble: list[Span] = []
        self._entries = 0
        self._after_blank = True
        self._long = False
        self._sized: bool | None = None
        self._passages = Passages(room, self._query, landmarks=self._marks, force_of=_force, reach=0)

    def feed(self, block: Block) -> None:
        self._passages.feed(block)

    def _marks(self, block: Block) -> Iterator[Found]:
        data, line, at = block.data, block.line, 0
        if block.column:
            at, line = data.find(b"\n") + 1 or len(data), line + 1
        if self._sized is None:
            sample = data[:20_000].split(b"\n")[1:100]
            self._sized = sum(1 for entry in sample if _SIZED.match(entry)) > 0.8 * len(sample)
        self._note_trouble(block)
        while at < len(data):
            end = data.find(b"\n", at) + 1 or len(data)
            text = data[at:end].rstrip()
            opens, self._after_blank = self._after_blank, not text
            if opens and _opens(text):
                if len(self._directories) < DIRECTORIES_KEPT:
                    self._directories.append(_Directory(block.start + at, line, text[:-1]))
                else:
                    self._dropped = True
                yield at, 0.4 - 0.05 * text.count(b"/"), 1, text[:-1].decode("utf-8", "replace")
            elif text:
                self._entries += _NO_ENTRY.match(text) is None
                entry = Span(block.start + at, data[at:end], line)
                if len(text) < 4_000:
                    self._weigh(entry, text)
                    if not self._long:
                        self._climb(entry, text)
            at, line = end, line + 1

    def _note_trouble(self, block: Block) -> None:
        """Every line that reports an error, once for each text."""
        data, done, line, placed = block.data, 0, block.line, 0
        for match in self._errors.finditer(data):
            if match.start() < done or len(self._trouble) >= TROUBLE_KEPT:
                continue
            start = data.rfind(b"\n", 0, match.start()) + 1
            done = data.find(b"\n", match.end()) + 1 or len(data)
            line += data.count(b"\n", placed, start)
            placed = start
            text = _BRANCH.sub(b"", data[start:done])
            if (start or not block.column) and done - start < 4_000 and text not in self._reported:
                self._reported.add(text)
                self._trouble.append(Span(block.start + start, data[start:done], line))

    def _climb(self, span: Span, text: bytes) -> None:
        """Remembers what a branch hangs on, when the question may ask for the branch."""
        at = max(text.rfind(mark) for mark in _BRANCH_ENDS)
        if at < 0:
            return
        while self._branch and self._branch[-1][0] >= at:
            self._branch.pop()
        if self._query and len(self._lineage) < LINEAGES_KEPT and self._query.mask(text):
            self._lineage[span.start] = tuple(above for _, above in self._branch)
        self._branch.append((at, span))

    def _with_branches(self, spans: Iterable[Span]) -> Iterator[Span]:
        for span in spans:
            yield span
            for line in span.lines():
                yield from reversed(self._lineage.get(line.start, ()))

    def _weigh(self, span: Span, text: bytes) -> None:
        """Keeps the entry if it stands out so far: by size, age, mode or ending."""
        listed = _LS.match(text)
        sized = listed or (_SIZED.match(text) if self._sized else None)
        if listed:
            self._long = True
            mode = listed.group("mode")[:10]
            self._count(b"mode " + mode, span, self._modes)
            if text.startswith(b"total "):
                return
        if sized:
            entry = (size_of(sized.group("size")), -span.start, span)
            if not (listed and text[:1] == b"d"):
                _keep(self._largest, entry)
        dated = _DATE.search(text)
        if dated:
            _keep(self._newest, (dated.group(), -span.start, span))
        name = text.rsplit(b"/", 1)[-1].rsplit(None, 1)[-1] if text.rsplit(b"/", 1)[-1].strip() else text
        ending = name.rsplit(b".", 1)[-1] if b"." in name[1:] else b""
        if len(ending) <= 8:
            self._count(b"." + ending, span, self._endings)

    def _count(self, key: bytes, span: Span, counts: Counter[bytes]) -> None:
        if key in counts or len(counts) < 500:
            counts[key] += 1
            if counts[key] <= RARE_KEPT:
                self._rare.setdefault(key, []).append(span)
            elif counts[key] == 4 * RARE_KEPT:
                self._rare.pop(key, None)

    def finish(self, totals: Totals, call: Call) -> ViewSelection:
        passages = self._passages
        asked = bool(self._query)

        def ranked(room: Budget) -> Iterable[Span]:
            return interleave(
                (0.15, iter(self._trouble)),
                (0.7 if asked else 0.0, self._with_branches(passages.passages(totals))),
                (0.5 if self._asks_odd or not asked else 0.1, self._odd()),
                (0.03 if asked else 0.4, passages.outline()),
                (0.03, passages.edges(120, 60)),
            )

        headline = counted(self._entries, "entry", "entries")
        if self._directories and not self._dropped:
            headline += f" in {counted(len(self._directories), 'directory', 'directories')}"
        return ViewSelection("listing", headline, ranked, self._describe)

    def _odd(self) -> Iterator[Span]:
        largest = [entry[2] for entry in sorted(self._largest, reverse=True)]
        newest = [entry[2] for entry in sorted(self._newest, reverse=True)]
        if len(self._newest) > 1 and self._newest and min(self._newest)[0] == max(self._newest)[0]:
            newest = []
        modes = sorted((key for key in self._rare if key in self._modes), key=lambda key: (self._modes[key], key))
        rare_modes = [span for key in modes for span in self._rare[key]]
        endings = sorted((key for key in self._rare if key in self._endings), key=lambda key: (self._endings[key], key))
        rare_endings = [span for key in endings for span in self._rare[key][:2]]
        yield from interleave(
            (1.2, iter(rare_modes)), (1.0, iter(largest)), (0.5, iter(newest)), (0.3, iter(rare_endings))
        )

    def _describe(self, gap: Gap) -> str:
        if self._dropped or not self._directories:
            return ""
        inside = [place for place in self._directories if gap.first_line <= place.line <= gap.last_line]
        if not inside:
            return ""
        names = ", ".join(_short(place.name.decode("utf-8", "replace")) for place in inside[:2])
        rest = len(inside) - 2
        return names + (f" and {counted(rest, 'more directory', 'more directories')}" if rest > 0 else "")


def _short(name: str) -> str:
    """A long path's end says more than its start, which others share."""
    return name if len(name) <= 60 else "…" + name[-59:]


def _keep(heap: list[tuple[Any, int, Span]], entry: tuple[Any, int, Span]) -> None:
    """Keeps an entry if it is among the largest; of equal ones the first."""
    if len(heap) < ODD_KEPT:
        heapq.heappush(heap, entry)
    elif heap[0][:2] < entry[:2]:
        heapq.heapreplace(heap, entry)


def _force(data: bytes) -> float:
    """Lines that only hold a listing together are no entries."""
    text = data.rstrip()
    return 0.3 if text.endswith((b" .", b" ..")) or text.startswith(b"total ") else 1.0
