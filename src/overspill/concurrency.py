"""Runs blocking work beside an event loop, whichever loop it is: asyncio or trio."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def in_thread(function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Like ``asyncio.to_thread``, under trio too; trio is never imported unless it is running."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        result: T = await trio.to_thread.run_sync(function, *args)
        return result
    import asyncio

    return await asyncio.to_thread(function, *args)
