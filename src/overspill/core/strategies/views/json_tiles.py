"""Takes runs of JSON apart into tiles: what can be shown or left out while the document stays valid.

A box (object, array, long string) opens and closes by a tile of its own; its parts lie between.
Tiles are verbatim and lie end to end; a tile includes the comma and line end that follow it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from dataclasses import field as with_default

from overspill.core.measure import cut_after
from overspill.core.model import Span
from overspill.core.strategies.views.json_scan import BYTE_ORDER_MARK, CONTAINER, STRING, Frame, Run, document_end
from overspill.core.strategies.views.json_trouble import worst_between
from overspill.core.strategies.views.query_terms import Query

OPENED_BYTES = 300
"""A container of at most this size is shown whole or not at all."""
CHUNKED_BYTES = 360
"""A string longer than this is shown in parts."""

LONG_BYTES = 1_500
"""Of a longer string only the beginning and what speaks to the question can be shown."""

_SKIP = rb'[^\[\]{},"]*+'
_MEMBER = re.compile(
    _SKIP + rb"(?:(?:" + STRING + rb"|" + CONTAINER + rb")" + _SKIP + rb")*+(?:,[ \t\r]*\n?|\Z)", re.DOTALL
)
_KEY = re.compile(rb"\s*(" + STRING + rb")\s*:\s*", re.DOTALL)
CHUNK_BYTES = 400
_CHARACTER = (
    rb"(?>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|\\u[0-9a-fA-F]{4}|\\."
    rb"|[^\\\x80-\xff]|[\xc0-\xff][\x80-\xbf]*|[\x80-\xbf])"
)
_CHUNK = re.compile(rb"%b{60,200}?(?:\\n|(?<=[ ,;>]))|%b{1,200}" % (_CHARACTER, _CHARACTER), re.DOTALL)
_ESCAPED_CHUNK = re.compile(rb"%b{1,30}" % _CHARACTER, re.DOTALL)
"""Where characters take many bytes."""
_ONE = re.compile(_CHARACTER, re.DOTALL)
_BLANKS = re.compile(rb"[ \t\r]*\n?")


@dataclass(slots=True, eq=False)
class Box:
    """A container that is shown by its ends and some of its parts."""

    parent: Box | None
    kind: str
    """``{``, ``[``, ``"`` for a long string, empty for the root."""
    name: str
    """Its key, or ``[3]`` for an element."""
    field: str
    depth: int
    index: int
    opening: Span | None
    closing: Span | None
    members: int
    parts: list[Tile] = with_default(default_factory=list)

    @property
    def path(self) -> str:
        """How JMESPath calls it."""
        steps: list[str] = []
        box = self
        while box.parent is not None:
            if box.parent.kind == "{":
                steps.append("." + _identifier(box.name))
            elif box.parent.kind == "[":
                steps.append(box.name)
            box = box.parent
        return "".join(reversed(steps)).removeprefix(".")


@dataclass(slots=True, eq=False)
class Tile:
    """A part of a box that is shown whole: a member, an element, a piece of a string."""

    box: Box
    index: int
    span: Span
    key: str
    value: bytes
    field: str
    said: dict[int, float] = with_default(default_factory=dict)
    """How strongly the question's terms speak in it."""
    heard: dict[int, float] = with_default(default_factory=dict)
    """The same for what stands around it."""
    static: float = 0.0
    usual: bool = False
    """Holds what most of its kind hold."""
    lent: float = 0.0
    """What it is worth as a companion of an odd one."""
    trouble: int = 0
    """How bad it says things are, in a row of documents."""
    inside: float | None = None
    """The worth of the oddest value that it holds, where somebody looked already."""


def _step(parent: Box, key: str, index: int) -> str:
    """The name of a member of a box."""
    return key if parent.kind == "{" else f"[{index}]"


def _identifier(key: str) -> str:
    """A key as JMESPath wants it: quoted as in JSON, unless it is a plain word; half a character stays an escape."""
    if re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII):
        return key
    return json.dumps(key, ensure_ascii=re.search("[\ud800-\udfff]", key) is not None)


def key_of(raw: bytes) -> str:
    """A key as people read it."""
    text = raw[1:-1].decode("utf-8", "replace")
    if "\\" in text:
        try:
            return str(json.loads(f'"{text}"'))
        except ValueError:
            return text
    return text


class Tiles:
    """The boxes and tiles of some runs of one document."""

    def __init__(self, root: Frame, query: Query) -> None:
        self._query = query
        self._boxes: dict[int, Box] = {}
        self.root = Box(None, "", "", "", 0, 0, None, None, root.members)
        self._boxes[id(root)] = self.root
        self.all: list[Tile] = []

    def box_of(self, frame: Frame) -> Box:
        box = self._boxes.get(id(frame))
        if box is None:
            assert frame.parent is not None
            parent = self.box_of(frame.parent)
            key = _KEY.match(frame.opening) if parent.kind == "{" else None
            name = key_of(key.group(1)) if key else ("" if parent.kind == "" else f"[{frame.index}]")
            if parent is self.root and parent.members > 1:
                name = ""
            opening = Span(frame.start, frame.opening, frame.line, frame.column)
            closing = Span(frame.closing_start, frame.closing, *frame.closing_place) if frame.closing else None
            box = Box(
                parent, frame.kind, name, key_of(key.group(1)) if key else parent.field, frame.depth, frame.index,
                opening, closing, frame.members,
            )  # fmt: skip
            self._boxes[id(frame)] = box
        return box

    def add(self, run: Run) -> None:
        """Takes one run apart."""
        box = self.box_of(run.frame)
        span = Span(run.start, run.data, run.line, run.column)
        if run.tail:
            self._long_string(box, run, span)
            return
        before, first_tile = len(box.parts), len(self.all)
        members = self._members(box, span, run.first) - run.first
        if run.inside is not None and len(run.inside) == members:
            for tile in box.parts[before:]:
                tile.inside = run.inside[tile.index - run.first]
        for tile in self.all[first_tile:] if run.troubles else ():
            tile.trouble = worst_between(run.troubles, tile.span.start, tile.span.end)

    def _members(self, box: Box, span: Span, first: int) -> int:
        """Takes members one by one; returns the index after the last."""
        at, index = 0, first
        start, data, line, column = span
        size, part = len(data), _member_end if box.parent else document_end
        plain = data.isascii() and b"\x1b" not in data and b"\r" not in data
        while at < size:
            end = at
            while end < size and (end == at or not (plain or cut_after(data, end) == end)):
                end = part(data, end)
            if end < size and data[end] in b" \t\r\n" and not data[end:].strip():
                end = size
            member = data[at:end]
            self._member(box, Span(start + at, member, line, column), index)
            newlines = member.count(b"\n")
            line += newlines
            column = len(member) - member.rindex(b"\n") - 1 if newlines else column + len(member)
            at, index = end, index + 1
        return index

    def _member(self, box: Box, span: Span, index: int) -> None:
        data = span.data
        key = _KEY.match(data) if box.kind == "{" else None
        name = key_of(key.group(1)) if key else ""
        start = key.end() if key else len(data) - len(data.removeprefix(BYTE_ORDER_MARK).lstrip())
        value = data[start:].rstrip().removesuffix(b",").rstrip()
        if value[:1] in (b"{", b"[") and len(value) > OPENED_BYTES and value[-1:] in b"}]":
            self._box(box, span, index, name, start, len(value))
        elif value[:1] == b'"' and len(value) > CHUNKED_BYTES and value[-1:] == b'"':
            self._string(box, span, index, name, start, start + len(value) - 1)
        else:
            self._tile(box, span, index, name, value)

    def _tile(self, box: Box, span: Span, index: int, name: str, value: bytes) -> None:
        tile = Tile(box, index, span, name, value, name or box.field)
        box.parts.append(tile)
        self.all.append(tile)

    def _box(self, parent: Box, span: Span, index: int, name: str, start: int, size: int) -> None:
        data = span.data
        blanks = _BLANKS.match(data, start + 1)
        opening_end = blanks.end() if blanks else start + 1
        close = start + size - 1
        begin = close
        while begin > opening_end and data[begin - 1] in b" \t":
            begin -= 1
        if begin > opening_end and data[begin - 1] != 0x0A:
            begin = close
        if cut_after(data, opening_end) != opening_end or cut_after(data, begin) != begin:
            self._tile(parent, span, index, name, data[start : start + size])
            return
        box = Box(
            parent, chr(data[start]), _step(parent, name, index), name or parent.field, parent.depth + 1, index,
            span.part(0, opening_end), span.part(begin, len(data)), 0,
        )  # fmt: skip
        box.members = self._members(box, span.part(opening_end, begin), 0)

    def _string(self, parent: Box, span: Span, index: int, name: str, start: int, close: int) -> None:
        opens = _whole_end(span.data, start + 1, close)
        box = Box(
            parent, '"', _step(parent, name, index), name or parent.field, parent.depth + 1, index,
            span.part(0, opens), None, close - opens,
        )  # fmt: skip
        reached = self._chunks(box, span, opens, close)
        box.closing = span.part(reached, len(span.data))
        box.members = reached - opens

    def _chunks(self, box: Box, span: Span, start: int, close: int) -> int:
        """The beginning of a string, and what stands around the question's terms; returns where the last part ends."""
        hits = [at for at, _ in self._query.hits(span.data[start:close])][:40] if close - start > LONG_BYTES else []
        wanted = [(0, LONG_BYTES), *((at - 200, at + 300) for at in hits)]
        at = start
        while at < close:
            end = _chunk_end(span.data, at, close)
            if end == close and cut_after(span.data, close) != close:
                break
            if any(low < end - start and at - start < high for low, high in wanted):
                self._tile(box, span.part(at, end), at - start, "", span.data[at:end])
            at = end
        return at

    def _long_string(self, parent: Box, run: Run, head: Span) -> None:
        key = _KEY.match(head.data) if parent.kind == "{" else None
        start = head.data.find(b'"', key.end() if key else 0)
        name = key_of(key.group(1)) if key else ""
        tail_start = run.start + run.whole_bytes - len(run.tail)
        tail = Span(tail_start, run.tail, run.line, run.column + tail_start - run.start)
        opens = _whole_end(head.data, start + 1, len(head.data))
        box = Box(
            parent, '"', _step(parent, name, run.first), name or parent.field, parent.depth + 1, run.first,
            head.part(0, opens), tail, tail_start - run.start - opens,
        )  # fmt: skip
        self._chunks(box, head, opens, len(head.data))


def _member_end(data: bytes, start: int) -> int:
    """Where the member that begins here ends, its comma and line end included; the end of all if it doesn't."""
    match = _MEMBER.match(data, start)
    return match.end() if match and match.end() > start else len(data)


def _chunk_end(data: bytes, at: int, close: int) -> int:
    """Where a part of a string that begins here ends: after a word or a line, of no more than some hundred bytes."""
    match = _CHUNK.match(data, at, close)
    if match and match.end() - at > CHUNK_BYTES:
        match = _ESCAPED_CHUNK.match(data, at, close)
    return _whole_end(data, match.end() if match and match.end() > at else close, close)


def _whole_end(data: bytes, end: int, close: int) -> int:
    """The first place from ``end`` on, inside a string, where no character that belongs together is parted."""
    while end < close and cut_after(data, end) != end:
        one = _ONE.match(data, end, close)
        end = one.end() if one else close
    return end
