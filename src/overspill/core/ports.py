"""The seams: what the core asks of others, as protocols that a user can implement in a few lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from overspill.core.model import Block, Budget, Call, Gap, Part, Span, Totals

if TYPE_CHECKING:
    from overspill.core.access import Access
    from overspill.core.notice import Kept, Language

LINES_ON_TOP = 8
"""How many lines the words of a layout may add to a budget that counts the output alone."""

TokenCounter = Callable[[str], int]
"""Tokens of a text: the estimate by default, exact through tiktoken, bpe-openai or any callable."""


class Excerpt(Protocol):
    """The room that a selection fills: whatever was added fits, header, marks and all."""

    @property
    def room(self) -> Budget:
        """How much there is for the excerpt alone, in the units of the policy's budget."""

    @property
    def left(self) -> float:
        """The share of the room that is still free, 1 to 0, by its scarcest unit."""

    def add(self, *spans: Span, leave: float = 0.0) -> bool:
        """Keeps the spans, all or none: False when they don't fit. What is kept already costs nothing.

        ``leave`` is the share of the room that must stay free for others.
        """

    def add_ends(self, first: Span, last: Span | None = None, *, leave: float = 0.0) -> bool:
        """Keeps as much as fits of the start of ``first`` and of the end of ``last`` (or of ``first``):
        for a line too long to keep."""

    def could_hold(self, *spans: Span, leave: float = 0.0) -> bool:
        """Would the spans fit if nothing else were kept?"""


@runtime_checkable
class Selection(Protocol):
    """What a selector found worth keeping, once the whole output has been seen."""

    @property
    def kind(self) -> str:
        """What the output was taken for, in a word or two ("pytest run"); empty when nobody looked."""

    @property
    def headline(self) -> str:
        """The key finding in one short line, exactly true; empty when there is none."""

    def fill(self, excerpt: Excerpt) -> None:
        """Adds what to keep, best first. May be called again with another room: it changes nothing else."""

    def describe(self, gap: Gap) -> str:
        """What a gap holds, exactly true, most telling item first, items parted by "; "
        ("3 errors: 40, 81, 92; 41 warnings"): items that don't fit are left out from the end.
        The largest gaps are asked first, and no more of them than the budget has room for their words.
        """

    def mark(self, gap: Gap, words: str) -> str | None:
        """The mark that stands for a gap, for views whose form needs its own; None for the usual."""


class Composition(NamedTuple):
    """A bounded text laid out by its selection: the words before, then source text and marks."""

    header: str
    parts: tuple[Part, ...]


@runtime_checkable
class Composed(Protocol):
    """A selection that writes the whole text itself, in place of the usual header and marks."""

    def compose(self, kept: Kept, *, access: Access, language: Language) -> Composition: ...

    def less(self, share: float) -> Composed | None:
        """The same with this share of the source, for a text that came out too long; None when there is none."""


class Selector(Protocol):
    """One pass over one output in bounded memory."""

    def feed(self, block: Block) -> None: ...

    def finish(self, totals: Totals, call: Call) -> Selection: ...


@runtime_checkable
class Strategy(Protocol):
    """Decides which parts of an output stay. Holds settings only, so that one object serves all outputs."""

    @property
    def name(self) -> str: ...

    def selector(self, room: Budget, call: Call) -> Selector:
        """A fresh selector; what it holds in memory must follow from ``room``, never from the output.

        ``call.exit_status`` may be known only at ``finish``.
        """


@runtime_checkable
class Layout(Protocol):
    """The figures and the form of another system's text, taken instead of our own where it knows the strategy."""

    @property
    def name(self) -> str: ...

    @property
    def on_top(self) -> int:
        """How many bytes and characters the words may add to a budget that counts the output alone; 0: it counts all.

        So many lines as well, as far as ``LINES_ON_TOP``.
        """

    def fits(self, text: str, limit: Budget) -> bool:
        """Does a text that is within the limit pass uncut as well by the system's own count?"""

    def selector(self, budget: Budget, strategy: Strategy) -> Selector | None:
        """A fresh selector whose selection is ``Composed``; None when the strategy or the units are not its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One kept output, as the store's index knows it."""

    handle: str
    digest: str
    bytes: int
    lines: int
    created: float
    read: float
    """When it was last read back, or created."""
    call: Call
    path: str | None = None
    """Where a file tool can open the plain text; None when there is no such file."""
    pinned: bool = False
    shown_bytes: int | None = None
    """Bytes of the bounded text that stood for it, when known."""
    kind: str = ""
    """What it was taken for ("pytest run"), when known."""
    cut: str = ""
    """The strategy that chose what was shown, when known."""
    times: int = 1
    """How many calls made these very bytes; ``created`` is that of the latest, ``call`` its words and earlier ones'."""
    kept_bytes: int | None = None
    """What it takes in the store where that differs from ``bytes`` (compressed)."""


class Blob(Protocol):
    """The bytes of one kept output, by range."""

    @property
    def size(self) -> int: ...

    def read(self, start: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``start``, fewer only at the end."""

    def close(self) -> None: ...


class Spill(Protocol):
    """An output on its way into the store. Either ``commit`` or ``discard`` ends it.

    One that wants to know the lines may have ``counted_by(lines: LineStarts)``: it is called before the first
    ``write``, and ``lines`` is complete before ``commit``.
    """

    def write(self, data: bytes) -> None: ...

    def commit(self, call: Call) -> Stored:
        """Makes the output readable, whole and at once. Equal outputs are kept once and share a handle."""

    def discard(self) -> None: ...


@runtime_checkable
class Store(Protocol):
    """Keeps whole outputs. Every fault is a ``StoreError``; the bounding path turns it into a sentence."""

    def spill(self, call: Call) -> Spill: ...

    def stored(self, handle: str) -> Stored:
        """The output of a handle or of a unique prefix of one, as typed by a model or a person."""

    def open(self, handle: str) -> Blob: ...

    def outputs(self) -> Iterator[Stored]:
        """All that is kept, newest first."""

    def remove(self, handle: str, *, reason: str) -> None: ...
