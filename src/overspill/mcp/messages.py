"""Both directions of one connection, message by message: what came in, what goes out. No transport.

Guarantees: a message of which nothing is changed goes out as the very bytes it was, and in its order;
only results of `tools/list`, `tools/call` (`tasks/result`) and, on request, `resources/read` are looked
into; calls of read-back tools never reach the server, and are answered when it is gone.  A fault of
overspill's lets the message through.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Protocol

import msgspec

from overspill.bounder import Bounder
from overspill.concurrency import in_thread
from overspill.core.model import Bounded, Call
from overspill.mcp import wire
from overspill.mcp.results import bound_message, bound_refusal
from overspill.mcp.rules import Rules, Setting
from overspill.mcp.toolbook import ToolBook
from overspill.mcp.unlisted import WAITING_SECONDS, Unlisted
from overspill.mcp.waiting import Asked, Waiting
from overspill.mcp.wire import NOTHING, Envelope, Raw

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
"""Requests of 2026-07-28 and later carry it; their results say of what type they are."""

SERVER_GONE = -32000
_SMALL_BYTES = 16_384
_MOST_COMMAND_BYTES = 1 << 20

log = logging.getLogger("overspill")

Work = Callable[[], bytes]
"""What becomes of a message, once it is called."""


class ReadBack(Protocol):
    """What answers the read-back tools."""

    def answer(self, verb: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """The text, and whether it is an error."""


@dataclass(frozen=True, slots=True)
class OwnCall:
    """A call of a read-back tool: ``Conversation.answer`` takes it, on any thread."""

    id: Raw
    key: object
    verb: str
    arguments: dict[str, Any]
    modern: bool
    batched: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """What becomes of one message of the host's."""

    forward: bytes = b""
    answer: bytes = b""
    calls: tuple[OwnCall, ...] = ()
    unlisted: Unlisted | None = None
    """What is asked of the server, and answered, before the message goes on."""


class _CallParams(msgspec.Struct):
    name: Any = ""
    arguments: Raw = NOTHING
    meta: Raw = msgspec.field(default=NOTHING, name="_meta")
    cursor: Any = None
    task_id: Any = msgspec.field(default=None, name="taskId")
    uri: Any = ""


_OF_TOOLS = ("tools/call", "tasks/result")
_PARAMS = msgspec.json.Decoder(_CallParams)
_NO_PARAMS = _CallParams()


class Conversation:
    """One connection. ``from_host`` and ``from_server`` may run on two threads."""

    def __init__(
        self,
        rules: Rules,
        book: ToolBook,
        read_back: ReadBack | None = None,
        *,
        shown: Callable[[Bounded], None] = lambda bounded: None,
    ) -> None:
        self._rules = rules
        self.book = book
        self._read_back = read_back
        self._shown = shown
        self._waiting = Waiting()
        self._own: set[object] = set()
        self._list_ids = count(1)
        self._listing: object = object()
        self._heard: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._gone = ""
        self._lock = threading.Lock()
        self.is_started = False
        """Has the server answered anything?"""

    # From the host

    def from_host(self, line: bytes) -> Turn:
        try:
            return self._from_host(line)
        except Exception as fault:
            log.warning("a message of the host passes as it is: %r", fault)
            return Turn(line)

    def _from_host(self, line: bytes) -> Turn:
        found = wire.envelope(line)
        if found is not None:
            return self._one_from_host(line, found, batched=False)
        batch = wire.elements(line) if line.lstrip()[:1] == b"[" else None
        return Turn(line) if not batch else self._batch_from_host(line, batch)

    def _batch_from_host(self, line: bytes, batch: Iterable[Raw]) -> Turn:
        whole = list(batch)
        turns = []
        for item in whole:
            found = wire.envelope(item)
            data = bytes(item)
            turns.append(Turn(data) if found is None else self._one_from_host(data, found, batched=True))
        answers = [Raw(turn.answer) for turn in turns if turn.answer]
        calls = tuple(call for turn in turns for call in turn.calls)
        forward = [turn.forward for turn in turns if turn.forward]
        unlisted = next((turn.unlisted for turn in turns if turn.unlisted), None)
        if [bytes(item) for item in whole] == forward:
            return Turn(line, unlisted=unlisted)
        joined = b"[" + b",".join(forward) + b"]" + _end_of(line) if forward else b""
        return Turn(joined, wire.encoded(answers) if answers else b"", calls, unlisted)

    def _one_from_host(self, line: bytes, found: Envelope, *, batched: bool) -> Turn:
        if not found.is_request:
            return self._note_from_host(line, found)
        key, method = found.key, found.method
        params = self._params(found)
        if method == "tools/call" and isinstance(params.name, str):
            verb = self.book.verb(params.name)
            if verb is not None and self._read_back is not None:
                arguments = wire.decoded(params.arguments) if len(params.arguments) else {}
                self._own.add(key)
                arguments = arguments if isinstance(arguments, dict) else {}
                return Turn(calls=(OwnCall(found.id, key, verb, arguments, _is_modern(params), batched),))
        with self._lock:  # either the server's end finds the request here, or the request finds the server gone
            if self._gone:
                return Turn(answer=self._without_server(found, params))
            self._waiting.put(key, self._expected(found, params))
        if method != "tools/call" or not isinstance(params.name, str):
            return Turn(line)
        unlisted = Unlisted(self.book, params.meta, self._list_ids) if self.book.needs_list(params.name) else None
        true_name = self.book.true_name(params.name)
        return Turn(line if true_name == params.name else _renamed(line, true_name), unlisted=unlisted)

    def _note_from_host(self, line: bytes, found: Envelope) -> Turn:
        if found.method == "notifications/cancelled":
            params = wire.decoded(found.params) if len(found.params) else None
            key = params.get("requestId") if isinstance(params, dict) else None
            if isinstance(key, str | int | float) and key in self._own:
                self._own.discard(key)
                return Turn()
            if isinstance(key, str | int | float):
                self._waiting.give_up(key)
        return Turn() if self._gone else Turn(line)

    def _params(self, found: Envelope) -> _CallParams:
        if not len(found.params):
            return _NO_PARAMS
        try:
            return _PARAMS.decode(found.params)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            known = wire.members(found.params) or {}
            return _CallParams(
                name=wire.decoded(known.get("name", NOTHING)),
                arguments=known.get("arguments", NOTHING),
                meta=known.get("_meta", NOTHING),
                cursor=wire.decoded(known.get("cursor", NOTHING)),
            )

    def _expected(self, found: Envelope, params: _CallParams) -> Asked:
        id, method = Raw(bytes(found.id)), str(found.method)  # a copy: the rest of the request may go
        if method == "tools/call" and isinstance(params.name, str):
            return Asked(id, method, self.book.true_name(params.name), _command_in(params.arguments))
        if method == "tasks/result" and isinstance(params.task_id, str):
            return Asked(id, method, self.book.of_task(params.task_id))
        if method == "resources/read":
            return Asked(id, method, "resources/read", str(params.uri)[:200])
        return Asked(id, method, first_page=not params.cursor)

    # From the server

    def from_server(self, line: bytes) -> bytes:
        found = self.begun_from_server(line)
        return found if isinstance(found, bytes) else found()

    def begun_from_server(self, line: bytes) -> bytes | Work:
        """The same; a large result, which takes its time, is work for any thread."""
        try:
            found = self._from_server(line)
        except Exception as fault:
            return _as_it_is(line, fault)
        if isinstance(found, bytes):
            return found
        work = found

        def done() -> bytes:
            try:
                return work()
            except Exception as fault:
                return _as_it_is(line, fault)

        return done

    async def from_server_beside(self, line: bytes) -> bytes:
        """The same beside an event loop: a large message does not stop it."""
        return self.from_server(line) if len(line) < _SMALL_BYTES else await in_thread(self.from_server, line)

    def _from_server(self, line: bytes) -> bytes | Work:
        found = wire.envelope(line)
        if found is not None:
            return self._one_from_server(line, found)
        if line.startswith(wire.BOM):
            return self._behind_bom(line)
        batch = wire.elements(line) if line.lstrip()[:1] == b"[" else None
        if not batch:
            return line
        items = [bytes(item) for item in batch]
        changed = []
        for item in items:
            one = wire.envelope(item)
            became = item if one is None else self._one_from_server(item, one)
            changed.append(became if isinstance(became, bytes) else became())
        if changed == items:
            return line
        return b"[" + b",".join(changed) + b"]" + _end_of(line)

    def _behind_bom(self, line: bytes) -> bytes | Work:
        bare = line.removeprefix(wire.BOM)
        found = self._from_server(bare)
        if isinstance(found, bytes):
            return line if found is bare else found
        work = found

        def done() -> bytes:
            changed = work()
            return line if changed is bare else changed

        return done

    def _one_from_server(self, line: bytes, found: Envelope) -> bytes | Work:
        if not found.is_response:
            return line
        self.is_started = True
        key = found.key
        asked = self._waiting.take(key)
        if asked is None and key == self._listing:
            self._heard.put(line)
            return b""
        if asked is None:
            return line
        if asked.method == "tools/list" and len(found.result):
            return _ended(self.book.page(line, first=asked.first_page), line)
        how = self._bounding(line, asked, found)
        if how is None:
            return line
        if len(line) < _SMALL_BYTES:
            return _ended(how(line), line)
        return lambda: _ended(how(line), line)

    def _bounding(self, line: bytes, asked: Asked, found: Envelope) -> Callable[[bytes], bytes] | None:
        """What makes a response fit, by all that is known now; None for one that passes."""
        is_of_tool, is_result = asked.method in _OF_TOOLS, len(found.result) > 0
        is_resource = is_result and asked.method == "resources/read" and self._rules.resources == "bound"
        if not (is_of_tool or is_resource) or (is_result and self.book.is_read_back(asked.tool)):
            return None
        if is_result and is_of_tool and len(line) < 4096 and b'"task"' in line:
            self._note_task(found, asked.tool)
        bounder = self._rules.bounder(asked.tool)
        if bounder is None:
            return None
        setting = self._setting(bounder, asked)
        if not is_result:  # some servers put into an error what others put into a result that is one
            return lambda line: bound_refusal(line, setting)
        if b"structuredContent" in line:
            setting = replace(setting, plan=self.book.plan(asked.tool))
        member = "content" if is_of_tool else "contents"
        return lambda line: bound_message(line, setting, member=member)

    def _setting(self, bounder: Bounder, asked: Asked) -> Setting:
        return Setting(
            bounder=bounder,
            rules=self._rules,
            call=Call(tool=asked.tool, command=asked.command, id=bytes(asked.id).decode("utf-8", "replace")),
            max_result_chars=self.book.max_result_chars(asked.tool),
            shown=self._shown,
        )

    def _note_task(self, found: Envelope, tool: str) -> None:
        result = wire.decoded(found.result)
        task = result.get("task") if isinstance(result, dict) else None
        if isinstance(task, dict) and isinstance(task.get("taskId"), str):
            self.book.note_task(task["taskId"], tool)

    # From overspill

    def answer(self, call: OwnCall) -> bytes:
        """The response to a call of a read-back tool; empty when the host has cancelled it."""
        assert self._read_back is not None
        try:
            text, is_error = self._read_back.answer(call.verb, call.arguments)
        except Exception as fault:
            log.warning("%s failed: %r", call.verb, fault)
            text, is_error = f"[overspill {call.verb}: failed: {fault}]", True
        if call.key not in self._own:
            return b""
        self._own.discard(call.key)
        result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": is_error}
        if call.modern:
            result["resultType"] = "complete"
        message = wire.response(call.id, result)
        return b"[" + message + b"]" if call.batched else message

    def expect(self, unlisted: Unlisted) -> None:
        """The answer to its request will come among the others, and is not the host's."""
        self._listing = unlisted.key

    def heard(self) -> bytes:
        """Waits for that answer; empty when it does not come."""
        try:
            return self._heard.get(timeout=WAITING_SECONDS)
        except queue.Empty:
            return b""

    def server_gone(self, reason: str) -> list[bytes]:
        """From here on overspill answers alone; what was asked and not answered is refused."""
        with self._lock:
            self._gone = reason
            self._heard.put(b"")
            asked = self._waiting.take_all()
        return [wire.refusal(one.id, SERVER_GONE, reason) for one in asked]

    def _without_server(self, found: Envelope, params: _CallParams) -> bytes:
        if found.method == "ping":
            return wire.response(found.id, {})
        if found.method == "tools/list" and self._read_back is not None:
            result: dict[str, Any] = {"tools": self.book.own_page()}
            if _is_modern(params):
                result |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
            return wire.response(found.id, result)
        return wire.refusal(found.id, SERVER_GONE, self._gone)


def _as_it_is(line: bytes, fault: Exception) -> bytes:
    log.warning("a message of the server passes as it is: %r", fault)
    return line


def _ended(changed: bytes, line: bytes) -> bytes:
    return line if changed is line else changed + _end_of(line)


def _is_modern(params: _CallParams) -> bool:
    return VERSION_KEY.encode() in bytes(params.meta)


def _command_in(arguments: Raw) -> str:
    """The command of a tool that runs commands: a strategy reads much from it."""
    if len(arguments) > _MOST_COMMAND_BYTES:
        return ""
    data = bytes(arguments)
    if b'"command"' not in data and b'"cmd"' not in data:
        return ""
    found = wire.decoded(data)
    command = found.get("command") or found.get("cmd") if isinstance(found, dict) else ""
    return command if isinstance(command, str) else ""


def _renamed(line: bytes, name: str) -> bytes:
    outer = wire.members(line) or {}
    params = wire.members(outer["params"]) or {}
    return wire.encoded({**outer, "params": {**params, "name": name}}) + _end_of(line)


def _end_of(line: bytes) -> bytes:
    return b"\r\n" if line.endswith(b"\r\n") else b"\n" if line.endswith(b"\n") else b""
