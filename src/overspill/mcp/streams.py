"""Streams of events over HTTP, followed for as long as something may come of them.

Guarantees: a stream that breaks, or that the server closes to be asked again, is resumed from its last
event, as often as it moves or ends in order; one that fails again and again is given up; what was opened
here is closed here.
"""

from __future__ import annotations

import asyncio
import io
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
                        data = event.data
                        del event  # the bytes that it was are not held beside it
                        if data:
                            yield data
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
        found = events.feed(chunk)
        del chunk
        found.reverse()
        while found:
            yield found.pop()


async def messages_of(got: httpx.Response) -> AsyncIterator[bytes]:
    """Those of an answer that is a stream of events, or one body."""
    if got.headers.get("content-type", "").startswith("text/event-stream"):
        async for event in events_of(got):
            if event.data:
                yield event.data
    elif (body := await body_of(got)).lstrip()[:1] in (b"{", b"["):
        yield body


async def body_of(got: httpx.Response) -> bytes:
    """Its very buffer, not held by the response as well."""
    held = io.BytesIO()
    async for chunk in got.aiter_bytes():
        held.write(chunk)
    return held.getvalue().removeprefix(wire.BOM)


def errors() -> type[Exception]:
    import httpx

    return httpx.HTTPError
