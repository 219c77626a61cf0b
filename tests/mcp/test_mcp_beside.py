"""Promises about results that are bounded beside the stream: order, back-pressure, and a reader that goes."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from mcp_wiring import Line, lines, text

from overspill.mcp import wire
from overspill.mcp.beside import WAITING_BYTES, Beside


def test_results_go_out_in_their_order_and_are_waited_for() -> None:
    out: list[bytes] = []
    beside = Beside(out.append)
    begun, gate = threading.Event(), threading.Event()

    def work(number: int) -> Callable[[], bytes]:
        def done() -> bytes:
            begun.set()
            gate.wait(20)
            return b"%d" % number

        return done

    for number in range(5):
        beside.put(work(number), 10)
    assert begun.wait(20)
    assert out == []
    assert beside.is_bounding
    gate.set()
    beside.drain()
    assert out == [b"0", b"1", b"2", b"3", b"4"]
    assert not beside.is_bounding


@pytest.mark.parametrize("sizes", [[WAITING_BYTES // 2] * 3, [10, WAITING_BYTES * 2], [WAITING_BYTES * 2, 10]])
def test_who_brings_more_than_may_wait_waits(sizes: list[int]) -> None:
    out: list[bytes] = []
    beside = Beside(out.append)
    gate = threading.Event()
    for size in sizes[:-1]:
        beside.put(lambda: (gate.wait(20) and b"done") or b"", size)
    late = threading.Thread(target=beside.put, args=(lambda: b"last", sizes[-1]))
    late.start()
    late.join(0.1)
    assert late.is_alive()
    gate.set()
    late.join(20)
    beside.drain()
    assert out == [*[b"done"] * (len(sizes) - 1), b"last"]


def test_a_reader_that_has_gone_is_told_to_who_brings_the_next() -> None:
    def write(message: bytes) -> None:
        raise BrokenPipeError

    beside = Beside(write)
    beside.put(lambda: b"x", 10)
    beside.drain()
    with pytest.raises(BrokenPipeError):
        beside.put(lambda: b"y", 10)


def test_a_large_result_is_work_and_everything_else_passes_at_once() -> None:
    line = Line()
    for id in ("large", "small"):
        line.ask("tools/call", {"name": "t"}, id=id)
    large = line.conversation.begun_from_server(wire.response(b'"large"', {"content": [text(lines(3_000))]}) + b"\r\n")
    assert not isinstance(large, bytes)
    note = b'{"jsonrpc":"2.0","method":"notifications/message","params":"%s"}\n' % (b"x" * 100_000)
    assert line.conversation.begun_from_server(note) is note
    small = wire.response(b'"small"', {"content": [text("small")]})
    assert line.conversation.begun_from_server(small) is small
    assert len(large()) < 9_000
    assert large().endswith(b"}\r\n")


def test_what_was_promised_when_the_result_came_holds_for_it() -> None:
    """A list that overtakes it changes nothing any more."""
    line = Line()
    line.listed({"name": "t", "inputSchema": {"type": "object"}})
    line.ask("tools/call", {"name": "t"})
    result = {"content": [], "structuredContent": {"rows": list(range(9_000))}}
    work = line.conversation.begun_from_server(wire.response(b"1", result))
    assert not isinstance(work, bytes)
    schema = {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]}
    (listed, *_) = line.listed({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema})
    assert "outputSchema" not in listed
    assert b"structuredContent" not in work()
