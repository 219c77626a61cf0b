"""Timings of the local store beside the plainest thing that could be done instead.

python bench/store.py            everything, figures as a table
python bench/store.py spill      10,000 outputs of 60 KB beside open().write() of the same files
python bench/store.py rows       `ls` and lookup with 100,000 rows
python bench/store.py stream     1 GB in chunks beside write + sha256; line 9,000,000 by seek
python bench/store.py sparse     byte-identical read-back beyond 4 GiB
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median

from overspill.core.model import Call
from overspill.core.ports import Stored
from overspill.store import LocalStore

OUTPUTS, OUTPUT_BYTES, ROWS = 10_000, 60_000, 100_000


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def say(what: str, figure: str) -> None:
    print(f"{what:<58} {figure:>16}", flush=True)


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def spill(directory: Path) -> None:
    # Small batches, taken in turns, so that both sides meet the same disk and the same machine.
    batch = 100
    base = random.Random(0).randbytes(OUTPUT_BYTES).hex().encode()[: OUTPUT_BYTES - 8]
    store = LocalStore(directory / "store", max_total_bytes=None)
    plain = directory / "plain"
    plain.mkdir()

    def write(data: list[bytes], first: int) -> None:
        for number, each in enumerate(data, first):
            with (plain / f"{number}.txt").open("wb") as file:
                file.write(each)

    def keep(data: list[bytes]) -> None:
        for each in data:
            one = store.spill(Call(tool="bash", command="make test"))
            one.write(each)
            one.commit(Call(tool="bash", command="make test", exit_status=0))

    spilled, written, hashed, warm = [], [], [], 0.0
    for first in range(0, OUTPUTS, batch):
        data = [b"%08d" % number + base for number in range(first, first + batch)]
        written.append(timed(lambda data=data, first=first: write(data, first)))
        spilled.append(timed(lambda data=data: keep(data)))
        hashed.append(timed(lambda data=data: [hashlib.sha256(each).digest() for each in data]))
        warm = warm if first != OUTPUTS // 10 else peak_megabytes()
    say(f"spill {OUTPUTS:,} × {OUTPUT_BYTES:,} bytes", f"{sum(spilled) / OUTPUTS * 1000:.3f} ms each")
    say("open().write() of the same", f"{sum(written) / OUTPUTS * 1000:.3f} ms each")
    say("sha256 alone", f"{sum(hashed) / OUTPUTS * 1000:.3f} ms each")
    say("ratio (at most 4)", f"{sum(spilled) / sum(written):.2f}")
    say("ratio of the medians of batches", f"{median(spilled) / median(written):.2f}")
    say("memory that the last nine tenths added", f"{peak_megabytes() - warm:.1f} MB")


def rows(directory: Path) -> None:
    store = LocalStore(directory / "rows", max_total_bytes=None)
    first = store.spill(Call())
    first.write(b"x")
    first.commit(Call())

    def fill(index: object) -> None:
        from overspill.store.handles import code_of
        from overspill.store.index import Index

        assert isinstance(index, Index)
        with index.transaction():
            for number in range(ROWS):
                digest = hashlib.sha256(b"%d" % number).hexdigest()
                handle = "ovs_" + code_of(digest)[:10]
                call = Call(tool="bash", command=f"command {number}", session=f"s{number % 50}")
                row = Stored(
                    handle=handle, digest=digest, bytes=number, lines=1, created=time.time() - number,
                    read=time.time() - number, call=call,
                )  # fmt: skip
                index.insert(row, f"{handle}.txt", b"")

    store.run(fill, writing=True)
    handles = [row.handle for row in islice(store.outputs(), 1000)]
    list(islice(store.outputs(), 50))
    say(f"first 50 of {ROWS:,} rows (`ls`)", f"{timed(lambda: list(islice(store.outputs(), 50))) * 1000:.2f} ms")
    say("lookup of a handle", f"{timed(lambda: [store.stored(h) for h in handles]):.4f} ms")
    say("lookup of a prefix", f"{timed(lambda: [store.stored(h[:11]) for h in handles]):.4f} ms")
    say("totals over all rows", f"{timed(store.totals) * 1000:.1f} ms")
    say("all rows", f"{timed(lambda: list(store.outputs())) * 1000:.0f} ms")


def stream(directory: Path) -> None:
    line = b"2026-01-31 23:59:59 INFO worker 17 took 12 ms to answer request %09d for a page that nobody needs\n"
    chunk_lines, total = 10_000, 1_000_000_000
    chunk = b"".join(line % number for number in range(chunk_lines))
    chunks = total // len(chunk)

    def plain() -> None:
        digest = hashlib.sha256()
        with (directory / "plain.txt").open("wb") as file:
            for _ in range(chunks):
                file.write(chunk)
                digest.update(chunk)

    store = LocalStore(directory / "stream", max_total_bytes=None)
    kept: list[Stored] = []

    def keep() -> None:
        one = store.spill(Call())
        for _ in range(chunks):
            one.write(chunk)
        kept.append(one.commit(Call(tool="bash")))

    before = peak_megabytes()
    # The best of two in turns, each on a disk with nothing left to write: the cache of one must not burden the other.
    usual = took = float("inf")
    for turn in range(2):
        os.sync()
        usual = min(usual, timed(plain))
        (directory / "plain.txt").unlink()
        os.sync()
        took = min(took, timed(keep))
        if turn == 0:
            store.remove(kept.pop().handle, reason="bench")
    say("1 GB streamed", f"{took:.2f} s")
    say("write + sha256", f"{usual:.2f} s")
    say("ratio", f"{took / usual:.2f}")
    say("memory it added", f"{peak_megabytes() - before:.1f} MB")
    wanted = 9_000_000
    found: list[bytes] = []

    def seek() -> None:
        number, offset = store.line_offset(kept[0].handle, line=wanted)
        blob = store.open(kept[0].handle)
        rest = blob.read(offset, 2_000_000).split(b"\n")
        found.append(rest[wanted - number])
        blob.close()

    store.line_offset(kept[0].handle, line=1)
    say(f"line {wanted:,} of {kept[0].lines:,}", f"{timed(seek) * 1000:.2f} ms")
    assert found[0] + b"\n" == line % ((wanted - 1) % chunk_lines)


def sparse(directory: Path) -> None:
    store = LocalStore(directory / "sparse", max_total_bytes=None)
    zeros, marks = bytes(64 << 20), [b"first", b"beyond four gibibytes\r\n\x00\xff"]
    one = store.spill(Call())
    one.write(marks[0])
    for _ in range(65):
        one.write(zeros)
    one.write(marks[1])
    row = one.commit(Call())
    blob = store.open(row.handle)
    assert blob.size == row.bytes == len(marks[0]) + 65 * len(zeros) + len(marks[1])
    assert blob.read(0, 5) == marks[0]
    assert blob.read(row.bytes - len(marks[1]), 100) == marks[1]
    digest, at = hashlib.sha256(), 0
    while at < blob.size:
        data = blob.read(at, 64 << 20)
        digest.update(data)
        at += len(data)
    assert digest.hexdigest() == row.digest
    say("read back, byte for byte", f"{row.bytes:,} bytes")


PARTS = {"spill": spill, "rows": rows, "stream": stream, "sparse": sparse}


def main() -> None:
    for name in sys.argv[1:] or PARTS:
        directory = Path(tempfile.mkdtemp(prefix="overspill-bench-", dir=os.environ.get("OVERSPILL_BENCH_DIR")))
        try:
            PARTS[name](directory)
        finally:
            shutil.rmtree(directory)


if __name__ == "__main__":
    main()
