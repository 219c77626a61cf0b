"""grep over a stored log of one gigabyte beside ``rg`` and ``grep -E``; read of line 9,000,000; peak memory.

Each figure is the best of several runs, the programs taking turns, so that a busy machine is fair to all.

    python bench/grep.py [--bytes N] [--runs N] [--place DIR]
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from overspill.core.model import Call
from overspill.retrieve import grep, read
from overspill.store import LocalStore

CASES = (
    ("literal", "connection refused"),
    ("literal, short", "needle"),
    ("regex, literal end", "refused by upstream-[0-9]+$"),
    ("regex, word borders", r"\bERROR\b.*upstream"),
    ("regex, no match", r"id=[0-9a-f]{6}ab took 9\d\d ms"),
    ("alternatives", "ERROR|FATAL"),
    ("classes, one letter", r"[0-9]{4}x[0-9]{4}"),
    ("classes only", r"[0-9]{4}[g-z]{3}[0-9]"),
    ("matches everywhere", r"id=[0-9a-f]+ took [0-9]{3}"),
    ("ignore case", "(?i)Connection Refused"),
)
WORDS = (b"user", b"session", b"request", b"handler", b"cache", b"worker", b"queue", b"index", b"commit", b"fetch")


def write_log(path: Path, size: int) -> None:
    chance = random.Random(4)
    lines = [
        b"2026-11-18T10:%02d:%02d.%03dZ INFO  [worker-%d] %s %s id=%08x took %d ms\n"
        % (
            n // 60 % 60,
            n % 60,
            n % 1000,
            n % 16,
            *chance.choices(WORDS, k=2),
            chance.getrandbits(32),
            chance.randrange(900),
        )
        for n in range(200_000)
    ]
    block = b"".join(lines)
    with path.open("wb") as file:
        number = 0
        while file.tell() < size:
            file.write(block)
            file.write(b"2026-11-18 ERROR needle %d connection refused by upstream-%d\n" % (number, number))
            number += 1


def keep(store: LocalStore, path: Path) -> str:
    spill = store.spill(Call())
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            spill.write(chunk)
    return spill.commit(Call()).handle


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def program(*words: str) -> Callable[[], object]:
    def run() -> None:
        # Into a pipe that is read: with /dev/null GNU grep stops at the first match.
        with subprocess.Popen(words, stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"}) as running:
            assert running.stdout is not None
            while running.stdout.read(1 << 20):
                pass

    return run


def peak_memory(place: Path) -> float:
    """In MB, of a process that does nothing but search: this one has made the log."""
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from overspill.retrieve import grep\n"
        "from overspill.store import LocalStore\n"
        "store = LocalStore(sys.argv[1])\n"
        "handle = next(iter(store.outputs())).handle\n"
        "for pattern in sys.argv[2:]: grep(store, handle, pattern)\n"
        # Not ru_maxrss, which begins with the size of the process that started this one.
        "status = Path('/proc/self/status').read_text()\n"
        "print(int(status.split('VmHWM:')[1].split()[0]) / 1024)\n"
    )
    words = [sys.executable, "-c", script, str(place / "store"), *(pattern for _, pattern in CASES)]
    return float(subprocess.run(words, capture_output=True, check=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--place", type=Path, default=None, help="a directory to keep the log and the store in")
    arguments = parser.parse_args()
    place = arguments.place or Path(tempfile.mkdtemp(prefix="overspill-bench-"))
    place.mkdir(parents=True, exist_ok=True)
    path = place / "log"
    if not path.exists():
        write_log(path, arguments.bytes)
    store = LocalStore(place / "store")
    handle = next((row.handle for row in store.outputs()), None) or keep(store, path)
    ripgrep = shutil.which("rg", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    print(f"{path.stat().st_size:,} bytes, {store.stored(handle).lines:,} lines; best of {arguments.runs}, seconds")
    print(f"{'':22} {'overspill':>9} {'rg -j1':>8} {'grep -E':>8}   times rg")
    for name, pattern in CASES:
        ours, theirs, gnu = [], [], []
        for _ in range(arguments.runs):
            ours.append(timed(lambda pattern=pattern: grep(store, handle, pattern)))
            if ripgrep:
                theirs.append(timed(program(ripgrep, "-j1", "-a", "-n", "--no-config", pattern, str(path))))
            flags = ["-i"] if pattern.startswith("(?i)") else []
            if len(gnu) < 2:
                plain = pattern.removeprefix("(?i)").replace(r"\d", "[0-9]")
                gnu.append(timed(program("grep", "-aEn", *flags, plain, str(path))))
        best = min(theirs) if theirs else 0.0
        ratio = f"{min(ours) / best:7.1f}" if best else "      -"
        print(f"{name:22} {min(ours):9.2f} {best:8.2f} {min(gnu):8.2f}   {ratio}")
    seconds = [timed(lambda: read(store, handle, around=9_000_000)) for _ in range(20)]
    print(f"read --around 9000000: best {min(seconds) * 1000:.1f} ms, median {sorted(seconds)[10] * 1000:.1f} ms")
    print(f"peak memory of a process that greps for each of them: {peak_memory(place):.0f} MB")
    if arguments.place is None:
        shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
