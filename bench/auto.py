"""How fast ``auto`` is and how much memory it takes on a stream: logs, tables and JSON of 100 KB to 100 MB.

Run: ``python bench/auto.py [--forms log,table,json] [--megabytes 1,10,100]``. Every figure comes from a process of its
own and is its CPU time on one core, so that it can be compared on a machine that others use too.
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


def table(size: int) -> Iterator[bytes]:
    """A table of measurements with one that is far out."""
    yield b"id,station,measured,value\n"
    made, number = 0, 0
    while made < size:
        rows = []
        for _ in range(1200):
            number += 1
            value = 9_999_999 if made < size // 2 <= made + 40_000 and number % 1200 == 7 else number * 7919 % 613
            rows.append(b"%d,station-%d,2024-05-%02d,%d\n" % (number, number % 97, number % 28 + 1, value))
        chunk = b"".join(rows)
        made += len(chunk)
        yield chunk


def document(size: int) -> Iterator[bytes]:
    """One JSON document: an array of records, one of which failed."""
    yield b"["
    made, number = 0, 0
    while made < size:
        records = []
        for _ in range(400):
            number += 1
            state = b"failed: the volume is gone" if made < size // 2 <= made + 60_000 and number % 400 == 7 else b"ok"
            records.append(
                b'{"id": %d, "name": "order-%d", "state": "%s", "lines": [{"sku": "s%d", "n": %d}], "paid": %d.5}'
                % (number, number * 7919 % 50021, state, number % 613, number % 9, number % 977)
            )
        chunk = (b",\n" if made else b"") + b",\n".join(records)
        made += len(chunk)
        yield chunk
    yield b"]\n"


FORMS = {"log": (log, "the volume is gone"), "table": (table, "9999999"), "json": (document, "the volume is gone")}


def once(form: str, size: int) -> dict[str, float]:
    """Seconds and peak memory of one bounding from a stream, making the output left out."""
    from overspill.core.capture import Capture, Cut
    from overspill.core.notice import Kept
    from overspill.core.policy import Policy
    from overspill.core.render import render

    make, telling = FORMS[form]
    policy = Policy()
    warm = Capture(policy)
    for chunk in make(60_000):
        warm.feed(chunk)
    warm.finish()
    spent = 0.0
    bounded = None
    for _ in range(5 if size < 1 << 20 else 1):
        capture = Capture(policy)
        spent_now = 0.0
        for chunk in make(size):
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
    assert telling in bounded.text, bounded.text
    return {"seconds": spent, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--megabytes", default="0.1,1,10,100")
    parser.add_argument("--once", type=int, help="one run of this many bytes of the first form, as JSON")
    args = parser.parse_args()
    forms = args.forms.split(",")
    if args.once:
        print(json.dumps(once(forms[0], args.once)))
        return
    print("| output | CPU time | rate | peak memory |\n|---|---|---|---|")
    for form in forms:
        for part in args.megabytes.split(","):
            size = int(float(part) * 1_000_000)
            done = subprocess.run(
                [sys.executable, __file__, "--forms", form, "--once", str(size)],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                sys.exit(f"{form} {part} MB: {done.stderr[-2000:]}")
            spent, peak = (json.loads(done.stdout)[name] for name in ("seconds", "peak_mb"))
            rate = size / 1e6 / spent
            print(f"| {form}, {part} MB | {1000 * spent:.0f} ms | {rate:.0f} MB/s | {peak:.0f} MB |", flush=True)


if __name__ == "__main__":
    main()
