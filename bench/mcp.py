"""Prints what overspill costs before real MCP servers, each figure beside the same without it.

Two published servers (installed by npm into a cache at the first run) and one that only writes. The runs
alternate, so that what else the machine does hits both alike.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from overspill.mcp.doctor import Probe

STARTS = 7
CALLS = 1_000
STREAMED = 40
MEGABYTE = 1_000_000
SMALL_BETWEEN = 40
LARGE_AT_ONCE = 4
_MAIN = "import sys; from overspill.mcp.command import main; sys.exit(main(sys.argv[1:]))"
_WRITER = """
import json, os, sys
text = {}
def made(size, kind):
    if (size, kind) not in text:
        words = ("x" * size) if kind == "x" else "".join(
            f"2026-11-18T22:{n % 60:02}:00Z INFO worker-{n % 7} request {n} done in {n % 97} ms\\n" for n in range(size // 66))
        text[size, kind] = json.dumps(words)
    return text[size, kind]
for line in sys.stdin.buffer:
    message = json.loads(line)
    if "id" not in message: continue
    if message["method"] == "initialize":
        result = '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"writer","version":"1"}}'
    elif message["method"] == "tools/call":
        given = message["params"]["arguments"]
        # No two are the same: what is kept once is not kept again.
        result = '{"content":[{"type":"text","text":"%d %s}]}' % (message["id"], made(given["size"], given["kind"])[1:])
    else:
        result = '{"tools":[]}'
    data = memoryview(b'{"jsonrpc":"2.0","id":%d,"result":%s}\\n' % (message["id"], result.encode()))
    while data:
        data = data[os.write(1, data):]
"""


def interposed(command: list[str], *options: str) -> list[str]:
    return [sys.executable, "-c", _MAIN, *options, "--", *command]


def node_server(name: str) -> list[str]:
    """As the tests have them: pinned, installed once."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "mcp"))
    from mcp_wiring import node_server as installed

    return installed(name)


def begin(command: list[str]) -> float:
    """Seconds until the handshake is done and the tools are listed."""
    started = time.perf_counter()
    with Probe(command) as probe:
        probe.begin()
        return time.perf_counter() - started


def paces(command: list[str], tool: str, arguments: dict[str, Any]) -> list[float]:
    """Milliseconds of calls one after another."""
    with Probe(command) as probe:
        probe.begin()
        taken = []
        for _ in range(CALLS):
            started = time.perf_counter()
            probe.ask("tools/call", {"name": tool, "arguments": arguments})
            taken.append((time.perf_counter() - started) * 1e3)
        return taken


def at_once(command: list[str], tool: str, arguments: dict[str, Any]) -> float:
    """Seconds for so many calls sent before any answer is read."""
    with Probe(command) as probe:
        probe.begin()
        started = time.perf_counter()
        probe.ask_all([("tools/call", {"name": tool, "arguments": arguments})] * CALLS)
        return time.perf_counter() - started


def streamed(command: list[str], kind: str) -> float:
    """Megabytes of results a second, by what the server writes."""
    with Probe(command) as probe:
        probe.begin()
        asked = ("tools/call", {"name": "write", "arguments": {"size": MEGABYTE, "kind": kind}})
        probe.ask_all([asked])
        started = time.perf_counter()
        probe.ask_all([asked] * STREAMED)
        return STREAMED / (time.perf_counter() - started)


class Heavy(Probe):
    def memory(self, kind: str) -> tuple[float, float]:
        """Megabytes at most: after a small call, and after three results of 30 MB on one line each."""
        self.begin()
        found = []
        for size, times in ((100, 1), (30 * MEGABYTE, 3)):
            for _ in range(times):
                self.ask("tools/call", {"name": "write", "arguments": {"size": size, "kind": kind}})
            status = Path(f"/proc/{self._process.pid}/status").read_text()
            found.append(int(status.split("VmHWM:")[1].split()[0]) / 1e3)
        return found[0], found[1]


class Crowded(Probe):
    def small_calls(self) -> list[float]:
        """Milliseconds of small calls one after another, while some large results are always on their way."""
        self.begin()
        waiting: set[int] = set()
        taken = []
        for _ in range(SMALL_BETWEEN):
            while len(waiting) < LARGE_AT_ONCE:
                waiting.add(self._write(MEGABYTE, "log"))
            started = time.perf_counter()
            wanted = self._write(100, "x")
            while (id := json.loads(self._line()).get("id")) != wanted:
                waiting.discard(id)
            taken.append((time.perf_counter() - started) * 1e3)
        return taken

    def _write(self, size: int, kind: str) -> int:
        self._next += 1
        params = {"name": "write", "arguments": {"size": size, "kind": kind}}
        self._send({"jsonrpc": "2.0", "id": self._next, "method": "tools/call", "params": params})
        return self._next


def crowded(command: list[str]) -> list[float]:
    with Crowded(command) as probe:
        return probe.small_calls()


def beside(measure: Callable[[list[str]], float], command: list[str], runs: int, *options: str) -> tuple[float, float]:
    """The median without and with overspill, in turns."""
    direct, through = [], []
    for _ in range(runs):
        direct.append(measure(command))
        through.append(measure(interposed(command, *options)))
    return median(direct), median(through)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        os.environ["OVERSPILL_DIR"] = str(Path(place) / "kept")
        small = Path(place) / "small.txt"
        small.write_text("small\n")
        known = [
            ("everything", [], "echo", {"message": "hi"}),
            ("filesystem", [place], "read_text_file", {"path": str(small)}),
        ]
        for name, words, tool, arguments in known:
            report(f"server-{name}", [*node_server(name), *words], tool, arguments)
        writer = [sys.executable, "-c", _WRITER]
        print("a stream of 1 MB results, MB/s        directly   overspill")
        for title, kind, options in (
            ("let through (--skip '*')", "log", ("--skip", "*")),
            ("bounded: a log", "log", ()),
            ("bounded: a log, --keep ends", "log", ("--keep", "ends")),
            ("bounded: one long line", "x", ()),
        ):
            direct, through = beside(lambda words, kind=kind: streamed(words, kind), writer, 3, *options)  # type: ignore[misc]
            print(f"  {title:<34}{direct:>10.0f}{through:>12.1f}")
        print(f"a small call while {LARGE_AT_ONCE} results of 1 MB are on their way   p50      p99, ms")
        for title, command in (
            ("directly", writer),
            ("overspill", interposed(writer)),
            ("overspill, --keep ends", interposed(writer, "--keep", "ends")),
        ):
            taken = crowded(command)
            print(f"  {title:<52}{median(taken):>7.1f}{percentile_99(taken):>9.1f}")
        if sys.platform == "linux":
            print("memory at most, MB                    after a small result   after three of 30 MB")
            for title, kind, options in (
                ("a log", "log", ()),
                ("a log, --keep ends", "log", ("--keep", "ends")),
                ("one long line", "x", ()),
                ("let through", "log", ("--skip", "*")),
            ):
                with Heavy(interposed(writer, *options)) as probe:
                    before, after = probe.memory(kind)
                print(f"  {title:<46}{before:>11.0f}{after:>22.0f}")


def percentile_99(taken: list[float]) -> float:
    return quantiles(taken, n=100)[98]


def report(title: str, command: list[str], tool: str, arguments: dict[str, Any]) -> None:
    direct, through = beside(begin, command, STARTS)
    print(
        f"{title}\n  start, handshake and list     {direct:.3f} s directly, {through:.3f} s with overspill: +{through - direct:.3f} s"
    )
    plain, bounded = paces(command, tool, arguments), paces(interposed(command), tool, arguments)
    for name, pick in (("p50", median), ("p99", percentile_99)):
        one, other = pick(plain), pick(bounded)
        print(
            f"  a small call, {name}             {one:.3f} ms directly, {other:.3f} ms with overspill: +{other - one:.3f} ms"
        )
    one, other = beside(lambda words: at_once(words, tool, arguments), command, 3)
    print(f"  {CALLS} calls at once           {one:.3f} s directly, {other:.3f} s with overspill")


if __name__ == "__main__":
    print(json.dumps({"cores": os.cpu_count(), "load": [round(value, 1) for value in os.getloadavg()]}))
    main()
