"""`overspill serve`: the read-back tools alone, for a host whose agent keeps its outputs by other ways."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from overspill.mcp import wire
from overspill.mcp.stdio import ENDING_SECONDS, READ_BYTES, Outlet, OwnCalls

if TYPE_CHECKING:
    from overspill.mcp.messages import Conversation

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)
_METHOD_NOT_FOUND = -32601
_PARSE_ERROR = -32700


def serve(prepare: Callable[[], Conversation]) -> int:
    """Answers on the descriptors 0 and 1 until the host closes its side."""
    conversation = prepare()
    conversation.server_gone("overspill serve has the read-back tools and nothing else")
    host = Outlet(1)
    own = OwnCalls(conversation, host)
    lines = wire.Lines()
    with suppress(OSError):
        while chunk := os.read(0, READ_BYTES):
            for line in lines.feed(chunk):
                _answer(line, conversation, host, own)
        if rest := lines.rest():
            _answer(rest, conversation, host, own)
    own.drain(ENDING_SECONDS)
    return 0


def _answer(line: bytes, conversation: Conversation, host: Outlet, own: OwnCalls) -> None:
    if not line.strip():
        return
    found = wire.envelope(line)
    if found is None and line.lstrip()[:1] != b"[":
        host.write(wire.refusal(b"null", _PARSE_ERROR, "this line is no JSON") + b"\n")
        return
    if found is not None and found.is_request:
        answer = _of_the_server(found)
        if answer is not None:
            host.write(answer + b"\n")
            return
    turn = conversation.from_host(line)
    if turn.answer:
        host.write(turn.answer + b"\n")
    for call in turn.calls:
        own.put(call)


def _of_the_server(found: wire.Envelope) -> bytes | None:
    """What a server says of itself; None when it is for the tools."""
    if found.method == "initialize":
        params = wire.decoded(found.params) if len(found.params) else {}
        asked = params.get("protocolVersion") if isinstance(params, dict) else None
        version = asked if asked in HANDSHAKES else HANDSHAKES[-1]
        return wire.response(found.id, {"protocolVersion": version, **_about()})
    if found.method == "server/discover":
        said = {"resultType": "complete", "supportedVersions": list(MODERN), "ttlMs": 0, "cacheScope": "private"}
        return wire.response(found.id, said | _about())
    if found.method in ("ping", "tools/list", "tools/call"):
        return None
    return wire.refusal(found.id, _METHOD_NOT_FOUND, f"overspill serve has no {str(found.method)[:100]}")


def _about() -> dict[str, Any]:
    from importlib.metadata import version

    return {
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "overspill", "version": version("overspill")},
        "instructions": "Reads back tool outputs that overspill keeps: give the ovs_… handle from their header.",
    }
