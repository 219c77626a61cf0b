"""The official SDK: a middleware, so that a server's own results fit and its read-back tools come with it.

    server = MCPServer("server", middleware=[OverspillMiddleware()])      # or, of a low-level one:
    server.middleware.append(OverspillMiddleware())

Guarantees: what ``overspill.mcp`` guarantees for a stream of messages, over every transport that the
server has; what needs no change is the very object that the server answered.  Options are those of
`overspill mcp` (``max_tokens=…``, ``structured="text"``, ``tools="none"``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from overspill.concurrency import in_thread
from overspill.errors import MissingExtra
from overspill.mcp import wire
from overspill.mcp.assembly import Assembly, assembled_in_python
from overspill.mcp.messages import Conversation
from overspill.mcp.unlisted import Unlisted

try:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.shared.exceptions import MCPError
    from pydantic import BaseModel
except ModuleNotFoundError:
    raise MissingExtra("overspill.integrations.mcp", "mcp") from None

__all__ = ["OverspillMiddleware"]

_LOOKED_INTO = ("tools/list", "tools/call", "tasks/result", "resources/read")


class OverspillMiddleware:
    """Append it last, so that it sees what the tools answer and the others see what the host gets."""

    def __init__(self, *, assembly: Assembly | None = None, **options: Any) -> None:
        parts = assembly or assembled_in_python(options, start=os.getcwd(), env=os.environ)
        self._connect = parts.connections()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.request_id is None or ctx.method not in _LOOKED_INTO:
            return await call_next(ctx)
        conversation = self._connect()
        turn = conversation.from_host(_request(ctx.method, ctx.params))
        if turn.calls:
            answer = await in_thread(conversation.answer, turn.calls[0])
            return _member(answer, "result")
        if turn.unlisted:
            await _list(turn.unlisted, ctx, call_next)
        asked = wire.decoded(turn.forward)["params"]
        if asked.get("name") != (ctx.params or {}).get("name"):
            ctx = replace(ctx, params=asked)
        try:
            result = await call_next(ctx)
        except MCPError as error:
            said = {"error": error.error.model_dump(by_alias=True, exclude_none=True, mode="json")}
            changed = await _changed(conversation, said)
            if changed is not None:
                raise MCPError(**_member(changed, "error")) from error
            raise
        changed = await _changed(conversation, {"result": _plain(result)})
        return result if changed is None else _member(changed, "result")


async def _list(unlisted: Unlisted, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> None:
    while unlisted.request and not unlisted.is_known:
        params = wire.decoded(unlisted.request)["params"]
        try:
            listed = wire.response(b"0", _plain(await call_next(replace(ctx, method="tools/list", params=params))))
        except MCPError:
            listed = b""  # a server without a list
        unlisted.listed(listed)


async def _changed(conversation: Conversation, said: Mapping[str, Any]) -> bytes | None:
    """A response as the host gets it; None when nothing of it is changed."""
    message = wire.encoded({"jsonrpc": "2.0", "id": 0, **said})
    changed = await conversation.from_server_beside(message)
    return None if changed is message else changed


def _request(method: str, params: Mapping[str, Any] | None) -> bytes:
    return wire.encoded({"jsonrpc": "2.0", "id": 0, "method": method, "params": dict(params or {})})


def _plain(result: HandlerResult) -> Any:
    return result.model_dump(by_alias=True, exclude_none=True, mode="json") if isinstance(result, BaseModel) else result


def _member(message: bytes, name: str) -> dict[str, Any]:
    found: dict[str, Any] = wire.decoded(message)[name]
    return found
