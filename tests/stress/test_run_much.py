"""Ten gigabytes through `overspill run`: memory follows from the budget, and the disk keeps every byte."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.stress, pytest.mark.skipif(os.name == "nt", reason="POSIX shells")]
OVERSPILL = (sys.executable, "-m", "overspill")
GIGABYTES = 10


@pytest.mark.parametrize("strategy", ["auto", "ends"])
def test_ten_gigabytes_need_sixty_megabytes(strategy: str, tmp_path: Path) -> None:
    size = GIGABYTES << 30
    if shutil.disk_usage(tmp_path).free < 2 * size:
        pytest.skip(f"needs {2 * GIGABYTES} GiB of disk")
    script = f"yes | head -c {size}"
    words = (*OVERSPILL, "run", "--keep", strategy, "--shell", "/bin/sh", "-c", script)
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        shown = running.stdout.read()
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    assert running.returncode == 0
    assert len(shown) <= 9_000
    assert usage.ru_maxrss <= 60 * 1024 * (1 if sys.platform != "darwin" else 1024)
    (kept,) = Path(os.environ["OVERSPILL_DIR"]).glob("ovs_*")
    assert kept.stat().st_size == size


@pytest.mark.parametrize("lines", [2_000_000])
def test_two_streams_in_turns_need_no_more(lines: int, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        f"for number in range({lines}):\n"
        "    print(number, flush=number % 50 == 0)\n"
        "    if number % 50 == 0: print('err', number, file=sys.stderr, flush=True)\n"
    )
    words = (*OVERSPILL, "run", "--keep", "ends", "--", sys.executable, "-c", code)
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        assert running.stdout is not None
        running.stdout.read()
        _, _, usage = os.wait4(running.pid, 0)
        running.returncode = 0
    assert usage.ru_maxrss <= 60 * 1024 * (1 if sys.platform != "darwin" else 1024)
