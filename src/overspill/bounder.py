"""The engine together with a store: what callers use.

Guarantees: an output within the limit comes back as the very object it was; one above it is
in the store, or said not to be, before its bounded text is returned; and no exception of
overspill's reaches the tool's caller from here.  How the decisions are made is the core's.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, Callable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from overspill.concurrency import in_thread, in_thread_to_the_end
from overspill.core import notice
from overspill.core.access import FilePath
from overspill.core.answers import claim_of, tightened
from overspill.core.capture import Capture, Cut, Whole
from overspill.core.envelopes import TELLTALE, claim_of_cut
from overspill.core.events import Event, Listener
from overspill.core.excerpt import gaps_between
from overspill.core.measure import encode, readable
from overspill.core.model import Bounded, Budget, Call, Part, Totals, totals_of
from overspill.core.notice import Kept
from overspill.core.policy import Policy
from overspill.core.ports import Store, Stored
from overspill.core.redact import Redactor, redacted
from overspill.core.render import render
from overspill.core.shown import Shown, pieces_in, pieces_of
from overspill.core.strategies.summarise import Summarise
from overspill.core.summaries import as_much_as_fits, summary_in
from overspill.errors import PolicyError
from overspill.keeping import Keeping
from overspill.reports import report, report_fault, tell
from overspill.source import chunk_of, chunks_of

P = ParamSpec("P")
R = TypeVar("R")

_NO_CALL = Call()
_READ_BYTES = 1 << 20


class Bounder:
    """Bounds outputs by one policy into one store. Thread-safe: it holds no state of an output."""

    def __init__(
        self,
        policy: Policy | None = None,
        store: Store | None = None,
        *,
        on_event: Listener | Sequence[Listener] = (),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if policy is not None and not isinstance(policy, Policy):
            raise PolicyError("policy", policy, "a Policy")
        if store is not None and not callable(getattr(store, "spill", None)):
            raise PolicyError("store", store, "a store, as open_store(path) gives")
        listeners = (on_event,) if callable(on_event) else on_event
        if not (isinstance(listeners, (tuple, list)) and all(map(callable, listeners))):
            raise PolicyError("on_event", on_event, "a callable that takes an Event, or a list of them")
        self.policy = policy or Policy()
        self.store = store
        self.listeners = tuple(listeners)
        self._clock = clock

    def within(self, budget: Budget) -> Bounder:
        """The same with another budget, which is the limit as well."""
        policy = replace(self.policy, budget=budget, limit=None)
        return Bounder(policy, self.store, on_event=self.listeners, clock=self._clock)

    def bound(self, output: Any, call: Call | None = None) -> Bounded:
        """The output, untouched when it is within the limit, else what matters of it."""
        untouched = self.untouched(output, call)
        return self._stream(output, call or _NO_CALL) if untouched is None else untouched

    async def abound(self, output: Any, call: Call | None = None) -> Bounded:
        """The same without blocking the event loop; takes asynchronous iterables of chunks as well."""
        if isinstance(output, AsyncIterable):
            async with self.capture(call) as capturing:
                async for chunk in output:
                    await capturing.afeed(chunk)
            return await self._summarised(capturing.bounded, call, output)
        bounded = self.untouched(output, call)
        if bounded is None:
            bounded = await in_thread(self._stream, output, call or _NO_CALL)
        return await self._summarised(bounded, call, output)

    def tool(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorates a tool, plain or ``async``: what it returns is bounded in the form in which it came.

        One that yields piece by piece returns one text, to be awaited where the tool is ``async``, not iterated over.
        """
        from overspill.content import bounded_tool

        return bounded_tool(self, function)

    def capture(self, call: Call | None = None) -> Capturing:
        """A stream to feed, as a context manager of both kinds; its ``bounded`` is there at the end."""
        return Capturing(self, call or _NO_CALL)

    def untouched(self, output: Any, call: Call | None = None) -> Bounded | None:
        """The way out for small text, which must cost next to nothing; None when there is more to do."""
        if isinstance(output, Bounded):
            return output if self.policy.measure.fits(output.text, self.policy.above) else None
        if not isinstance(output, str) or self.policy.redact or not self.policy.surely_lets_through(output):
            return None
        bounded = Bounded(text=output, output=output)
        self._report_untouched(bounded, call or _NO_CALL)
        return bounded

    async def _summarised(self, bounded: Bounded, call: Call | None, output: Any) -> Bounded:
        if not bounded.truncated or not isinstance(self.policy.strategy, Summarise):
            return bounded
        from overspill.summarise import summarised

        return await summarised(self, bounded, call or _NO_CALL, output)

    def _stream(self, output: Any, call: Call) -> Bounded:
        source = output.text if isinstance(output, Bounded) else output
        with Capturing(self, call, original=None if isinstance(output, Iterator) else source) as capturing:
            for chunk in chunks_of(source):
                capturing.feed(chunk)
        bounded = capturing.bounded
        if bounded.truncated or isinstance(output, Iterator):
            return bounded
        if bounded.redactions:
            return replace(bounded, output=None)
        unharmed = isinstance(source, str) and source == bounded.text
        return replace(bounded, output=output, text=source if unharmed else bounded.text)

    def again(self, data: bytes, call: Call) -> Bounded | None:
        """For text above the limit: the same within it where that stores nothing anew and loses nothing.

        That is a text that another layer has bounded, which is cut anew from the stored original, a summary, which
        ends earlier, and an answer of read-back, of which fewer lines are shown; each only when it holds nothing else.
        """
        if self.store is None or not (b"[overspill " in data or TELLTALE in data):
            return None
        started = self._clock()
        try:
            return (
                self._summary_shortened(data, call, started)
                or self._cut_again(data, call, started)
                or self._shortened(data, call, started)
                or self._envelope_cut_again(data, call, started)
            )
        except LookupError:  # gone, or another store's: a text like any other
            return None
        except (Exception, SystemExit) as fault:
            self._report_fault(fault, call)
            return None

    def _cut_again(self, data: bytes, call: Call, started: float) -> Bounded | None:
        found = notice.recognised(data)
        if self.store is None or found is None:
            return None
        text = readable(data)
        stored, pieces = self.store.stored(found.handle), pieces_of(text)
        if stored.lines != found.lines or pieces is None:
            return None
        return self._anew(self.store, stored, [pieces], call, started)

    def _envelope_cut_again(self, data: bytes, call: Call, started: float) -> Bounded | None:
        claim = claim_of_cut(data)
        if self.store is None or claim is None:
            return None
        return self._anew(self.store, _kept_at(self.store, claim.place), claim.shown, call, started)

    def anew(self, place: str, shown: str, call: Call) -> Bounded | None:
        """What is kept under a handle or a path, cut by this policy; None where it isn't, or ``shown`` isn't of it."""
        if self.store is None:
            return None
        started = self._clock()
        try:
            return self._anew(self.store, _kept_at(self.store, place), [pieces_in(shown)], call, started)
        except LookupError:
            return None
        except (Exception, SystemExit) as fault:
            self._report_fault(fault, call)
            return None

    def _anew(
        self, store: Store, stored: Stored, claims: Sequence[list[str]], call: Call, started: float
    ) -> Bounded | None:
        """Each of the claims is pieces that have to stand in the output, in their order."""
        looking = [Shown(pieces, each="behind the last") for pieces in claims]
        capture = Capture(self.policy, call)
        for chunk in _chunks(store, stored):
            for shown in looking:
                shown.feed(chunk)
            capture.feed(chunk)
        ended = capture.finish(call)
        if isinstance(ended, Whole) or not all(shown.all_found() for shown in looking):
            return None
        return self._rendered(ended, Kept(stored.handle, stored.path), call, started)

    def _summary_shortened(self, data: bytes, call: Call, started: float) -> Bounded | None:
        found = summary_in(readable(data))
        if self.store is None or found is None:
            return None
        stored = self.store.stored(found.handle)
        words = readable(redacted(encode(found.words), self.policy.redact))
        measure, budget = self.policy.measure, self.policy.budget
        fitting = as_much_as_fits(found.header, words, lambda whole: measure.fits(whole, budget))
        if fitting is None:
            return self._anew(self.store, stored, (), call, started)
        totals = Totals(stored.bytes, stored.lines)
        gaps = tuple(gaps_between([], totals))
        bounded = Bounded(
            text="".join(fitting),
            truncated=True,
            handle=stored.handle,
            path=stored.path,
            header=fitting[0],
            parts=(Part(fitting[1], gap=gaps[0] if gaps else None),),
            gaps=gaps,
            totals=totals,
            kind="summary",
        )
        self._report_cut(bounded, call, started)
        return bounded

    def _shortened(self, data: bytes, call: Call, started: float) -> Bounded | None:
        text = readable(data)
        claim = claim_of(text)
        if self.store is None or claim is None:
            return None
        for handle in claim.handles:
            stored = self.store.stored(handle)
            shown = Shown(claim.pieces, each="after its start")
            for chunk in _chunks(self.store, stored) if claim.pieces else ():
                shown.feed(chunk)
            if not shown.all_found():
                return None
        redactor = Redactor(self.policy.redact)
        if self.policy.redact:
            text = readable(redactor.feed(encode(text)) + redactor.finish())
        bounded = replace(
            tightened(text, self.policy.budget, self.policy.measure),
            handle=next(iter(sorted(claim.handles))),
            redactions=redactor.count,
        )
        self._report_cut(bounded, call, started)
        return bounded

    def _rendered(self, cut: Cut, kept: Kept, call: Call, started: float) -> Bounded:
        if cut.fault:
            self._report_fault(cut.fault, call)
        try:
            bounded = render(cut, kept, self.policy)
        except (Exception, SystemExit) as raised:  # by a selection or an access value of the user's
            self._report_fault(raised, call)
            bounded = render(replace(cut, selection=cut.edges), kept, replace(self.policy, access=FilePath()))
        if fault := self.policy.measure.fault:
            self.policy.measure.fault = None
            self._report_fault(fault, call)
        self._report_cut(bounded, call, started)
        return bounded

    def _report_fault(self, fault: BaseException, call: Call) -> None:
        report_fault(self.listeners, fault, call)

    def _report_cut(self, bounded: Bounded, call: Call, started: float) -> None:
        report(self.listeners, "truncated", bounded, call, seconds=self._clock() - started)

    def _report_untouched(self, bounded: Bounded, call: Call) -> None:
        if self.listeners:
            reason = "told to skip" if self.policy.cuts_nothing else "within the limit"
            report(self.listeners, "skipped", bounded, call, reason=reason)

    def _without_secrets(self, call: Call) -> Call:
        """The store writes down the call as well."""
        if not self.policy.redact:
            return call
        command, question = (
            redacted(text.encode("utf-8", "surrogatepass"), self.policy.redact).decode("utf-8", "replace")
            for text in (call.command, call.question)
        )
        return replace(call, command=command, question=question)

    def tell(self, event: Event) -> None:
        """Hands an event to the listeners; one that fails is a line in the log."""
        tell(self.listeners, event)


class Capturing:
    """One output on its way: feed it chunk by chunk, then read ``bounded``.

    The whole goes into the store while it comes, from the moment it is known to be too much.
    Leaving the context ends the output also when the tool raised: what it printed is kept.
    """

    def __init__(self, bounder: Bounder, call: Call, *, original: Any = None) -> None:
        self._bounder = bounder
        self._original = original
        self._call = call = bounder._without_secrets(call)
        self._capture = Capture(bounder.policy, call)
        self._keeping = Keeping(bounder.store, call)
        self._started = bounder._clock()
        self._start = bytearray()
        """What may turn out to be a text that a layer has bounded; given up where that is too long for one."""
        self._starts_short = True
        self._bounded: Bounded | None = None

    @property
    def bounded(self) -> Bounded:
        return self.finish()

    @property
    def overflowed(self) -> bool:
        """Is the output known to be above the limit? Then it is on its way into the store."""
        return self._capture.overflowed

    def spooled(self) -> str | None:
        """The file in which the output can be read while it comes, as far as it has come; None without one."""
        return self._keeping.spooled()

    def feed(self, chunk: Any) -> None:
        """Takes ``str``, bytes or anything that JSON can say; blocks while the store writes.

        After the end it takes nothing more: that is an event and a line in the log, since no tool shall fail by it.
        """
        data = chunk_of(chunk)
        if self._bounded is not None:
            late = ValueError(
                f"{len(data)} bytes were fed after the end, which `bounded` and `finish` are: they are lost"
            )
            self._bounder._report_fault(late, self._call)
            return
        if self._starts_short:
            self._starts_short = len(self._start) + len(data) <= notice.MOST_BYTES
            if self._starts_short:
                self._start += data
            else:
                self._start.clear()
        persist = self._capture.feed(data)
        if persist:
            self._keeping.write(persist, self._capture.lines)

    async def afeed(self, chunk: Any) -> None:
        if isinstance(chunk, str | bytes) and self._capture.holds(4 * len(chunk)):
            self.feed(chunk)
        else:
            await in_thread_to_the_end(self.feed, chunk)

    def finish(self, *, exit_status: int | None = None) -> Bounded:
        """Ends the output; a second call answers the same."""
        if self._bounded is None:
            call = self._call if exit_status is None else replace(self._call, exit_status=exit_status)
            self._bounded = self._finish(call)
        return self._bounded

    async def afinish(self, *, exit_status: int | None = None) -> Bounded:
        return await in_thread_to_the_end(lambda: self.finish(exit_status=exit_status))

    def _finish(self, call: Call) -> Bounded:
        ended = self._capture.finish(call)
        if isinstance(ended, Whole):
            bounded = Bounded(
                text=readable(ended.data),
                output=ended.data,
                totals=totals_of(ended.data),
                redactions=ended.redactions,
            )
            self._bounder._report_untouched(bounded, call)
            return bounded
        if again := self._bounder.again(bytes(self._start), call):
            self._keeping.discard()
            return again
        if ended.unpersisted:
            self._keeping.write(ended.unpersisted, self._capture.lines)
        kept, fault = self._keeping.commit(call)
        if fault:
            self._bounder._report_fault(fault, call)
        if self._original is not None and (fault or ended.fault) and self._bounder.policy.when_failed == "original":
            if ended.fault:
                self._bounder._report_fault(ended.fault, call)
            text = readable(redacted(b"".join(chunks_of(self._original)), self._bounder.policy.redact))
            return Bounded(
                text=text,
                totals=ended.totals,
                unsaved=kept.unsaved,
                handle=kept.handle,
                path=kept.path,
                redactions=ended.redactions,
            )
        bounded = self._bounder._rendered(ended, kept, call, self._started)
        self._keeping.remember(bounded, by=self._bounder.policy.strategy)
        return bounded

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.afinish()


def _kept_at(store: Store, place: str) -> Stored:
    """By its handle or its path."""
    if notice.HANDLE.fullmatch(place):
        return store.stored(place)
    for stored in store.outputs():
        if stored.path == place:
            return stored
    raise LookupError(place)


def _chunks(store: Store, stored: Stored) -> Iterator[bytes]:
    blob = store.open(stored.handle)
    try:
        for start in range(0, blob.size, _READ_BYTES):
            yield blob.read(start, _READ_BYTES)
    finally:
        blob.close()
