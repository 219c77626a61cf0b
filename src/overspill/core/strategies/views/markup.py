"""HTML, XML and Markdown, and texts with underlined headings: the outline, and the passages that answer.

In HTML and XML what a reader of the page would see counts; hits inside tags, scripts and
styles count little.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator

from overspill.core.model import Block, Budget, Call, Gap, Span, Totals
from overspill.core.strategies.views.atoms import ATOM_BYTES
from overspill.core.strategies.views.landmarks import Found, names_within
from overspill.core.strategies.views.offers import ASKED_SHARE, ViewSelection, interleave, room_bytes
from overspill.core.strategies.views.passages import Passages
from overspill.core.strategies.views.query_terms import query_for

_HTML_MARK = re.compile(
    rb"<(?:h(?P<level>[1-6])\b|(?P<title>title)\b|(?P<term>dt)\b|(?P<caption>caption|figcaption|summary|legend)\b)",
    re.IGNORECASE,
)
_MARKDOWN_MARK = re.compile(
    rb"^(?:(?P<hashes>#{1,6})[ \t]+\S[^\n]*|(?P<under>\S[^\n]{0,150})\r?\n(?P<rule>={3,}|-{3,}|~{3,}|\*{3,})[ \t]*\r?$"
    rb"|<h(?P<html>[1-6])\b[^\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
_HEADING_SIGNS = (b"\n#", b"\n---", b"\n===", b"\n~~~", b"\n***", b"\n<h", b"\n<H")
"""What stands in a text of two headings or more."""
_TAG = re.compile(r"<[^<>]*>|&#?\w+;")
_UNSEEN = re.compile(r"<(script|style|svg)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_ELEMENT_ENDS = re.compile(rb"</(h[1-6]|title|caption|figcaption|summary|legend)\s*>", re.IGNORECASE)
_TAGS = re.compile(rb"</?[A-Za-z!?][^<>\n]{0,200}>")
_BLOCK_TAGS = re.compile(rb"</(?:p|div|li|td|span|dd|section|item|entry)>|<(?:meta|link|br|td|\w+:\w+)\b")
_PARTS = re.compile(
    rb"<(?:h[1-6]|p|li|tr|dt|dd|pre|section|article|table|[uod]l|title|caption|figcaption|summary|legend|script|style|svg)\b",
    re.IGNORECASE,
)
"""Tags that begin something of its own, wherever in a line they stand."""
_RAW = re.compile(rb"<(?:script|style|svg)\b", re.IGNORECASE)
_RAW_END = re.compile(rb"</(?:script|style|svg)\s*>", re.IGNORECASE)


def sniff(sample: bytes, call: Call) -> float:
    """By a document's first tag, or the number of tags; Markdown by its headings, lists and fences."""
    head = sample[:2_000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith((b"<!doctype", b"<html", b"<?xml", b"<rss", b"<feed", b"<svg")):
        return 0.95
    if head.startswith(b"<") and len(_TAGS.findall(sample)) * 60 > len(sample):
        return 0.8
    if not any(mark in sample for mark in _HEADING_SIGNS):
        return 0.0
    lines = [line for line in sample.split(b"\n") if line.strip()]
    if len(lines) < 5:
        return 0.0
    marked = sum(line.lstrip().startswith((b"* ", b"- ", b"> ", b"```", b"|", b"1. ", b"<h")) for line in lines)
    named = bool(re.search(r"\.(?:md|markdown|rst|adoc|txt|html?|xml)\b|README|NOTES|CHANGE", call.command))
    if not named and marked <= 0.12 * len(lines):
        return 0.0
    headings = len(_MARKDOWN_MARK.findall(sample))
    hashes = sum(line.startswith(b"#") and not line.startswith((b"# ", b"## ", b"### ", b"####")) for line in lines)
    if headings >= 2 and not hashes > headings:
        return 0.75 if named or marked > 0.3 * len(lines) else 0.6
    return 0.0


def _html_marks(block: Block) -> Iterator[Found]:
    data = block.data
    last = -1
    for match in _HTML_MARK.finditer(data):
        start = data.rfind(b"\n", 0, match.start()) + 1
        if match.start() - start > ATOM_BYTES:
            start = match.start()
        if start == last or (start == 0 and block.column):
            continue
        last = start
        most = min(match.start() + 400, len(data))
        ends = _ELEMENT_ENDS.search(data, match.end(), most)
        line_end = data.find(b"\n", match.start(), most)
        is_closed = ends and ends.group(1).lower() == match.group()[1:].lower()
        end = ends.start() if ends and is_closed else line_end if line_end >= 0 else most
        text = data[match.start() : end].decode("utf-8", "replace")
        label = " ".join(_TAG.sub(" ", _UNSEEN.sub(" ", text)).split())[:120]
        kind = match.lastgroup
        if kind == "level":
            level = int(match.group("level"))
            yield start, 0.9 - 0.08 * level, level, label
        elif kind == "term":
            yield start, 0.2, 7, label + " " + text[:120]
        else:
            yield start, 0.95 if kind == "title" else 0.3, 0, label


def _markdown_marks(block: Block) -> Iterator[Found]:
    data = block.data
    for match in _MARKDOWN_MARK.finditer(data):
        if match.start() == 0 and block.column:
            continue
        label = match.group().split(b"\n")[0].strip().decode("utf-8", "replace")
        if match.group("hashes"):
            level = len(match.group("hashes"))
        elif match.group("html"):
            level, label = int(match.group("html")), _TAG.sub("", label)
        else:
            rule = match.group("rule")[:1]
            level = 1 if rule == b"=" else 2
            if not any(ch.isalpha() for ch in label):
                continue
        yield match.start(), 0.9 - 0.1 * level, level, label.lstrip("# ")[:120]


def _in_tag(data: bytes, at: int) -> bool:
    low = max(0, at - 300)
    return data.rfind(b"<", low, at) > data.rfind(b">", low, at)


class MarkupView:
    """One page or document."""

    def __init__(self, room: Budget, call: Call) -> None:
        self._room = room
        self._query = query_for(call.question)
        self._passages: Passages | None = None
        self._html = False
        self._raw: list[tuple[int, int]] = []
        """Where in the block at hand scripts, styles and drawings stand."""
        self._raw_open = False

    def feed(self, block: Block) -> None:
        if self._passages is None:
            sample = block.data[:40_000]
            self._html = len(_BLOCK_TAGS.findall(sample)) * 300 > len(sample)
            self._passages = Passages(
                self._room,
                self._query,
                landmarks=_html_marks if self._html else _markdown_marks,
                counts_hit=self._is_read if self._html else None,
                begins=_PARTS if self._html else None,
            )
        if self._html:
            self._find_raw(block.data)
        self._passages.feed(block)

    def _find_raw(self, data: bytes) -> None:
        self._raw.clear()
        at = 0
        while at < len(data):
            opens = None if self._raw_open else _RAW.search(data, at)
            if not self._raw_open and opens is None:
                break
            start = opens.end() if opens else at
            ends = _RAW_END.search(data, start)
            at = ends.end() if ends else len(data)
            self._raw.append((start, at))
            self._raw_open = ends is None

    def _is_read(self, data: bytes, at: int) -> bool:
        """Whether a reader of the page would see what stands here."""
        before = bisect.bisect_right(self._raw, (at, len(data))) - 1
        return not (before >= 0 and at < self._raw[before][1]) and not _in_tag(data, at)

    def finish(self, totals: Totals, call: Call) -> ViewSelection:
        passages = self._passages
        if passages is None:
            return ViewSelection("markup", "", lambda room: ())

        def ranked(room: Budget) -> Iterable[Span]:
            size = room_bytes(room)
            return interleave(
                (0.05, passages.edges(min(300, size // 16), 0)),
                (ASKED_SHARE if self._query else 0.0, passages.passages(totals)),
                (1 - ASKED_SHARE if self._query else 0.9, passages.outline()),
            )

        title = next((mark.label for mark in passages.landmarks if mark.label), "")
        return ViewSelection("HTML" if self._html else "document", title[:100], ranked, self._describe)

    def _describe(self, gap: Gap) -> str:
        assert self._passages is not None
        inside = [mark for mark in names_within(self._passages.landmarks, gap, most=30) if 0 < mark.level < 7]
        best = sorted(sorted(inside, key=lambda mark: (mark.level, mark.start))[:3], key=lambda mark: mark.start)
        words = ", ".join(f"“{mark.label[:40]}” {mark.line}" for mark in best)
        return words + (", …" if len(inside) > len(best) else "")
