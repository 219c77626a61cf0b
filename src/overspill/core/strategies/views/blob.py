"""What nobody reads line by line: binaries, base64, minified code.

Says what it is, shows how it begins and ends, the meaningful strings of a binary, and the
surroundings of the question's terms.
"""

from __future__ import annotations

import base64
import binascii
import heapq
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate

from overspill.core.measure import cut_after, cut_before
from overspill.core.model import Block, Budget, Call, Gap, Span, Totals
from overspill.core.strategies.views.landmarks import Found
from overspill.core.strategies.views.offers import ViewSelection, interleave, room_bytes
from overspill.core.strategies.views.passages import Passages
from overspill.core.strategies.views.query_terms import query_for, worths

STRINGS_KEPT = 600
_MAGIC = (
    (b"\x7fELF", "ELF program"), (b"\x89PNG", "PNG image"), (b"\xff\xd8\xff", "JPEG image"), (b"GIF8", "GIF image"),
    (b"%PDF", "PDF document"), (b"PK\x03\x04", "zip archive"), (b"\x1f\x8b", "gzip data"), (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"), (b"\x28\xb5\x2f\xfd", "zstd data"), (b"MZ", "Windows program"),
    (b"\xca\xfe\xba\xbe", "Java class or universal binary"), (b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (b"SQLite format 3", "SQLite database"), (b"RIFF", "RIFF media"), (b"OggS", "Ogg media"),
    (b"wOFF", "web font"), (b"wOF2", "web font"), (b"\x00asm", "WebAssembly module"), (b"ID3", "MP3 audio"),
)  # fmt: skip
_BASE64_LINE = re.compile(rb"[A-Za-z0-9+/_-]{40,}={0,2}\r?$")
_STRING = re.compile(rb"[\x20-\x7e\t]{5,400}")
_WORDS = re.compile(rb"[A-Za-z][a-z]{2,}|[A-Z]{3,}")
_TELLING = re.compile(
    rb"\.so\b|\.dll\b|\.dylib|https?://|GCC:|clang|rustc|Go build|version|\d+\.\d+\.\d+|copyright|licen[cs]e|error|"
    rb"usage:|fail|cannot|invalid|%s|password|secret|key|/(?:usr|lib|etc|home|opt|var|tmp)/|flag\{|BuildID",
    re.IGNORECASE,
)
_NOTABLE = re.compile(
    rb"(?:VERSION|version)[\"']?\s*[:=]\s*[\"']\d[\w.+-]*|/\*![^*]{0,300}|@license[^\n*]{0,120}|sourceMappingURL=[^\s*]{1,80}"
)


def sniff(sample: bytes, call: Call) -> float:
    """By control bytes, by lines of nothing but base64, by very long lines with hardly a blank."""
    if len(sample) < 200:
        return 0.0
    kind = form_of(sample)
    return {"binary": 0.97, "base64": 0.95, "minified": 0.7}.get(kind, 0.0)


def form_of(sample: bytes) -> str:
    """``binary``, ``base64``, ``minified`` or nothing of these."""
    odd = len(sample) - len(sample.translate(None, bytes([*range(8), 11, *range(14, 27), *range(28, 32), 127])))
    if (sample.count(b"\0") > 2 and odd > 0.02 * len(sample)) or odd > 0.1 * len(sample):
        return "binary"
    lines = [line for line in sample.split(b"\n")[:-1] or [sample] if line.strip()]
    most = sum(map(len, lines))
    others = accumulate(len(line) for line in lines if not _BASE64_LINE.match(line))
    if lines and not any(most - other <= 0.9 * most for other in others):
        return "base64"
    long = sum([len(line) for line in lines if len(line) > 400])
    if long <= 0.7 * len(sample):
        return ""
    blanks = sample.count(b" ") + sample.count(b"\n")
    code = sum(sample.count(sign) for sign in (b"(", b"{", b";", b"=", b","))
    if blanks < 0.1 * len(sample) and code > 0.08 * len(sample):
        return "minified"
    return ""


def magic_of(head: bytes) -> str:
    """What the first bytes say the data is; empty when they say nothing."""
    return next((name for magic, name in _MAGIC if head.startswith(magic)), "")


class BlobView:
    """One blob."""

    def __init__(self, room: Budget, call: Call) -> None:
        self._room = room
        self._query = query_for(call.question)
        self._form: str | None = None
        self._head = b""
        self._counts = [0] * len(self._query.terms)
        self._strings: list[tuple[float, int, Span, int]] = []
        self._passages = Passages(room, self._query, landmarks=self._marks, reach=0)

    def feed(self, block: Block) -> None:
        if self._form is None:
            self._form = form_of(block.data[: 64 * 1024]) or "minified"
            self._head = block.data[:64]
        if self._form == "binary":
            self._take_strings(block)
        self._passages.feed(block)

    def _marks(self, block: Block) -> Iterator[Found]:
        if self._form == "minified":
            for match in _NOTABLE.finditer(block.data):
                yield match.start(), 0.6, 0, match.group()[:60].decode("utf-8", "replace")

    def _take_strings(self, block: Block) -> None:
        """Printable stretches that look as if someone wrote them."""
        data = block.data
        placed, line, line_start = 0, block.line, -block.column
        for match in _STRING.finditer(data):
            start, end = cut_after(data, match.start()), cut_before(data, match.end())
            text = data[start:end]
            words = _WORDS.findall(text)
            telling = len(_TELLING.findall(text))
            mask = self._query.mask(text) if self._query else 0
            if not mask and not telling and (len(words) < 2 or sum(map(len, words)) < 0.5 * len(text)):
                continue
            newlines = data.count(b"\n", placed, start)
            if newlines:
                line += newlines
                line_start = data.rindex(b"\n", placed, start) + 1
            placed = start
            for term in range(len(self._counts)):
                self._counts[term] += mask >> term & 1
            worth = min(1.5, 0.5 * telling) + min(0.5, 0.06 * len(words)) + (3.0 if mask else 0.0)
            entry = (worth, -(block.start + start), Span(block.start + start, text, line, start - line_start), mask)
            if len(self._strings) < STRINGS_KEPT:
                heapq.heappush(self._strings, entry)
            elif entry[:2] > self._strings[0][:2]:
                heapq.heapreplace(self._strings, entry)

    def finish(self, totals: Totals, call: Call) -> ViewSelection:
        def ranked(room: Budget) -> Iterable[Span]:
            size = room_bytes(room)
            if self._form == "binary":
                return interleave((1.0, self._best_strings()))
            if self._form == "base64":
                return self._passages.edges(min(600, size // 8), min(300, size // 8))
            return interleave(
                (0.1, self._passages.edges(min(500, size // 10), min(250, size // 20))),
                (0.8 if self._query else 0.0, self._passages.passages(totals)),
                (0.2, self._passages.outline()),
                (0.0 if self._query else 0.5, self._passages.edges(size // 2, size // 2)),
            )

        return ViewSelection(self._form or "blob", self._headline(totals), ranked, self._describe)

    def _best_strings(self) -> Iterator[Span]:
        worth = worths(self._query, self._counts, max(2_000, sum(self._counts)))

        def value(entry: tuple[float, int, Span, int]) -> float:
            return entry[0] + sum(told for term, told in enumerate(worth) if entry[3] >> term & 1)

        for entry in sorted(self._strings, key=lambda one: (-value(one), -one[1])):
            yield entry[2]

    def _headline(self, totals: Totals) -> str:
        if self._form == "binary":
            return f"binary: {magic_of(self._head) or 'unknown format'}, {totals.bytes} bytes"
        if self._form == "base64":
            first = self._head.split(b"\n")[0].strip()
            try:
                inside = magic_of(base64.b64decode(first[: len(first) // 4 * 4], validate=True))
            except (binascii.Error, ValueError):
                inside = ""
            return "base64" + (f" of a {inside}" if inside else "") + f", {totals.bytes} characters"
        return f"minified text, {totals.bytes} bytes in {totals.lines} lines"

    def _describe(self, gap: Gap) -> str:
        return {"binary": "binary data", "base64": "base64"}.get(self._form or "", "")
