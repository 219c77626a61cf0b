"""Promises about streamable HTTP: sessions, streams, resumption, headers; real servers, clients and sockets."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx
import pytest
from mcp_hosts import observed, seen
from mcp_wiring import SERVERS, interposer, lines, node_server, text
from test_mcp_features import FASTMCP, a_change_of_the_list

from mcp import Client, StdioServerParameters
from overspill.mcp import headers, wire
from overspill.mcp.address import given_headers, shown_url
from overspill.mcp.listen import is_local

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
eras = pytest.mark.parametrize("mode", ["legacy", "auto"])


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(command: list[str], port: int, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process, from when it listens on a port."""
    process = subprocess.Popen(command, env=os.environ | env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(400):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, "it ended before it listened"
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def featured() -> Iterator[str]:
    port = free_port()
    with running([sys.executable, str(SERVERS / "featured.py"), "http", str(port)], port):
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.fixture(scope="module")
def everything() -> Iterator[str]:
    port = free_port()
    with running([*node_server("everything"), "streamableHttp"], port, PORT=str(port)):
        yield f"http://127.0.0.1:{port}/mcp"


def bridged(url: str, *options: str, mode: Any = "auto", **callbacks: Any) -> Client:
    command = interposer("--url", url, *options)
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    return Client(server, mode=mode, read_timeout_seconds=60, **callbacks)


CELLS = [cell for cell in FASTMCP if cell is not a_change_of_the_list]  # the server would stay changed


@pytest.mark.parametrize(("client", "era"), [("official", "new"), ("fastmcp", "old")])
def test_every_feature_of_a_server_over_http(featured: str, client: str, era: str) -> None:
    """As the same server has it on pipes, for a host on pipes: questions back, logs, progress and the rest."""
    found = observed(client, interposer("--url", featured), era, CELLS)
    for cell in CELLS:
        assert seen(found, cell)


@asynccontextmanager
async def listened(url: str, mode: Any = "auto") -> AsyncIterator[Client]:
    port = free_port()
    with running(interposer("--url", url, "--listen", str(port)), port):
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode, read_timeout_seconds=60) as host:
            yield host


async def features(host: Client) -> None:
    """What a host sees of the server of ``featured``."""
    seen: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append(done)

    names = [tool.name for tool in (await host.list_tools()).tools]
    assert names.count("overspill_read") == 1
    assert (await host.call_tool("words", {"count": 2})).structured_content == {"result": "word 0\nword 1\n"}
    rows = await host.call_tool("rows", {"count": 3_000})
    assert 3 <= len(rows.structured_content["result"]) < 3_000
    words = await host.call_tool("words", {"count": 50_000})
    assert len(words.model_dump_json(by_alias=True, exclude_none=True)) < 9_000
    handle = words.meta["overspill"]["handles"][0]
    page = await host.call_tool("overspill_read", {"handle": handle, "lines": "40000"})
    assert "word 39999" in page.content[0].text
    await host.call_tool("progress", {}, progress_callback=progress)
    assert seen == [0, 1, 2]
    fails = await host.call_tool("fails", {"count": 4_000})
    assert fails.is_error
    with pytest.raises(Exception, match=r"[Tt]imed out"):
        await host.call_tool("slow", {}, read_timeout_seconds=0.3)
    assert len((await host.read_resource("demo://big")).contents[0].text) == 90_000
    several = await asyncio.gather(*(host.call_tool("words", {"count": number}) for number in range(1, 40)))
    assert [len(result.content[0].text.splitlines()) for result in several] == list(range(1, 40))


@eras
async def test_a_host_on_pipes_before_a_server_over_http(featured: str, mode: str) -> None:
    async with bridged(featured, mode=mode) as host:
        assert host.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        await features(host)


@eras
async def test_a_host_over_http_before_a_server_over_http(featured: str, mode: str) -> None:
    async with listened(featured, mode) as host:
        assert host.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        await features(host)


@pytest.mark.needs("node", "npm")
@pytest.mark.parametrize("way", [bridged, listened])
async def test_the_reference_server_over_http(everything: str, way: Callable[..., Any]) -> None:
    """It keeps sessions and answers in event streams."""
    async with way(everything, mode="legacy") as host:
        assert (await host.call_tool("echo", {"message": "hi"})).content[0].text == "Echo: hi"
        big = await host.call_tool("echo", {"message": lines(3_000)})
        assert len(big.model_dump_json()) < 9_500
        image = await host.call_tool("get-tiny-image", {})
        assert image.content[1].type == "image"
        assert (await host.list_prompts()).prompts


class Scripted:
    """A server over HTTP whose answers a test writes: the raw socket, one exchange after another."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.answers: list[Callable[[str, Any], bytes]] = []
        self.raw_answers: list[bytes] = []
        self.pause = 0.0
        """Between every three bytes of an answer."""
        self.listed: Callable[[str, Any], bytes] = answered({"tools": []})
        """To overspill itself, when a tool is called that nobody has listed."""

    async def __aenter__(self) -> Scripted:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mcp"
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(
                (int(line[15:]) for line in head.lower().splitlines() if line.startswith("content-length:")), 0
            )
            body = await reader.readexactly(length)
            if b'"overspill-list-' in body:
                writer.write(self.listed(head, json.loads(body)))
                await writer.drain()
                return
            self.heads.append(head)
            self.bodies.append(body)
            if self.raw_answers:
                answer = self.raw_answers.pop(0)
            elif self.answers:
                answer = self.answers.pop(0)(head, json.loads(body) if body else None)
            else:
                answer = response(404)
            for at in range(0, len(answer), 3 if self.pause else max(1, len(answer))):
                writer.write(answer[at : at + 3] if self.pause else answer)
                await writer.drain()
                await asyncio.sleep(self.pause)
        finally:
            writer.close()


def response(status: int, body: bytes = b"", kind: str = "application/json", **more: str) -> bytes:
    named = {"content-type": kind, "connection": "close"} | {
        name.replace("_", "-"): value for name, value in more.items()
    }
    if kind != "text/event-stream":
        named["content-length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status} x\r\n{head}\r\n".encode() + body


def answered(result: Any, **more: str) -> Callable[[str, Any], bytes]:
    def answer(head: str, message: Any) -> bytes:
        return response(
            200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}, indent=1).encode(), **more
        )

    return answer


class Pipes:
    """The interposer before a scripted server, spoken to by lines."""

    def __init__(self, url: str, *options: str) -> None:
        self.command = interposer("--url", url, *options)

    async def __aenter__(self) -> Pipes:
        pipe = subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 24
        )
        return self

    async def __aexit__(self, *raised: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    def send(self, method: str, id: Any = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id is None else {"id": id})
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line)

    async def got(self) -> Any:
        assert self.process.stdout
        return json.loads(await asyncio.wait_for(self.process.stdout.readline(), 20))

    async def ask(self, method: str, id: Any = 1, **params: Any) -> Any:
        self.send(method, id, **params)
        return await self.got()

    async def end(self) -> bytes:
        """What it said on stderr."""
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.stderr
        await asyncio.wait_for(self.process.wait(), 20)
        return await self.process.stderr.read()


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}


async def test_the_session_and_the_agreed_version_are_kept() -> None:
    async with Scripted() as server:
        server.answers = [
            answered(HELLO, mcp_session_id="abc"),
            answered({"content": []}),
            lambda head, body: response(200),
        ]
        async with Pipes(server.url, "--header", "Authorization: Bearer sesame") as host:
            assert (await host.ask("initialize"))["result"] == HELLO
            await host.ask("tools/call", name="t")
            said = await host.end()
        assert "mcp-session-id: abc" in server.heads[1].lower()
        assert "mcp-protocol-version: 2025-06-18" in server.heads[1].lower()
        assert "authorization: bearer sesame" in server.heads[1].lower()
        assert server.heads[2].startswith("DELETE ")
        assert b"sesame" not in said


async def test_a_stream_that_breaks_is_resumed_where_it_broke() -> None:
    def broken(head: str, message: Any) -> bytes:
        return response(200, b'retry: 10\nid: 7\ndata: {"jsonrpc":"2.0","method":"n"}\n\n', "text/event-stream")

    def rest(head: str, message: Any) -> bytes:
        assert "last-event-id: 7" in head.lower()
        data = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": [text(lines(4000))]}})
        return response(200, f"id: 8\ndata: {data}\n\n".encode(), "text/event-stream")

    async with Scripted() as server:
        server.answers = [broken, rest]
        async with Pipes(server.url) as host:
            assert (await host.ask("tools/call", name="t"))["method"] == "n"
            result = (await host.got())["result"]
        assert len(json.dumps(result)) < 9_000


async def until(met: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if met():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came")


def events(*messages: Any, **fields: Any) -> bytes:
    head = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return "".join(f"{head}data: {json.dumps(message) if message else ''}\n\n" for message in messages).encode()


async def test_a_server_that_closes_its_stream_to_be_asked_again_is_asked_as_often_as_it_takes() -> None:
    """Servers of 2025-11-25 do so with calls that take long: each closing is in order, and says when to come back."""

    def begun(head: str, message: Any) -> bytes:
        return response(200, events(None, retry=1, id=12), "text/event-stream")

    def polled(head: str, message: Any) -> bytes:
        return response(200, b"", "text/event-stream")

    def last(head: str, message: Any) -> bytes:
        assert "last-event-id: 12" in head.lower()
        done = {"jsonrpc": "2.0", "id": 1, "result": {"content": [text("done")]}}
        return response(200, events(done, id=99), "text/event-stream")

    async with Scripted() as server:
        server.answers = [begun, *[polled] * 11, last]
        async with Pipes(server.url) as host:
            assert (await host.ask("tools/call", name="t"))["result"]["content"] == [text("done")]


async def test_a_call_that_was_given_up_is_not_asked_for_again() -> None:
    def polled(head: str, message: Any) -> bytes:
        return response(200, events(None, retry=50, id=1), "text/event-stream")

    async with Scripted() as server:
        server.answers = [
            answered(HELLO),
            polled,
            *[lambda head, body: response(202) if body else polled(head, body)] * 40,
        ]
        async with Pipes(server.url) as host:
            await host.ask("initialize")
            host.send("tools/call", 7, name="t")
            await until(lambda: len(server.heads) >= 4)
            host.send("notifications/cancelled", requestId=7)
            await until(lambda: any(b"cancelled" in body for body in server.bodies))
            await asyncio.sleep(0.2)
            asked = len(server.heads)
            await asyncio.sleep(0.5)
            assert len(server.heads) == asked


async def test_a_batch_and_what_is_no_json_are_answered() -> None:
    """Versions before 2025-06-18 had batches; what a server says to nonsense is its own."""
    texts = [text(lines(4_000)), text("small")]
    results = [{"jsonrpc": "2.0", "id": id, "result": {"content": [part]}} for id, part in enumerate(texts)]
    nonsense = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse"}}
    asked = [{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "t"}} for id in range(2)]
    async with Scripted() as server:
        server.answers = [
            lambda head, body: response(200, json.dumps(results).encode()),
            lambda head, body: response(200, events(*results), "text/event-stream"),
            lambda head, body: response(503),
        ]
        async with Pipes(server.url) as host:
            host.write(json.dumps(asked).encode() + b"\n")
            together = await host.got()
            assert [one["id"] for one in together] == [0, 1]
            assert len(json.dumps(together[0])) < 9_000
            host.write(json.dumps(asked).encode() + b"\n")
            assert [(await host.got())["id"], (await host.got())["id"]] == [0, 1]
            host.write(json.dumps(asked).encode() + b"\n")
            refused = [await host.got(), await host.got()]
            assert [one["id"] for one in refused] == [0, 1]
            assert all("answered 503" in one["error"]["message"] for one in refused)
            server.raw_answers = [response(400, json.dumps(nonsense).encode())]
            host.write(b"{no json\n")
            assert await host.got() == nonsense


async def test_an_answer_that_comes_in_drops_is_whole_and_one_that_is_cut_is_refused() -> None:
    result = {"jsonrpc": "2.0", "id": 1, "result": {"content": [text("drop by drop")]}}
    whole = response(200, json.dumps(result).encode())
    async with Scripted() as server, Pipes(server.url) as host:
        server.raw_answers, server.pause = [whole], 0.005
        assert await host.ask("tools/call", name="t") == result
        for cut in (whole[:-5], whole[: whole.index(b"\r\n\r\n")], b""):
            server.raw_answers, server.pause = [cut], 0.0
            assert "broke off" in (await host.ask("tools/call", 2, name="t"))["error"]["message"]
        own = await host.ask("tools/call", 6, name="overspill_read", arguments={"handle": "ovs_none"})
        assert own["result"]["isError"] is True


async def test_what_is_said_unasked_is_heard_also_after_a_session_was_begun_again() -> None:
    def unasked(number: int) -> Callable[[str, Any], bytes]:
        message = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"n": number}}
        return lambda head, body: response(200, events(message, retry=600_000), "text/event-stream")

    async with Scripted() as server:
        server.answers = [answered(HELLO, mcp_session_id="old"), lambda head, body: response(202), unasked(1)]
        async with Pipes(server.url) as host:
            await host.ask("initialize")
            host.send("notifications/initialized")
            assert (await host.got())["params"] == {"n": 1}
            server.answers = [
                lambda head, body: response(404),
                answered(HELLO, mcp_session_id="new"),
                lambda head, body: response(202),
                answered({"content": []}),
                unasked(2),
            ]
            host.send("ping", 2)
            assert {(await host.got()).get("id"), (await host.got()).get("id")} == {2, None}
        heard = [head for head in server.heads if head.startswith("GET ")]
        assert ["mcp-session-id: old" in heard[0].lower(), "mcp-session-id: new" in heard[1].lower()] == [True, True]


async def test_a_tool_that_nobody_has_listed_keeps_its_promise_over_http() -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]}
    listed = {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema}]}
    async with Scripted() as server:
        server.listed = answered(listed)
        server.answers = [answered({"content": [], "structuredContent": {"rows": list(range(9_000))}})]
        async with Pipes(server.url) as host:
            rows = (await host.ask("tools/call", name="t"))["result"]["structuredContent"]["rows"]
        assert 0 < len(rows) < 9_000


async def test_an_expired_session_begins_again_unseen() -> None:
    async with Scripted() as server:
        server.answers = [
            answered(HELLO, mcp_session_id="old"),
            lambda head, body: response(404),
            answered(HELLO, mcp_session_id="new"),
            lambda head, body: response(202),
            answered({"content": [text("again")]}),
        ]
        async with Pipes(server.url) as host:
            await host.ask("initialize")
            assert (await host.ask("tools/call", 2, name="t"))["result"]["content"] == [text("again")]
        assert [json.loads(body)["method"] for body in server.bodies if body] == [
            "initialize",
            "tools/call",
            "initialize",
            "notifications/initialized",
            "tools/call",
        ]
        assert "mcp-session-id: new" in server.heads[4].lower()


async def test_what_a_newer_version_repeats_in_headers() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    async with Scripted() as server:
        server.answers = [answered({"tools": [{"name": "t", "inputSchema": schema}]}), answered({"content": []})]
        async with Pipes(server.url) as host:
            await host.ask("tools/list", _meta=meta)
            await host.ask("tools/call", 2, name="t", arguments={"region": "Zürich"}, _meta=meta)
        head = server.heads[1].lower()
        assert "mcp-method: tools/call" in head
        assert "mcp-name: t\r\n" in head
        assert "mcp-protocol-version: 2026-07-28" in head
        assert "mcp-param-region: =?base64?" in head


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (response(401), "--header"),
        (response(500, b"oops", "text/plain"), "answered 500"),
        (
            response(307, location="https://elsewhere.example/mcp?key=secret"),
            "points to https://elsewhere.example/mcp;",
        ),
        (response(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"mismatch"}}'), "mismatch"),
        (response(200, b": ping\n\n", "text/event-stream"), "ended without the response"),
        (response(202), "answered 202"),
    ],
)
async def test_a_refusal_is_an_answer(answer: bytes, said: str) -> None:
    async with Scripted() as server:
        server.answers = [lambda head, body: answer]
        async with Pipes(server.url) as host:
            got = await host.ask("tools/call", 5, name="t")
            assert got["id"] == 5
            assert said in got["error"]["message"]
            assert "secret" not in json.dumps(got)


async def test_a_server_that_is_not_there_and_read_back_that_is() -> None:
    async with Pipes(f"http://user:secret@127.0.0.1:{free_port()}/mcp?token=secret") as host:
        got = await host.ask("tools/call", 5, name="t")
        assert "can't be reached" in got["error"]["message"]
        assert "secret" not in got["error"]["message"]
        own = await host.ask("tools/call", 6, name="overspill_read", arguments={"handle": "ovs_none"})
        assert own["result"]["isError"] is True


async def test_a_listener_on_the_loopback_refuses_pages(featured: str) -> None:
    port = free_port()
    with running(interposer("--url", featured, "--listen", str(port)), port):
        async with httpx.AsyncClient() as browser:
            for wrong in ({"origin": "https://page.example"}, {"host": "rebound.example"}):
                assert (await browser.post(f"http://127.0.0.1:{port}/mcp", headers=wrong, json={})).status_code == 403


async def test_a_listener_that_is_open_to_others_refuses_pages_too(featured: str) -> None:
    port = free_port()
    with running(interposer("--url", featured, "--listen", f"0.0.0.0:{port}"), port):
        async with httpx.AsyncClient() as anyone:
            for origin, refused in (("http://page.example", True), ("null", True), ("http://localhost:3000", False)):
                named = {"origin": origin, "host": "page.example"}
                got = await anyone.post(f"http://127.0.0.1:{port}/mcp", headers=named, json={})
                assert (got.status_code == 403) is refused


def test_what_is_local() -> None:
    hosts = ("127.0.0.1", "127.0.0.2", "::1", "localhost", "0.0.0.0", "::", "10.0.0.1", "h.example", "")
    assert [is_local(host) for host in hosts] == [True] * 4 + [False] * 5


def test_who_is_open_to_others_says_so_and_before_what_it_stands() -> None:
    for place, is_open in (("0.0.0.0", True), ("127.0.0.1", False)):
        process = subprocess.Popen(
            interposer("--url", "http://h.example:8/mcp?key=sesame", "--listen", f"{place}:0"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout
        said = process.stdout.readline()
        process.terminate()
        warned = process.communicate()[1]
        assert re.fullmatch(rb"overspill: http://[0-9.]+:[1-9]\d+ stands before http://h.example:8/mcp\n", said)
        assert (b"is open to other machines" in warned) is is_open


def test_secrets_come_from_the_environment_and_stay_out_of_words() -> None:
    assert given_headers(["Authorization: Bearer ${T}"], {"T": "x"}) == {"Authorization": "Bearer x"}
    with pytest.raises(ValueError, match="the variable T set"):
        given_headers(["Authorization: Bearer ${T}"], {})
    assert shown_url("https://u:p@h.example:8/a?k=s") == "https://h.example:8/a"


def test_header_values_survive() -> None:
    assert headers.header_value("plain") == "plain"
    assert headers.header_value(" é").startswith("=?base64?")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
def test_events_in_any_chunks(size: int) -> None:
    stream = b": hello\n\nid: 1\nevent: message\ndata: a\ndata: b\n\r\n\r\ndata:c\r\rdata: \xc3\xa9\r\n\r\ndata: rest"
    events = wire.Events()
    found = [event for at in range(0, len(stream), size) for event in events.feed(stream[at : at + size])]
    assert b"".join(event.raw for event in found) + events.rest() == stream
    assert [event.data for event in found if event.data] == [b"a\nb", b"c", "é".encode()]


def test_events_behind_a_byte_order_mark() -> None:
    (event,) = wire.Events().feed(b"\xef\xbb\xbfdata: a\n\n")
    assert (event.data, event.raw) == (b"a", b"\xef\xbb\xbfdata: a\n\n")


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_behind_a_byte_order_mark(kind: str) -> None:
    said = json.dumps({"jsonrpc": "2.0", "id": 5, "result": HELLO}).encode()
    body = b"\xef\xbb\xbf" + (said if kind == "application/json" else b"data: " + said + b"\n\n")
    async with Scripted() as server, Pipes(server.url) as host:
        server.raw_answers = [response(200, body, kind)]
        assert (await host.ask("tools/call", 5, name="t"))["result"] == HELLO
