"""Every feature that a host can see, directly and through the interposer, with real servers and clients."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from mcp_wiring import FEATURED, interposed, node_server, text

from mcp import Client, StdioServerParameters

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
needs_node = pytest.mark.needs("node", "npm")

Way = Callable[[list[str]], list[str]]
WAYS = [pytest.param(lambda command: command, id="direct"), pytest.param(interposed, id="interposed")]
both_ways = pytest.mark.parametrize("way", WAYS)
both_eras = pytest.mark.parametrize("mode", ["legacy", "auto"])


def client(command: list[str], *, mode: Any = "auto", **callbacks: Any) -> Client:
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    return Client(server, mode=mode, read_timeout_seconds=60, **callbacks)


def size(result: Any) -> int:
    return len(result.model_dump_json(by_alias=True, exclude_none=True))


def body(result: Any) -> Any:
    return result.model_dump(by_alias=True, exclude_none=True, mode="json")


# server-everything: the reference of the protocol's features


@needs_node
@both_ways
@both_eras
async def test_the_tools_of_the_reference_server(way: Way, mode: str) -> None:
    async with client(way(node_server("everything")), mode=mode) as host:
        assert (await host.call_tool("echo", {"message": "hi"})).content[0].text == "Echo: hi"
        image = await host.call_tool("get-tiny-image", {})
        assert [part.type for part in image.content] == ["text", "image", "text"]
        links = await host.call_tool("get-resource-links", {"count": 3})
        assert sum(part.type == "resource_link" for part in links.content) == 3
        reference = await host.call_tool("get-resource-reference", {"resourceType": "Text", "resourceId": 1})
        assert any(part.type == "resource" for part in reference.content)
        noted = await host.call_tool("get-annotated-message", {"messageType": "error", "includeImage": True})
        assert noted.content[0].annotations.priority == 1.0
        structured = await host.call_tool("get-structured-content", {"location": "Chicago"})
        assert structured.structured_content["conditions"]
        wrong = await host.call_tool("echo", {})
        assert wrong.is_error


@needs_node
@both_ways
async def test_what_else_the_reference_server_has(way: Way) -> None:
    async with client(way(node_server("everything")), mode="legacy") as host:
        assert (await host.list_prompts()).prompts
        assert (await host.list_resources()).resources
        assert (await host.list_resource_templates()).resource_templates
        assert (await host.get_prompt("simple-prompt")).messages
        first = (await host.list_resources()).resources[0]
        assert (await host.read_resource(first.uri)).contents
        reference = types.PromptReference(type="ref/prompt", name="completable-prompt")
        assert (await host.complete(reference, {"name": "department", "value": "E"})).completion.values


@needs_node
@both_ways
async def test_progress_of_the_reference_server(way: Way) -> None:
    seen: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append(done)

    async with client(way(node_server("everything")), mode="legacy") as host:
        arguments = {"duration": 0.4, "steps": 4}
        await host.call_tool("trigger-long-running-operation", arguments, progress_callback=progress)
    assert seen == [1, 2, 3, 4]


@needs_node
@both_ways
async def test_requests_of_the_server(way: Way) -> None:
    """Sampling, elicitation and roots go the other way; log messages and list changes come unasked."""
    came: list[str] = []

    async def sample(context: Any, params: Any) -> types.CreateMessageResult:
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text="sampled"), model="m"
        )

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///tmp/rooted", name="rooted")])

    async def logged(params: Any) -> None:
        came.append("log")

    async def other(message: Any) -> None:
        came.append(getattr(message, "method", type(message).__name__))

    host = client(
        way(node_server("everything")),
        mode="legacy",
        sampling_callback=sample,
        elicitation_callback=elicit,
        list_roots_callback=roots,
        logging_callback=logged,
        message_handler=other,
    )
    async with host:
        await asyncio.sleep(0.6)  # it lists the tools that need these callbacks a moment after the handshake
        sampled = await host.call_tool("trigger-sampling-request", {"prompt": "x", "maxTokens": 5})
        assert "sampled" in sampled.content[-1].text
        declined = await host.call_tool("trigger-elicitation-request", {})
        assert "declin" in json.dumps(body(declined)).lower()
        assert "rooted" in json.dumps(body(await host.call_tool("get-roots-list", {})))
        await host.call_tool("toggle-simulated-logging", {})
        for _ in range(100):
            if "log" in came and any("tools/list_changed" in name for name in came):
                break
            await asyncio.sleep(0.1)
    assert "log" in came
    assert any("tools/list_changed" in name for name in came)


@needs_node
@both_ways
async def test_a_call_can_be_cancelled(way: Way) -> None:
    async with client(way(node_server("everything")), mode="legacy") as host:
        arguments = {"duration": 30, "steps": 3}
        with pytest.raises(Exception, match=r"[Tt]imed out"):
            await host.call_tool("trigger-long-running-operation", arguments, read_timeout_seconds=0.3)
        assert (await host.call_tool("echo", {"message": "after"})).content[0].text == "Echo: after"


# server-filesystem: every tool declares a schema


@needs_node
@both_eras
async def test_large_files_fit_and_their_schemas_hold(tmp_path: Path, mode: str) -> None:
    """The client validates against the schemas that it was told of, and the whole is a call away."""
    whole = "".join(f"row {number} of a large file\n" for number in range(30_000))
    (tmp_path / "large.txt").write_text(whole)
    (tmp_path / "small.txt").write_text("small\n")
    for number in range(2_000):
        (tmp_path / f"file-with-a-name-{number}.txt").touch()
    async with client(interposed([*node_server("filesystem"), str(tmp_path)]), mode=mode) as host:
        tools = {tool.name: tool for tool in (await host.list_tools()).tools}
        assert {"read_text_file", "overspill_read"} <= tools.keys()
        small = await host.call_tool("read_text_file", {"path": str(tmp_path / "small.txt")})
        assert small.structured_content == {"content": "small\n"}
        large = await host.call_tool("read_text_file", {"path": str(tmp_path / "large.txt")})
        assert size(large) < 9_000
        handle = large.meta["overspill"]["handles"][0]
        assert handle in large.structured_content["content"]
        assert handle in large.content[0].text
        page = await host.call_tool("overspill_read", {"handle": handle, "lines": "15000"})
        assert "row 14999 of" in page.content[0].text
        for name, arguments in (
            ("list_directory", {"path": str(tmp_path)}),
            ("directory_tree", {"path": str(tmp_path)}),
            ("search_files", {"path": str(tmp_path), "pattern": "**"}),
            ("list_directory_with_sizes", {"path": str(tmp_path)}),
        ):
            result = await host.call_tool(name, arguments)
            assert not result.is_error
            assert size(result) < 9_000
        missing = await host.call_tool("read_text_file", {"path": str(tmp_path / "none")})
        assert missing.is_error


@needs_node
async def test_media_of_the_filesystem_server(tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(bytes(range(256)) * 4096)
    (tmp_path / "icon.png").write_bytes(bytes(range(256)) * 4)
    async with client(interposed([*node_server("filesystem"), str(tmp_path)]), mode="legacy") as host:
        icon = await host.call_tool("read_media_file", {"path": str(tmp_path / "icon.png")})
        assert icon.content[0].type == "image"
        photo = await host.call_tool("read_media_file", {"path": str(tmp_path / "photo.png")})
        assert photo.content[0].type == "text"
        assert "image/png, 1048576 bytes" in photo.content[0].text
        assert size(photo) < 9_000


# a FastMCP server, in both generations of the protocol


@both_ways
@both_eras
async def test_small_results_are_what_the_server_said(way: Way, mode: str) -> None:
    async with client(way(FEATURED), mode=mode) as host:
        rows = await host.call_tool("rows", {"count": 2})
        assert rows.structured_content["result"][1] == {"id": 1, "name": "row 1", "note": "n"}
        plain = await host.call_tool("plain", {"count": 1})
        assert plain.meta["server/own"] == [1, 2.5]
        every = await host.call_tool("everything", {"times": 1})
        kinds = [part.type for part in every.content]
        assert kinds == ["text", "image", "audio", "resource_link", "resource", "resource"]
        fails = await host.call_tool("fails", {"count": 1})
        assert fails.is_error
        big = await host.read_resource("demo://big")
        assert len(big.contents[0].text) == 90_000
        prompt = await host.get_prompt("ask", {"about": "x"})
        assert len(prompt.messages[0].content.text) > 30_000


@both_eras
async def test_large_results_fit(mode: str) -> None:
    async with client(interposed(FEATURED), mode=mode) as host:
        assert host.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        tools = {tool.name: tool for tool in (await host.list_tools()).tools}
        assert tools["rows"].output_schema
        rows = await host.call_tool("rows", {"count": 3_000})
        assert size(rows) < 9_000
        assert 3 <= len(rows.structured_content["result"]) < 3_000
        words = await host.call_tool("words", {"count": 9_000})
        assert "ovs_" in words.structured_content["result"][:100]
        every = await host.call_tool("everything", {"times": 3_000})
        assert [part.type for part in every.content[:6]] == [
            "text",
            "image",
            "audio",
            "resource_link",
            "resource",
            "resource",
        ]
        fails = await host.call_tool("fails", {"count": 5_000})
        assert fails.is_error
        assert size(fails) < 9_000
        handle = words.meta["overspill"]["handles"][0]
        found = await host.call_tool("overspill_grep", {"handle": handle, "pattern": "word 4567$"})
        assert "4568:word 4567" in found.content[0].text
        outline = await host.call_tool("overspill_outline", {"handle": handle})
        assert not outline.is_error


@both_ways
@both_eras
async def test_progress(way: Way, mode: str) -> None:
    seen: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append(done)

    async with client(way(FEATURED), mode=mode) as host:
        await host.call_tool("progress", {}, progress_callback=progress)
    assert seen == [0, 1, 2]


@both_ways
@both_eras
async def test_cancellation(way: Way, mode: str) -> None:
    async with client(way(FEATURED), mode=mode) as host:
        with pytest.raises(Exception, match=r"[Tt]imed out"):
            await host.call_tool("slow", {}, read_timeout_seconds=0.3)
        assert (await host.call_tool("words", {"count": 1})).structured_content == {"result": "word 0\n"}


@both_ways
async def test_log_messages(way: Way) -> None:
    came: list[str] = []

    async def logged(params: Any) -> None:
        came.append(str(params.data))

    async with client(way(FEATURED), mode="legacy", logging_callback=logged) as host:
        await host.call_tool("logs", {})
    assert any("from the server" in item for item in came)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_client_of_fastmcp(mode: Any) -> None:
    command = interposed(FEATURED)
    async with FastClient(StdioTransport(command[0], command[1:], env=dict(os.environ)), mode=mode) as host:
        names = [tool.name for tool in await host.list_tools()]
        assert names.count("overspill_read") == 1
        few = await host.call_tool("rows", {"count": 2})
        assert [row.name for row in few.data] == ["row 0", "row 1"]
        many = await host.call_tool("rows", {"count": 3_000})
        assert len(many.data) >= 3
        words = await host.call_tool("words", {"count": 9_000})
        assert words.data.startswith("[overspill ovs_")


async def test_one_interposer_before_another_adds_nothing_twice() -> None:
    async with client(interposed(interposed(FEATURED))) as host:
        names = [tool.name for tool in (await host.list_tools()).tools]
        assert sum(name.startswith("overspill_") for name in names) == 4
        words = await host.call_tool("words", {"count": 9_000})
        assert words.content[0].text.count("[overspill ovs_") == 1
        handle = words.meta["overspill"]["handles"][0]
        page = await host.call_tool("overspill_read", {"handle": handle, "lines": "100-400"})
        assert not page.is_error
        assert "[overspill read" in page.content[0].text


async def test_many_calls_at_once() -> None:
    async with client(interposed(FEATURED)) as host:
        results = await asyncio.gather(*(host.call_tool("words", {"count": 1 + number % 400}) for number in range(300)))
    for number, result in enumerate(results):
        if number % 400 < 100:
            assert result.content == [
                types.TextContent(**text("".join(f"word {n}\n" for n in range(1 + number % 400))))
            ]
        assert size(result) < 9_000
