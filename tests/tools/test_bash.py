"""bash: the whole output kept, what matters shown, nothing left running, however a command ends."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from overspill import Budget, MemoryStore, Policy
from overspill.tools import Bash, ToolResult

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")


def run(root: Path, command: str, *, store: MemoryStore | None = None, **arguments: Any) -> ToolResult:
    return asyncio.run(Bash(root, store=store or MemoryStore()).run({"command": command, **arguments}))


@pytest.mark.parametrize(
    ("command", "content", "status"),
    [
        ("echo out; echo err >&2; exit 3", "[exit status 3]\nout\nerr\n", 3),
        ("kill -9 $$", "[ended by SIGKILL]", -9),
        ("true", "", 0),
        ("cat", "", 0),
        ("read x; echo got=$x", "got=\n", 0),
        ("nowhere-to-be-found 2>/dev/null", "[exit status 127]", 127),
        ("exec 1>&- 2>&-; sleep 0.1; exit 4", "[exit status 4]", 4),
        ("printf '\\377a'", "\ufffda", 0),
        ("echo ${BASH_VERSION:+bash}", "bash\n", 0),
        ("cd sub && basename $PWD", "sub\n", 0),
    ],
)
def test_what_it_printed_and_how_it_ended(tmp_path: Path, command: str, content: str, status: int) -> None:
    (tmp_path / "sub").mkdir()
    result = run(tmp_path, command)
    assert result.content == content
    assert (result.metadata["exit_status"], result.metadata["timed_out"], result.is_error) == (status, False, False)


def test_the_whole_is_kept_and_the_error_in_the_middle_shown(tmp_path: Path) -> None:
    store = MemoryStore()
    command = "seq 1 5000; echo 'error: the disk is full'; seq 5001 90000; exit 2"
    result = run(tmp_path, command, store=store)
    assert result.content.startswith("[exit status 2]\n[overspill ovs_")
    assert "error: the disk is full" in result.content
    assert len(result.content.encode()) <= 9_000
    kept = store.open(result.metadata["handle"])
    numbers = [*range(1, 5_001), "error: the disk is full", *range(5_001, 90_001)]
    assert kept.read(0, kept.size) == "".join(f"{number}\n" for number in numbers).encode()
    assert store.stored(result.metadata["handle"]).call.command == command


def is_running(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid: str) -> bool:
    """Ended, a moment given to whoever has to reap it."""
    for _ in range(100):
        if not is_running(pid):
            return True
        time.sleep(0.02)
    return False


def test_when_the_time_is_up_all_it_started_ends_and_what_it_printed_is_shown(tmp_path: Path) -> None:
    command = "echo started; sleep 60 & echo $! > child; trap '' TERM; wait; sleep 60"
    result = run(tmp_path, command, timeout_seconds=1)
    assert result.content == "[stopped after 1 seconds]\nstarted\n"
    assert result.is_error
    assert (result.metadata["exit_status"], result.metadata["timed_out"]) == (None, True)
    assert gone((tmp_path / "child").read_text())


def test_what_it_leaves_in_the_background_ends_with_it(tmp_path: Path) -> None:
    started = time.monotonic()
    result = run(tmp_path, "sleep 60 & echo $! > child; echo done")
    assert result.content == "done\n"
    assert time.monotonic() - started < 30
    assert gone((tmp_path / "child").read_text())


def test_when_nobody_waits_any_more_it_ends(tmp_path: Path) -> None:
    async def main() -> None:
        running = asyncio.ensure_future(Bash(tmp_path, store=MemoryStore()).run({"command": "echo $$ > pid; sleep 60"}))
        for _ in range(1_000):
            await asyncio.sleep(0.01)
            if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
                break
        running.cancel()
        await asyncio.wait({running})
        for _ in range(300):
            if not is_running((tmp_path / "pid").read_text()):
                return
            await asyncio.sleep(0.02)
        raise AssertionError("it goes on")

    asyncio.run(main())


@pytest.mark.parametrize("steps", range(12))
def test_told_to_stop_while_it_starts_it_leaves_nothing_behind(tmp_path: Path, steps: int) -> None:
    """So many turns of the loop after the call: each is another place in the start."""

    async def main() -> None:
        tool = Bash(tmp_path, store=MemoryStore())
        running = asyncio.ensure_future(tool.execute(f"exec -a overspill-{tmp_path.name} sleep 60"))
        for _ in range(steps):
            await asyncio.sleep(0.001)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    asyncio.run(main())
    listed = subprocess.run(["ps", "-A", "-o", "args="], capture_output=True, text=True, check=True).stdout
    assert f"overspill-{tmp_path.name} 60" not in listed


def test_ten_at_once_do_not_mix(tmp_path: Path) -> None:
    async def main() -> list[ToolResult]:
        tool = Bash(tmp_path, store=MemoryStore())
        return await asyncio.gather(*(tool.run({"command": f"seq {n} {n + 5}"}) for n in range(0, 1_000, 100)))

    results = asyncio.run(main())
    assert [result.content.split("\n")[0] for result in results] == [str(n) for n in range(0, 1_000, 100)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"command": "echo", "timeout_seconds": 0}, "1 to 3600"),
        ({"command": "echo", "directory": ".."}, "a path inside"),
        ({"command": "a\0b"}, "without NUL"),
        ({"command": "echo \ud800"}, "could not be started"),
        ({"command": ": " + "x" * 3_000_000}, "could not be started"),
        ({}, "command"),
    ],
)
def test_a_mistake_is_a_sentence(tmp_path: Path, arguments: dict[str, Any], words: str) -> None:
    result = asyncio.run(Bash(tmp_path, store=MemoryStore()).run(arguments))
    assert result.is_error
    assert words in result.content
    assert len(result.content) < 400


def test_its_policy_may_be_given(tmp_path: Path) -> None:
    tool = Bash(tmp_path, store=MemoryStore(), policy=Policy(budget=Budget(max_bytes=1_000)))
    assert len(asyncio.run(tool.run({"command": "seq 9000"})).content.encode()) <= 1_000


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    async def main() -> None:
        tool = Bash(tmp_path, store=MemoryStore())
        await tool.run({"command": "true"})
        before = len(os.listdir("/proc/self/fd"))
        for command in ("true", "seq 20000", "exit 3", "sleep 60 & echo x"):
            await tool.run({"command": command})
        await asyncio.sleep(0.05)
        assert len(os.listdir("/proc/self/fd")) <= before

    asyncio.run(main())
