"""Stands between a host on pipes and a server on streamable HTTP.

Guarantees: the host sees the server's messages as lines; a stream that breaks is resumed where it broke,
a session that expired is begun again once; a server that can't be reached is a refusal in words, and
read-back goes on.  Headers given for the server are sent to its origin only and never logged.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from overspill.concurrency import in_thread
from overspill.errors import MissingExtra, PolicyError
from overspill.mcp import headers as names
from overspill.mcp import wire
from overspill.mcp.messages import Conversation, Turn
from overspill.mcp.stdio import ENDING_SECONDS, READ_BYTES, Outlet, OwnCalls

if TYPE_CHECKING:
    import httpx

_ATTEMPTS = 5
_RETRY_SECONDS = 1.0
_WAITING_LINES = 64
_SMALL_BYTES = 16_384
_REFUSED = -32000
_OFFERED = "application/json, text/event-stream"


def run(options: Mapping[str, Any]) -> int:
    """`overspill mcp --url URL`."""
    try:
        import httpx  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtra("overspill mcp --url", "http") from None
    url, given = checked_url(options["url"]), given_headers(options.get("header", ()), os.environ)
    from overspill.mcp.assembly import assembled

    parts = assembled(options, start=os.getcwd(), env=os.environ)
    if "listen" in options:
        from overspill.mcp.listen import listen

        return listen(options["listen"], url, given, parts)
    return asyncio.run(Bridge(url, given, parts.conversation()).run())


def checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PolicyError("--url", shown_url(url), "an address that begins with http:// or https://")
    return url


def shown_url(url: str) -> str:
    """An address as it may be logged: it can carry secrets before the host and behind the path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"


def given_headers(lines: Any, env: Mapping[str, str]) -> dict[str, str]:
    """`Name: value` lines; ``${NAME}`` in a value is taken from the environment, so that no secret need be typed."""
    found = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not re.fullmatch(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+", name.strip()):
            raise PolicyError("--header", name[:40], "a line such as 'Authorization: Bearer ${TOKEN}'")
        for wanted in re.findall(r"\$\{(\w+)\}", value):
            if wanted not in env:
                raise PolicyError("--header", name, f"the variable {wanted} set: the line names it")
            value = value.replace("${" + wanted + "}", env[wanted])
        found[name.strip()] = value.strip()
    return found


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
        self._listener: asyncio.Task[None] | None = None
        self._renewing = asyncio.Lock()

    async def run(self) -> int:
        import httpx

        limits = httpx.Limits(max_connections=None, max_keepalive_connections=32)
        timeout = httpx.Timeout(None, connect=30)
        async with httpx.AsyncClient(headers=self._given, timeout=timeout, limits=limits) as client:
            self._client = client
            lines: asyncio.Queue[bytes] = asyncio.Queue(_WAITING_LINES)
            loop = asyncio.get_running_loop()
            threading.Thread(target=_read_lines, args=(loop, lines), daemon=True).start()
            while line := await lines.get():
                await self._from_host(line)
            await self._end()
        return 0

    async def _from_host(self, line: bytes) -> None:
        if not line.strip():
            return
        turn: Turn = self._conversation.from_host(line)
        for call in turn.calls:
            self._own.put(call)
        if turn.answer:
            await self._to_host(turn.answer)
        if not turn.forward:
            return
        message = turn.forward.strip()
        found = wire.envelope(message)
        if found is None or not found.is_request:
            await self._post_note(message, found)
            return
        if found.method == "initialize":
            self._session, self._version, self._handshake = None, None, message
        if found.method == "tools/list":
            self._listing.add(found.key)
        modern = bool(names.of_message(message, {}))
        task = asyncio.create_task(self._request(message, found))
        self._posts[found.key] = (task, modern)
        task.add_done_callback(lambda _: self._posts.pop(found.key, None))

    async def _post_note(self, message: bytes, found: wire.Envelope | None) -> None:
        """Notifications and responses, one after the other: their order tells something."""
        if found is not None and found.method == "notifications/cancelled" and self._was_cancelled(found):
            return
        try:
            async with self._client.stream("POST", self._url, content=message, headers=self._headers(message)) as got:
                await got.aread()
        except Exception as fault:
            print(f"overspill: a notification was lost: {_in_words(fault, self._url)}", file=sys.stderr)
        if found is not None and found.method == "notifications/initialized" and self._listener is None:
            self._listener = asyncio.create_task(self._listen())

    def _was_cancelled(self, found: wire.Envelope) -> bool:
        """From 2026-07-28 on a request is cancelled by closing its stream."""
        params = wire.decoded(found.params) if bytes(found.params) else None
        key = params.get("requestId") if isinstance(params, dict) else None
        task, modern = self._posts.get(key, (None, self._version is None and not self._handshake))
        if modern and task is not None:
            task.cancel()
        return modern

    async def _request(self, message: bytes, found: wire.Envelope) -> None:
        try:
            await self._exchange(message, found)
        except asyncio.CancelledError:
            raise
        except Exception as fault:
            await self._refuse(found, _in_words(fault, self._url))

    async def _exchange(self, message: bytes, found: wire.Envelope, *, attempt: int = 0) -> None:
        session = self._session
        async with self._client.stream("POST", self._url, content=message, headers=self._headers(message)) as got:
            if found.method == "initialize":
                self._session = got.headers.get(names.SESSION)
            if got.status_code < 300:
                await self._answered(got, found)
                return
            body = await got.aread()
        if got.status_code in (307, 308) and attempt < 3 and self._follow(got):
            await self._exchange(message, found, attempt=attempt + 1)
        elif got.status_code == 404 and session and found.method != "initialize" and attempt == 0:
            await self._renew(session)
            await self._exchange(message, found, attempt=1)
        else:
            await self._failed(got, body, found)

    async def _answered(self, got: httpx.Response, found: wire.Envelope) -> None:
        kind = got.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            await self._stream(got, found)
        elif kind == "application/json":
            body = await got.aread()
            if not await self._pass(body, found):
                await self._refuse(found, f"the server answered {got.status_code} without a response")
        else:
            await self._refuse(found, f"the server answered {got.status_code} with {kind[:60] or 'nothing'}")

    async def _stream(self, got: httpx.Response, found: wire.Envelope) -> None:
        """Events until the response has come; from where it broke, when it breaks."""
        last, wait = "", _RETRY_SECONDS
        for _ in range(_ATTEMPTS):
            events = wire.Events()
            with suppress(_errors()):
                async for chunk in got.aiter_bytes():
                    for event in events.feed(chunk):
                        last = event.id or last
                        wait = wait if event.retry_ms is None else event.retry_ms / 1000
                        if event.data and await self._pass(event.data, found):
                            return
            if not last:
                break
            await asyncio.sleep(wait)
            request = self._client.build_request("GET", self._url, headers=self._stream_headers(last))
            got = await self._client.send(request, stream=True)
            if got.status_code != 200:
                break
        await self._refuse(found, "the server's stream ended without the response")

    async def _listen(self) -> None:
        """What the server says unasked, for as long as it offers a stream for that."""
        last, wait, failures = "", _RETRY_SECONDS, 0
        while failures < _ATTEMPTS:
            try:
                headers = self._stream_headers(last)
                async with self._client.stream("GET", self._url, headers=headers) as got:
                    if got.status_code != 200:
                        return
                    events = wire.Events()
                    async for chunk in got.aiter_bytes():
                        failures = 0
                        for event in events.feed(chunk):
                            last = event.id or last
                            wait = wait if event.retry_ms is None else event.retry_ms / 1000
                            if event.data:
                                await self._pass(event.data, None)
            except _errors():
                failures += 1
            await asyncio.sleep(wait)

    async def _pass(self, message: bytes, found: wire.Envelope | None) -> bool:
        """On to the host; True when it was the response."""
        got = wire.envelope(message)
        if got is None and message.lstrip()[:1] != b"[":
            return False
        if got is not None and got.is_response and found is not None:
            self._learn(got, found)
        if b"\n" in message or b"\r" in message:
            message = wire.on_one_line(message)
        small = len(message) < _SMALL_BYTES
        change = self._conversation.from_server
        await self._to_host(change(message) if small else await in_thread(change, message))
        return found is not None and (got is None or (got.is_response and got.key == found.key))

    def _learn(self, got: wire.Envelope, found: wire.Envelope) -> None:
        if got.key == found.key and found.method == "initialize":
            result = wire.decoded(got.result) if bytes(got.result) else None
            version = result.get("protocolVersion") if isinstance(result, dict) else None
            self._version = version if isinstance(version, str) else None
        if got.key in self._listing and bytes(got.result):
            self._listing.discard(got.key)
            if b"x-mcp-header" in bytes(got.result):
                for tool in (wire.decoded(got.result) or {}).get("tools", ()):
                    self._marked[str(tool.get("name"))] = names.marked_arguments(tool.get("inputSchema"))

    async def _renew(self, session: str) -> None:
        """The session has expired: the same handshake begins another, unseen by the host."""
        async with self._renewing:
            if self._session != session:
                return
            self._session = None
            again = self._headers(self._handshake)
            async with self._client.stream("POST", self._url, content=self._handshake, headers=again) as got:
                self._session = got.headers.get(names.SESSION)
                async for _ in got.aiter_bytes():
                    pass
            note = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
            await self._client.post(self._url, content=note, headers=self._headers(note))

    async def _failed(self, got: httpx.Response, body: bytes, found: wire.Envelope) -> None:
        said = wire.members(body) if body.lstrip()[:1] == b"{" else None
        if said and "error" in said:
            answer = wire.encoded({"jsonrpc": "2.0", "id": wire.Raw(bytes(found.id)), "error": said["error"]})
            await self._to_host(self._conversation.from_server(answer))
            return
        advice = {401: "; give --header 'Authorization: Bearer ${TOKEN}'", 403: "; the --header given may not do this"}
        more = advice.get(got.status_code, "")
        if 300 <= got.status_code < 400:
            more = f" and points to {shown_url(got.headers.get('location', ''))}; use that as --url if it is meant"
        await self._refuse(found, f"the server at {shown_url(self._url)} answered {got.status_code}{more}")

    def _follow(self, got: httpx.Response) -> bool:
        """A redirect within the origin: elsewhere the given headers may not go."""
        old = got.request.url
        new = old.join(got.headers.get("location", ""))
        if (new.scheme, new.host, new.port) != (old.scheme, old.host, old.port):
            return False
        self._url = str(new)
        return True

    async def _refuse(self, found: wire.Envelope, reason: str) -> None:
        message = wire.refusal(found.id, _REFUSED, reason)
        await self._to_host(self._conversation.from_server(message))

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
        """The host has closed its side: what is on its way may arrive, then the session ends."""
        if self._listener:
            self._listener.cancel()
        tasks = [task for task, _ in self._posts.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=ENDING_SECONDS)
        await in_thread(self._own.drain, ENDING_SECONDS)
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


def _errors() -> type[Exception]:
    import httpx

    return httpx.HTTPError


def _in_words(fault: Exception, url: str) -> str:
    return f"the server at {shown_url(url)} can't be reached: {type(fault).__name__} {fault}".strip()
