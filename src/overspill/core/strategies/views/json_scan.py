"""Scans JSON as it flows: finds its containers and cuts their members into runs, without parsing values.

A run is a stretch of whole neighbouring members (or elements) of one container, so that runs,
openings and closings tile the source without a rest.  The scan never fails: what is not JSON
becomes runs all the same, and ``broken`` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from overspill.core.measure import ESCAPE_BYTES, cut_before
from overspill.core.model import Block

RUN_BYTES = 1_200
CONTAINER_BYTES = 2_400
"""A container of at most this size is taken whole, as one member of a run."""
LEVELS = 24
"""A container of more levels is opened, however small."""
DEPTH_KEPT = 400
LONG_STRING_BYTES = 1 << 19
"""Of a string longer than this only the beginning is held."""
HEAD_BYTES = 2_048
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_PLAIN = rb'[^\[\]{}"]*+'
CONTAINER = rb"[\[{]" + _PLAIN + rb"(?:" + STRING + _PLAIN + rb")*+[\]}]"
for _ in range(LEVELS - 1):
    CONTAINER = rb"[\[{]" + _PLAIN + rb"(?:(?:" + STRING + rb"|" + CONTAINER + rb")" + _PLAIN + rb")*+[\]}]"
_SKIP = rb'[^\[\]{},"]*+'
_TOKEN = re.compile(_SKIP + rb"(?:" + STRING + _SKIP + rb")*+(?:(" + CONTAINER + rb')|([\[\]{},"]))', re.DOTALL)
_STRING_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MEMBER = _SKIP + rb"(?:(?:" + STRING + rb"|" + CONTAINER + rb")" + _SKIP + rb")*+,"
_MEMBERS = tuple((many, re.compile(rb"(?:%b){%d}" % (_MEMBER, many), re.DOTALL).match) for many in (64, 16, 4))
"""Many members in one step, for containers whose members are small."""
_NO_TEXT = re.compile(rb"(?:\s*+" + STRING + rb"\s*+:)?+[\s\d.eE+-]*+", re.DOTALL)
_BLANKS = re.compile(rb"[ \t\r]*\n?")
_SCALAR = rb"(?:" + STRING + rb"|-?\d[\d.eE+-]*+|-?Infinity|NaN|true|false|null)"
_SCALARS = re.compile(rb"(?:\s*+" + _SCALAR + rb"(?![^\s\[{\"]))*+\s*+", re.DOTALL)
_DOCUMENT = re.compile(
    rb"(?:" + BYTE_ORDER_MARK + rb")?\s*+(?:" + _SCALAR + rb"(?=[\s\[{\"]|\Z)|(?:[^\[{\"]++|" + STRING + rb")*+"
    + CONTAINER + rb")[ \t\r]*\n?",
    re.DOTALL,
)  # fmt: skip
"""A document in a row of them; what is no JSON goes with the one after it."""
_UNIT = rb"\\u(?![dD][89abAB])[0-9a-fA-F]{4}"
_INSIDE = re.compile(
    rb'(?:[^"\\]++|\\[^u]|' + _UNIT + rb"|\\u[dD][89abAB][0-9a-fA-F]{2}(?:" + _UNIT + rb"|(?=[^\\]|\\[^u])))*+",
    re.DOTALL,
)


def place_inside(data: bytes, start: int, most: int) -> int:
    """The last place up to ``most`` where the string whose inside begins at ``start`` may be cut in two."""
    while True:
        whole = _INSIDE.match(data, start, most)
        most = whole.end() if whole else start
        place = max(start, cut_before(data, most))
        if place == most:
            return place
        most = place


def document_end(data: bytes, start: int) -> int:
    """Where the document of a row that begins here ends, its line end included; the end of all if it doesn't."""
    match = _DOCUMENT.match(data, start)
    return match.end() if match and data[match.end() :].strip() else len(data)


@dataclass(slots=True, eq=False)
class Frame:
    """A container: where it stands, how it opens and closes, how many members it has."""

    parent: Frame | None
    kind: str
    """``{`` an object, ``[`` an array, empty for the row of documents at the root."""
    index: int
    start: int
    line: int
    column: int
    opening: bytes = b""
    """From its key, if it has one, to its first member."""
    depth: int = 0
    members: int = 0
    single_until: int = 0
    closing: bytes = b""
    """From after its last member to the next member of its parent; empty when the source ended before."""
    closing_start: int = -1
    closing_place: tuple[int, int] = (0, 0)


@dataclass(slots=True, eq=False)
class Run:
    """Neighbouring members of a container, up to the comma and line end that part them from the next."""

    frame: Frame
    first: int
    count: int
    start: int
    line: int
    column: int
    data: bytes
    tail: bytes = b""
    """When one very long string was let go: what follows it, ``data`` being what precedes."""
    whole_bytes: int = 0
    forces: dict[int, float] | None = None
    """How strongly the terms of the question speak in it, once somebody listened."""
    oddness: float | None = None
    """The worth of its oddest value, once somebody looked."""
    troubles: Sequence[tuple[int, int]] = ()
    """Places in the source that speak of errors, and how bad they are; in a row of documents."""
    inside: list[float] | None = None
    """For each member, the worth of the oddest value that it holds; when somebody looked closely."""


class Scan:
    """Fed with blocks; hands every run to ``take`` as soon as it is complete."""

    def __init__(self, take: Callable[[Run], None]) -> None:
        self.root = Frame(None, "", 0, 0, 1, 0)
        self.broken = False
        self.is_too_deep = False
        """Broken off by its depth alone: it may be valid all the same."""
        self.is_too_long = False
        """The same by a number, or by blanks, of more bytes than are held."""
        self.is_mixed = False
        """Something that is no JSON stands between documents."""
        self._take = take
        self._frame = self.root
        self._closed: Frame | None = None
        self._buffer = b""
        self._base = 0
        """Source offset of the buffer's first byte; all other positions are relative to it."""
        self._at = 0
        self._run_start = 0
        self._run_first = 0
        self._member_start = 0
        self._placed = 0
        self._line, self._line_start = 1, 0
        self._run_place = (1, 0)
        self._long: tuple[int, tuple[int, int], bytes] | None = None
        self._in_long = False

    def feed(self, block: Block) -> None:
        self._shift(self._run_start)
        self._buffer += block.data
        self._read(last=False)

    def finish(self) -> None:
        """Closes what is open; afterwards every byte belongs to a run, an opening or a closing."""
        self._read(last=True)
        if self._frame is not self.root or self._in_long:
            self.broken = True
        if self._frame is self.root:
            self._count_scalars(len(self._buffer))
        elif self._buffer[self._member_start :].strip():
            self._frame.members += 1
        self._emit(len(self._buffer))

    def _shift(self, by: int) -> None:
        if by:
            self._buffer = self._buffer[by:]
            self._base += by
            self._at, self._member_start, self._placed = (
                self._at - by,
                max(0, self._member_start - by),
                self._placed - by,
            )
            self._run_start -= by

    def _read(self, *, last: bool) -> None:
        if self._in_long and not self._leave_string():
            return
        buffer, match = self._buffer, _TOKEN.match
        while True:
            token = match(buffer, self._at)
            if token is None:
                self._wait_or_let_go(last=last)
                return
            end = token.end()
            if token.lastindex == 1:
                start = token.start(1)
                if end - start > CONTAINER_BYTES:
                    if not self._open(start, last=last):
                        return
                    continue
                if self._frame is self.root and not self._root_member(start, end, last=last):
                    return
                self._at = max(self._at, end)
                continue
            start = end - 1
            sign = buffer[start]
            if sign == 0x22:
                self._wait_or_let_go(last=last)
                return
            if sign in b"{[":
                done = (last or len(buffer) - start > CONTAINER_BYTES) and self._open(start, last=last)
            elif sign == 0x2C:
                done = self._comma(end, last=last)
            else:
                done = self._close(start, last=last)
            if not done:
                return

    def _edge(self, at: int, *, last: bool) -> int:
        """After the blanks that follow, to a line's end if there is one; -1 when that isn't in the buffer yet."""
        rest = _BLANKS.match(self._buffer, at)
        end = rest.end() if rest else at
        return -1 if end == len(self._buffer) and not last and self._buffer[end - 1 : end] != b"\n" else end

    def _place(self, at: int) -> tuple[int, int]:
        """Line and column of a place; asked for in the order of the source."""
        newlines = self._buffer.count(b"\n", self._placed, at)
        if newlines:
            self._line += newlines
            self._line_start = self._base + self._buffer.rindex(b"\n", self._placed, at) + 1
        self._placed = at
        return self._line, self._base + at - self._line_start

    def _emit(self, at: int) -> None:
        """Ends what is running: a run of members, or the closing of the container before."""
        if at > self._run_start:
            data = self._buffer[self._run_start : at]
            if self._closed is not None:
                self._closed.closing = data
                self._closed = None
            else:
                run = Run(
                    self._frame, self._run_first, self._frame.members - self._run_first,
                    self._base + self._run_start, *self._run_place, data, b"", len(data),
                )  # fmt: skip
                if self._long is not None:
                    (run.start, (run.line, run.column), run.data), run.tail = self._long, data
                    run.whole_bytes = self._base + at - run.start
                    self._long = None
                self._take(run)
        self._begin(at)

    def _begin(self, at: int) -> None:
        self._run_start = at
        self._run_first = self._frame.members
        self._run_place = self._place(at)

    def _comma(self, end: int, *, last: bool) -> bool:
        if self._frame is self.root:
            self._at = end
            return True
        edge = self._edge(end, last=last)
        if edge < 0:
            return False
        if self._cuts_text(edge):
            self.broken, self._at = True, end
            return True
        self._frame.members += 1
        self._at = self._member_start = edge
        if edge - self._run_start > RUN_BYTES or self._closed is not None or self._long is not None:
            self._emit(edge)
        self._take_many(edge)
        return True

    def _take_many(self, at: int) -> None:
        """Takes several small members at once, as long as they stay small."""
        frame = self._frame
        if frame.members < 4 or frame.members < frame.single_until:
            return
        average = (self._base + at - frame.start) / frame.members
        for many, match in _MEMBERS:
            if average * many > RUN_BYTES:
                continue
            batch = match(self._buffer, at)
            if batch is None or batch.end() - at > CONTAINER_BYTES:
                continue
            edge = self._edge(batch.end(), last=False)
            if edge < 0 or self._cuts_text(edge):
                return
            frame.members += many
            self._at = self._member_start = at = edge
            if edge - self._run_start > RUN_BYTES:
                self._emit(edge)
            return
        frame.single_until = frame.members + 4

    def _count_scalars(self, until: int) -> None:
        """Takes what stands between containers at the root for documents of their own, if that is what they are."""
        text = self._buffer[self._member_start : until].removeprefix(BYTE_ORDER_MARK)
        if not text.strip():
            return
        if _SCALARS.fullmatch(text) is None:
            self.is_mixed = True
        else:
            self.root.members += sum(1 for _ in re.finditer(_SCALAR, text, re.DOTALL))

    def _root_member(self, start: int, end: int, *, last: bool) -> bool:
        edge = self._edge(end, last=last)
        if edge < 0:
            return False
        if self._cuts_text(edge):
            self.broken, self._at = True, end
            return True
        self._count_scalars(start)
        self.root.members += 1
        self._at = self._member_start = edge
        if edge - self._run_start > RUN_BYTES or self._closed is not None:
            self._emit(edge)
        return True

    def _open(self, start: int, *, last: bool) -> bool:
        edge = self._edge(start + 1, last=last)
        if edge < 0:
            return False
        is_marked = self._frame is self.root and self._base == 0 and self._follows_mark(start)
        if self._frame.depth >= DEPTH_KEPT or self._cuts_text(edge) or (not is_marked and self._cuts_text(start)):
            self.is_too_deep |= not self.broken and self._frame.depth >= DEPTH_KEPT
            self.broken = True
            self._at = start + 1
            if start - self._run_start > RUN_BYTES and not self._cuts_text(start):
                self._emit(start)
            return True
        begin = self._member_start if self._frame is not self.root or is_marked else start
        if begin < self._run_start or (self._closed is not None and begin < start):
            # no comma parts it from the container before, or from what was emitted already
            self.broken, begin = True, start
        if self._frame is self.root:
            self._count_scalars(start)
        self._emit(begin)
        line, column = self._run_place
        frame = Frame(
            self._frame, chr(self._buffer[start]), self._frame.members, self._base + begin, line, column,
            self._buffer[begin:edge], self._frame.depth + 1,
        )  # fmt: skip
        self._frame = frame
        self._at = self._member_start = edge
        self._begin(edge)
        return True

    def _follows_mark(self, start: int) -> bool:
        """Whether nothing but a byte order mark and blanks stand before: they belong to what begins here."""
        before = self._buffer[:start]
        return before.startswith(BYTE_ORDER_MARK) and not before[len(BYTE_ORDER_MARK) :].strip()

    def _close(self, start: int, *, last: bool) -> bool:
        frame = self._frame
        if frame is self.root:
            self.broken = True
            self._at = start + 1
            return True
        if (frame.kind == "{") != (self._buffer[start] == 0x7D):
            self.broken = True
        if frame.parent is self.root and self._edge(start + 1, last=last) < 0:
            return False
        begin = start
        while begin > self._run_start and self._buffer[begin - 1] in b" \t":
            begin -= 1
        if begin > self._run_start and self._buffer[begin - 1] != 0x0A:
            begin = start
        if self._cuts_text(begin):
            self.broken, self._at = True, start + 1
            return True
        if self._closed is not None or self._buffer[self._member_start : start].strip() or self._long is not None:
            frame.members += 1
        self._emit(begin)
        frame.closing_start = self._base + begin
        frame.closing_place = self._run_place
        assert frame.parent is not None
        self._frame, self._closed = frame.parent, frame
        self._at = start + 1
        self._run_first = frame.parent.members
        if frame.parent is self.root:
            return self._root_member(self._member_start, start + 1, last=last)
        return True

    def _cuts_text(self, at: int) -> bool:
        """Whether a border here would part what belongs together: never between the members of valid JSON."""
        buffer = self._buffer
        if not 0 < at < len(buffer):
            return False
        if buffer[at - 1] < 0x80 > buffer[at] and b"\x1b" not in buffer[max(0, at - ESCAPE_BYTES) : at]:
            return False
        return cut_before(buffer, at) != at

    # -- strings too long to hold ---------------------------------------------------------------

    def _wait_or_let_go(self, *, last: bool) -> None:
        """At a token that doesn't end in the buffer: keeps it waiting, unless it is a very long string."""
        buffer = self._buffer
        if last or len(buffer) - max(self._at, self._run_start) < LONG_STRING_BYTES:
            return
        if self._member_start > self._run_start:
            self._emit(self._member_start)
        head = buffer[self._run_start : self._run_start + HEAD_BYTES]
        opens = re.match(_SKIP + rb"(?:" + STRING + _SKIP + rb")*+", head)
        if opens is None or head[opens.end() : opens.end() + 1] != b'"':
            # nothing that JSON would know, or too much of it: let it go as it is
            self.is_too_long |= not self.broken and _NO_TEXT.fullmatch(buffer, self._run_start) is not None
            self.broken = True
            self._emit(len(buffer))
            self._at = self._member_start = len(buffer)
            return
        head = head[
            : place_inside(buffer, self._run_start + opens.end() + 1, self._run_start + HEAD_BYTES) - self._run_start
        ]
        self._long = (self._base + self._run_start, self._run_place, head)
        self._in_long = True
        self._drop_inside()

    def _drop_inside(self) -> None:
        """Forgets the inside of a long string up to here; an escape is not cut in two."""
        cut = len(self._buffer)
        backslashes = len(self._buffer) - len(self._buffer.rstrip(b"\\"))
        cut -= backslashes % 2
        self._place(cut)
        self._shift_to(cut)

    def _shift_to(self, cut: int) -> None:
        self._buffer = self._buffer[cut:]
        self._base += cut
        self._at = self._member_start = self._run_start = self._placed = 0

    def _leave_string(self) -> bool:
        rest = _STRING_REST.match(self._buffer)
        if rest is None:
            self._drop_inside()
            return False
        self._in_long = False
        quote = rest.end() - 1
        self._place(quote)
        self._shift_to(quote)
        self._run_first = self._frame.members
        self._at = 1
        return True
