"""An ASGI middleware around a streamable-HTTP server: FastMCP's, the official SDK's, or any other app's.

Guarantees: answers and events of which nothing is changed go out as the bytes they were, event ids and
session headers included; a result is bounded wherever it arrives, also when a stream that is resumed says it
again (to the worker that heard the call, within its session);
read-back calls are answered here.  Who may connect is the app's business.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

from overspill.concurrency import in_thread
from overspill.mcp import headers as names
from overspill.mcp import wire
from overspill.mcp.assembly import Assembly, assembled_in_python
from overspill.mcp.messages import Conversation, Turn
from overspill.mcp.unlisted import Unlisted

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_MOST_SESSIONS = 10_000
_MOST_REQUEST_BYTES = 64 << 20


class OverspillASGI:
    """``OverspillASGI(mcp.streamable_http_app(), max_tokens=2_000)``: options are those of `overspill mcp`."""

    def __init__(self, app: App, *, assembly: Assembly | None = None, **options: Any) -> None:
        self._app = app
        parts = assembly or assembled_in_python(options, start=os.getcwd(), env=os.environ)
        self._connect = parts.connections()
        self._sessions: dict[str, Conversation] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("POST", "GET", "DELETE"):
            await self._app(scope, receive, send)
            return
        given = {name.lower(): value for name, value in scope["headers"]}
        session = given.get(names.SESSION.encode(), b"").decode("latin-1")
        conversation = self._sessions.get(session) if session else None
        conversation = conversation or self._connect()
        scope = {**scope, "headers": _without(scope["headers"], b"accept-encoding")}
        if scope["method"] == "POST":
            await self._post(scope, receive, send, conversation)
        else:
            await self._app(scope, receive, self._answering(send, conversation))
        if scope["method"] == "DELETE":
            self._sessions.pop(session, None)

    async def _post(self, scope: Scope, receive: Receive, send: Send, conversation: Conversation) -> None:
        body = await _whole(receive)
        if body is None:
            await self._app(scope, receive, send)
            return
        turn = conversation.from_host(body)
        if turn.unlisted:
            await self._list(turn.unlisted, scope, receive)
        own = [await in_thread(conversation.answer, call) for call in turn.calls]
        if not turn.forward and (own or turn.answer):
            await _json(send, (own or [turn.answer])[0])
            return
        if turn.forward != body:
            scope = {**scope, "headers": _for_changed(scope["headers"], turn)}
        await self._app(scope, _again(turn.forward, receive), self._answering(send, conversation, own))

    async def _list(self, unlisted: Unlisted, scope: Scope, receive: Receive) -> None:
        """The list may have been another worker's answer, or this one's before it was started again."""
        while unlisted.request and not unlisted.is_known:
            heard = _Heard()
            asked = {**scope, "headers": _for_list(scope["headers"], unlisted.request)}
            with suppress(Exception):  # it will fail at the call as well, and say so there
                await self._app(asked, _again(unlisted.request, receive), heard.send)
            unlisted.listed(heard.response(unlisted.key))

    def _answering(self, send: Send, conversation: Conversation, own: list[bytes] | None = None) -> Send:
        return _Answer(send, conversation, own or [], self._remember).send

    def _remember(self, session: str, conversation: Conversation) -> None:
        self._sessions[session] = conversation
        while len(self._sessions) > _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]


class _Answer:
    """One response on its way out."""

    def __init__(
        self, send: Send, conversation: Conversation, own: list[bytes], remember: Callable[[str, Conversation], None]
    ) -> None:
        self._send = send
        self._conversation = conversation
        self._own = own
        self._remember = remember
        self._start: MutableMapping[str, Any] = {}
        self._kind = ""
        self._events = wire.Events()
        self._body: list[bytes] = []

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            await self._begin(message)
        elif message["type"] != "http.response.body" or not self._kind:
            await self._send(message)
        elif self._kind == "text/event-stream":
            await self._stream(message)
        else:
            self._body.append(message.get("body", b""))
            if not message.get("more_body"):
                await self._finish()

    async def _begin(self, message: MutableMapping[str, Any]) -> None:
        given = {name.lower(): value for name, value in message["headers"]}
        if session := given.get(names.SESSION.encode()):
            self._remember(session.decode("latin-1"), self._conversation)
        kind = given.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
        if kind not in ("application/json", "text/event-stream") or b"content-encoding" in given:
            await self._send(message)
            return
        self._kind = kind
        self._start = {**message, "headers": _without(message["headers"], b"content-length")}
        if kind == "text/event-stream":
            await self._send(self._start)
            for answer in self._own:
                await self._part(b"event: message\ndata: " + answer + b"\n\n", more=True)

    async def _stream(self, message: MutableMapping[str, Any]) -> None:
        out = []
        for event in self._events.feed(message.get("body", b"")):
            data = await self._conversation.from_server_beside(event.data) if event.data else event.data
            out.append(event.with_data(data))
        more = bool(message.get("more_body"))
        if not more:
            out.append(self._events.rest())
        if out or not more:
            await self._part(b"".join(out), more=more)

    async def _finish(self) -> None:
        body = await self._conversation.from_server_beside(b"".join(self._body))
        if self._own:
            others = [item for answer in self._own for item in wire.elements(answer) or ()]
            body = wire.encoded([*others, *(wire.elements(body) or [wire.Raw(body)])])
        length = (b"content-length", str(len(body)).encode())
        await self._send({**self._start, "headers": [*self._start["headers"], length]})
        await self._part(body, more=False)

    async def _part(self, body: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": more})


class _Heard:
    """The answer to a request of overspill's own."""

    def __init__(self) -> None:
        self._kind = ""
        self._body: list[bytes] = []

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower(): value for name, value in message["headers"]}
            self._kind = given.get(b"content-type", b"").decode("latin-1")
        else:
            self._body.append(message.get("body", b""))

    def response(self, key: str) -> bytes:
        body = b"".join(self._body)
        is_stream = self._kind.startswith("text/event-stream")
        said = [event.data for event in wire.Events().feed(body)] if is_stream else [body]
        return next((one for one in said if (found := wire.envelope(one)) and found.key == key), b"")


async def _whole(receive: Receive) -> bytes | None:
    """The request's body; None when it is larger than any request of a host's is."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > _MOST_REQUEST_BYTES:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """The body once more, and after it what comes: a disconnection."""
    given = False

    async def again() -> MutableMapping[str, Any]:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _json(send: Send, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _for_changed(headers: list[tuple[bytes, bytes]], turn: Turn) -> list[tuple[bytes, bytes]]:
    """The length, and the name that newer versions repeat in a header."""
    said: Mapping[str, str] = names.of_message(turn.forward, {})
    return _with(headers, turn.forward, {name: said[name] for name in ("mcp-name",) if name in said})


def _for_list(headers: list[tuple[bytes, bytes]], request: bytes) -> list[tuple[bytes, bytes]]:
    """Those of a call, for a list: nothing of the tool and its arguments."""
    kept = [(name, value) for name, value in headers if not name.lower().startswith(b"mcp-param-")]
    return _with(_without(kept, b"mcp-name"), request, names.of_message(request, {}))


def _with(headers: list[tuple[bytes, bytes]], body: bytes, said: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    more = [(name.encode(), value.encode()) for name, value in {**said, "content-length": str(len(body))}.items()]
    return _without(headers, *(name for name, _ in more)) + more


def _without(headers: list[tuple[bytes, bytes]], *dropped: bytes) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() not in dropped]
