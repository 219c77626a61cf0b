"""A server of the official SDK that asks its host back, and whose list of tools changes: for tests, over stdio."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import (
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)

server = MCPServer("asking", log_level="ERROR")
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
MESSAGES = [SamplingMessage(role="user", content=TextContent(type="text", text="think"))]


def said(elicited: Any, sampled: Any, rooted: Any) -> CallToolResult:
    words = f"{elicited.content['colour']}, {sampled.content.text}, {rooted.roots[0].uri}"
    return CallToolResult(content=[TextContent(type="text", text=words)])


async def asked(session: Any, version: str, given: Any, state: str | None) -> CallToolResult | InputRequiredResult:
    """Until 2025-11-25 by requests of the server's own, from 2026-07-28 on by a result that asks."""
    if version < "2026":
        return said(
            await session.elicit_form("which?", SCHEMA),
            await session.create_message(MESSAGES, max_tokens=5),
            await session.list_roots(),
        )
    if not given:
        sampling = CreateMessageRequestParams(messages=MESSAGES, max_tokens=5)
        wanted = {
            "colour": ElicitRequest(params=ElicitRequestFormParams(message="which?", requested_schema=SCHEMA)),
            "thought": CreateMessageRequest(params=sampling),
            "place": ListRootsRequest(),
        }
        return InputRequiredResult(input_requests=wanted, request_state="x" * 20_000)
    assert state == "x" * 20_000
    return said(given["colour"], given["thought"], given["place"])


@server.tool()
async def asks(ctx: Context) -> CallToolResult | InputRequiredResult:
    return await asked(ctx.session, ctx.protocol_version, ctx.input_responses, ctx.request_state)


@server.tool()
async def changes(ctx: Context) -> str:
    server.add_tool(lambda: "there", name="another")
    if ctx.protocol_version < "2026":
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_resource_updated("demo://watched")
    else:
        await ctx.notify_tools_changed()
        await ctx.notify_resource_updated("demo://watched")
    return "changed"


if __name__ == "__main__":
    server.run("stdio")
