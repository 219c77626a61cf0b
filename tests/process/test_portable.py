"""The portable runner: what is promised everywhere holds for it too."""

from __future__ import annotations

import sys
import time
from collections import defaultdict

import pytest

from overspill.process import CannotStart, Ending
from overspill.process_windows import RunningPortably


def run(code: str, *, timeout_seconds: float | None = None, merged: bool = False) -> tuple[Ending, dict[int, bytes]]:
    seen: dict[int, bytes] = defaultdict(bytes)

    def take(stream: int, data: bytes) -> None:
        seen[stream] += data

    running = RunningPortably((sys.executable, "-c", code), merged=merged)
    return running.serve(take, timeout_seconds=timeout_seconds, grace_seconds=0.5), seen


@pytest.mark.parametrize("status", [0, 1, 42, 255])
def test_the_status_is_the_command_s(status: int) -> None:
    assert run(f"raise SystemExit({status})")[0].status == status


def test_each_stream_comes_whole() -> None:
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4000); sys.stderr.write('e' * 300000)"
    _, seen = run(code)
    assert seen == {1: bytes(range(256)) * 4000, 2: b"e" * 300_000}
    assert run("import sys; print('out', flush=True); print('err', file=sys.stderr)", merged=True)[1] == {
        1: b"out\nerr\n"
    }


def test_a_time_out_ends_it_and_keeps_what_came() -> None:
    started = time.monotonic()
    ending, seen = run("import time; print('before', flush=True); time.sleep(60)", timeout_seconds=1.0)
    assert (ending.status, ending.timed_out, seen[1]) == (124, True, b"before\n")
    assert time.monotonic() - started < 30


def test_what_cannot_be_started_says_so() -> None:
    with pytest.raises(CannotStart) as raised:
        RunningPortably(("no-such-command-here",))
    assert raised.value.status == 127
