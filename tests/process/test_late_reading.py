"""A command may have ended long before its output is read, on a busy machine: all of it is still its own."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

if sys.platform == "win32":
    pytest.skip("pipes are read by threads there", allow_module_level=True)

from overspill.process import LINGER_SECONDS, Running


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    """A command line of its own takes signals over for good; this process has other tests to run."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    yield
    for number, handler in before.items():
        if handler is not None and signal.getsignal(number) != handler:
            signal.signal(number, handler)


def test_what_lies_in_the_pipe_when_the_command_ends_is_read_however_late() -> None:
    seen = bytearray()

    def slowly(stream: int, data: bytes) -> None:
        seen.extend(data)
        if len(seen) > 500_000:
            time.sleep(LINGER_SECONDS + 0.05)

    code = "import os; [os.write(1, bytes([number]) * 20_000) for number in range(60)]"
    with closing(Running((sys.executable, "-S", "-c", code))) as running:
        ending = running.serve(slowly)
    assert not ending.lingering
    assert bytes(seen) == b"".join(bytes([number]) * 20_000 for number in range(60))


def test_what_the_background_goes_on_printing_is_left_behind() -> None:
    seen: list[int] = []
    with closing(Running(("sh", "-c", "yes & exit 3"))) as running:
        ending = running.serve(lambda stream, data: seen.append(len(data)))
    assert ending.status == 3
    assert ending.seconds < 30
    (pipe,) = ending.lingering.values()
    os.close(pipe)  # which ends `yes`
