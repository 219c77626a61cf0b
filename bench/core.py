"""The core's figures, as ratios measured side by side in one run: `python bench/core.py [untouched whole streamed imports]`."""

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
from overspill.core.capture import Capture
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
policy, place = Policy(strategy=Ends()), sys.argv[2]
def chunks():
    while chunk := os.read(0, 1 << 18):
        yield chunk
if sys.argv[1] == "file":
    capture = Capture(policy)
    file = os.open(place, os.O_WRONLY | os.O_CREAT, 0o600)
    for chunk in chunks():
        os.write(file, capture.feed(chunk))
    os.write(file, capture.finish().unpersisted)
else:
    with Bounder(policy, LocalStore(place, max_total_bytes="100 GB")).capture() as capturing:
        for chunk in chunks():
            capturing.feed(chunk)
    assert capturing.bounded.handle, capturing.bounded.unsaved
print(bare, peak())
"""
STREAM_ROUNDS = 5


def streamed() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        source, script = Path(folder, "source"), Path(folder, "stream.py")
        script.write_text(STREAM)
        line = b"a line of an ordinary log, neither long nor short, as they come, one by one\n"
        with source.open("wb") as file:
            for _ in range(1024):
                file.write((line * (1024 * 1024 // len(line) + 1))[: 1024 * 1024])
        ours = f"{sys.executable} {script}"
        commands = {
            "tee of 1 GB": f"tee {folder}/copy > /dev/null",
            "capture to a file": f"{ours} file {folder}/copy",
            "capture into a local store": f"{ours} store {folder}/store",
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        cpu: dict[str, list[float]] = {name: [] for name in commands}
        large: dict[str, float] = {}
        for _ in range(STREAM_ROUNDS):
            for name, command in commands.items():
                subprocess.run(f"rm -rf {folder}/copy {folder}/store; sync", shell=True, check=True)
                started, used = time.perf_counter(), seconds_of_children()
                printed = shell(f"cat {source} | {command}")
                times[name].append(time.perf_counter() - started)
                cpu[name].append(seconds_of_children() - used)
                large[name] = memory_over_interpreter(printed)
        tee, *captures = commands
        for name in commands:
            ratio = statistics.median(times[tee]) / statistics.median(times[name])
            cpu_ratio = statistics.median(cpu[tee]) / statistics.median(cpu[name])
            said = "" if name == tee else f"   {ratio:.2f}× of tee's speed (≥ 0.8×), {cpu_ratio:.2f}× by CPU time"
            print(
                f"{name:33} {statistics.median(times[name]):6.2f} s, CPU {statistics.median(cpu[name]):.2f} s{said}"
                f"   median of {STREAM_ROUNDS}"
            )
        for name in captures:
            shell(f"rm -rf {folder}/copy {folder}/store")
            small = memory_over_interpreter(shell(f"head -c 10M {source} | {commands[name]}"))
            print(
                f"peak memory over the interpreter  {large[name]:6.1f} MB for 1 GB, {small:.1f} MB for 10 MB, {name}  (≤ 20 MB)"
            )


def shell(command: str) -> str:
    return subprocess.run(command, shell=True, stdout=subprocess.PIPE, text=True, check=True).stdout


def seconds_of_children() -> float:
    used = os.times()
    return used.children_user + used.children_system


def memory_over_interpreter(printed: str) -> float:
    bare, peak = map(int, printed.split() or (0, 0))
    return (peak - bare) / 1024


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


PARTS = {"untouched": untouched, "whole": whole, "streamed": streamed, "imports": imports}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
