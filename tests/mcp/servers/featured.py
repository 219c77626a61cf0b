"""A FastMCP server with every feature that a host can see, for tests: run it over stdio, or `http PORT`."""

from __future__ import annotations

import asyncio
import base64
import sys
from typing import Any

from asking import asked
from fastmcp import Context, FastMCP
from fastmcp.tools.base import Tool, ToolResult
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolListChangedNotification,
)
from pydantic import BaseModel

server: FastMCP[Any] = FastMCP("rich")
DATA = base64.b64encode(bytes(range(256)) * 4).decode()


class Row(BaseModel):
    id: int
    name: str
    note: str | None = None


@server.tool
def rows(count: int) -> list[Row]:
    return [Row(id=number, name=f"row {number}", note="n" * (number % 50)) for number in range(count)]


@server.tool
def words(count: int) -> str:
    return "".join(f"word {number}\n" for number in range(count))


@server.tool(output_schema=None)
def plain(count: int) -> ToolResult:
    return ToolResult(content=[TextContent(type="text", text="plain\n" * count)], meta={"server/own": [1, 2.50]})


@server.tool(output_schema=None)
def everything(times: int) -> ToolResult:
    return ToolResult(
        content=[
            TextContent(type="text", text="before\n" * times),
            ImageContent(type="image", data=DATA, mime_type="image/png"),
            AudioContent(type="audio", data=DATA, mime_type="audio/wav"),
            ResourceLink(type="resource_link", uri="demo://linked", name="linked"),
            EmbeddedResource(
                type="resource",
                resource=TextResourceContents(uri="demo://text", mime_type="text/plain", text="inside\n" * times),
            ),
            EmbeddedResource(type="resource", resource=BlobResourceContents(uri="demo://blob", blob=DATA[:40])),
        ]
    )


@server.tool
def fails(count: int) -> str:
    raise ValueError("wrong\n" * count)


@server.tool
async def progress(ctx: Context) -> str:
    for step in range(3):
        await ctx.report_progress(step, 3, f"step {step}")
    return "done"


given_up: list[str] = []


@server.tool
async def slow(ctx: Context) -> str:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        given_up.append("slow")
        raise
    return "late"


@server.tool
def cancelled() -> list[str]:
    return given_up


@server.tool
async def logs(ctx: Context) -> str:
    await ctx.info("from the server")
    return "logged"


@server.tool(output_schema=None)
async def asks(ctx: Context) -> Any:
    request = ctx.request_context
    assert request
    answer = await asked(ctx.session, request.protocol_version, ctx.input_responses, ctx.request_state)
    return ToolResult(content=answer.content) if isinstance(answer, CallToolResult) else answer


def another() -> str:
    return "there"


@server.tool
async def changes(ctx: Context) -> str:
    server.add_tool(Tool.from_function(another))
    await ctx.send_notification(ToolListChangedNotification())
    return "changed"


@server.resource("demo://big")
def big() -> str:
    return "resource\n" * 10_000


@server.prompt
def ask(about: str) -> str:
    return f"Tell me about {about}. " * 2_000


def over_stdio() -> None:
    server.run(transport="stdio", show_banner=False, log_level="ERROR")


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False, log_level="ERROR")
    else:
        over_stdio()
