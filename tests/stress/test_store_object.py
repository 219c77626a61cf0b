"""One output of a gigabyte in a real S3 bucket: up in parts and down by ranges, in the memory of a few parts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))

from places import s3_url

pytestmark = pytest.mark.stress
pytest.importorskip("obstore")
__all__ = ["s3_url"]

CODE = """
import hashlib, json, resource, sys
from overspill import Budget, Policy, open_store
from overspill.core.model import Call
from overspill.retrieve import read
from overspill.store.object_blobs import ObjectBlob

megabytes = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
line = b"2026-01-31 23:59:59 INFO worker 17 took 12 ms to answer request %09d for a page that nobody needs\\n"
blobs = []
made, ObjectBlob.__init__ = ObjectBlob.__init__, lambda self, *values: (made(self, *values), blobs.append(self))[0]

def chunk(first):
    return b"".join(line % number for number in range(first, first + 10_000))

store = open_store(sys.argv[1])
spill, digest = store.spill(Call(tool="bash")), hashlib.sha256()
spill.write(chunk(1))
digest.update(chunk(1))
before = megabytes()
for first in range(10_001, 10_000_001, 10_000):
    data = chunk(first)
    spill.write(data)
    digest.update(data)
row = spill.commit(Call(tool="bash"))
up = megabytes() - before
other = open_store(sys.argv[1])
answer = read(other, row.handle, around=9_000_000, policy=Policy(budget=Budget(max_bytes=4_000)))
assert b"%09d" % 9_000_000 in answer.text.encode(), answer.text
fetched = sum(blob.fetched_bytes for blob in blobs)
again, blob = hashlib.sha256(), other.open(row.handle)
for start in range(0, blob.size, 4 << 20):
    again.update(blob.read(start, 4 << 20))
assert again.hexdigest() == digest.hexdigest() == row.digest
print(json.dumps({"bytes": row.bytes, "lines": row.lines, "fetched for line 9,000,000": fetched,
                  "MB added up": round(up, 1), "MB added up and down": round(megabytes() - before, 1)}))
"""


def test_a_gigabyte_up_and_down(s3_url: str) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, s3_url], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    facts = json.loads(done.stdout)
    print(facts)
    assert facts["lines"] == 10_000_000
    assert facts["bytes"] > 10**9 * 0.9
    assert facts["fetched for line 9,000,000"] < 4_000_000
    assert facts["MB added up and down"] < 150
