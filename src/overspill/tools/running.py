"""Runs one tool, whatever it is: plain or ``async``, raising, hanging, yielding its output piece by piece.

A plain function runs in a thread of its own.  A thread can't be stopped: one that hangs is left behind
and does not keep the program from ending.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from overspill.errors import OverspillError
from overspill.source import said

T = TypeVar("T")

GRACE_SECONDS = 1.0
"""What a cancelled coroutine gets to clean up before nobody waits for it any more."""


_waited_for = threading.local()
_TIME_IS_UP = "its time is up, and its answer is waited for"


class TimedOut(Exception):
    """The time is up."""


async def called(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """What the function returns; awaited when it is a coroutine."""
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    value = await in_own_thread(lambda: function(**arguments))
    return await value if inspect.isawaitable(value) else value


async def within(work: Coroutine[Any, Any, T], seconds: float | None) -> T:
    """The result, or ``TimedOut``; who answers when told to stop has answered, what can't be stopped is left behind."""
    task = asyncio.ensure_future(_contained(work))
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError as told:
        if told.args != (_TIME_IS_UP,):
            task.cancel()
            raise
        # By one around this one: what had come by then is an answer to it as well.
        if await _answers(task):
            return task.result()
        raise
    if done:
        if task.cancelled():  # by itself: nobody else has
            raise RuntimeError("it was cancelled from inside")
        return task.result()
    if await _answers(task):
        return task.result()
    raise TimedOut


async def _answers(task: asyncio.Future[Any]) -> bool:
    """Told that its time is up, does it come to a result?"""
    task.cancel(_TIME_IS_UP)
    try:
        await asyncio.wait({task}, timeout=GRACE_SECONDS)
    except asyncio.CancelledError as told:
        if told.args != (_TIME_IS_UP,):
            raise
        await asyncio.wait({task}, timeout=GRACE_SECONDS)  # two times were up at once
    return task.done() and not task.cancelled() and task.exception() is None


async def _contained(work: Coroutine[Any, Any, T]) -> T:
    """A tool that wants to end the program, as parsers of arguments do, ends its own call."""
    try:
        return await work
    except (Exception, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        raise _as_fault(error) from error


def nobody_waits() -> bool:
    """For a plain function: has its caller gone? Its thread can't be stopped, but may end by itself."""
    gone: threading.Event | None = getattr(_waited_for, "gone", None)
    return gone is not None and gone.is_set()


async def in_own_thread(function: Callable[[], T]) -> T:
    loop = asyncio.get_running_loop()
    gone = threading.Event()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: Any, raised: Exception | None) -> None:
        if future.done():
            return
        if raised is None:
            future.set_result(result)
        else:
            future.set_exception(raised)

    def work() -> None:
        result: T | None = None
        raised: Exception | None = None
        _waited_for.gone = gone
        try:
            result = function()
        except BaseException as error:
            raised = _as_fault(error)
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, result, raised)

    threading.Thread(target=work, name="overspill-tool", daemon=True).start()
    try:
        return await future
    finally:
        gone.set()


def _as_fault(error: BaseException) -> Exception:
    """The exception itself; one that a future can't carry, or that would end more than the call, as words."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"it raised {sentence_of(error)}")


def sentence_of(error: BaseException) -> str:
    """What a model reads of an exception."""
    words = said(error)
    if words and isinstance(error, OverspillError):
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
