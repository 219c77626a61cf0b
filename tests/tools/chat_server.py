"""A real HTTP server that speaks the chat-completions protocol, whole and streamed, from a script."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Say:
    """One answer of the model's."""

    text: str = ""
    calls: list[tuple[str, dict[str, Any] | str]] = field(default_factory=list)
    """Names and arguments; a text is sent as it is."""
    status: int = 200
    seconds: float = 0.0
    usage: tuple[int, int] = (7, 3)
    raw: bytes | None = None
    """Sent in place of an answer of the protocol."""
    promised_bytes: int = 0
    """The length said before a ``raw`` answer, where that is to be a lie: then the connection ends."""


Script = Callable[[dict[str, Any]], Say]


@dataclass
class Server:
    url: str
    requests: list[dict[str, Any]]


@contextmanager
def chat_server(script: list[Say] | Script) -> Iterator[Server]:
    seen: list[dict[str, Any]] = []
    waiting = list(script) if isinstance(script, list) else []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.path == "/v1/chat/completions"
            seen.append(asked)
            say = script(asked) if callable(script) else waiting.pop(0)
            time.sleep(say.seconds)
            if say.raw is not None:
                self._send("text/event-stream" if asked.get("stream") else "application/json", say.raw, say=say)
            elif say.status != 200:
                self._send("application/json", json.dumps({"error": {"message": "no"}}).encode(), say.status)
            elif asked.get("stream"):
                self._send("text/event-stream", b"".join(_events(say)))
            else:
                self._send("application/json", json.dumps(_whole(say)).encode())

        def _send(self, kind: str, body: bytes, status: int = 200, say: Say | None = None) -> None:
            try:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                promised = say.promised_bytes if say else 0
                self.send_header("Content-Length", str(promised or len(body)))
                self.end_headers()
                self.wfile.write(body)
                if promised:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the client has given up

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield Server(f"http://127.0.0.1:{server.server_port}/v1", seen)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _tool_calls(say: Say) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(say.calls)
    ]


def _usage(say: Say) -> dict[str, int]:
    read, wrote = say.usage
    return {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}


def _whole(say: Say) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": say.text or None}
    if say.calls:
        message["tool_calls"] = _tool_calls(say)
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if say.calls else "stop"}],
        "usage": _usage(say),
    }


def _events(say: Say) -> Iterator[bytes]:
    """Pieces as servers send them: arguments in halves, calls interleaved."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": say.text[at : at + 5]} for at in range(0, len(say.text), 5)]
    calls = _tool_calls(say)
    for index, call in enumerate(calls):
        deltas.append({"tool_calls": [{"index": index, **call, "function": {**call["function"], "arguments": ""}}]})
    for half in (0, 1):
        for index, call in enumerate(calls):
            text = call["function"]["arguments"]
            middle = len(text) // 2
            piece = text[middle:] if half else text[:middle]
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    for delta in deltas:
        yield _event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    yield _event({"choices": [], "usage": _usage(say)})
    yield b"data: [DONE]\n\n"


def _event(body: dict[str, Any]) -> bytes:
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "scripted", **body}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
