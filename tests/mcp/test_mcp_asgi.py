"""Promises of the ASGI wrapper: servers of the official SDK and of FastMCP, served for real, to both clients."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastmcp import Client as FastClient
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer
from mcp_hosts import MODES
from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult
from pydantic import BaseModel

from mcp import Client
from overspill.mcp.asgi import OverspillASGI

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
eras = pytest.mark.parametrize("era", MODES)


class Row(BaseModel):
    id: int
    name: str


def words(count: int) -> str:
    return "".join(f"word {number}\n" for number in range(count))


def rows(count: int) -> list[Row]:
    return [Row(id=number, name=f"row {number}") for number in range(count)]


def of_the_sdk() -> Any:
    server: MCPServer[Any] = MCPServer("served", log_level="ERROR")
    for tool in (words, rows):
        server.add_tool(tool)
    return server.streamable_http_app()


def of_the_sdk_in_json() -> Any:
    server: MCPServer[Any] = MCPServer("served", log_level="ERROR")
    for tool in (words, rows):
        server.add_tool(tool)
    return server.streamable_http_app(json_response=True, stateless_http=True)


def of_fastmcp() -> Any:
    server: FastMCP[Any] = FastMCP("served")
    for tool in (words, rows):
        server.tool(tool)
    return server.http_app()


APPS: list[Callable[[], Any]] = [of_the_sdk, of_the_sdk_in_json, of_fastmcp]
apps = pytest.mark.parametrize("app", APPS, ids=lambda app: app.__name__)


@asynccontextmanager
async def serving(*apps: Any) -> AsyncIterator[list[str]]:
    """Each at an address of its own; the lifespan is the first one's."""
    servers, urls = [], []
    for index, app in enumerate(apps):
        door = socket.socket()
        door.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="error", lifespan="off" if index else "on", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve([door]))
        while not server.started:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        servers.append((server, task))
        urls.append(f"http://127.0.0.1:{door.getsockname()[1]}/mcp")
    try:
        yield urls
    finally:
        for server, task in reversed(servers):
            server.should_exit = True
            await task


@asynccontextmanager
async def connected(client: str, url: str, era: str) -> AsyncIterator[Any]:
    host: Any = Client(url, mode=MODES[era]) if client == "official" else FastClient(url, mode=MODES[era])
    async with host:
        yield host


@eras
@pytest.mark.parametrize(
    ("app", "client"),
    [(of_the_sdk, "official"), (of_the_sdk, "fastmcp"), (of_the_sdk_in_json, "official"), (of_fastmcp, "fastmcp")],
)
async def test_results_fit_and_read_back_is_there(
    tmp_path: Path, app: Callable[[], Any], client: str, era: str
) -> None:
    wrapped = OverspillASGI(app(), store=str(tmp_path / "kept"))
    async with serving(wrapped) as (url,), connected(client, url, era) as host:
        listed = await host.list_tools()
        names = [tool.name for tool in getattr(listed, "tools", listed)]
        assert names.count("overspill_read") == 1
        small = await host.call_tool("words", {"count": 1})
        assert small.structured_content == {"result": "word 0\n"}
        large = await host.call_tool("words", {"count": 6_000})
        assert large.structured_content["result"].startswith("[overspill ovs_")
        assert len(large.content[0].text) < 9_000
        handle = large.meta["overspill"]["handles"][0]
        page = await host.call_tool("overspill_read", {"handle": handle, "lines": "5000"})
        assert "word 4999" in page.content[0].text
        few = await host.call_tool("rows", {"count": 3_000})
        assert 3 <= len(few.structured_content["result"]) < 3_000


@apps
async def test_a_call_that_another_worker_listed_keeps_its_schema(tmp_path: Path, app: Callable[[], Any]) -> None:
    """Two workers behind a balancer: the list was the first one's answer, the call comes to the second."""
    inner, store = app(), str(tmp_path / "kept")
    async with serving(*(OverspillASGI(inner, store=store) for _ in range(2))) as (first, second):
        async with Client(first) as host:
            assert (await host.list_tools()).tools
        async with Client(second) as host:
            asked = CallToolRequest(params=CallToolRequestParams(name="rows", arguments={"count": 3_000}))
            result = await host.session.send_request(asked, CallToolResult)
            assert 3 <= len(result.structured_content["result"]) < 3_000


async def test_what_is_no_message_passes(tmp_path: Path) -> None:
    """Other pages of the app, other methods, nonsense: as without overspill, byte for byte."""
    inner = of_the_sdk()
    async with serving(inner, OverspillASGI(inner, store=str(tmp_path / "kept"))) as urls, httpx.AsyncClient() as web:
        accept = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        for method, body in (
            ("POST", b"{no json"),
            ("POST", b'{"x": 1}'),
            ("PUT", b"x"),
            ("GET", b""),
        ):
            direct, through = [await web.request(method, url, content=body, headers=accept) for url in urls]
            assert (through.status_code, through.content) == (direct.status_code, direct.content)
            assert direct.status_code >= 400
