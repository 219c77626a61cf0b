"""Promises about servers at addresses that are not as they should be: each a sentence, an honest status, no secret."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import shlex
import socket
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp_wiring import RAW, interposed, interposer, lines, text
from test_mcp_http import HELLO, Pipes, Scripted, answered, featured, free_port, response, running

from overspill.mcp.address import shown_url
from overspill.mcp.doctor import NoServer, Probe, address_words
from overspill.mcp.listen import door_at

__all__ = ["featured"]
pytestmark = pytest.mark.filterwarnings("default")

BEGIN = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
LARGE = {"content": [text(lines(4_000))]}


def run(*words: str, said: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(interposer(*words), input=said, capture_output=True, env=os.environ | env, timeout=60)


def test_who_is_not_there_is_missed_once_something_is_asked() -> None:
    """Nothing was asked, nothing is wrong; after a handshake in vain one line says what is, and so does the status."""
    url = f"http://user:sesame@127.0.0.1:{free_port()}/mcp?key=sesame"
    assert run("--url", url).returncode == 0
    done = run("--url", url, said=BEGIN + BEGIN)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(b"overspill: the server at http://127.0.0.1:")
    assert b"can't be reached" in line
    assert b"sesame" not in done.stderr + done.stdout
    assert json.loads(done.stdout.splitlines()[0])["error"]["message"] in line.decode()


async def test_who_never_answers_is_missed_when_the_host_ends() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with Pipes(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as host:
        host.send("initialize", 1)
        own = await host.ask("tools/call", 2, name="overspill_read", arguments={"handle": "ovs_none"})
        assert own["id"] == 2
        assert b"has not answered" in await host.end()
        assert host.process.returncode == 1
    server.close()


async def test_who_speaks_no_tls_is_said_to() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(response(400))
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with Pipes(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}") as host:
        assert "does not speak TLS" in (await host.ask("initialize"))["error"]["message"]
    server.close()


def chunked(head: str, message: Any) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": LARGE}).encode()
    parts = [body[at : at + 1_000] for at in range(0, len(body), 1_000)]
    said = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in [*parts, b""])
    return b"HTTP/1.1 200 x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n" + said


def gzipped(head: str, message: Any) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": LARGE}).encode()
    return response(200, gzip.compress(body), content_encoding="gzip")


async def test_what_comes_in_chunks_or_compressed_is_bounded() -> None:
    async with Scripted() as server, Pipes(server.url) as host:
        for answer in (chunked, gzipped):
            server.answers = [answer]
            got = await host.ask("tools/call", name="t")
            assert len(json.dumps(got)) < 9_000
            assert got["result"]["_meta"]["overspill"]["handles"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (response(200, b"<html>", "text/html"), "/mcp answered 200 with text/html"),
        (response(200, b"null"), "without a response"),
        (response(200, b"{]"), "without a response"),
        (response(200, b"not gzip", content_encoding="gzip"), "DecodingError"),
        (response(500, b"<html>" * 10_000, "text/html"), "answered 500"),
        (response(303, location="/elsewhere?key=sesame"), "/elsewhere; use that as --url"),
        (response(308, location="/mcp"), "points to itself"),
        (response(307, location="http://[::1"), "broke off"),
        (b"SSH-2.0-OpenSSH_9\r\n", "broke off"),
    ],
)
async def test_what_is_no_answer_is_a_refusal(answer: bytes, said: str) -> None:
    async with Scripted() as server, Pipes(server.url) as host:
        server.raw_answers = [answer] * 4
        got = await host.ask("tools/call", 5, name="t")
        assert said in got["error"]["message"]
        assert "sesame" not in json.dumps(got)


def test_an_address_that_is_none_is_shown_as_it_was_typed() -> None:
    said = {url: shown_url(url) for url in ("notaurl", "h/mcp", "https:///a?k=s", "sesame@h/mcp", "u:sesame@h/mcp")}
    assert list(said.values()) == ["notaurl", "h/mcp", "https:…", "…", "u:…"]


@pytest.mark.parametrize("is_batch", [False, True])
@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, {"error": "invalid_token"}, "answered 401 and says 'invalid_token'; give --header"),
        (401, {"error": "invalid_token", "error_description": "it is over"}, "says 'it is over'"),
        (429, {"error": {"message": "rate limited", "type": "x"}}, "answered 429 and says 'rate limited'"),
        (500, {"error": {"code": "E1", "message": ["a"]}}, "answered 500"),
        (403, {"error": "no right for sesame"}, "answered 403; the --header"),
    ],
)
async def test_an_error_that_is_not_json_rpc_is_a_refusal_in_words(
    status: int, body: Any, said: str, is_batch: bool
) -> None:
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "t"}}
    async with Scripted() as server, Pipes(server.url, "--header", "Authorization: Bearer sesame") as host:
        server.raw_answers = [response(status, json.dumps(body).encode())]
        host.write(json.dumps([call] if is_batch else call).encode() + b"\n")
        got = await host.got()
        assert got["id"] == 5
        assert got["error"]["code"] == -32000
        assert said in got["error"]["message"]
        assert "sesame" not in got["error"]["message"]


async def test_a_list_of_nothing_is_no_answer() -> None:
    async with Scripted() as server, Pipes(server.url) as host:
        server.raw_answers = [response(200, b"[]")]
        assert await host.ask("tools/call", 5, name="t") == []
        assert "without a response" in (await host.got())["error"]["message"]


async def test_a_redirect_is_followed_at_home_and_what_is_given_never_leaves() -> None:
    async with Scripted() as elsewhere, Scripted() as server:
        server.answers = [
            lambda head, body: response(307, location="/moved"),
            answered({"content": []}),
            lambda head, body: response(308, location=elsewhere.url),
        ]
        async with Pipes(server.url, "--header", "Authorization: Bearer sesame") as host:
            assert "result" in await host.ask("tools/call", name="t")
            assert "answered 308" in (await host.ask("tools/call", 2, name="t"))["error"]["message"]
        assert server.heads[1].startswith("POST /moved ")
        assert "Bearer sesame" in server.heads[1]
        assert elsewhere.heads == []


async def test_servers_that_lose_a_session_in_their_own_words() -> None:
    lost = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "Bad Request: No valid session ID"}}
    async with Scripted() as server:
        server.answers = [
            answered(HELLO, mcp_session_id="old"),
            lambda head, body: response(400, json.dumps(lost).encode()),
            answered(HELLO, mcp_session_id="new"),
            lambda head, body: response(202),
            answered({"content": []}),
            lambda head, body: response(400, b'{"error":{"code":-32602,"message":"wrong"}}'),
        ]
        async with Pipes(server.url) as host:
            await host.ask("initialize")
            assert (await host.ask("tools/call", 2, name="t"))["result"] == {"content": []}
            assert (await host.ask("tools/call", 3, name="t"))["error"]["message"] == "wrong"


async def test_a_secret_stands_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in what is said, with all that is logged, and not in what is kept."""
    logged = tmp_path / "log"
    begin = f"import logging; logging.basicConfig(level=0, filename={str(logged)!r}); "
    async with Scripted() as server:
        server.answers = [answered(HELLO), answered(LARGE), lambda head, body: response(401)]
        monkeypatch.setenv("SECRET", "sesame")
        host = Pipes(server.url, "--header", "Authorization: Bearer ${SECRET}")
        host.command[2] = begin + host.command[2]
        async with host:
            heard = [await host.ask("initialize"), *[await host.ask("tools/call", id, name="t") for id in (2, 3)]]
            said = await host.end()
        assert all("Bearer sesame" in head for head in server.heads)
    assert "ovs_" in json.dumps(heard[1])
    assert "answered 401" in heard[2]["error"]["message"]
    written = all_bytes(tmp_path)
    assert b"HTTP Request: POST" in written
    assert b"ovs_" in written
    assert b"sesame" not in written + said + json.dumps(heard).encode()


def all_bytes(place: Path) -> bytes:
    return b"".join(file.read_bytes() for file in place.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    "url", ["ftp://h/", "http:///", "http://u:sesame@h:99999/", "http://[::1/", "http://a b/", "http://é/", "h/mcp"]
)
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    done = run("--url", url)
    assert done.returncode == 2 or b"PolicyError: --url" in done.stderr
    assert b"--url" in done.stderr
    assert b"sesame" not in done.stderr.rpartition(b"PolicyError")[2]


@pytest.mark.parametrize("value", ["sesame\nX: y", "sésame", "sesame\x00"[:-1] + "\x7f"])
def test_a_value_that_no_header_can_carry_is_refused_unshown(value: str) -> None:
    from overspill.errors import PolicyError
    from overspill.mcp.address import given_headers

    with pytest.raises(PolicyError, match="printable ASCII") as caught:
        given_headers(["Authorization: ${SECRET}"], {"SECRET": value})
    assert value not in str(caught.value)


@pytest.mark.parametrize("line", ["Authorization Bearer sesame", "Authorization Bearer sesame: x", "sesame"])
@pytest.mark.parametrize("words", [[], ["doctor"]])
def test_a_header_that_is_none_is_refused_unshown(words: list[str], line: str) -> None:
    done = run(*words, "--url", "http://127.0.0.1:9/mcp", "--header", line)
    assert done.returncode
    assert b"a line such as 'Authorization" in done.stderr
    assert b"sesame" not in done.stderr + done.stdout


def test_doctor_refuses_what_the_proxy_refuses_in_its_words() -> None:
    words = ("--url", "http://127.0.0.1:9/mcp", "--header", "Authorization: Bearer ${NOPE}")
    said = [run(*first, *words).stderr.splitlines()[-1] for first in ((), ("doctor",))]
    assert said[0] == said[1]
    assert b"the variable NOPE set" in said[0]


def test_the_command_that_doctor_names_is_one_for_a_shell() -> None:
    script = "echo no >&2; exit 3"
    assert shlex.join(["sh", "-c", script]).encode() in run("doctor", "--", "sh", "-c", script).stderr
    lines = ("A: Bearer ${KEY}", "X-Key: sesame")
    shown = address_words({"url": "http://127.0.0.1:9/m?key=sesame", "header": lines})
    assert shown == ["--url", "http://127.0.0.1:9/m", "--header", "A: Bearer ${KEY}", "--header", "X-Key: …"]


def test_doctor_says_for_what_it_waits(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("overspill.mcp.doctor.START_SECONDS", 0.6)
    monkeypatch.setattr("overspill.mcp.doctor._SILENT_SECONDS", 0.1)
    with Probe(["sleep", "60"]) as probe, pytest.raises(NoServer, match="to see why, run: sleep 60"):
        probe.begin()
    assert "has not answered yet; waiting" in capfd.readouterr().err


def test_options_of_an_address_without_one() -> None:
    for flag, value in (("--listen", "8100"), ("--header", "A: b")):
        done = subprocess.run(interposed(RAW, flag, value), capture_output=True)
        assert done.returncode == 2
        assert b"give --url as well" in done.stderr


def test_a_place_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("--url", "http://127.0.0.1:9", "--listen", str(taken.getsockname()[1]))
    assert b"give --listen another port" in done.stderr
    assert b"stands before" not in done.stdout


async def test_what_a_listener_sends_is_sent_at_once() -> None:
    """Small parts of an event are not kept back until the one before has arrived."""
    heard: asyncio.Queue[int] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = writer.get_extra_info("socket")
        heard.put_nowait(line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with door_at("127.0.0.1", 0) as door:
        server = await asyncio.start_server(serve, sock=door)
        _, writer = await asyncio.open_connection(*door.getsockname())
        assert await asyncio.wait_for(heard.get(), 20)
        writer.close()
        server.close()


def test_a_listener_before_nothing_says_so_and_reads_back() -> None:
    port = free_port()
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "t"}}
    own = {**call, "params": {"name": "overspill_read", "arguments": {"handle": "ovs_none"}}}
    with running(interposer("--url", f"http://127.0.0.1:{free_port()}/mcp", "--listen", str(port)), port):
        refused = httpx.post(f"http://127.0.0.1:{port}/mcp", json=call)
        answer = httpx.post(f"http://127.0.0.1:{port}/mcp", json=own)
    assert refused.status_code == 502
    assert refused.json()["id"] == 7
    assert "can't be reached" in refused.json()["error"]["message"]
    assert answer.json()["result"]["isError"] is True


async def test_a_listener_follows_at_home_too() -> None:
    port = free_port()
    async with Scripted() as server:
        server.answers = [
            lambda head, body: response(307, location="/moved"),
            answered(HELLO),
            lambda head, body: response(307, location="http://elsewhere.example/mcp?key=sesame"),
            *[lambda head, body: response(308, location="/round")] * 9,
        ]
        call = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {}}
        with running(interposer("--url", server.url, "--listen", str(port), "--header", "A: b"), port):
            async with httpx.AsyncClient() as host:
                said = [await host.post(f"http://127.0.0.1:{port}/mcp", json=call) for _ in range(3)]
        assert said[0].json()["result"] == HELLO
        assert "http://elsewhere.example/mcp; use that as --url" in said[1].json()["error"]["message"]
        assert "sesame" not in said[1].text
        assert said[2].status_code == 502
        assert all("a: b" in head.lower() for head in server.heads)


def test_doctor_before_an_address(featured: str) -> None:
    done = run("doctor", "--url", featured, "--header", "X-Key: sesame")
    assert done.returncode == 0, done.stderr
    assert b"the schema holds: rows, words" in done.stdout
    assert b"read-back  overspill_read, overspill_grep" in done.stdout
    assert b"s let through" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "sh", "-c", "echo no configuration >&2; exit 3"], b"exit status 3"),
        (["--", "sh", "-c", "echo no configuration >&2; kill -9 $$"], b"ended by signal 9"),
    ],
)
def test_doctor_hands_on_the_last_words_of_who_ended(words: list[str], said: bytes) -> None:
    done = run("doctor", *words)
    assert done.returncode == 1
    assert said in done.stderr
    assert b"no configuration" in done.stderr
