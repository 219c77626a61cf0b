"""The two clients that hosts are made of, driven alike: what they say, and all that they hear unasked."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport

from mcp import Client, StdioServerParameters

SECONDS = 60
MODES = {"old": "legacy", "new": "auto"}


@dataclass
class Host:
    """One connection. Results are what the wire said, as the client's own models took it in and checked it."""

    client: Any
    version: str = ""
    logs: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    progress: list[float] = field(default_factory=list)
    caller: Callable[..., Any] = lambda: None

    async def call(self, name: str, *, seconds: float = SECONDS, **arguments: Any) -> dict[str, Any]:
        return plain(await self.caller(name, arguments, seconds))

    async def text(self, name: str, **arguments: Any) -> str:
        """Of a result's first part."""
        found: str = (await self.call(name, **arguments))["content"][0]["text"]
        return found

    async def tools(self) -> dict[str, dict[str, Any]]:
        listed = await self.client.list_tools()
        return {tool.name: plain(tool) for tool in getattr(listed, "tools", listed)}

    async def until(self, met: Callable[[], bool]) -> None:
        for _ in range(SECONDS * 20):
            if met():
                return
            await asyncio.sleep(0.05)
        raise AssertionError("it never came")


def plain(value: Any) -> Any:
    return value.model_dump(by_alias=True, exclude_none=True, mode="json")


async def _sampled(context: Any, params: Any) -> types.CreateMessageResult:
    return types.CreateMessageResult(
        role="assistant", content=types.TextContent(type="text", text="a thought"), model="m"
    )


async def _elicited(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"colour": "green"})


async def _rooted(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///rooted", name="rooted")])  # type: ignore[arg-type]


@asynccontextmanager
async def official(command: list[str], era: str) -> AsyncIterator[Host]:
    """The official SDK's client."""
    host = Host(None)

    async def logged(params: Any) -> None:
        host.logs.append(str(params.data))

    async def other(message: Any) -> None:
        host.changes.append(str(getattr(message, "method", message)))

    async def progressed(done: float, total: float | None, message: str | None) -> None:
        host.progress.append(done)

    async def call(name: str, arguments: Any, seconds: float) -> Any:
        return await client.call_tool(name, arguments, read_timeout_seconds=seconds, progress_callback=progressed)

    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    client = Client(
        server,
        mode=MODES[era],
        sampling_callback=_sampled,
        elicitation_callback=_elicited,
        list_roots_callback=_rooted,
        logging_callback=logged,
        log_level="debug",
        message_handler=other,
    )
    async with client:
        host.client, host.version, host.caller = client, client.protocol_version, call
        yield host


@asynccontextmanager
async def fastmcp(command: list[str], era: str) -> AsyncIterator[Host]:
    """FastMCP's."""
    host = Host(None)

    async def logged(params: Any) -> None:
        host.logs.append(str(params.data))

    async def other(message: Any) -> None:
        host.changes.append(str(getattr(message, "method", message)))

    async def progressed(done: float, total: float | None, message: str | None) -> None:
        host.progress.append(done)

    async def elicited(message: str, kind: Any, params: Any, context: Any) -> Any:
        return {"colour": "green"}

    async def sampled(messages: Any, params: Any, context: Any) -> str:
        return "a thought"

    async def call(name: str, arguments: Any, seconds: float) -> Any:
        return await client.call_tool_mcp(name, arguments, timeout=seconds, progress_handler=progressed)

    transport = StdioTransport(command[0], command[1:], env=dict(os.environ), keep_alive=False)
    client = FastClient(
        transport,
        mode=MODES[era],
        roots=["file:///rooted"],
        sampling_handler=sampled,
        elicitation_handler=elicited,
        log_handler=logged,
        message_handler=other,
    )
    async with client:
        host.client, host.version, host.caller = client, str(client.protocol_version), call
        yield host


CLIENTS: dict[str, Callable[[list[str], str], AbstractAsyncContextManager[Host]]] = {
    "official": official,
    "fastmcp": fastmcp,
}

Cell = Callable[[Host], Any]


def observed(client: str, command: list[str], era: str, cells: list[Cell]) -> dict[str, Any]:
    """What each cell sees over one connection: its answer, or the exception that it ended with."""

    async def over_one_connection() -> dict[str, Any]:
        found: dict[str, Any] = {}
        async with CLIENTS[client](command, era) as host:
            found["version"] = host.version
            for cell in cells:
                try:
                    found[cell.__name__] = await asyncio.wait_for(cell(host), SECONDS)
                except Exception as fault:
                    found[cell.__name__] = fault
        return found

    return asyncio.run(asyncio.wait_for(over_one_connection(), 3 * SECONDS))


def seen(found: dict[str, Any], cell: Cell) -> Any:
    answer = found[cell.__name__]
    if isinstance(answer, Exception):
        raise answer
    return answer
