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


def log(number: int, *, is_odd: bool) -> bytes:
    """An ordinary service log with its share of warnings, a few errors and one fatal line."""
    level, text = b"INFO", b"handled request %d for user-%d in %d ms" % (number, number * 7919 % 50021, number % 613)
    if number % 97 == 0:
        level, text = b"WARN", b"slow query on shard %d: %d rows" % (number % 31, number * 13 % 9973)
    if number % 4001 == 0:
        level, text = b"ERROR", b"upstream inventory-%d refused: timed out after %d ms" % (number % 5, number % 3000)
    if is_odd:
        level, text = b"FATAL", b"journal: the volume is gone"
    return b"2024-05-01T12:%02d:%02d.%03dZ %s worker-%d %s\n" % (
        number // 60 % 60, number % 60, number % 1000, level, number % 16, text,
    )  # fmt: skip


def table(number: int, *, is_odd: bool) -> bytes:
    """A table of measurements with one that is far out."""
    value = 9_999_999 if is_odd else number * 7919 % 613
    row = b"%d,station-%d,2024-05-%02d,%d\n" % (number, number % 97, number % 28 + 1, value)
    return b"id,station,measured,value\n" + row if number == 1 else row


def document(number: int, *, is_odd: bool) -> bytes:
    """One JSON document: an array of records, one of which failed; it lacks its end."""
    state = b"failed: the volume is gone" if is_odd else b"ok"
    return b'%s{"id": %d, "name": "order-%d", "state": "%s", "lines": [{"sku": "s%d", "n": %d}], "paid": %d.5}' % (
        b"[" if number == 1 else b",\n", number, number * 7919 % 50021, state, number % 613, number % 9, number % 977,
    )  # fmt: skip


FORMS = {
    "log": (log, b"", "the volume is gone"),
    "table": (table, b"", "9999999"),
    "json": (document, b"]\n", "the volume is gone"),
}


def made(form: str, size: int) -> Iterator[bytes]:
    """An output of that many bytes and a part of a line, in chunks; the line in its middle is the odd one."""
    make, end, _ = FORMS[form]
    lines: list[bytes] = []
    done = waiting = number = 0
    told = False
    while done + waiting < size:
        number += 1
        is_odd = not told and done + waiting >= size // 2
        told = told or is_odd
        lines.append(make(number, is_odd=is_odd))
        waiting += len(lines[-1])
        if waiting >= CHUNK_BYTES:
            yield b"".join(lines)
            done, waiting = done + waiting, 0
            lines.clear()
    yield b"".join([*lines, end])


def once(form: str, size: int) -> dict[str, float]:
    """Seconds and peak memory of one bounding from a stream, making the output left out."""
    from overspill.core.capture import Capture, Cut
    from overspill.core.notice import Kept
    from overspill.core.policy import Policy
    from overspill.core.render import render

    telling = FORMS[form][-1]
    policy = Policy()
    warm = Capture(policy)
    for chunk in made(form, 60_000):
        warm.feed(chunk)
    warm.finish()
    spent = 0.0
    bounded = None
    for _ in range(5 if size < 1 << 20 else 1):
        capture = Capture(policy)
        spent_now = 0.0
        for chunk in made(form, size):
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
