"""The engine: chunks in, bytes to persist out; at the end, the output whole or what to keep of it.

Guarantees: nothing leaves memory before it was handed over to be persisted; what is held
follows from the policy, never from the output; and the result depends on the bytes alone,
not on how they were chunked, because a selector is fed blocks cut by fixed rules.
A strategy that raises is replaced by the plain ends of the output.  Who persists, and where,
is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from overspill.core.line_starts import LineStarts
from overspill.core.measure import ESCAPE_BYTES, cut_before
from overspill.core.model import Call, Span, Totals
from overspill.core.policy import Policy
from overspill.core.ports import Selection, Selector
from overspill.core.redact import Redactor
from overspill.core.strategies.ends import EndsSelector

BLOCK_BYTES = 128 * 1024
"""Small enough to stay in a core's cache while it is counted and looked at."""

_AHEAD_BYTES = 2 * ESCAPE_BYTES
"""Whether a place is safe to cut at never depends on more than follows it by this much."""


@dataclass(frozen=True, slots=True)
class Whole:
    """The output is within the limit."""

    data: bytes
    redactions: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """The output is above the limit."""

    selection: Selection
    edges: Selection
    """Its plain start and end: what can be shown when the selection shows nothing."""
    totals: Totals
    unpersisted: bytes
    """What was not handed over by ``feed``: all of it when the output crossed the limit only at its end."""
    fault: BaseException | None
    """What the strategy raised, when it did."""
    redactions: int


class Capture:
    def __init__(self, policy: Policy, call: Call | None = None) -> None:
        self._policy = policy
        self._call = call or Call()
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._most_bytes = max(policy.above.bytes_ceiling, policy.budget.bytes_ceiling)
        self._blocks: _Blocks | None = None
        self._redactor = Redactor(policy.redact) if policy.redact else None

    @property
    def overflowed(self) -> bool:
        """Is the output known to be above the limit?"""
        return self._blocks is not None

    @property
    def lines(self) -> LineStarts:
        """The lines of what was handed over to be persisted: all of them once it has ended."""
        assert self._blocks is not None
        return self._blocks.lines

    def holds(self, size_bytes: int) -> bool:
        """Would a chunk of that size merely be held, with nothing to look at and nothing to persist?"""
        return self._blocks is None and self._redactor is None and self._held_bytes + size_bytes <= self._most_bytes

    def feed(self, chunk: bytes) -> bytes:
        """Takes a chunk; returns what must be persisted now, before anything else is fed."""
        return self._take(self._redactor.feed(chunk) if self._redactor else chunk)

    def finish(self, call: Call | None = None) -> Whole | Cut:
        """Ends the output; ``call`` replaces what was known at the start (an exit status, say)."""
        unpersisted = self._take(self._redactor.finish()) if self._redactor else b""
        redactions = self._redactor.count if self._redactor else 0
        if self._blocks is None:
            whole = b"".join(self._held)
            if self._policy.lets_through(whole.decode("utf-8", "replace")):
                return Whole(whole, redactions)
            unpersisted = self._overflow()
        assert self._blocks is not None
        return replace(self._blocks.finish(call or self._call), unpersisted=unpersisted, redactions=redactions)

    def _take(self, data: bytes) -> bytes:
        if self._blocks is not None:
            self._blocks.feed(data)
            return data
        self._held.append(data)
        self._held_bytes += len(data)
        return b"" if self._held_bytes <= self._most_bytes else self._overflow()

    def _overflow(self) -> bytes:
        everything = b"".join(self._held)
        self._held.clear()
        self._blocks = _Blocks(self._policy, self._call)
        self._blocks.feed(everything)
        return everything


class _Blocks:
    """Cuts the stream into canonical blocks and feeds them to the selectors."""

    def __init__(self, policy: Policy, call: Call) -> None:
        self._edges = EndsSelector(policy.budget, head_share=0.5)
        self._fault: BaseException | None = None
        self._selector: Selector = self._edges
        try:
            self._selector = policy.selector(call)
        except (Exception, SystemExit) as fault:
            self._fault = fault
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._at = 0
        self._line, self._column = 1, 0
        self._ends_line = True
        self.lines = LineStarts()

    def feed(self, chunk: bytes) -> None:
        self._pending.append(chunk)
        self._pending_bytes += len(chunk)
        if self._pending_bytes >= BLOCK_BYTES + _AHEAD_BYTES:
            self._emit(BLOCK_BYTES + _AHEAD_BYTES)

    def finish(self, call: Call) -> Cut:
        self._emit(1)
        totals = Totals(self._at, self._line - self._ends_line)
        self.lines.size, self.lines.lines = totals
        edges = self._edges.finish(totals, call)
        selection: Selection = edges
        if self._selector is not self._edges:
            try:
                selection = self._selector.finish(totals, call)
            except (Exception, SystemExit) as fault:
                self._fault = fault
        return Cut(selection, edges, totals, b"", self._fault, 0)

    def _emit(self, least: int) -> None:
        """Feeds blocks as long as ``least`` bytes are pending."""
        data = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
        at = 0
        while len(data) - at >= least:
            end = self._block_end(data, at)
            self._feed_block(data[at:end])
            at = end
        self._pending = [data[at:]] if at < len(data) else []
        self._pending_bytes = len(data) - at

    def _block_end(self, data: bytes, at: int) -> int:
        """Whole lines, or a piece of one line that is longer than a block, cut at a safe place."""
        end = at + BLOCK_BYTES
        if self._column:
            line_end = data.find(b"\n", at, end) + 1
        elif end > len(data):
            line_end = len(data)
        else:
            line_end = data.rfind(b"\n", at, end) + 1
        return line_end or at + cut_before(data[at : end + _AHEAD_BYTES], BLOCK_BYTES)

    def _feed_block(self, data: bytes) -> None:
        block = Span(self._at, data, self._line, self._column)
        self._at += len(data)
        newlines = data.count(b"\n")
        self._line += newlines
        self._column = len(data) - data.rfind(b"\n") - 1 if newlines else self._column + len(data)
        self._ends_line = self._column == 0
        if self._ends_line:
            self.lines.note(self._line, self._at)
        self._edges.feed(block)
        if self._selector is not self._edges:
            try:
                self._selector.feed(block)
            except (Exception, SystemExit) as fault:
                self._fault, self._selector = fault, self._edges
