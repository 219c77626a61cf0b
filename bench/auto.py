"""How fast ``auto`` is and how much memory it takes: logs of 100 KB to 100 MB, whole and from a stream.

Run: ``python bench/auto.py [--megabytes 1,10,100]``. Every figure comes from a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

CHUNK_BYTES = 1 << 16


def log(size: int) -> Iterator[bytes]:
    """An ordinary service log with its share of warnings, a few errors and one fatal line, in chunks."""
    made, number = 0, 0
    while made < size:
        lines = []
        for _ in range(600):
            number += 1
            level, text = (
                b"INFO",
                b"handled request %d for user-%d in %d ms" % (number, number * 7919 % 50021, number % 613),
            )
            if number % 97 == 0:
                level, text = b"WARN", b"slow query on shard %d: %d rows" % (number % 31, number * 13 % 9973)
            if number % 4001 == 0:
                level, text = (
                    b"ERROR",
                    b"upstream inventory-%d refused: timed out after %d ms" % (number % 5, number % 3000),
                )
            if made < size // 2 <= made + 60_000 and number % 600 == 7:
                level, text = b"FATAL", b"journal: the volume is gone"
            lines.append(
                b"2024-05-01T12:%02d:%02d.%03dZ %s worker-%d %s\n"
                % (number // 60 % 60, number % 60, number % 1000, level, number % 16, text)
            )
        chunk = b"".join(lines)
        made += len(chunk)
        yield chunk


def once(size: int) -> dict[str, float]:
    """Seconds and peak memory of one bounding from a stream, making the log left out."""
    from overspill.core.capture import Capture, Cut
    from overspill.core.notice import Kept
    from overspill.core.policy import Policy
    from overspill.core.render import render

    policy = Policy()
    warm = Capture(policy)
    warm.feed(b"ERROR warm\n" * 2000)
    warm.finish()
    spent = 0.0
    bounded = None
    for _ in range(5 if size < 1 << 20 else 1):
        capture = Capture(policy)
        spent_now = 0.0
        for chunk in log(size):
            started = time.process_time()
            capture.feed(chunk)
            spent_now += time.process_time() - started
        started = time.process_time()
        result = capture.finish()
        assert isinstance(result, Cut)
        assert result.fault is None, result.fault
        bounded = render(result, Kept("ovs_bench00000"), policy)
        spent_now += time.process_time() - started
        spent = min(spent, spent_now) if spent else spent_now
    assert bounded is not None
    assert "the volume is gone" in bounded.text
    return {"seconds": spent, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", default="0.1,1,10,100")
    parser.add_argument("--once", type=int, help="one run of this many bytes, as JSON")
    args = parser.parse_args()
    if args.once:
        print(json.dumps(once(args.once)))
        return
    print("| log | CPU time | rate | peak memory |\n|---|---|---|---|")
    for part in args.megabytes.split(","):
        size = int(float(part) * 1_000_000)
        done = subprocess.run(
            [sys.executable, __file__, "--once", str(size)], capture_output=True, text=True, check=True
        )
        figures = json.loads(done.stdout)
        rate = size / 1e6 / figures["seconds"]
        print(f"| {part} MB | {1000 * figures['seconds']:.0f} ms | {rate:.0f} MB/s | {figures['peak_mb']:.0f} MB |")


if __name__ == "__main__":
    main()
