"""Stands between a host on pipes and a server on streamable HTTP.

Guarantees: the host sees the server's messages as lines; streams are resumed where they end, a session
that expired is begun again once; a server that can't be reached is a refusal in words, and read-back
goes on.  Headers given for the server are sent to its origin only and never logged.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from typing import TYPE_CHECKING, Any

from overspill.concurrency import in_thread
from overspill.core.notice import one_line
from overspill.errors import MissingExtra
from overspill.mcp import headers as names
from overspill.mcp import wire
from overspill.mcp.address import checked_url, given_headers, hidden_words, shown_url
from overspill.mcp.messages import Conversation, Turn
from overspill.mcp.stdio import ENDING_SECONDS, READ_BYTES, SWITCHING_SECONDS, Outlet, OwnCalls
from overspill.mcp.streams import Streams, body_of, messages_of
from overspill.mcp.trouble import (
    CONNECT_SECONDS,
    REFUSED,
    answered_with,
    error_of,
    in_words,
    is_lost_session,
    moved_to,
    words_of,
)
from overspill.mcp.unlisted import WAITING_SECONDS, Unlisted

if TYPE_CHECKING:
    import httpx

_NOTE_SECONDS = 30
"""A notification is not waited for longer: what comes after it waits too."""
_WAITING_LINES = 64
_OFFERED = "application/json, text/event-stream"


def run(options: Mapping[str, Any]) -> int:
    """`overspill mcp --url URL`."""
    url, given = checked(options, os.environ)
    from overspill.mcp.assembly import assembled

    parts = assembled(options, start=os.getcwd(), env=os.environ)
    sys.setswitchinterval(SWITCHING_SECONDS)
    if "listen" in options:
        from overspill.mcp.listen import listen

        return listen(options["listen"], url, given, parts)
    return asyncio.run(Bridge(url, given, parts.conversation()).run())


def checked(options: Mapping[str, Any], env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The address and the headers given for it; what can't be used is refused before anything is started."""
    try:
        import httpx  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtra("overspill mcp --url", "http") from None
    return checked_url(options["url"]), given_headers(options.get("header", ()), env)


class Bridge:
    """One host on the descriptors 0 and 1, one server at an address."""

    def __init__(self, url: str, given: Mapping[str, str], conversation: Conversation) -> None:
        self._url = url
        self._given = dict(given)
        self._conversation = conversation
        self._host = Outlet(1)
        self._own = OwnCalls(conversation, self._host)
        self._session: str | None = None
        self._version: str | None = None
        self._marked: dict[str, names.Marked] = {}
        self._handshake: bytes = b""
        self._listing: set[object] = set()
        self._posts: dict[object, tuple[asyncio.Task[None], bool]] = {}
        self._given_up: set[object] = set()
        self._batches: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Task[None] | None = None
        self._renewing = asyncio.Lock()
        self._bounding = ThreadPoolExecutor(1, "overspill-bounding")  # small messages have threads of their own
        self._in_work = 0
        self._heard_messages = 0
        self._is_reached = False
        self._is_missed = False
        """Of a server that has answered nothing yet: has anything been asked of it in vain?"""

    async def run(self) -> int:
        import httpx

        limits = httpx.Limits(max_connections=None, max_keepalive_connections=32)
        timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
        async with httpx.AsyncClient(headers=self._given, timeout=timeout, limits=limits) as client:
            self._client = client
            self._streams = Streams(client, lambda: self._url, self._stream_headers)
            lines: asyncio.Queue[bytes] = asyncio.Queue(_WAITING_LINES)
            loop = asyncio.get_running_loop()
            threading.Thread(target=_read_lines, args=(loop, lines), daemon=True).start()
            while line := await lines.get():
                await self._from_host(line)
            await self._end()
        return 1 if self._is_missed and not self._is_reached else 0

    async def _from_host(self, line: bytes) -> None:
        if not line.strip():
            return
        turn: Turn = self._conversation.from_host(line)
        for call in turn.calls:
            await in_thread(self._own.put, call)
        if turn.answer:
            await self._to_host(turn.answer)
        if turn.unlisted:
            await self._list(turn.unlisted)
        if not turn.forward:
            return
        message = turn.forward.strip()
        found = wire.envelope(message)
        if found is not None and not found.is_request:
            await self._post_note(message, found)
            return
        if found is None:
            self._background(self._batch(message))
            return
        if found.method == "initialize":
            self._session, self._version, self._handshake = None, None, message
        if found.method == "tools/list":
            self._listing.add(found.key)
        modern = bool(names.of_message(message, {}))
        task = asyncio.create_task(self._request(message, found))
        self._posts[found.key] = (task, modern)
        task.add_done_callback(lambda _: self._posts.pop(found.key, None))

    def _background(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._batches.add(task)
        task.add_done_callback(self._batches.discard)

    async def _post_note(self, message: bytes, found: wire.Envelope) -> None:
        """Notifications and responses, one after the other: their order tells something."""
        if found.method == "notifications/cancelled" and self._was_cancelled(found):
            return
        try:
            async with asyncio.timeout(_NOTE_SECONDS), self._posted(message) as got:
                lost = answered_with(got, self._url) if got.status_code >= 300 else ""
        except Exception as fault:
            lost = in_words(fault, self._url)
        if lost:
            print(f"overspill: a notification was lost: {lost}", file=sys.stderr)
        if found.method == "notifications/initialized":
            self._listen_anew()

    async def _batch(self, message: bytes) -> None:
        """Several messages in one, of older versions, or what is no JSON: what comes back is passed on."""
        requests = [one for item in wire.elements(message) or () if (one := wire.envelope(item)) and one.is_request]
        try:
            async with self._posted(message) as got:
                said = ""
                async for data in messages_of(got):
                    if got.status_code < 300 or error_of(data) is not None:
                        await self._pass(data, None)
                        requests = []
                    else:
                        said = self._words_of(data)
                failed = answered_with(got, self._url, said)
        except Exception as fault:
            failed = in_words(fault, self._url)
        for found in requests:
            await self._refuse(found, failed)

    async def _list(self, unlisted: Unlisted) -> None:
        while unlisted.request and not unlisted.is_known:
            answer = b""
            with suppress(Exception):  # a server that does not answer this will not answer the call
                async with asyncio.timeout(WAITING_SECONDS), self._posted(unlisted.request) as got:
                    async for data in messages_of(got):
                        said = wire.envelope(data)
                        if said is not None and said.key == unlisted.key:
                            self._note_marks(said)
                            answer = data
                            break
            unlisted.listed(answer)

    def _posted(self, message: bytes) -> AbstractAsyncContextManager[httpx.Response]:
        return self._client.stream("POST", self._url, content=message, headers=self._headers(message))

    def _was_cancelled(self, found: wire.Envelope) -> bool:
        """From 2026-07-28 on a request is cancelled by closing its stream."""
        params = wire.decoded(found.params) if len(found.params) else None
        key = params.get("requestId") if isinstance(params, dict) else None
        task, modern = self._posts.get(key, (None, self._version is None and not self._handshake))
        if modern and task is not None:
            task.cancel()
        elif task is not None:
            self._given_up.add(key)
            task.add_done_callback(lambda _: self._given_up.discard(key))
        return modern

    async def _request(self, message: bytes, found: wire.Envelope) -> None:
        try:
            await self._exchange(message, found)
        except asyncio.CancelledError:
            raise
        except Exception as fault:
            await self._refuse(found, in_words(fault, self._url))

    async def _exchange(self, message: bytes, found: wire.Envelope, *, attempt: int = 0) -> None:
        session = self._session
        async with self._posted(message) as got:
            if found.method == "initialize":
                self._session = got.headers.get(names.SESSION)
            if got.status_code < 300:
                await self._answered(got, found)
                return
            body = await got.aread()
        if (moved := moved_to(got)) and attempt < 3:
            self._url = moved
            await self._exchange(message, found, attempt=attempt + 1)
        elif session and found.method != "initialize" and attempt == 0 and is_lost_session(got.status_code, body):
            await self._renew(session)
            await self._exchange(message, found, attempt=1)
        else:
            await self._failed(got, body, found)

    async def _answered(self, got: httpx.Response, found: wire.Envelope) -> None:
        kind = got.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            await self._stream(got, found)
        elif kind == "application/json":
            if not await self._pass(await body_of(got), found):
                await self._refuse(found, f"the server answered {got.status_code} without a response")
        else:
            what = "something without a type" if not kind else one_line(kind, 60)
            await self._refuse(found, f"the server at {shown_url(self._url)} answered {got.status_code} with {what}")

    async def _stream(self, got: httpx.Response, found: wire.Envelope) -> None:
        """Events until the response has come; one that was given up is not resumed."""
        async with aclosing(self._streams.followed(got, is_wanted=lambda: found.key not in self._given_up)) as stream:
            async for data in stream:
                if await self._pass(data, found):
                    return
        await self._refuse(found, "the server's stream ended without the response")

    def _listen_anew(self) -> None:
        """To what the server says unasked, for as long as it offers a stream for that."""
        if self._listener is not None:
            self._listener.cancel()
        self._listener = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async with aclosing(self._streams.followed()) as stream:
            async for data in stream:
                await self._pass(data, None)

    async def _pass(self, message: bytes, found: wire.Envelope | None) -> bool:
        """On to the host; True when it was the response."""
        got = wire.envelope(message)
        if got is None and message.lstrip()[:1] != b"[":
            return False
        if got is not None and got.is_response and found is not None:
            self._learn(got, found)
        self._is_reached = True
        if b"\n" in message or b"\r" in message:
            message = wire.on_one_line(message)
        await self._to_host(await self._bounded(message))
        if found is None:
            return False
        among = [got] if got is not None else [wire.envelope(item) for item in wire.elements(message) or ()]
        return any(one is not None and one.is_response and one.key == found.key for one in among)

    async def _bounded(self, message: bytes) -> bytes:
        found = self._conversation.begun_from_server(message)
        self._heard_messages += 1
        if isinstance(found, bytes):
            return found
        self._in_work += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._bounding, found)
        finally:
            self._in_work -= 1

    def _learn(self, got: wire.Envelope, found: wire.Envelope) -> None:
        if got.key == found.key and found.method == "initialize":
            result = wire.decoded(got.result) if len(got.result) else None
            version = result.get("protocolVersion") if isinstance(result, dict) else None
            self._version = version if isinstance(version, str) else None
        if got.key in self._listing and len(got.result):
            self._listing.discard(got.key)
            self._note_marks(got)

    def _note_marks(self, got: wire.Envelope) -> None:
        if b"x-mcp-header" in bytes(got.result):
            for tool in (wire.decoded(got.result) or {}).get("tools", ()):
                self._marked[str(tool.get("name"))] = names.marked_arguments(tool.get("inputSchema"))

    async def _renew(self, session: str) -> None:
        """The session has expired: the same handshake begins another, unseen by the host."""
        async with self._renewing:
            if self._session != session:
                return
            self._session = None
            async with self._posted(self._handshake) as got:
                self._session = got.headers.get(names.SESSION)
                async for _ in got.aiter_bytes():
                    pass
            note = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
            await self._client.post(self._url, content=note, headers=self._headers(note))
            if self._listener is not None:
                self._listen_anew()

    async def _failed(self, got: httpx.Response, body: bytes, found: wire.Envelope) -> None:
        if (error := error_of(body)) is not None:
            answer = wire.encoded({"jsonrpc": "2.0", "id": wire.Raw(bytes(found.id)), "error": error})
            await self._to_host(self._conversation.from_server(answer))
            return
        await self._refuse(found, answered_with(got, self._url, self._words_of(body)))

    def _words_of(self, body: bytes) -> str:
        return words_of(body, hidden_words(self._url, self._given))

    async def _refuse(self, found: wire.Envelope, reason: str) -> None:
        self._miss(reason)
        message = wire.refusal(found.id, REFUSED, reason)
        await self._to_host(self._conversation.from_server(message))

    def _miss(self, reason: str) -> None:
        """Once, and only before the first answer: what the host makes of refusals its user may never see."""
        if not self._is_reached and not self._is_missed:
            self._is_missed = True
            print(f"overspill: {reason}", file=sys.stderr)

    async def _to_host(self, message: bytes) -> None:
        with suppress(OSError):
            await in_thread(self._host.write, message.rstrip(b"\r\n") + b"\n")

    def _headers(self, message: bytes) -> dict[str, str]:
        found = {"accept": _OFFERED, "content-type": "application/json"}
        if self._session:
            found[names.SESSION] = self._session
        if self._version:
            found[names.VERSION] = self._version
        return found | names.of_message(message, self._marked)

    def _stream_headers(self, last: str) -> dict[str, str]:
        found = self._headers(b"") | {"accept": "text/event-stream"}
        del found["content-type"]
        return found | ({names.LAST_EVENT: last} if last else {})

    async def _end(self) -> None:
        """The host has closed its side: what is on its way may arrive, as long as more of it comes."""
        if self._listener:
            self._listener.cancel()
        tasks = [*(task for task, _ in self._posts.values()), *self._batches]
        before = -1
        while any(not task.done() for task in tasks) and (before != self._heard_messages or self._in_work):
            before = self._heard_messages
            await asyncio.wait(tasks, timeout=ENDING_SECONDS)
        await in_thread(self._own.drain, ENDING_SECONDS)
        if any(not task.done() for task in tasks):
            self._miss(f"the server at {shown_url(self._url)} has not answered")
        for task in tasks:
            task.cancel()
        if self._session:
            with suppress(Exception):
                await asyncio.wait_for(self._client.delete(self._url, headers=self._stream_headers("")), ENDING_SECONDS)


def _read_lines(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[bytes]) -> None:
    """Reads no faster than the messages are taken; an empty line ends them."""

    def put(line: bytes) -> None:
        asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()

    split = wire.Lines()
    with suppress(OSError, RuntimeError):
        while chunk := os.read(0, READ_BYTES):
            for line in split.feed(chunk):
                put(line)
        if rest := split.rest():
            put(rest)
    with suppress(RuntimeError):
        put(b"")
