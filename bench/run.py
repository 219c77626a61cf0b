"""The figures of `overspill run`, as ratios measured side by side: `python bench/run.py [GIGABYTES]`."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROUNDS = 25
STREAM_ROUNDS = 1
GIGABYTES = 10
"""Much less stays in the page cache: then the processors are measured, not the disk."""
BIN = Path(sys.executable).parent


def spent(words: Sequence[str]) -> float:
    started = time.perf_counter()
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def start() -> None:
    """A small command, with and without; measured in turns, so that a busy machine is busy for all."""
    python = (sys.executable, "-c", "pass")
    named = {
        "overspill run -- true": (str(BIN / "overspill"), "run", "--", "true"),
        "python -m overspill run -- true": (sys.executable, "-m", "overspill", "run", "--", "true"),
        "echo | overspill": ("/bin/sh", "-c", f"echo | {BIN / 'overspill'}"),
    }
    times: dict[str, list[float]] = {name: [] for name in ("python -c pass", *named)}
    for _ in range(ROUNDS):
        times["python -c pass"].append(spent(python))
        for name, words in named.items():
            times[name].append(spent(words))
    base = statistics.median(times["python -c pass"])
    print(f"{'python -c pass':34} {base * 1e3:6.1f} ms")
    for name in named:
        median = statistics.median(times[name])
        print(f"{name:34} {median * 1e3:6.1f} ms   {median / base:.2f}×  (≤ 4×, goal 3×)")


def stream(gigabytes: float, directory: Path) -> None:
    """`yes`, much of it: beside `tee` to the same disk, in turns."""
    size = int(gigabytes * (1 << 30))
    source = f"yes | head -c {size}"
    file = directory / "tee"
    times: dict[str, list[float]] = {"tee": [], "auto": [], "ends": []}
    for _ in range(STREAM_ROUNDS):
        times["tee"].append(spent(("/bin/sh", "-c", f"{source} | tee {file} > /dev/null")))
        file.unlink()
        for strategy in ("auto", "ends"):
            words = (str(BIN / "overspill"), "run", "--keep", strategy, "--shell", "/bin/sh", "-c", source)
            times[strategy].append(spent(words))
            shutil.rmtree(os.environ["OVERSPILL_DIR"])
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1024 if sys.platform != "darwin" else 1 << 20)
    tee = statistics.median(times["tee"])
    for strategy in ("auto", "ends"):
        median = statistics.median(times[strategy])
        print(
            f"{source} --keep {strategy:5} {median:6.1f} s   tee {tee:6.1f} s   "
            f"{tee / median:.2f}× of tee's throughput (≥ 0.8×)   peak {peak:.0f} MB (≤ 60)   median of {STREAM_ROUNDS}"
        )


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        os.environ["OVERSPILL_DIR"] = str(Path(directory) / "store")
        start()
        stream(float(sys.argv[1]) if len(sys.argv) > 1 else GIGABYTES, Path(directory))


if __name__ == "__main__":
    main()
