"""The values that the rest of overspill passes around: frozen, free of I/O, exact.

Everything is counted in bytes and lines of the *source*: a line ends with ``\\n`` (a ``\\r``
before it belongs to the line), numbers of lines start at 1, byte offsets at 0.  What is
omitted is never stored as a fact of its own: it is derived from what is kept, so that kept
and omitted always add up to the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from overspill.errors import PolicyError

if TYPE_CHECKING:
    from overspill.core.picture import Picture

UNITS = ("tokens", "bytes", "chars", "lines")
"""The units a budget can name, in the order in which people read them."""

BYTES_PER_TOKEN_CEILING = 32
"""No text of more bytes per token than this is taken to fit: it bounds memory where only tokens are named."""

BYTES_PER_LINE_CEILING = 2_000
"""The same for a budget that names lines alone: a line can be as long as an output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much text: any combination of units; a text fits when it fits in each that is named."""

    max_tokens: int | None = None
    max_bytes: int | None = None
    max_chars: int | None = None
    max_lines: int | None = None

    def __post_init__(self) -> None:
        named = 0
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            named += 1
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise PolicyError(field.name, value, "a whole number, 1 or more")
        if not named:
            raise PolicyError("budget", None, "at least one of max_tokens, max_bytes, max_chars, max_lines")

    @property
    def bounds(self) -> tuple[int | None, ...]:
        """What a text is measured against, in the order of ``UNITS``.

        Lines alone bound the bytes as well: a line can be as long as an output.
        """
        max_bytes = self.max_bytes
        if max_bytes is None and self.max_tokens is None and self.max_chars is None:
            max_bytes = self.bytes_ceiling
        return self.max_tokens, max_bytes, self.max_chars, self.max_lines

    @property
    def bytes_ceiling(self) -> int:
        """No text of more bytes than this can fit: what a strategy may hold in memory follows from it."""
        bounds = [
            self.max_bytes,
            self.max_tokens and self.max_tokens * BYTES_PER_TOKEN_CEILING,
            self.max_chars and self.max_chars * 4,
        ]
        known = [bound for bound in bounds if bound]
        if known:
            return min(known)
        assert self.max_lines is not None
        return self.max_lines * BYTES_PER_LINE_CEILING


class Totals(NamedTuple):
    """The size of a whole output."""

    bytes: int
    lines: int


def totals_of(data: bytes) -> Totals:
    return Totals(len(data), data.count(b"\n") + (not data.endswith(b"\n") and data != b""))


class Span(NamedTuple):
    """A stretch of the source, with its place in it: what a strategy proposes to keep."""

    start: int
    """Byte offset in the source."""
    data: bytes
    line: int
    """Number of the line that the first byte is in."""
    column: int = 0
    """Bytes of that line before the span: 0 when the span starts a line."""

    @property
    def end(self) -> int:
        return self.start + len(self.data)

    @property
    def newlines(self) -> int:
        return self.data.count(b"\n")

    def part(self, first: int, last: int) -> Span:
        """The bytes from ``first`` to ``last`` (exclusive) of this span, placed in the source."""
        before = self.data[:first]
        newlines = before.count(b"\n")
        column = first - before.rindex(b"\n") - 1 if newlines else self.column + first
        return Span(self.start + first, self.data[first:last], self.line + newlines, column)

    def lines(self) -> Iterator[Span]:
        """The lines of this span, each with its line end; the first and last may be parts of lines."""
        start, line, column, at = self.start, self.line, self.column, 0
        while at < len(self.data):
            end = self.data.find(b"\n", at) + 1 or len(self.data)
            yield Span(start + at, self.data[at:end], line, column)
            at, line, column = end, line + 1, 0


def join(spans: Sequence[Span]) -> Span:
    """Neighbours as one. What lies apart is refused: it would hide a gap, which nobody would be told of."""
    first = spans[0]
    if len(spans) == 1:
        return first
    data = b"".join([span.data for span in spans])
    if first.start + len(data) != spans[-1].end or any(one.end != other.start for one, other in pairwise(spans)):
        raise ValueError(f"the spans from byte {first.start} to {spans[-1].end} are no neighbours")
    return first._replace(data=data)


def lines_of(data: bytes) -> list[bytes]:
    """The lines of some bytes, each with its line end; the last may be without."""
    if b"\r" not in data:
        return data.splitlines(keepends=True)
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


Block = Span
"""A stretch of input as a selector is fed it. Blocks are cut at fixed rules over the whole output
(whole lines, at most ``BLOCK_BYTES``; a longer line in pieces cut at safe places), so they never depend on
the chunks fed."""


@dataclass(frozen=True, slots=True)
class Gap:
    """One omitted stretch, by bytes and by lines; only a line that was cut in two has columns."""

    start: int
    end: int
    first_line: int
    last_line: int
    first_column: int = 0
    """Bytes of ``first_line`` that stand before the gap (0: the line is omitted from its start)."""
    last_column: int | None = None
    """Bytes of ``last_line`` that the gap takes, counted from that line's start (None: to its end)."""

    @property
    def omitted_bytes(self) -> int:
        return self.end - self.start

    @property
    def omitted_lines(self) -> int:
        """Lines of which nothing is shown; a line cut in two counts as kept."""
        touched = self.last_line - self.first_line + 1
        cut = {self.first_line} if self.first_column else set()
        if self.last_column is not None:
            cut.add(self.last_line)
        return touched - len(cut)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What is known of the tool call that made an output; all of it optional."""

    tool: str = ""
    command: str = ""
    exit_status: int | None = None
    question: str = ""
    """What the caller wants to know: raises what speaks to it."""
    id: str = ""
    session: str = ""
    labels: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """What comes without types from somebody's tool call must not cost the tool its output."""
        for name in ("tool", "command", "question", "id", "session"):
            value: object = getattr(self, name)
            if not isinstance(value, str):
                object.__setattr__(self, name, _words(value))

    def filled_from(self, known: Call) -> Call:
        """This call with what only an earlier one of the same output said, unless they are known to differ."""
        if (self.tool and known.tool and self.tool != known.tool) or (
            self.command and known.command and self.command != known.command
        ):
            return self
        unsaid = [field.name for field in fields(self) if getattr(self, field.name) in ("", None, ())]
        return replace(self, **{name: getattr(known, name) for name in unsaid})


def _words(value: object) -> str:
    if isinstance(value, list | tuple):  # a command as `subprocess` takes it
        from shlex import join

        return join(map(str, value))
    return "" if value is None else str(value)


class Part(NamedTuple):
    """A piece of a bounded text: source text, or words of overspill's that stand for a gap."""

    text: str
    span: Span | None = None
    """The source that the text shows; None for a mark."""
    gap: Gap | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """The result: what the model reads, and the exact account of what it does not."""

    text: str
    """What to send to the model. The very same object that came in, when that was a small ``str``."""
    output: Any = None
    """The very object that came in, when it was small enough to pass untouched."""
    truncated: bool = False
    handle: str | None = None
    path: str | None = None
    unsaved: str = ""
    """Why the whole output is not in the store; empty when it is, or needs not to be."""
    header: str = ""
    parts: tuple[Part, ...] = ()
    """The text after the header, in order: joined, they are the excerpt."""
    gaps: tuple[Gap, ...] = ()
    totals: Totals | None = None
    kind: str = ""
    """What the strategy took the output for."""
    headline: str = ""
    redactions: int = 0

    @property
    def excerpt(self) -> str:
        """The text without the header: for a view of JSON, a valid JSON text."""
        return "".join(part.text for part in self.parts) if self.truncated else self.text

    @property
    def total_bytes(self) -> int:
        return self._totals.bytes

    @property
    def total_lines(self) -> int:
        return self._totals.lines

    @property
    def omitted_bytes(self) -> int:
        return sum(gap.omitted_bytes for gap in self.gaps)

    @property
    def omitted_lines(self) -> int:
        return sum(gap.omitted_lines for gap in self.gaps)

    @property
    def kept_bytes(self) -> int:
        return self.total_bytes - self.omitted_bytes

    @property
    def kept_lines(self) -> int:
        return self.total_lines - self.omitted_lines

    @property
    def _totals(self) -> Totals:
        """Counted on demand for what passed untouched: its path must cost nothing."""
        if self.totals is not None:
            return self.totals
        return totals_of(self.text.encode("utf-8", "surrogatepass"))

    def __str__(self) -> str:
        return self.text

    def __rich__(self) -> Picture:
        """What a person sees of it in a terminal, through ``rich``."""
        from overspill.core.picture import Picture

        return Picture(self)
