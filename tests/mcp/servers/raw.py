"""A server that speaks bytes: each tool call says what it does with the connection. For tests of the pump."""

from __future__ import annotations

import json
import os
import signal
import sys
import time


def say(message: object, end: bytes = b"\n") -> None:
    write((message if isinstance(message, bytes) else json.dumps(message).encode()) + end)


def write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def answer(id: object, result: object, end: bytes = b"\n") -> None:
    say({"jsonrpc": "2.0", "id": id, "result": result}, end)


def call(id: object, name: str, arguments: dict[str, object]) -> None:
    size = int(str(arguments.get("size", 0)))
    if name == "text":
        answer(id, {"content": [{"type": "text", "text": "x" * size}]})
    elif name == "twice":
        text = "x" * size
        answer(id, {"content": [{"type": "text", "text": text}], "structuredContent": {"result": text}})
    elif name == "crlf":
        answer(id, {"content": [{"type": "text", "text": "ok"}]}, b"\r\n")
    elif name == "garbage":
        write(b"this is no JSON\n{broken\n[1, 2\n\n\xff\xfe\n")
        answer(id, {"content": []})
    elif name == "exit":
        os._exit(7)
    elif name == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "flood":
        for number in range(size):
            say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"n": number}})
        answer(id, {"content": []})
    elif name == "drip":
        for number in range(size):
            time.sleep(0.2)
            say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"n": number}})
        answer(id, {"content": []})
    elif name == "half":
        write(b'{"jsonrpc":"2.0","id":1,"resu')
        os._exit(0)
    elif name == "stderr":
        print("words on stderr", file=sys.stderr, flush=True)
        answer(id, {"content": []})
    elif name == "pid":
        answer(id, {"content": [{"type": "text", "text": str(os.getpid())}]})


def main() -> None:
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode == "crash":
        print("no configuration", file=sys.stderr)
        os._exit(3)
    if mode == "hang":
        time.sleep(600)
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    heard = []
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
        except ValueError:
            say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse"}})
            continue
        for one in message if isinstance(message, list) else [message]:
            method, id = one.get("method"), one.get("id")
            heard.append(method)
            if method == "initialize":
                about = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "raw", "version": "1"},
                }
                answer(id, about)
            elif method == "tools/call":
                call(id, one["params"]["name"], one["params"].get("arguments") or {})
            elif method == "heard":
                answer(id, {"heard": heard})
            elif method == "echo":
                say({"jsonrpc": "2.0", "id": id, "result": {"got": line.decode()}})
            elif id is not None:
                answer(id, {"tools": [{"name": "text", "inputSchema": {"type": "object"}}]})
    if mode == "stubborn":
        time.sleep(600)


main()
