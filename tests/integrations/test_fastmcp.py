"""Promises of the FastMCP middleware: a real server in this process, the real clients."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools.base import ToolResult
from mcp_types import ImageContent, TextContent
from pydantic import BaseModel

from overspill.integrations.fastmcp import OverspillMiddleware

pytestmark = pytest.mark.filterwarnings("default")


class Row(BaseModel):
    id: int
    name: str


def served(tmp_path: Path, **options: Any) -> FastMCP[Any]:
    server: FastMCP[Any] = FastMCP("served", middleware=[OverspillMiddleware(store=str(tmp_path / "kept"), **options)])

    @server.tool
    def words(count: int) -> str:
        return "".join(f"word {number}\n" for number in range(count))

    @server.tool
    def rows(count: int) -> list[Row]:
        return [Row(id=number, name=f"row {number}") for number in range(count)]

    @server.tool
    def fails(count: int) -> str:
        raise ToolError("wrong\n" * count)

    @server.tool(output_schema=None)
    def mixed() -> ToolResult:
        image = ImageContent(type="image", data="QUJD", mime_type="image/png")
        text = TextContent(type="text", text="long\n" * 9_000)
        return ToolResult(content=[image, text], meta={"own": 1})

    @server.tool(output_schema={"type": "object", "properties": {"x": {"not": {"type": "null"}}}, "required": ["x"]})
    def odd() -> dict[str, Any]:
        return {"x": "y" * 50_000}

    return server


def run(test: Any) -> Any:
    return asyncio.run(asyncio.wait_for(test, 60))


def test_results_fit_and_read_back_is_there(tmp_path: Path) -> None:
    async def test() -> None:
        async with Client(served(tmp_path)) as host:
            names = [tool.name for tool in await host.list_tools()]
            assert {"words", "overspill_read", "overspill_query"} <= set(names)
            assert (await host.call_tool("words", {"count": 1})).data == "word 0\n"
            large = await host.call_tool("words", {"count": 30_000})
            assert large.data.startswith("[overspill ovs_")
            handle = large.meta["overspill"]["handles"][0]
            page = await host.call_tool("overspill_read", {"handle": handle, "lines": "20000"})
            assert "word 19999" in page.content[0].text
            few = await host.call_tool("rows", {"count": 4_000})
            assert 3 <= len(few.data) < 4_000

    run(test())


def test_the_other_parts_and_meta_stay(tmp_path: Path) -> None:
    async def test() -> None:
        async with Client(served(tmp_path)) as host:
            result = await host.call_tool("mixed", {})
            assert [part.type for part in result.content] == ["image", "text"]
            assert len(result.content[1].text) < 9_000
            assert result.meta["own"] == 1

    run(test())


def test_what_a_tool_raises_is_bounded_and_an_error(tmp_path: Path) -> None:
    async def test() -> None:
        async with Client(served(tmp_path)) as host:
            result = await host.call_tool("fails", {"count": 5_000}, raise_on_error=False)
            assert result.is_error
            assert len(result.content[0].text) < 9_000
            assert result.meta["overspill"]["handles"][0] in result.content[0].text

    run(test())


def test_a_schema_that_can_not_be_kept_is_not_promised(tmp_path: Path) -> None:
    async def test() -> None:
        async with Client(served(tmp_path)) as host:
            tools = {tool.name: tool for tool in await host.list_tools()}
            assert tools["odd"].output_schema is None
            assert tools["rows"].output_schema is not None
            result = await host.call_tool("odd", {})
            assert result.structured_content is None

    run(test())


def test_options_are_those_of_the_command(tmp_path: Path) -> None:
    async def test() -> None:
        async with Client(served(tmp_path, tools="none", skip=["words"], max_bytes=2_000)) as host:
            assert not [tool.name for tool in await host.list_tools() if tool.name.startswith("overspill_")]
            assert len((await host.call_tool("words", {"count": 3_000})).data) > 20_000
            assert len((await host.call_tool("mixed", {})).content[1].text) < 2_000

    run(test())
