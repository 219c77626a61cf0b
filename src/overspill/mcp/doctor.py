"""`overspill mcp doctor`: what overspill would do before this server, and what it would cost."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from overspill.core.measure import readable
from overspill.core.notice import one_line
from overspill.errors import OverspillError
from overspill.mcp import wire
from overspill.mcp.address import shown_header, shown_url
from overspill.mcp.assembly import Assembly, assembled
from overspill.mcp.schema import Trimming
from overspill.mcp.toolbook import DECLARED_SIZE, least_room_bytes

START_SECONDS = 60.0
_SILENT_SECONDS = 5.0
"""After it whoever waits is told for what."""
_PINGS = 60
_MAIN = "import sys; from overspill.mcp.command import main; sys.exit(main(sys.argv[1:]))"
_OURS = (sys.executable, "-c", _MAIN)
_LAST_WORDS_BYTES = 2_000


class NoServer(OverspillError):
    """The server did not start, or does not answer."""


def doctor(options: Mapping[str, Any], words: Sequence[str]) -> int:
    """Connects to the server twice, without and with overspill, and says what it finds."""
    if "url" in options:
        from overspill.mcp.http import checked

        checked(options, os.environ)
    parts = assembled(options, start=os.getcwd(), env=os.environ)
    own = [word for name, value in options.items() if name != "listen" for word in _again(name, value)]
    # An address has no program to speak to it directly: there the one beside it lets everything through.
    plain = list(words) or [*_OURS, *own, "--skip", "*", "--structured", "keep", "--tools", "none"]
    name = "directly" if words else "let through"
    shown_through = shlex.join(["overspill", "mcp", *(["--", *words] if words else address_words(options))])
    shown = shlex.join(words) or shown_through
    try:
        with Probe(plain, shown=shown) as direct:
            started, listed = direct.begin()
            paced = direct.pace()
            about, tools = direct.about, direct.tools
        with Probe([*_OURS, *own, *(["--", *words] if words else ())], shown=shown_through) as through:
            started_through, listed_through = through.begin()
            paced_through = through.pace()
            names = [str(tool.get("name")) for tool in through.tools]
    except NoServer as fault:
        print(f"overspill: {fault}", file=sys.stderr)
        return 1
    print(f"server     {about}, {len(tools)} tools")
    for line in said(tools, names, parts):
        print(line)
    print(f"connect    {started:.2f} s {name}, {started_through:.2f} s with overspill (handshake and list: +"
          f"{max(0.0, started_through + listed_through - started - listed):.2f} s)")  # fmt: skip
    print(f"a message  {paced * 1e3:.2f} ms {name}, {paced_through * 1e3:.2f} ms with overspill (median of {_PINGS})")
    return 0


def said(tools: Sequence[Mapping[str, Any]], names: Sequence[str], parts: Assembly) -> list[str]:
    """What becomes of the results of these tools, and under which names read-back is listed."""
    budget = parts.policy.budget
    sizes = [
        f"{value} {unit}" for unit in ("tokens", "bytes", "chars", "lines") if (value := getattr(budget, f"max_{unit}"))
    ]
    lines = [f"results    over {' or '.join(sizes)} are cut; the whole goes to {parts.place}"]
    by_fate: dict[str, list[str]] = {}
    for tool in tools:
        by_fate.setdefault(_fate(tool, parts), []).append(str(tool.get("name")))
    for fate, fated in by_fate.items():
        lines.append(f"  {fate}: {', '.join(fated)}")
    own = [name for name in names if name not in {str(tool.get("name")) for tool in tools}]
    lines.append(f"read-back  {', '.join(own) or 'none'}")
    return lines


def _fate(tool: Mapping[str, Any], parts: Assembly) -> str:
    bounder = parts.rules.bounder(str(tool.get("name")))
    if bounder is None:
        return "let through whole"
    meta = tool.get("_meta")
    declared = (
        f"; up to {meta[DECLARED_SIZE]} characters pass" if isinstance(meta, Mapping) and DECLARED_SIZE in meta else ""
    )
    if "outputSchema" not in tool:
        return "text is cut" + declared
    if parts.rules.structured == "keep":
        return "text is cut, structured content is kept whatever its size" + declared
    room = least_room_bytes(bounder.policy.budget)
    if parts.rules.structured == "trim" and Trimming(tool["outputSchema"]).is_sure(room):
        return "text and structured content are cut, the schema holds" + declared
    return "text is cut, the schema is taken out of the list and large structured content is dropped" + declared


def address_words(options: Mapping[str, Any]) -> list[str]:
    """The options that name a server, as they may be shown and typed again."""
    lines = [shown_header(line) for line in options.get("header", ())]
    return ["--url", shown_url(options["url"]), *(word for line in lines for word in ("--header", line))]


def _again(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if value is True:
        return [flag]
    return [word for one in (value if isinstance(value, list) else [value]) for word in (flag, str(one))]


class Probe:
    """A host of the simplest kind, with a watch."""

    def __init__(self, command: Sequence[str], *, shown: str = "") -> None:
        self._command = list(command)
        self._shown = one_line(shown or shlex.join(command), 1_000)
        """The command as it may be shown: headers stand among the words of ours."""
        self.about = ""
        self.tools: list[dict[str, Any]] = []
        self._next = 0
        self._is_late = False

    def __enter__(self) -> Probe:
        self._stderr = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, bufsize=0
            )
        except OSError as fault:
            self._stderr.close()
            raise NoServer(f"can't start {self._command[0]!r}: {fault.strerror or fault}") from None
        assert self._process.stdout is not None
        self._lines = wire.Lines()
        self._ready: list[bytes] = []
        self._timer = threading.Timer(START_SECONDS, self._give_up)
        self._timer.daemon = True
        self._timer.start()
        self._telling = threading.Timer(_SILENT_SECONDS, self._tell)
        self._telling.daemon = True
        self._telling.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._timer.cancel()
        self._telling.cancel()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            if stream is not None:
                stream.close()

    def begin(self) -> tuple[float, float]:
        """Seconds until the handshake was done, and for the list of all tools."""
        started = time.perf_counter()
        said = self.ask(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "overspill doctor", "version": "1"},
            },
        )
        self._telling.cancel()
        server = said.get("serverInfo", {})
        self.about = f"{server.get('name', '?')} {server.get('version', '')}".strip()
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        begun = time.perf_counter()
        cursor: dict[str, Any] = {}
        while True:
            page = self.ask("tools/list", cursor)
            self.tools += page.get("tools", [])
            if not page.get("nextCursor"):
                break
            cursor = {"cursor": page["nextCursor"]}
        return begun - started, time.perf_counter() - begun

    def pace(self) -> float:
        """Seconds there and back, the median."""
        taken = []
        for _ in range(_PINGS):
            started = time.perf_counter()
            self.ask("ping", {})
            taken.append(time.perf_counter() - started)
        return median(taken)

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result; an error is told as the server tells it."""
        (message,) = self.ask_all([(method, params)])
        result = message.get("result")
        if isinstance(result, dict):
            return result
        if method == "tools/list":
            return {}  # a server without tools
        error = message.get("error")
        words = str(error.get("message") if isinstance(error, dict) else json.dumps(error))
        raise NoServer(
            one_line(words if words.startswith("the server ") else f"the server refuses {method}: {words}", 300)
        )

    def ask_all(self, requests: Sequence[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
        """The responses, in the order of the requests: they are sent before any is read."""
        first = self._next + 1
        self._next += len(requests)
        for number, (method, params) in enumerate(requests, first):
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        found: dict[int, dict[str, Any]] = {}
        while len(found) < len(requests):
            message = wire.decoded(self._line())
            if not isinstance(message, dict):
                continue
            if "method" not in message and first <= (message.get("id") or 0) <= self._next:
                found[message["id"]] = message
            elif "method" in message and "id" in message:
                self._send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "not here"}})
        return [found[number] for number in sorted(found)]

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(wire.encoded(message) + b"\n")
        except OSError:
            raise self._ended() from None

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        while not self._ready:
            chunk = os.read(self._process.stdout.fileno(), 1 << 20)
            if not chunk:
                raise self._ended()
            self._ready = self._lines.feed(chunk)
        return self._ready.pop(0)

    def _tell(self) -> None:
        print(f"overspill: the server has not answered yet; waiting {START_SECONDS:.0f} s for it", file=sys.stderr)

    def _give_up(self) -> None:
        self._is_late = True
        self._process.kill()

    def _ended(self) -> NoServer:
        status = self._process.wait()
        words = self._shown
        if self._is_late:
            return NoServer(f"the server has not answered all within {START_SECONDS:.0f} s; to see why, run: {words}")
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - _LAST_WORDS_BYTES))
        last = [line for line in readable(self._stderr.read()).splitlines() if line.strip()][-1:]
        how = f"was ended by signal {-status}" if status < 0 else f"ended with exit status {status}"
        more = f"; its last words: {one_line(last[0], 300)}" if last else ""
        return NoServer(f"the server {how} before it had answered{more}; to see why, run: {words}")
