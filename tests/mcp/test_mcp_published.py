"""The published servers, through the interposer as they are directly, with small results and huge ones.

They speak the older generation: to the newer clients they are the older servers of the table.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp_hosts import CLIENTS, MODES, Cell, Host, observed, official, plain, seen
from mcp_wiring import interposed, node_server

pytestmark = [
    pytest.mark.needs("node", "npm"),
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
clients = pytest.mark.parametrize("client", CLIENTS)
eras = pytest.mark.parametrize("era", MODES)


def size(result: dict[str, Any]) -> int:
    return len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode())


def entries(answer: Any, name: str) -> list[Any]:
    """Of a list, which one client answers bare and the other in its result."""
    return [plain(one) for one in getattr(answer, name, answer)]


# server-everything: the reference of the protocol's features


async def content_kinds(host: Host) -> Any:
    image = await host.call("get-tiny-image")
    assert [part["type"] for part in image["content"]] == ["text", "image", "text"]
    links = await host.call("get-resource-links", count=3)
    assert sum(part["type"] == "resource_link" for part in links["content"]) == 3
    reference = await host.call("get-resource-reference", resourceType="Blob", resourceId=1)
    assert any(part["type"] == "resource" for part in reference["content"])
    noted = await host.call("get-annotated-message", messageType="error", includeImage=True)
    assert noted["content"][0]["annotations"]["priority"] == 1.0
    return image, links, [part["type"] for part in reference["content"]], noted


async def structured_content(host: Host) -> Any:
    result = await host.call("get-structured-content", location="Chicago")
    assert result["structuredContent"]["conditions"]
    return result


async def errors(host: Host) -> Any:
    result = await host.call("echo")
    assert result["isError"] is True
    return result


async def prompts_and_completion(host: Host) -> Any:
    listed = entries(await host.client.list_prompts(), "prompts")
    prompt = plain(await host.client.get_prompt("simple-prompt"))
    assert prompt["messages"]
    reference = types.PromptReference(type="ref/prompt", name="completable-prompt")
    completed = await host.client.complete(reference, {"name": "department", "value": "E"})
    values = getattr(completed, "completion", completed).values
    assert values
    return listed, prompt, values


async def resources(host: Host) -> Any:
    listed = entries(await host.client.list_resources(), "resources")
    templates = entries(await host.client.list_resource_templates(), "resource_templates")
    assert templates
    return listed, templates, entries(await host.client.read_resource(listed[0]["uri"]), "contents")


async def progress(host: Host) -> Any:
    host.progress.clear()
    await host.call("trigger-long-running-operation", duration=0.2, steps=4)
    assert host.progress == [1, 2, 3, 4]
    return host.progress


async def changes_of_lists(host: Host) -> Any:
    """It lists the tools that need callbacks a moment after the handshake."""
    await host.until(lambda: "notifications/tools/list_changed" in host.changes)
    for _ in range(100):
        if "trigger-elicitation-request" in (tools := await host.tools()):
            return {name: tool for name, tool in tools.items() if not name.startswith("overspill_")}
        await asyncio.sleep(0.05)
    raise AssertionError("the tools did not come")


async def sampling(host: Host) -> Any:
    result = await host.call("trigger-sampling-request", prompt="x", maxTokens=5)
    assert "a thought" in json.dumps(result)
    return result


async def elicitation(host: Host) -> Any:
    result = await host.call("trigger-elicitation-request")
    assert "green" in json.dumps(result)
    return result


async def roots(host: Host) -> Any:
    result = await host.call("get-roots-list")
    assert "file:///rooted" in json.dumps(result)
    return result


async def log_messages(host: Host) -> Any:
    started = await host.call("toggle-simulated-logging")
    await host.until(lambda: bool(host.logs))
    await host.call("toggle-simulated-logging")
    return started["content"][0]["type"]


async def cancellation(host: Host) -> Any:
    with pytest.raises(Exception, match=r"[Tt]imed out"):
        await host.call("trigger-long-running-operation", seconds=0.1, duration=1, steps=2)
    return await host.call("echo", message="after")


EVERYTHING: list[Cell] = [
    content_kinds,
    structured_content,
    errors,
    prompts_and_completion,
    resources,
    progress,
    changes_of_lists,
    sampling,
    elicitation,
    roots,
    log_messages,
    cancellation,
]


@cache
def everything(client: str, era: str, way: str) -> dict[str, Any]:
    command = node_server("everything")
    return observed(client, interposed(command) if way == "through" else command, era, EVERYTHING)


@clients
@eras
@pytest.mark.parametrize("cell", EVERYTHING, ids=lambda cell: cell.__name__)
def test_the_reference_server_is_as_it_is_directly(cell: Cell, client: str, era: str) -> None:
    direct, through = everything(client, era, "directly"), everything(client, era, "through")
    assert through["version"] == direct["version"] == "2025-11-25"
    assert seen(through, cell) == seen(direct, cell)


def answers(command: list[str], version: str) -> list[bytes]:
    """The very lines that a host of a version gets, whose requests are answered one after the other."""
    about = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("initialize", about),
        ("ping", {}),
        ("tools/call", {"name": "echo", "arguments": {"message": "é \U0001f600"}}),
        ("tools/call", {"name": "echo", "arguments": {}}),
        ("tools/call", {"name": "none"}),
        ("tools/call", {"name": "get-tiny-image", "arguments": {}}),
        ("tools/call", {"name": "get-structured-content", "arguments": {"location": "Chicago"}}),
        ("prompts/list", {}),
        ("resources/templates/list", {}),
        ("no/such/method", {"x": 1}),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin
        assert process.stdout
        found = []
        for id, (method, params) in enumerate(asked):
            message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            while (line := process.stdout.readline()) and json.loads(line).get("id") != id:
                pass
            found.append(line)
            if method == "initialize":
                process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        process.stdin.close()
        process.stdout.read()
    return found


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_what_is_small_is_the_very_bytes_in_each_version(version: str) -> None:
    """As the hosts ask that the clients here don't stand for: with the version before."""
    direct = answers(node_server("everything"), version)
    assert json.loads(direct[0])["result"]["protocolVersion"] == version
    assert answers(interposed(node_server("everything")), version) == direct


async def test_large_results_of_the_reference_server() -> None:
    async with official(interposed(node_server("everything")), "old") as host:
        big = await host.call("echo", message="".join(f"line {number}\n" for number in range(20_000)))
        assert size(big) < 9_000
        handle = big["_meta"]["overspill"]["handles"][0]
        assert "10001:line 10000" in await host.text("overspill_read", handle=handle, lines="10001")
        links = await host.call("get-resource-links", count=10)
        assert sum(part["type"] == "resource_link" for part in links["content"]) == 10


# server-filesystem: every tool declares a schema


async def small_files(host: Host, place: Path) -> Any:
    """All of its tools, each once; times are left out."""
    small, moved, made = place / "small.txt", place / "moved.txt", place / "made"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_file", {"path": str(small)}),
        ("read_text_file", {"path": str(small), "head": 2}),
        ("read_media_file", {"path": str(place / "icon.png")}),
        ("read_multiple_files", {"paths": [str(small), str(place / "none")]}),
        ("write_file", {"path": str(moved), "content": "one\ntwo\n"}),
        ("edit_file", {"path": str(moved), "edits": [{"oldText": "one", "newText": "ein"}]}),
        ("create_directory", {"path": str(made)}),
        ("list_directory", {"path": str(place)}),
        ("list_directory_with_sizes", {"path": str(place)}),
        ("directory_tree", {"path": str(place)}),
        ("move_file", {"source": str(moved), "destination": str(made / "moved.txt")}),
        ("search_files", {"path": str(place), "pattern": "**/*.txt"}),
        ("get_file_info", {"path": str(small)}),
        ("list_allowed_directories", {}),
        ("read_text_file", {"path": str(place / "none")}),
    ]
    found = []
    for name, arguments in calls:
        result = await host.call(name, **arguments)
        assert result.get("structuredContent") or result["isError"]
        found.append([name, json.loads(json.dumps(result).replace(str(place), "PLACE")) if "info" not in name else ""])
    return found


@clients
@eras
async def test_all_tools_of_the_filesystem_server(tmp_path: Path, client: str, era: str) -> None:
    found = []
    for way in ("directly", "through"):
        place = tmp_path / way
        place.mkdir()
        (place / "small.txt").write_text("small\nof three\nlines\n")
        (place / "icon.png").write_bytes(bytes(range(256)))
        command = [*node_server("filesystem"), str(place)]
        async with CLIENTS[client](command if way == "directly" else interposed(command), era) as host:
            tools = {name: tool for name, tool in (await host.tools()).items() if not name.startswith("overspill_")}
            found.append((tools, await small_files(host, place)))
    (direct, results), (through, results_through) = found
    assert results_through == results
    del direct["read_media_file"]["outputSchema"]  # base64 that can't be cut and leaves no place to say so
    assert through == direct


@clients
@eras
async def test_large_files_fit_and_their_schemas_hold(tmp_path: Path, client: str, era: str) -> None:
    """The clients validate against the schemas that they were told of, and the whole is a call away."""
    whole = "".join(f"row {number} of a large file\n" for number in range(30_000))
    (tmp_path / "large.txt").write_text(whole)
    (tmp_path / "line.txt").write_text("x" * 2_000_000)
    (tmp_path / "photo.png").write_bytes(bytes(range(256)) * 2048)
    for number in range(1_000):
        (tmp_path / f"file-with-a-name-{number}.txt").touch()
    large = str(tmp_path / "large.txt")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_file", {"path": str(tmp_path / "line.txt")}),
        ("read_multiple_files", {"paths": [large, large]}),
        ("list_directory", {"path": str(tmp_path)}),
        ("list_directory_with_sizes", {"path": str(tmp_path)}),
        ("directory_tree", {"path": str(tmp_path)}),
        ("search_files", {"path": str(tmp_path), "pattern": "**"}),
    ]
    async with CLIENTS[client](interposed([*node_server("filesystem"), str(tmp_path)]), era) as host:
        assert all(tool.get("outputSchema") for name, tool in (await host.tools()).items() if name == "read_text_file")
        result = await host.call("read_text_file", path=large)
        assert size(result) < 9_000
        handle = result["_meta"]["overspill"]["handles"][0]
        assert handle in result["structuredContent"]["content"][:500]
        assert handle in result["content"][0]["text"][:500]
        assert "row 14999 of" in await host.text("overspill_read", handle=handle, lines="15000")
        for name, arguments in calls:
            result = await host.call(name, **arguments)
            assert not result["isError"]
            assert size(result) < 9_000
            assert "ovs_" in result["content"][0]["text"][:500]
        photo = await host.call("read_media_file", path=str(tmp_path / "photo.png"))
        assert photo["content"][0]["type"] == "text"
        assert "image/png, 524288 bytes" in photo["content"][0]["text"]
        assert size(photo) < 9_000
