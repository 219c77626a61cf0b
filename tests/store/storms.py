"""Ill treatment of a local store, in any length: processes killed at random moments, crowds on one directory."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from overspill.core.model import Call
from overspill.errors import ExpiredHandle
from overspill.store import LocalStore
from overspill.store.contract import keep, whole

END = b"\nEND OF OUTPUT\n"


def output(number: int, size: int) -> bytes:
    """An output that can be told whole from cut."""
    line = b"output %d, and a line of it\n" % number
    return line * (size // len(line) + 1) + END


# -- killed at random moments ------------------------------------------------------------------------


def spill_until_killed(place: str, seed: str) -> None:
    chance, store = random.Random(seed), LocalStore(place, max_outputs=400)
    print("ready", flush=True)
    for number in range(10**9):
        data = output(chance.randrange(10**6), chance.choice([200, 60_000, 1_500_000]))
        spill = store.spill(Call(tool="bash"))
        for start in range(0, len(data), 40_000):
            spill.write(data[start : start + 40_000])
        row = spill.commit(Call(tool="bash", command=f"command {number}"))
        print(row.handle, flush=True)
        if number % 7 == 6:
            store.remove(row.handle, reason="test")
            print("-" + row.handle, flush=True)


def kill_storm(place: Path, *, kills: int, seed: int) -> int:
    """Kills as many writers; checks after each that what is listed is whole and what was promised is there."""
    chance, acknowledged = random.Random(seed), 0
    checked: set[str] = set()
    for kill in range(kills):
        writer = subprocess.Popen(
            [sys.executable, __file__, "spill", str(place), f"{seed}-{kill}"], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, 0.15))
        writer.send_signal(signal.SIGKILL)
        said = writer.stdout.read().split("\n")[:-1]
        writer.stdout.close()
        writer.wait()
        store = LocalStore(place, max_outputs=400)
        listed = {row.handle: row for row in store.outputs()}
        promised = [handle for handle in said if handle.startswith("ovs_")]
        acknowledged += len(promised)
        for handle in promised:
            # Removed or expired since, with a tombstone, is fair; unknown would be lost.
            with suppress(ExpiredHandle):
                store.stored(handle)
        for handle in listed.keys() - checked:
            check_whole(store, handle, listed[handle].digest)
            checked.add(handle)
        store.close()
    sweep_and_check(place)
    return acknowledged


def check_whole(store: LocalStore, handle: str, digest: str) -> None:
    try:
        data = whole(store, handle)
    except ExpiredHandle:
        return
    assert data.endswith(END), f"{handle} is cut"
    assert hashlib.sha256(data).hexdigest() == digest, f"{handle} is not what was written"


def sweep_and_check(place: Path) -> None:
    """The next start leaves no remains, and rows and files are one to one."""
    store = LocalStore(place, max_outputs=400)
    keep(store, output(-1, 100))
    store.gc()
    assert list((place / ".store" / "tmp").iterdir()) == []
    rows = list(store.outputs())
    named = sorted(entry.name for entry in store.entries())
    assert len({row.digest for row in rows}) == len(rows)
    assert [name for name in named if not (place / name).is_file()] == []
    stray = {each.name for each in place.iterdir() if each.name.startswith("ovs_")} - set(named)
    assert stray == set()
    for row in rows:
        check_whole(store, row.handle, row.digest)
    assert store.run(lambda index: index.problems()) == []
    before = {row.handle for row in store.outputs()}
    store.rebuild_index()
    assert {row.handle for row in store.outputs()} == before


# -- a crowd -----------------------------------------------------------------------------------------


def jostle(place: str, seed: str, seconds: float) -> None:
    chance = random.Random(seed)
    # Two in one process, which share its locks; what is a quarter of a second old counts as cold.
    stores = [LocalStore(place, max_outputs=60, compress_after=0.25 / 86_400) for _ in range(2)]
    done = {"spilled": 0, "read": 0, "expired": 0, "gc": 0, "rebuilt": 0}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        store = stores[chance.random() < 0.3]
        number = chance.randrange(40) if chance.random() < 0.7 else chance.randrange(10**6)
        data = output(number, 200 + number % 7 * 9_000)
        row = keep(store, data, Call(tool="bash", session=seed), chunk_bytes=20_000)
        done["spilled"] += 1
        try:
            # Expired meanwhile is fair; unknown would be a lost row.
            assert whole(store, row.handle) == data
            done["read"] += 1
        except ExpiredHandle:
            done["expired"] += 1
        step = chance.random()
        if step < 0.05:
            store.gc()
            done["gc"] += 1
        elif step < 0.08:
            rows = list(store.outputs())
            assert len({each.digest for each in rows}) == len(rows)
        elif step < 0.11:
            try:
                with store.lease(row.handle):
                    store.pin(row.handle)
                    store.unpin(row.handle)
                store.remove(row.handle, reason="test")
            except ExpiredHandle:
                done["expired"] += 1
        elif step < 0.12:
            store.close()
        elif step < 0.123:
            store.rebuild_index()
            done["rebuilt"] += 1
    print(json.dumps(done))


def crowd(place: Path, *, processes: int, seconds: float) -> dict[str, int]:
    """Spills and expires one directory from many processes; what they did, all told."""
    running = [
        subprocess.Popen(
            [sys.executable, __file__, "jostle", str(place), str(number), str(seconds)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    totals: dict[str, int] = {}
    for each in running:
        said, faults = each.communicate()
        assert each.returncode == 0, faults
        for what, count in json.loads(said).items():
            totals[what] = totals.get(what, 0) + count
    sweep_and_check(place)
    return totals


if __name__ == "__main__":
    if sys.argv[1] == "spill":
        spill_until_killed(sys.argv[2], sys.argv[3])
    else:
        jostle(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    sys.stdout.flush()
    os._exit(0)
