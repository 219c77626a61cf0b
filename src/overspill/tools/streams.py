"""Bounds what a tool yields piece by piece, also when it breaks off: what had come by then is kept and shown.

A generator that raises, or is told to stop since its time is up, gives an error whose text is the
sentence and the bounded start of its output, together within the budget.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterable, Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

from overspill.core.measure import encode, readable
from overspill.core.model import UNITS, Bounded, Budget, Call
from overspill.core.redact import redacted
from overspill.errors import PolicyError
from overspill.source import chunk_of
from overspill.summarise import summarised
from overspill.tools.result import ToolResult, metadata_of
from overspill.tools.running import in_own_thread, sentence_of

if TYPE_CHECKING:
    from overspill.bounder import Bounder, Capturing

MOST_SENTENCE_CHARS = 400
_WRITTEN_BYTES = 1 << 16
STOPPED = "it was stopped: its time was up"


def is_stream(output: object) -> TypeGuard[Iterator[Any] | AsyncIterable[Any]]:
    return isinstance(output, Iterator | AsyncIterable)


async def bounded_stream(bounder: Bounder, output: Iterator[Any] | AsyncIterable[Any], call: Call) -> ToolResult:
    """The result, its metadata saying what was done. Raises nothing, told to stop or not."""
    fault = ""
    # Not as a context: that would wait for a thread which nobody can stop.
    capturing = bounder.capture(call)
    feeding = _Feeding(capturing)
    try:
        if isinstance(output, AsyncIterable):
            async for chunk in output:
                await feeding.feed(chunk)
        else:
            await in_own_thread(lambda: feeding.feed_all(output))
    except asyncio.CancelledError:
        fault = STOPPED
    except Exception as error:
        fault = sentence_of(error)
    if len(fault) > MOST_SENTENCE_CHARS:  # the rest of it is kept where the output is
        feeding.add(f"\n{fault}\n")
    bounded = await in_own_thread(feeding.finish)
    if not fault:
        bounded = await summarised(bounder, bounded, call, output)
        return ToolResult(content=bounded.text, metadata=metadata_of(bounded), tool=call.tool, call_id=call.id)
    text = with_sentence(bounder, bounded, fault)
    return ToolResult(
        content=text, metadata=metadata_of(bounded), is_error=True, tool=call.tool, call_id=call.id
    )  # fmt: skip


async def whole_stream(output: Iterator[Any] | AsyncIterable[Any]) -> str:
    """All of it as one text: for a tool whose results are not to be cut."""
    if isinstance(output, AsyncIterable):
        return readable(b"".join([chunk_of(chunk) async for chunk in output]))
    return await in_own_thread(lambda: readable(b"".join(map(chunk_of, output))))


def with_sentence(bounder: Bounder, bounded: Bounded, sentence: str) -> str:
    """A sentence of ours before a bounded text, together within the budget."""
    policy = bounder.policy
    if policy.redact:
        sentence = readable(redacted(encode(sentence), policy.redact))
    if len(sentence) > MOST_SENTENCE_CHARS:
        sentence = sentence[: MOST_SENTENCE_CHARS - 1] + "…"
    if not bounded.text:
        return sentence
    opening = f"[{sentence}; what had come by then:]\n"
    used = policy.measure.size(opening, Budget(max_tokens=1, max_bytes=1, max_chars=1, max_lines=1))
    sizes = {f"max_{unit}": getattr(policy.budget, f"max_{unit}") for unit in UNITS}
    left = {name: size - taken for (name, size), taken in zip(sizes.items(), used, strict=True) if size}
    try:
        narrow = bounder.within(Budget(**left))
    except PolicyError:
        return sentence
    # Where it was cut already, it is cut anew from the stored original.
    return opening + narrow.bound(bounded.text).text


class _Feeding:
    """A capture that is fed by one thread and may be ended by another."""

    def __init__(self, capturing: Capturing) -> None:
        self._capturing = capturing
        self._lock = threading.Lock()
        self._ended = False
        self._waiting = bytearray()

    async def feed(self, chunk: Any) -> None:
        """What overflows is written by a thread: small pieces wait for one another, since each costs a start."""
        if not self._capturing.overflowed:
            self._capturing.feed(chunk)
            return
        self._waiting += chunk_of(chunk)
        if len(self._waiting) >= _WRITTEN_BYTES:
            together, self._waiting = bytes(self._waiting), bytearray()
            await in_own_thread(lambda: self._take(together))

    def add(self, text: str) -> None:
        """For the end: written when it comes."""
        self._waiting += encode(text)

    def feed_all(self, chunks: Iterator[Any]) -> None:
        for chunk in chunks:
            if not self._take(chunk):
                return

    def _take(self, chunk: Any) -> bool:
        with self._lock:
            if not self._ended:
                self._capturing.feed(chunk)
            return not self._ended

    def finish(self) -> Bounded:
        with self._lock:
            self._ended = True
            if self._waiting:
                self._capturing.feed(bytes(self._waiting))
            return self._capturing.finish()
