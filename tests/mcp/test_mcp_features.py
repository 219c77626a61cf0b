"""Every feature that a host can see: through the interposer as it is directly, for both clients and both generations.

The servers are FastMCP's and the official SDK's; the published ones stand in ``test_mcp_published``.
"""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import Any

import pytest
from mcp.client.subscriptions import listen
from mcp_hosts import CLIENTS, MODES, Cell, Host, observed, official, plain, seen
from mcp_wiring import interposed, python_server, text

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
VERSIONS = {"old": "2025-11-25", "new": "2026-07-28"}
clients = pytest.mark.parametrize("client", CLIENTS)
eras = pytest.mark.parametrize("era", MODES)


# What a host sees of the server of FastMCP, when all is small


async def every_kind_of_content(host: Host) -> Any:
    result = await host.call("everything", times=1)
    kinds = [part["type"] for part in result["content"]]
    assert kinds == ["text", "image", "audio", "resource_link", "resource", "resource"]
    return result


async def structured_content(host: Host) -> Any:
    result = await host.call("rows", count=2)
    assert result["structuredContent"]["result"][1] == {"id": 1, "name": "row 1", "note": "n"}
    return result


async def errors(host: Host) -> Any:
    result = await host.call("fails", count=1)
    assert result["isError"] is True
    return result


async def meta(host: Host) -> Any:
    result = await host.call("plain", count=1)
    assert result["_meta"]["server/own"] == [1, 2.5]
    return result


async def progress(host: Host) -> Any:
    host.progress.clear()
    await host.call("progress")
    assert host.progress == [0, 1, 2]
    return host.progress


async def log_messages(host: Host) -> Any:
    host.logs.clear()
    await host.call("logs")
    await host.until(lambda: bool(host.logs))
    return host.logs


async def cancellation(host: Host) -> Any:
    with pytest.raises(Exception, match=r"[Tt]imed out"):
        await host.call("slow", seconds=0.1)
    for _ in range(100):
        given_up = await host.call("cancelled")
        if given_up["structuredContent"]["result"]:
            return given_up
        await asyncio.sleep(0.05)
    raise AssertionError("the server was not told")


async def resources_and_prompts(host: Host) -> Any:
    listed = await host.client.list_resources()
    read = await host.client.read_resource("demo://big")
    contents = getattr(read, "contents", read)
    assert len(contents[0].text) == 90_000
    prompt = await host.client.get_prompt("ask", {"about": "x"})
    assert len(prompt.messages[0].content.text) > 30_000
    return [plain(one) for one in (*getattr(listed, "resources", listed), *contents, prompt)]


async def schemas(host: Host) -> Any:
    tools = {name: tool for name, tool in (await host.tools()).items() if not name.startswith("overspill_")}
    assert tools["rows"]["outputSchema"]
    return tools


# What servers ask and tell


async def questions_back(host: Host) -> Any:
    """Elicitation, sampling and roots: requests of the server's, and later a result that asks, of 20 KB."""
    result = await host.call("asks")
    assert result["content"] == [text("green, a thought, file:///rooted")]
    return result


async def a_change_of_the_list(host: Host) -> Any:
    assert "another" not in await host.tools()
    await host.call("changes")
    await host.until(lambda: "notifications/tools/list_changed" in host.changes)
    assert "another" in await host.tools()
    return host.changes, await host.call("another")


FASTMCP: list[Cell] = [
    every_kind_of_content,
    structured_content,
    errors,
    meta,
    progress,
    log_messages,
    cancellation,
    resources_and_prompts,
    schemas,
    questions_back,
    a_change_of_the_list,
]


# What the server of the official SDK tells


async def changes_of_lists(host: Host) -> Any:
    if host.version == VERSIONS["old"]:
        await host.call("changes")
        told = ["notifications/tools/list_changed", "notifications/resources/updated"]
        await host.until(lambda: set(told) <= set(host.changes))
    else:
        wanted = {"tools_list_changed": True, "resource_subscriptions": ["demo://watched"]}
        async with listen(host.client.session, **wanted) as stream:
            await host.call("changes")
            events = stream.__aiter__()
            told = sorted([type(await anext(events)).__name__, type(await anext(events)).__name__])
        assert told == ["ResourceUpdated", "ToolsListChanged"]
    assert "another" in await host.tools()
    return told, await host.call("another")


ASKING: list[Cell] = [questions_back, changes_of_lists]
CELLS = [("featured", cell) for cell in FASTMCP] + [("asking", cell) for cell in ASKING]


@cache
def at(server: str, client: str, era: str, way: str) -> dict[str, Any]:
    command = python_server(server)
    cells = [cell for name, cell in CELLS if name == server]
    return observed(client, interposed(command) if way == "through" else command, era, cells)


@clients
@eras
@pytest.mark.parametrize(("server", "cell"), CELLS, ids=lambda value: getattr(value, "__name__", value))
def test_it_is_as_it_is_directly(server: str, cell: Cell, client: str, era: str) -> None:
    direct, through = at(server, client, era, "directly"), at(server, client, era, "through")
    assert direct["version"] == through["version"] == VERSIONS[era]
    assert seen(through, cell) == seen(direct, cell)


# When results are large


def size(result: dict[str, Any]) -> int:
    return len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode())


async def large_results(host: Host) -> None:
    tools = await host.tools()
    assert tools["rows"]["outputSchema"], "its values can be cut"
    rows = await host.call("rows", count=3_000)
    assert size(rows) < 9_000
    assert 3 <= len(rows["structuredContent"]["result"]) < 3_000
    every = await host.call("everything", times=3_000)
    kinds = [part["type"] for part in every["content"]]
    assert kinds == ["text", "image", "audio", "resource_link", "resource", "resource", "text"]
    assert "demo://linked" in every["content"][-1]["text"], "some hosts drop links"
    plain_text = await host.call("plain", count=9_000)
    assert plain_text["_meta"]["server/own"] == [1, 2.5]
    fails = await host.call("fails", count=5_000)
    assert fails["isError"] is True
    assert size(fails) < 9_000
    words = await host.call("words", count=9_000)
    handle = words["_meta"]["overspill"]["handles"][0]
    assert handle in words["structuredContent"]["result"][:500], "some hosts show the model nothing else"
    assert handle in words["content"][0]["text"][:500]
    assert "4568:word 4567" in await host.text("overspill_grep", handle=handle, pattern="word 4567$")
    assert "8001:word 8000" in await host.text("overspill_read", handle=handle, lines="8001")
    assert not (await host.call("overspill_outline", handle=handle))["isError"]
    assert "row 2999" in await host.text(
        "overspill_query", handle=rows["_meta"]["overspill"]["handles"][0], query="result[2999].name || [2999].name"
    )


@clients
@eras
async def test_large_results_fit_and_their_schemas_hold(client: str, era: str) -> None:
    """Both clients validate what they get against the schemas that they were told of."""
    async with CLIENTS[client](interposed(python_server("featured")), era) as host:
        await large_results(host)


async def test_one_interposer_before_another_adds_nothing_twice() -> None:
    async with official(interposed(interposed(python_server("featured"))), "new") as host:
        assert sum(name.startswith("overspill_") for name in await host.tools()) == 4
        words = await host.call("words", count=9_000)
        assert words["content"][0]["text"].count("[overspill ovs_") == 1
        handle = words["_meta"]["overspill"]["handles"][0]
        page = await host.call("overspill_read", handle=handle, lines="100-400")
        assert not page["isError"]
        assert "[overspill read" in page["content"][0]["text"]


async def test_many_calls_at_once() -> None:
    async with official(interposed(python_server("featured")), "new") as host:
        results = await asyncio.gather(*(host.call("plain", count=1 + number % 400) for number in range(300)))
    for number, result in enumerate(results):
        if number % 400 < 100:
            assert result["content"] == [text("plain\n" * (1 + number % 400))]
        assert size(result) < 9_000
