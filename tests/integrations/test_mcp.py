"""Promises of the official SDK's middleware: a real server in this process, the real client, both generations."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ImageContent, ListToolsResult, TextContent, Tool
from pydantic import BaseModel

from mcp import Client
from overspill.integrations.mcp import OverspillMiddleware

pytestmark = pytest.mark.filterwarnings("default")
eras = pytest.mark.parametrize("mode", ["legacy", "auto"])


class Row(BaseModel):
    id: int
    name: str


def served(middleware: OverspillMiddleware) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("served", log_level="ERROR", middleware=[middleware])

    @server.tool()
    def words(count: int) -> str:
        return "".join(f"word {number}\n" for number in range(count))

    @server.tool()
    def rows(count: int) -> list[Row]:
        return [Row(id=number, name=f"row {number}") for number in range(count)]

    @server.tool()
    def fails(count: int) -> str:
        raise ToolError("wrong\n" * count)

    @server.tool()
    def refuses(count: int) -> str:
        raise MCPError(-32050, "refused\n" * count, {"why": "small"})

    @server.tool()
    def mixed() -> CallToolResult:
        image = ImageContent(type="image", data="QUJD", mime_type="image/png")
        text = TextContent(type="text", text="long\n" * 9_000)
        return CallToolResult(content=[image, text], _meta={"own": 1})

    return server


def with_host(server: Any, mode: Any, test: Callable[[Client], Awaitable[None]], **options: Any) -> None:
    async def connected() -> None:
        async with Client(server, mode=mode, **options) as host:
            await asyncio.wait_for(test(host), 60)

    asyncio.run(connected())


def size(result: Any) -> int:
    return len(result.model_dump_json(by_alias=True, exclude_none=True))


@eras
def test_results_fit_and_read_back_is_there(tmp_path: Path, mode: str) -> None:
    async def test(host: Client) -> None:
        tools = {tool.name: tool for tool in (await host.list_tools()).tools}
        assert {"words", "overspill_read", "overspill_query"} <= set(tools)
        assert tools["rows"].output_schema is not None
        small = await host.call_tool("words", {"count": 1})
        assert small.content[0].text == "word 0\n"
        large = await host.call_tool("words", {"count": 30_000})
        assert size(large) < 9_000
        handle = large.meta["overspill"]["handles"][0]
        assert handle in large.content[0].text[:500]
        assert handle in large.structured_content["result"][:500]
        page = await host.call_tool("overspill_read", {"handle": handle, "lines": "20000"})
        assert "word 19999" in page.content[0].text
        few = await host.call_tool("rows", {"count": 4_000})
        assert 3 <= len(few.structured_content["result"]) < 4_000

    with_host(served(OverspillMiddleware(store=str(tmp_path / "kept"))), mode, test)


@eras
def test_what_a_tool_raises_is_bounded_and_stays_what_it_is(tmp_path: Path, mode: str) -> None:
    async def test(host: Client) -> None:
        result = await host.call_tool("fails", {"count": 5_000})
        assert result.is_error
        assert size(result) < 9_000
        assert "ovs_" in result.content[0].text
        for count in (1, 5_000):
            with pytest.raises(MCPError) as refused:
                await host.call_tool("refuses", {"count": count})
            assert (refused.value.error.code, refused.value.error.data) == (-32050, {"why": "small"})
            assert ("ovs_" in refused.value.error.message) is (count > 1)
            assert len(refused.value.error.message) < 9_000

    with_host(served(OverspillMiddleware(store=str(tmp_path / "kept"))), mode, test)


def test_the_other_parts_and_meta_stay(tmp_path: Path) -> None:
    async def test(host: Client) -> None:
        result = await host.call_tool("mixed", {})
        assert [part.type for part in result.content] == ["image", "text"]
        assert result.meta["own"] == 1
        assert size(result) < 9_000

    with_host(served(OverspillMiddleware(store=str(tmp_path / "kept"))), "auto", test)


@eras
def test_a_call_that_another_worker_listed_keeps_its_schema(tmp_path: Path, mode: str) -> None:
    """A host asks for the list once; which worker its calls come to is the balancer's choice."""
    lists: list[str] = []

    async def counted(ctx: Any, call_next: Any) -> Any:
        lists.extend([ctx.method] * (ctx.method == "tools/list"))
        return await call_next(ctx)

    async def test(host: Client) -> None:
        for _ in range(2):
            request = {"name": "rows", "arguments": {"count": 4_000}}
            result = await host.session.send_request(_call(request), CallToolResult)
            assert 3 <= len(result.structured_content["result"]) < 4_000
        assert lists == ["tools/list"], "once is enough"

    server = served(OverspillMiddleware(store=str(tmp_path / "kept")))
    server.middleware.append(counted)
    with_host(server, mode, test)


def _call(params: Any) -> Any:
    from mcp_types import CallToolRequest, CallToolRequestParams

    return CallToolRequest(params=CallToolRequestParams(**params))


def test_a_low_level_server_takes_it_too(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"x": {"not": {"type": "null"}}}, "required": ["x"]}
    told = Tool(name="odd", input_schema={"type": "object"}, output_schema=schema)

    async def listed(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[told])

    async def called(ctx: Any, params: Any) -> CallToolResult:
        value = {"x": "y" * 50_000}
        return CallToolResult(content=[TextContent(type="text", text=json.dumps(value))], structured_content=value)

    async def test(host: Client) -> None:
        tools = {tool.name: tool for tool in (await host.list_tools()).tools}
        assert set(tools) == {"odd", "kept_read"}
        assert tools["odd"].output_schema is None
        result = await host.call_tool("odd", {})
        assert result.structured_content is None
        assert size(result) < 2_000

    server: Server[Any] = Server("low", on_list_tools=listed, on_call_tool=called)
    options = {"store": str(tmp_path / "kept"), "tools": "read", "tool_prefix": "kept_", "max_bytes": 2_000}
    server.middleware.append(OverspillMiddleware(**options))
    with_host(server, "auto", test)
