"""Ten gigabytes through `overspill run`: memory follows from the budget, and the disk keeps every byte."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.stress, pytest.mark.skipif(os.name == "nt", reason="POSIX shells")]
GIGABYTES = 10
MOST_BYTES = 60 << 20
MEASURED = """
import os, sys
_, status, usage = os.wait4(os.posix_spawn(sys.executable, [sys.executable, *sys.argv[2:]], os.environ), 0)
with open(sys.argv[1], "w") as told:
    print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024), file=told)
"""
"""A process of its own starts the command: a child's peak counts what its parent had when it began."""


def measured(words: tuple[str, ...], tmp_path: Path) -> tuple[bytes, int, int]:
    """What `overspill` with these words shows, its status and the most memory it took."""
    told = tmp_path / "told"
    launched = (sys.executable, "-S", "-c", MEASURED, str(told), "-m", "overspill", *words)
    ran = subprocess.run(launched, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    status, peak_bytes = map(int, told.read_text().split())
    return ran.stdout, status, peak_bytes


@pytest.mark.parametrize("strategy", ["auto", "ends"])
def test_ten_gigabytes_need_sixty_megabytes(strategy: str, tmp_path: Path) -> None:
    size = GIGABYTES << 30
    if shutil.disk_usage(tmp_path).free < 2 * size:
        pytest.skip(f"needs {2 * GIGABYTES} GiB of disk")
    script = f"yes | head -c {size}"
    shown, status, peak_bytes = measured(("run", "--keep", strategy, "--shell", "/bin/sh", "-c", script), tmp_path)
    assert status == 0
    assert len(shown) <= 9_000
    assert peak_bytes <= MOST_BYTES
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
    _, status, peak_bytes = measured(("run", "--keep", "ends", "--", sys.executable, "-c", code), tmp_path)
    assert status == 0
    assert peak_bytes <= MOST_BYTES
