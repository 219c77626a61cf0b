"""What the tests of MCP share: servers as commands, the interposer before them, results in and out of a connection."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from overspill.bounder import Bounder
from overspill.core.model import Budget
from overspill.core.policy import DEFAULT_BUDGET, Policy
from overspill.mcp.messages import Conversation
from overspill.mcp.readback import Answering, own_tools
from overspill.mcp.rules import Rules
from overspill.mcp.toolbook import NamedTools, ToolBook
from overspill.store import MemoryStore

SERVERS = Path(__file__).parent / "servers"
RAW = [sys.executable, str(SERVERS / "raw.py")]
_MAIN = "import sys; from overspill.mcp.command import main; sys.exit(main(sys.argv[1:]))"
_SERVE = "import sys; from overspill.mcp.command import serve_main; sys.exit(serve_main(sys.argv[1:]))"
SERVE = [sys.executable, "-c", _SERVE]
INSTALL_SECONDS = 300


def interposed(command: list[str], *options: str) -> list[str]:
    return [sys.executable, "-c", _MAIN, *options, "--", *command]


def interposer(*words: str) -> list[str]:
    return [sys.executable, "-c", _MAIN, *words]


def python_server(name: str) -> list[str]:
    """The command of one of the servers beside this file: ``featured`` or ``asking``."""
    script = SERVERS / f"{name}.py"
    if sys.platform == "win32":
        return [sys.executable, str(script)]
    return [sys.executable, "-IS", str(SERVERS / "warm.py"), warm_place(), name]


@cache
def warm_place() -> str:
    """Where the process listens that all of them are forks of; it ends with the tests."""
    place = str(Path(tempfile.mkdtemp(prefix="overspill-tests-")) / "warm")
    process = subprocess.Popen([sys.executable, str(SERVERS / "warm.py"), place], stdout=subprocess.PIPE)
    atexit.register(shutil.rmtree, Path(place).parent, ignore_errors=True)
    atexit.register(process.kill)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    return place


@cache
def node_server(name: str) -> list[str]:
    """The command of a published server of ``servers/package.json``, installed beside the user's other caches."""
    wanted = (SERVERS / "package.json").read_bytes()
    caches = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "overspill-tests"
    place = caches / f"mcp-{hashlib.sha256(wanted).hexdigest()[:12]}"
    if not place.exists():
        problem = _installed(wanted, place)
        if problem and os.environ.get("OVERSPILL_CI"):
            pytest.fail(problem)
        if problem:
            pytest.skip(problem)
    return ["node", str((place / "node_modules" / ".bin" / f"mcp-server-{name}").resolve())]


def _installed(wanted: bytes, place: Path) -> str:
    """What went wrong, or nothing. Processes that do the same at the same time don't see each other's halves."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as made:
        (Path(made) / "package.json").write_bytes(wanted)
        npm = [shutil.which("npm") or "npm", "install", "--no-audit", "--no-fund", "--prefix", made]
        try:
            done = subprocess.run(npm, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as fault:
            return f"npm could not install the servers: {fault}"
        if done.returncode:
            return f"npm could not install the servers: {done.stderr[-2000:]}"
        (Path(made) / "all").mkdir()
        for name in ("node_modules", "package.json"):
            (Path(made) / name).rename(Path(made) / "all" / name)
        with suppress(OSError):  # another process was faster
            (Path(made) / "all").rename(place)
    return ""


class Line:
    """A connection without a server: what it would say is given."""

    def __init__(
        self,
        *,
        budget: Budget = DEFAULT_BUDGET,
        store: Any = None,
        read_back: bool = True,
        **rules: Any,
    ) -> None:
        self.store = MemoryStore() if store is None else store
        kept = Rules(**({"bounder": lambda tool: self.bounder} | rules))
        self.book = ToolBook(kept, own_tools() if read_back else (), store="here")
        policy = Policy(budget=budget, carrier="json", access=NamedTools(self.book))
        self.bounder = Bounder(policy, self.store)
        answering = Answering(self.store, policy, access=NamedTools(self.book)) if read_back else None
        self.conversation = Conversation(kept, self.book, answering)
        self.budget = budget

    def ask(self, method: str, params: Any = None, id: Any = 1) -> Any:
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
        return self.conversation.from_host(json.dumps(message).encode() + b"\n")

    def tell(self, result: Any, id: Any = 1) -> bytes:
        message = {"jsonrpc": "2.0", "id": id, "result": result}
        return self.conversation.from_server(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def result(self, result: Any, *, tool: str = "t", arguments: Any = None) -> Any:
        """What the host gets for a tool's result."""
        return json.loads(self.raw(result, tool=tool, arguments=arguments))["result"]

    def raw(self, result: Any, *, tool: str = "t", arguments: Any = None) -> bytes:
        self.ask("tools/call", {"name": tool, "arguments": arguments or {}})
        return self.tell(result)

    def listed(self, *tools: Any) -> list[dict[str, Any]]:
        """The tools as the host is told of them."""
        self.ask("tools/list")
        return json.loads(self.tell({"tools": list(tools)}))["result"]["tools"]

    def call(self, verb: str, **arguments: Any) -> Any:
        turn = self.ask("tools/call", {"name": f"overspill_{verb}", "arguments": arguments}, id=77)
        assert not turn.forward
        return json.loads(self.conversation.answer(turn.calls[0]))["result"]


def tool(name: str, output: Any = None, **more: Any) -> dict[str, Any]:
    found = {"name": name, "description": f"tool {name}", "inputSchema": {"type": "object"}, **more}
    return found if output is None else {**found, "outputSchema": output}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def lines(count: int) -> str:
    return "".join(f"line {number} of a long text with some words in it\n" for number in range(1, count + 1))
