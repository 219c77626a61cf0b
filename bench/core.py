"""The core's figures, as ratios measured side by side in one run: `python bench/core.py`."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import overspill
from overspill import Bounder, MemoryStore, Policy
from overspill.core.strategies import Ends, head, tail


def best_of(times: int, work: Callable[[], object]) -> float:
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        spent.append(time.perf_counter() - started)
    return min(spent)


def untouched() -> None:
    line = "2026-03-01 12:00:00 INFO worker 7 handled request 4711 in 12 ms\n"
    text = (line * 40)[:2048]
    bounder, rounds = Bounder(Policy(), MemoryStore()), 20_000
    assert bounder.bound(text).text is text
    seconds = best_of(5, lambda: [bounder.bound(text) for _ in range(rounds)]) / rounds
    one_call = best_of(5, lambda: [overspill.bound(text) for _ in range(rounds)]) / rounds
    tracemalloc.start()
    peaks = []
    for size in (20, 2048):
        small = text[:size]
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        bounder.bound(small)
        peaks.append(tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    print(
        f"untouched 2 KB str                {seconds * 1e6:6.2f} µs   (≤ 5)    allocated {peaks[1]} B, for 20 B {peaks[0]} B"
    )
    print(f"the same by overspill.bound       {one_call * 1e6:6.2f} µs   (≤ 5)")


def whole() -> None:
    text = "".join(
        f"{number} a line of an ordinary log, neither long nor short, as they come\n" for number in range(14_000)
    )
    text = (text * (100_000_000 // len(text) + 1))[:100_000_000]
    base = best_of(3, lambda: text.encode().count(b"\n"))
    print(f"encode and count lines of 100 MB  {base * 1e3:6.0f} ms")
    for strategy in (head(), tail(), Ends()):
        bounder = Bounder(Policy(strategy=strategy))
        seconds = best_of(3, lambda bounder=bounder: bounder.bound(text))  # type: ignore[misc]
        print(f"bound 100 MB by {strategy.name:5}             {seconds * 1e3:6.0f} ms   {seconds / base:.2f}×  (≤ 2×)")


STREAM = """
import os, sys
from overspill import Bounder, LocalStore, Policy
from overspill.core.strategies import Ends
def peak():
    # VmHWM: unlike ru_maxrss it starts anew with the program, not with what forked it
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
try:
    import fcntl
    fcntl.fcntl(0, fcntl.F_SETPIPE_SZ, 1 << 20)  # as `overspill run` does for a command that prints much
except (ImportError, AttributeError, OSError):
    pass
bare = peak()
with Bounder(Policy(strategy=Ends()), LocalStore(sys.argv[1], max_total_bytes="100 GB")).capture() as capturing:
    while chunk := os.read(0, 1 << 18):
        capturing.feed(chunk)
assert capturing.bounded.handle, capturing.bounded.unsaved
print(bare, peak())
"""


def streamed() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        source = Path(folder, "source")
        line = b"a line of an ordinary log, neither long nor short, as they come, one by one\n"
        with source.open("wb") as file:
            for _ in range(1024):
                file.write((line * (1024 * 1024 // len(line) + 1))[: 1024 * 1024])
        commands = {
            "tee": f"cat {source} | tee {folder}/copy > /dev/null",
            "ours": f"cat {source} | {sys.executable} {script(folder)} {folder}/store",
        }
        times: dict[str, list[float]] = {"tee": [], "ours": []}
        peaks = ""
        for _ in range(3):
            for name, command in commands.items():
                subprocess.run(f"rm -rf {folder}/copy {folder}/store; sync", shell=True, check=True)
                started = time.perf_counter()
                done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
                times[name].append(time.perf_counter() - started)
                peaks = done.stdout or peaks
        ratio = min(times["tee"]) / min(times["ours"])
        print(
            f"tee of 1 GB                       {min(times['tee']):6.2f} s     capture into a store {min(times['ours']):.2f} s   {ratio:.2f}× of tee's speed (≥ 0.8×)"
        )
        bare, large = map(int, peaks.split())
        small_run = subprocess.run(
            f"head -c 10M {source} | {sys.executable} {script(folder)} {folder}/store10",
            shell=True,
            capture_output=True,
            text=True,
            check=True,
        )
        small = int(small_run.stdout.split()[1])
        print(
            f"peak memory over the interpreter  {(large - bare) / 1024:6.1f} MB for 1 GB, {(small - bare) / 1024:.1f} MB for 10 MB  (≤ 20 MB)"
        )


def script(folder: str) -> Path:
    path = Path(folder, "stream.py")
    path.write_text(STREAM)
    return path


def imports() -> None:
    def start(code: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - started

    bare, ours = [], []
    for _ in range(25):
        bare.append(start("pass"))
        ours.append(start("import overspill"))
    ratio = statistics.median(ours) / statistics.median(bare)
    print(
        f"import overspill                  {statistics.median(ours) * 1e3:6.1f} ms   {ratio:.2f}× of `python -c pass` (≤ 2.5×, goal 2×)"
    )


if __name__ == "__main__":
    untouched()
    whole()
    streamed()
    imports()
