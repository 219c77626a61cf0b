"""Runs blocking work beside an event loop, whichever loop it is: asyncio or trio.

trio is never imported unless it is running.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def in_thread(function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Like ``asyncio.to_thread``, under trio too."""
    trio = _running_trio()
    if trio is not None:
        result: T = await trio.to_thread.run_sync(function, *args)
        return result
    import asyncio

    return await asyncio.to_thread(function, *args)


async def in_thread_to_the_end(function: Callable[[*Ts], T], *args: *Ts) -> T:
    """The same for work on what the caller goes on using: when cancelled, it is over before the caller hears of it."""
    trio = _running_trio()
    if trio is not None:
        with trio.CancelScope(shield=True):
            result: T = await trio.to_thread.run_sync(function, *args)
        await trio.lowlevel.checkpoint_if_cancelled()
        return result
    import asyncio
    from contextvars import copy_context
    from functools import partial

    work = asyncio.get_running_loop().run_in_executor(None, partial(copy_context().run, function, *args))
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as again:
            cancelled = again
    if cancelled is not None and work.exception() is None:
        raise cancelled
    return work.result()


def _running_trio() -> Any:
    trio = sys.modules.get("trio")
    return trio if trio is not None and trio.lowlevel.in_trio_run() else None
