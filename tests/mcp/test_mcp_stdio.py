"""Promises about the pump: bytes, order, back-pressure, and every way in which either side can end."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from mcp_wiring import RAW, interposed

from overspill.mcp.messages import SERVER_GONE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the raw server speaks POSIX signals")


class Host:
    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.stdin, self.stdout, self.stderr = self.process.stdin, self.process.stdout, self.process.stderr
        self._held = b""

    def send(self, message: Any, end: bytes = b"\n") -> None:
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.stdin.write(data + end)

    def call(self, name: str, id: Any = 1, **arguments: Any) -> None:
        params = {"name": name, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    def line(self, seconds: float = 30) -> bytes:
        while b"\n" not in self._held:
            ready, _, _ = select.select([self.stdout], [], [], seconds)
            assert ready, "nothing came"
            chunk = os.read(self.stdout.fileno(), 1 << 20)
            if not chunk:
                rest, self._held = self._held, b""
                return rest
            self._held += chunk
        line, _, self._held = self._held.partition(b"\n")
        return line + b"\n"

    def message(self) -> Any:
        return json.loads(self.line())

    def end(self) -> int:
        self.stdin.close()
        return self.process.wait(20)


@pytest.fixture
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    mode = getattr(request, "param", [])
    host = Host(interposed([*RAW, *mode]))
    yield host
    host.process.kill()
    host.process.wait()
    for stream in (host.stdin, host.stdout, host.stderr):
        stream.close()


def begun(host: Host) -> None:
    host.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
    assert host.message()["result"]["serverInfo"]["name"] == "raw"


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid: int) -> bool:
    for _ in range(200):
        if not is_alive(pid):
            return True
        time.sleep(0.05)
    return False


def server_of(host: Host) -> int:
    host.call("pid")
    return int(host.message()["result"]["content"][0]["text"])


def written_when_it_stops(pid: int) -> int:
    """Bytes that a process has written when it gets no more written."""
    before, quiet = -1, 0
    while quiet < 5:
        now = int(Path(f"/proc/{pid}/io").read_text().split("wchar: ")[1].split()[0])
        quiet = quiet + 1 if now == before else 0
        before = now
        time.sleep(0.1)
    return before


def test_what_the_host_says_reaches_the_server_as_the_very_bytes(host: Host) -> None:
    odd = b'{ "method" :"echo", "jsonrpc":"2.0","id":"\\u0061",  "params":{"x":1.0e2, "x":2} }'
    host.send(odd, b"\r\n")
    assert host.message()["result"]["got"] == odd.decode() + "\r\n"


def test_line_ends_stay(host: Host) -> None:
    host.call("crlf")
    assert host.line().endswith(b"}\r\n")


def test_what_is_no_json_passes(host: Host) -> None:
    host.call("garbage")
    assert [host.line() for _ in range(5)] == [b"this is no JSON\n", b"{broken\n", b"[1, 2\n", b"\n", b"\xff\xfe\n"]
    assert host.message()["id"] == 1
    host.send(b"neither is this")
    assert host.message()["error"]["code"] == -32700


def most_megabytes(pid: int) -> float:
    """Of memory, ever held by a process."""
    return int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0]) / 1000


@pytest.mark.parametrize("kind", ["text", "twice"])
def test_thirty_megabytes_in_one_line(host: Host, kind: str) -> None:
    """Held once, as it came, and a few slices beside it."""
    host.call("text", size=20_000)
    assert host.message()
    before = most_megabytes(host.process.pid) if sys.platform == "linux" else 0
    host.call(kind, size=30_000_000)
    result = host.message()["result"]
    assert len(json.dumps(result)) < 9_000
    assert "ovs_" in result["content"][0]["text"][:60]
    if sys.platform == "linux":
        assert most_megabytes(host.process.pid) - before < (80 if kind == "twice" else 50)


def test_small_and_large_results_keep_their_order_and_arrive_once(host: Host) -> None:
    begun(host)
    for number in range(120):
        host.call("text", id=number, size=100_000 + number if number % 7 == 3 else number)
        host.call("flood", id=f"n{number}", size=1)
    got = [host.message() for _ in range(360)]
    assert [one.get("id", "note") for one in got] == [
        id for number in range(120) for id in (number, "note", f"n{number}")
    ]
    assert all(len(json.dumps(one)) < 9_000 for one in got)


@pytest.mark.parametrize("how", ["half", "exit", "kill"])
def test_a_large_result_in_work_survives_the_server(host: Host, how: str) -> None:
    begun(host)
    host.call("text", id="large", size=3_000_000)
    host.call(how, id="lost")
    got = [host.line() for _ in range(3 if how == "half" else 2)]
    if how == "half":
        assert got.pop(1) == b'{"jsonrpc":"2.0","id":1,"resu\n'
    large, lost = map(json.loads, got)
    assert "ovs_" in large["result"]["content"][0]["text"]
    assert lost["id"] == "lost"
    assert "error" in lost


def test_a_large_request_passes_whole(host: Host) -> None:
    big = {"jsonrpc": "2.0", "id": 5, "method": "echo", "params": {"x": "y" * 3_000_000}}
    host.send(big)
    assert json.loads(host.message()["result"]["got"]) == big


def test_a_flood_keeps_its_order(host: Host) -> None:
    host.call("flood", size=5000)
    assert [host.message()["params"]["n"] for _ in range(5000)] == list(range(5000))
    assert host.message()["id"] == 1


def test_a_host_that_does_not_read_stops_the_server_and_not_the_memory(host: Host) -> None:
    begun(host)
    pid = server_of(host)
    host.call("flood", size=200_000)
    if sys.platform == "linux":
        assert written_when_it_stops(pid) < 8_000_000
    assert [host.message()["params"]["n"] for _ in range(200_000)] == list(range(200_000))


def notes() -> bytes:
    return b'{"jsonrpc":"2.0","method":"notifications/x","params":"%s"}\n' % (b"x" * 5_000) * 4_000


def own_calls() -> bytes:
    asked = b'{"name":"overspill_read","arguments":{"handle":"%s"}}' % (b"x" * 900)
    call = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}\n'
    return b"".join([call % (number, asked) for number in range(20_000)])


@pytest.mark.parametrize("host", [["hang"]], indirect=True)
@pytest.mark.parametrize("said", [notes, own_calls])
def test_who_is_not_read_stops_the_host_and_not_the_memory(host: Host, said: Callable[[], bytes]) -> None:
    """A server that reads nothing; and a host that reads no answer of overspill's own, but goes on asking."""
    host.call("overspill_read", id="begun", handle="none")
    assert host.message()["id"] == "begun"
    os.set_blocking(host.stdin.fileno(), False)
    left, quiet = memoryview(said()), 0
    while quiet < 10 and left:
        try:
            left = left[os.write(host.stdin.fileno(), left) :]
            quiet = 0
        except BlockingIOError:
            quiet += 1
            time.sleep(0.1)
    assert len(left) > 10_000_000, "most of twenty megabytes"


def test_batches_are_bounded_and_answered(host: Host) -> None:
    begun(host)
    own = {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "overspill_read", "arguments": {}}}
    text = {
        "jsonrpc": "2.0",
        "id": 9,
        "method": "tools/call",
        "params": {"name": "text", "arguments": {"size": 50_000}},
    }
    host.send([own, text])
    first, second = host.message(), host.message()
    own_answer, answer = (first, second) if isinstance(first, list) else (second, first)
    assert own_answer[0]["id"] == 8
    assert own_answer[0]["result"]["isError"] is True
    assert answer["id"] == 9
    assert len(json.dumps(answer)) < 9_000


def test_what_overspill_asks_itself_stays_between_it_and_the_server(host: Host) -> None:
    """A call before a list: the server hears a list first, the host nothing of it."""
    host.call("text", id=5, size=20_000)
    assert host.message()["id"] == 5
    host.send({"jsonrpc": "2.0", "id": 6, "method": "heard"})
    assert host.message()["result"]["heard"] == ["tools/list", "tools/call", "heard"]


spoken = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
some_messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={
        "id": st.integers(0, 3) | st.text(max_size=3) | st.none(),
        "method": st.sampled_from(["tools/call", "tools/list", "notifications/cancelled", "ping", "x"]),
        "params": spoken | st.fixed_dictionaries({"name": st.text(max_size=4), "requestId": st.integers(0, 3)}),
        "result": spoken | st.fixed_dictionaries({"content": st.lists(spoken, max_size=2)}),
        "error": spoken,
    },
)
some_lines = st.one_of(
    st.builds(
        lambda value, ascii: json.dumps(value, ensure_ascii=ascii).encode("utf-8", "replace"),
        some_messages,
        st.booleans(),
    ),
    st.builds(lambda values: json.dumps(values).encode(), st.lists(some_messages, max_size=3)),
    st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"")),
    st.integers(1, 200_000).map(lambda size: b'{"jsonrpc":"2.0","method":"n","params":"%s"}' % (b"x" * size)),
)


@settings(max_examples=4, phases=[Phase.explicit, Phase.generate])
@given(
    stream=st.lists(st.tuples(some_lines, st.sampled_from([b"\n", b"\r\n"])), min_size=50, max_size=200),
    seed=st.randoms(),
)
def test_a_fuzzed_stream_comes_back_as_the_very_bytes(stream: list[tuple[bytes, bytes]], seed: Any) -> None:
    """Through both pumps, in chunks of any size: the server is `cat`, so that both directions carry it."""
    said = b"".join(line + end for line, end in stream)
    process = subprocess.Popen(
        interposed(["cat"], "--tools", "none", "--skip", "*"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout

    def write() -> None:
        at = 0
        while at < len(said):
            step = seed.choice([1, 100, 5_000, 300_000])
            process.stdin.write(said[at : at + step])
            process.stdin.flush()
            at += step
        process.stdin.close()

    writer = threading.Thread(target=write)
    writer.start()
    heard = process.stdout.read()
    writer.join()
    assert process.wait(20) == 0
    process.stdout.close()
    assert heard[: len(said)] == said
    refused = [json.loads(line) for line in heard[len(said) :].splitlines()]
    assert all(message["error"]["code"] == SERVER_GONE for message in refused), "of requests that nobody answered"


def test_stderr_is_the_servers_own(host: Host) -> None:
    host.call("stderr")
    assert host.message()["id"] == 1
    assert os.read(host.stderr.fileno(), 1000) == b"words on stderr\n"


@pytest.mark.parametrize(("how", "said"), [("exit", "exit status 7"), ("kill", "signal 9")])
def test_a_dead_server_is_said_and_read_back_goes_on(host: Host, how: str, said: str) -> None:
    begun(host)
    host.call("text", size=100_000)
    handle = host.message()["result"]["_meta"]["overspill"]["handles"][0]
    host.call("text", id="waiting", size=10)
    assert host.message()["id"] == "waiting"
    host.call(how, id="lost")
    lost = host.message()
    assert lost["id"] == "lost"
    assert said in lost["error"]["message"]
    host.call("text", id=3)
    assert said in host.message()["error"]["message"]
    host.call("overspill_grep", id=4, handle=handle, pattern="x{5}")
    assert "xxxxx" in host.message()["result"]["content"][0]["text"]
    host.send({"jsonrpc": "2.0", "id": 5, "method": "tools/list"})
    names = [tool["name"] for tool in host.message()["result"]["tools"]]
    assert names == ["overspill_read", "overspill_grep", "overspill_outline", "overspill_query"]
    host.send({"jsonrpc": "2.0", "id": 6, "method": "ping"})
    assert host.message() == {"jsonrpc": "2.0", "id": 6, "result": {}}
    assert host.end() == 0


def test_half_a_message_at_the_end_stays_apart(host: Host) -> None:
    begun(host)
    host.call("half")
    assert host.line() == b'{"jsonrpc":"2.0","id":1,"resu\n'
    assert "exit status 0" in host.message()["error"]["message"]


@pytest.mark.parametrize("host", [["crash"]], indirect=True)
def test_a_crash_at_the_start_is_the_end_with_the_same_status(host: Host) -> None:
    assert host.process.wait(20) == 3
    assert b"no configuration" in host.stderr.read()


@pytest.mark.parametrize("host", [["hang"]], indirect=True)
def test_a_server_that_hangs_at_the_start_ends_with_its_host(host: Host) -> None:
    host.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
    assert not select.select([host.stdout], [], [], 0.5)[0]
    host.end()


@pytest.mark.parametrize("host", [["stubborn"]], indirect=True)
def test_a_server_that_does_not_end_is_ended(host: Host) -> None:
    begun(host)
    pid = server_of(host)
    host.end()
    assert gone(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_both(host: Host, number: int) -> None:
    begun(host)
    pid = server_of(host)
    host.process.send_signal(number)
    assert host.process.wait(20) == 128 + number
    assert gone(pid)


def test_killing_the_interposer_ends_the_server(host: Host) -> None:
    begun(host)
    pid = server_of(host)
    host.process.kill()
    host.process.wait()
    assert gone(pid)


def test_a_host_that_goes_leaves_nothing_behind(host: Host) -> None:
    begun(host)
    pid = server_of(host)
    host.call("flood", size=200_000)
    host.stdout.close()
    host.stdin.close()
    host.process.wait(20)
    assert gone(pid)


def test_answers_on_their_way_arrive_after_the_host_has_said_all(host: Host) -> None:
    begun(host)
    for id in range(50):
        host.call("text", id=id, size=2000)
        host.call("overspill_read", id=1000 + id, handle="ovs_none")
    host.stdin.close()
    got = {host.message()["id"] for _ in range(100)}
    assert got == {*range(50), *range(1000, 1050)}
    assert host.process.wait(20) == 0


def test_what_still_comes_after_the_host_has_said_all_is_not_cut_off(host: Host) -> None:
    """A server that goes on talking is waited for, however long it takes; one that is silent is not."""
    begun(host)
    host.call("drip", size=12)
    host.stdin.close()
    assert [host.message()["params"]["n"] for _ in range(12)] == list(range(12))
    assert host.message()["id"] == 1
    assert host.process.wait(20) == 0


SLOW = """
import sys, time
from overspill.mcp import stdio
from overspill.mcp.command import conversation

def slowly():
    made = conversation({})()
    begun = made.begun_from_server
    def later(work):
        time.sleep(stdio.ENDING_SECONDS + 0.5)
        return work()
    def slow(line):
        found = begun(line)
        return found if isinstance(found, bytes) else lambda: later(found)
    made.begun_from_server = slow
    return made

sys.exit(stdio.run(sys.argv[1:], slowly))
"""


def test_a_result_in_work_is_waited_for_after_the_host_has_said_all() -> None:
    """However long it takes, and so is what is behind it."""
    params = {"name": "text", "arguments": {"size": 200_000}}
    said = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    small = b'{"jsonrpc":"2.0","id":2,"method":"ping"}'
    done = subprocess.run([sys.executable, "-c", SLOW, *RAW], input=b"%b\n%b\n" % (said, small), capture_output=True)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert done.returncode == 0


def test_a_command_that_is_not_there() -> None:
    done = subprocess.run(interposed(["/no/such/server"]), capture_output=True, text=True)
    assert done.returncode == 127
    assert "can't start '/no/such/server'" in done.stderr
