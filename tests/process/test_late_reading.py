"""A command may have ended long before its output is read, on a busy machine: all of it is still its own."""

from __future__ import annotations

import os
import sys
import time

import pytest

if sys.platform == "win32":
    pytest.skip("pipes are read by threads there", allow_module_level=True)

from overspill.process import LINGER_SECONDS, Running


def test_what_lies_in_the_pipe_when_the_command_ends_is_read_however_late() -> None:
    seen = bytearray()

    def slowly(stream: int, data: bytes) -> None:
        seen.extend(data)
        if len(seen) > 500_000:
            time.sleep(LINGER_SECONDS + 0.05)

    code = "import os; [os.write(1, bytes([number]) * 20_000) for number in range(60)]"
    running = Running((sys.executable, "-S", "-c", code))
    ending = running.serve(slowly)
    assert not ending.lingering
    assert bytes(seen) == b"".join(bytes([number]) * 20_000 for number in range(60))


def test_what_the_background_goes_on_printing_is_left_behind() -> None:
    seen: list[int] = []
    running = Running(("sh", "-c", "yes & exit 3"))
    ending = running.serve(lambda stream, data: seen.append(len(data)))
    assert ending.status == 3
    assert ending.seconds < 30
    (pipe,) = ending.lingering.values()
    os.close(pipe)  # which ends `yes`
