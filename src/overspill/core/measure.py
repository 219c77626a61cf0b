"""The only file that knows units: how large a text is, where it may be cut, how it is shown.

Guarantees: ``display`` gives valid Unicode for any bytes, as a terminal would finally show
them; ``cut_before`` and ``cut_after`` never answer a place inside a code point, a grapheme
cluster (of up to ``CLUSTER_CHARS`` code points), an escape sequence or a CRLF pair.
Which counter of tokens is used, and how much is too much, is the policy's business.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from overspill.core.model import BYTES_PER_TOKEN_CEILING, Budget, Span
from overspill.core.ports import TokenCounter
from overspill.core.tokens import estimate_tokens, tokens_ceiling

Carrier = Literal["text", "json"]
"""How the text travels: ``json`` when a carrier such as MCP escapes it, which makes it longer."""

CLUSTER_CHARS = 16
"""A longer grapheme cluster (stacked combining marks) may be cut: no real script needs as many."""

ESCAPE_BYTES = 4096
"""A longer escape sequence is treated as text, as terminals do that give up on one; so is one that a line end
breaks: between lines a cut is always safe, whatever an unfinished sequence before it may swallow."""

_ESCAPE = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    rb"|[\]PX^_][^\x07\x1b\n]{0,4092}(?:\x07|\x1b\\)"  # OSC and other strings: titles, links
    rb"|[ -/]*[0-~])"  # the two-byte ones
)
_ESCAPE_TEXT = re.compile(_ESCAPE.pattern.decode())
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")
_LONE_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_REPLACEMENT = "\ufffd".encode()
_FLAG_LEAD = b"\xf0\x9f\x87"


class Size(NamedTuple):
    tokens: int
    bytes: int
    chars: int
    lines: int


def _unescaped(text: str) -> str:
    return text


def _json_escaped(text: str) -> str:
    import json

    # The widest escaping that carriers use: non-ASCII stays, as the MCP SDKs write it.
    return json.dumps(text, ensure_ascii=False)[1:-1]


class Measure:
    """Sizes of texts by one counter and one carrier."""

    __slots__ = ("_carried", "_count", "fault")

    def __init__(self, counter: TokenCounter, carrier: Carrier = "text") -> None:
        self._count = counter
        self.fault: Exception | None = None
        """What a counter of the caller's raised last; the estimate stood in for it."""
        self._carried = _json_escaped if carrier == "json" else _unescaped

    def tokens(self, text: str) -> int:
        """By the counter, but never fewer than the ceiling of bytes per token allows."""
        least = -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN_CEILING)
        try:
            return max(self._count(text), least)
        except Exception as fault:
            self.fault = fault
            return max(estimate_tokens(text), least)

    def size(self, text: str, budget: Budget) -> Size:
        """Of a text as carried; units that the budget does not bound are 0, since counting costs."""
        carried = self._carried(text)
        max_tokens, max_bytes, max_chars, max_lines = budget.bounds
        return Size(
            self.tokens(carried) if max_tokens else 0,
            len(carried.encode("utf-8", "surrogatepass")) if max_bytes else 0,
            len(carried) if max_chars else 0,
            count_lines(text) if max_lines else 0,
        )

    def fits(self, text: str, budget: Budget) -> bool:
        return within(self.size(text, budget), budget)

    def surely_fits(self, text: str, budget: Budget) -> bool:
        """``fits`` by cheap upper bounds: no allocation that grows with the text. False means: count."""
        if self._carried is not _unescaped or not text.isascii():
            # Rare enough to count; and text beyond ASCII must be checked for lone surrogates.
            return False
        chars = len(text)
        max_tokens, max_bytes, max_chars, max_lines = budget.bounds
        return (
            (max_bytes is None or chars <= max_bytes)
            and (max_chars is None or chars <= max_chars)
            and (max_lines is None or text.count("\n") < max_lines)
            and (max_tokens is None or self._few_tokens(text, max_tokens))
        )

    def _few_tokens(self, text: str, bound: int) -> bool:
        if self._count is estimate_tokens:
            return len(text) <= bound or tokens_ceiling(text) <= bound
        return False


def within(size: Size, budget: Budget) -> bool:
    return all(value <= bound for value, bound in zip(size, budget.bounds, strict=True) if bound)


def count_lines(text: str) -> int:
    """Lines of a text: an unfinished last line counts."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def encode(text: str) -> bytes:
    """The source bytes of a ``str``: UTF-8; a lone surrogate keeps its number, so that nothing is lost."""
    return text.encode("utf-8", "surrogatepass")


def readable(data: bytes) -> str:
    """Source bytes as valid Unicode and otherwise as they are, terminal codes included."""
    if not data.isascii():
        data = _LONE_SURROGATE.sub(_REPLACEMENT, data)
    return data.decode("utf-8", "replace")


def well_formed(text: str) -> str:
    """The very same text where it is valid Unicode, else with U+FFFD for each lone surrogate."""
    if text.isascii():
        return text
    valid = readable(encode(text))
    return text if valid == text else valid


def display(data: bytes) -> str:
    """Source bytes as a person would finally see them.

    Colours and other escape sequences are gone, of text overwritten by carriage returns or
    backspaces the last state stays, invisible controls are dropped, what is not UTF-8 shows
    as U+FFFD.  What remains is a subsequence of the source.
    """
    text = readable(data)  # first: dropping bytes could join two halves that are no code point
    if "\x1b" in text:
        text = _ESCAPE_TEXT.sub("", text)
    if "\r" in text:
        text = "\n".join(_final_state(line) if "\r" in line else line for line in text.split("\n"))
    if "\b" in text:
        text = _backspaced(text)
    return _INVISIBLE.sub("", text)


def states(data: bytes) -> str:
    """All that a terminal shows of source bytes, one state after the other: ``display`` of any part stands in it."""
    text = readable(data)
    if "\x1b" in text:
        text = _ESCAPE_TEXT.sub("", text)
    if "\b" in text:
        text = "\n".join(f"{line}\n{_backspaced(line)}" if "\b" in line else line for line in text.split("\n"))
    return _INVISIBLE.sub("", text.replace("\r", "\n"))


def visible(text: str) -> str:
    """Text in which nothing steers a terminal: without escape sequences and invisible controls."""
    return _INVISIBLE.sub("", _ESCAPE_TEXT.sub("", text) if "\x1b" in text else text)


def _final_state(line: str) -> str:
    line = line.rstrip("\r")
    return line[line.rfind("\r") + 1 :]


def _backspaced(text: str) -> str:
    shown: list[str] = []
    for char in text:
        if char != "\b":
            shown.append(char)
        elif shown and shown[-1] != "\n":
            shown.pop()
    return "".join(shown)


def cut_before(data: bytes, at: int) -> int:
    """The last safe place at or before ``at``: where a shown stretch may end."""
    return _safe_place(data, at, step=-1)


def cut_after(data: bytes, at: int) -> int:
    """The first safe place at or after ``at``: where a shown stretch may begin."""
    return _safe_place(data, at, step=1)


def safe_part(span: Span, first: int, last: int) -> Span:
    """The bytes from ``first`` to ``last`` of a span, both moved inward to safe places.

    What a strategy cuts inside a line must be cut here, from a span that has the context.
    """
    first = cut_after(span.data, first)
    return span.part(first, max(first, cut_before(span.data, last)))


def _safe_place(data: bytes, at: int, *, step: Literal[-1, 1]) -> int:
    at = max(0, min(at, len(data)))
    while 0 < at < len(data):
        escape = _escape_around(data, at)
        if escape:
            at = escape[0] if step < 0 else escape[1]
        elif data[at - 1] == 0x0D and data[at] == 0x0A:
            at += step
        elif data[at - 1] < 0x80 and data[at] < 0x80:
            break
        else:
            place = _cluster_border(data, at, step=step)
            if place == at:
                break
            at = place
    return at


def _escape_around(data: bytes, at: int) -> tuple[int, int] | None:
    """The escape sequence that a cut at ``at`` would break, if any."""
    start = data.rfind(b"\x1b", max(0, at - ESCAPE_BYTES), at)
    if start < 0:
        return None
    found = _ESCAPE.match(data, start)
    if found:
        # none goes on over the beginning of another, but for a string over its own end, where a cut moves twice
        return (start, found.end()) if found.end() > at else None
    unfinished = b"\n" not in data[start:at] and len(data) - start < 32
    return (start, len(data)) if unfinished else None


def _cluster_border(data: bytes, at: int, *, step: Literal[-1, 1]) -> int:
    """The nearest border of a grapheme cluster from ``at`` on, in the direction of ``step``."""
    start = at
    while start > 0 and data[start] & 0xC0 == 0x80 and at - start < 3:
        start -= 1
    if start != at and not _whole_char(data, start, at):
        start = at  # a stray continuation byte: invalid UTF-8 has no code points to break
    place = start
    for _ in range(CLUSTER_CHARS):
        if step > 0 and place < at:
            place = _next_char(data, place)
            continue
        if not 0 < place < len(data) or not _glued(data, place):
            return place
        place = _next_char(data, place) if step > 0 else _previous_char(data, place)
    return start if step < 0 or start == at else _next_char(data, start)


def _whole_char(data: bytes, start: int, at: int) -> bool:
    """Is ``at`` inside one code point that starts at ``start``, be it broken off?"""
    return _next_char(data, start) > at


def _next_char(data: bytes, at: int) -> int:
    lead = data[at]
    width = 1 if lead < 0xC2 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4 if lead < 0xF5 else 1
    if width > 1:
        try:
            data[at : at + width].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as broken:
            # The start of a code point that never ends is one character when shown.
            return at + broken.end - broken.start
    return min(at + width, len(data))


def _previous_char(data: bytes, at: int) -> int:
    start = at - 1
    while start > 0 and data[start] & 0xC0 == 0x80 and at - start < 4:
        start -= 1
    return start if _next_char(data, start) == at else at - 1


def _glued(data: bytes, at: int) -> bool:
    """May no cut stand at ``at``, the border of two code points, because they form one cluster?"""
    from overspill.core.graphemes import joined

    start = max(0, at - 4 * CLUSTER_CHARS)
    while start and data.startswith(_FLAG_LEAD, start):
        start = max(0, start - 4 * CLUSTER_CHARS)  # flags are pairs, counted from the first of a run
    before = data[start:at].decode("utf-8", "replace")
    return joined(before, data[at : at + 4].decode("utf-8", "replace")[0])
