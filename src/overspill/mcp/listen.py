"""A listener over HTTP before a server over HTTP: what goes through is bounded, everything else passes.

Guarantees: it listens on the loopback unless told otherwise, and there answers local programs only;
pages of other origins are refused everywhere; headers of host and server pass, those given for the
server are added and never logged.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from overspill.errors import MissingExtra, OverspillError, PolicyError
from overspill.mcp import wire
from overspill.mcp.address import shown_url
from overspill.mcp.asgi import App, OverspillASGI, Receive, Scope, Send
from overspill.mcp.assembly import Assembly
from overspill.mcp.trouble import CONNECT_SECONDS, REFUSED, answered_with, in_words, moved_to

if TYPE_CHECKING:
    import httpx

_MOST_MOVES = 4
LOOPBACK = "127.0.0.1"
_HOP = frozenset(
    (b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"host", b"content-length")
)


class NoPlace(OverspillError):
    """The listener's address can't be had."""


def listen(place: str, url: str, given: Mapping[str, str], assembly: Assembly) -> int:
    """Serves until it is told to stop."""
    try:
        import uvicorn
    except ModuleNotFoundError:
        raise MissingExtra("overspill mcp --listen", "http") from None
    host, port = checked_place(place)
    app = guarded(OverspillASGI(relay(url, given), assembly=assembly), host)
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=2
    )
    with door_at(host, port) as door:
        name = f"[{host}]" if ":" in host else host
        if not is_local(host):
            words = "is open to other machines: who reaches it calls the server's tools, with the headers given here"
            print(f"overspill: {name} {words}", file=sys.stderr, flush=True)
        print(f"overspill: http://{name}:{door.getsockname()[1]} stands before {shown_url(url)}", flush=True)
        uvicorn.Server(config).run(sockets=[door])
    return 0


def door_at(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family)
    except OSError as fault:
        raise NoPlace(f"can't listen on {host}:{port}: {fault.strerror or fault}; give --listen another port") from None
    # Only on sockets that say that they speak TCP does asyncio send small parts at once; elsewhere each waits 40 ms.
    return socket.socket(made.family, made.type, socket.IPPROTO_TCP, fileno=made.detach())


def checked_place(place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    if not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise PolicyError("--listen", place, "a port, or an address and a port such as 127.0.0.1:8100")
    return host.strip("[]") or LOOPBACK, int(port)


def relay(url: str, given: Mapping[str, str]) -> App:
    """An app that hands every request on to an address."""
    import httpx

    timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
    client = httpx.AsyncClient(timeout=timeout, limits=httpx.Limits(max_connections=None))
    there = url

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = [(name, value) for name, value in scope["headers"] if name.lower() not in _HOP]
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        wanted = {name.lower() for name in given}
        headers = [(name, value) for name, value in headers if name.decode("latin-1").lower() not in wanted]
        headers += [(name.encode(), value.encode()) for name, value in given.items()]
        nonlocal there
        try:
            for _ in range(_MOST_MOVES):
                request = client.build_request(scope["method"], there, headers=headers, content=body or None)
                got = await client.send(request, stream=True)
                if (moved := moved_to(got)) is None:
                    break
                there = moved
                await got.aclose()
        except httpx.HTTPError as fault:
            await _refused(send, body, in_words(fault, there))
            return
        if 300 <= got.status_code < 400 and got.status_code != 304:
            await got.aclose()
            await _refused(send, body, answered_with(got, there))
            return
        handing = asyncio.create_task(_handed_on(got, send))
        leaving = asyncio.create_task(_left(receive))
        await asyncio.wait((handing, leaving), return_when=asyncio.FIRST_COMPLETED)
        for task in (handing, leaving):
            task.cancel()
        await asyncio.gather(handing, leaving, return_exceptions=True)

    return app


async def _refused(send: Send, request: bytes, reason: str) -> None:
    """As JSON-RPC has it, and as HTTP has it."""
    found = wire.envelope(request)
    answer = wire.refusal(found.id if found and found.is_request else b"null", REFUSED, reason)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 502, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


async def _left(receive: Receive) -> None:
    """The host closed the connection: the server is told by closing ours."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _handed_on(got: httpx.Response, send: Send) -> None:
    import httpx

    headers = [(name, value) for name, value in got.headers.raw if name.lower() not in _HOP]
    await send({"type": "http.response.start", "status": got.status_code, "headers": headers})
    try:
        with suppress(httpx.HTTPError):  # the end of a stream that broke is its end: it can be resumed
            async for chunk in got.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
    finally:
        await got.aclose()
    await send({"type": "http.response.body", "body": b""})


def guarded(app: App, host: str) -> App:
    """A page in a browser may not speak for the user; to the loopback no other name may lead."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
            origin = given.get(b"origin")
            if is_local(host) and not is_local(_host_in("//" + given.get(b"host", ""))):
                await _plain(send, 403, b"this listener answers local programs only")
                return
            if origin is not None and _host_in(origin) != host and not is_local(_host_in(origin)):
                await _plain(send, 403, b"this listener answers no pages of other origins")
                return
        await app(scope, receive, send)

    return checked


def is_local(host: str) -> bool:
    """Does only this machine reach it?"""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _host_in(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


async def _plain(send: Send, status: int, words: bytes) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(words)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": words})
