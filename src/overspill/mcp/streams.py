"""Streams of events over HTTP, followed for as long as something may come of them.

Guarantees: a stream that breaks, or that the server closes to be asked again, is resumed from its last
event, as often as it moves or ends in order; one that fails again and again is given up; what was opened
here is closed here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from overspill.mcp import wire

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 5
_RETRY_SECONDS = 1.0
_LEAST_RETRY_SECONDS = 0.05


@dataclass
class Streams:
    """Those of one server."""

    client: httpx.AsyncClient
    address: Callable[[], str]
    headers: Callable[[str], dict[str, str]]
    """What a request for the rest of a stream says, by the id of the last event."""

    async def followed(
        self, begun: httpx.Response | None = None, *, is_wanted: Callable[[], bool] = lambda: True
    ) -> AsyncGenerator[bytes, None]:
        """The data of its events; without a stream that has begun, of what the server says unasked."""
        last, wait, failures = "", _RETRY_SECONDS, 0
        stream = begun
        if begun is None:
            stream, failures = await self._asked_for("", 0)
        while failures < ATTEMPTS:
            if stream is not None:
                try:
                    async for event in events_of(stream):
                        last, failures = event.id or last, 0
                        wait = wait if event.retry_ms is None else event.retry_ms / 1000
                        if event.data:
                            yield event.data
                except errors():
                    failures += 1
                finally:
                    await stream.aclose()
            if not is_wanted() or (begun is not None and not last):
                return
            await asyncio.sleep(max(wait, _LEAST_RETRY_SECONDS))
            stream, failures = await self._asked_for(last, failures)

    async def _asked_for(self, last: str, failures: int) -> tuple[httpx.Response | None, int]:
        """The stream from its last event on, and how often in a row that has failed."""
        try:
            request = self.client.build_request("GET", self.address(), headers=self.headers(last))
            got = await self.client.send(request, stream=True)
        except errors():
            return None, failures + 1
        if got.status_code == 200:
            return got, failures
        await got.aclose()
        return None, failures + 1 if got.status_code >= 500 else ATTEMPTS


async def events_of(got: httpx.Response) -> AsyncIterator[wire.Event]:
    events = wire.Events()
    async for chunk in got.aiter_bytes():
        for event in events.feed(chunk):
            yield event


async def messages_of(got: httpx.Response) -> AsyncIterator[bytes]:
    """Those of an answer that is a stream of events, or one body."""
    if got.headers.get("content-type", "").startswith("text/event-stream"):
        async for event in events_of(got):
            if event.data:
                yield event.data
    elif (body := await got.aread()).lstrip()[:1] in (b"{", b"["):
        yield body


def errors() -> type[Exception]:
    import httpx

    return httpx.HTTPError
