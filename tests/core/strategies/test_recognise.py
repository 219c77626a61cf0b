"""What an output is taken for, from its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill import MemoryStore, bound
from overspill.core.model import Call
from overspill.core.strategies.recognise import form, line_kind

LOG = b"".join(b"2024-05-01 12:%02d:%02d INFO worker: step %d done\n" % (n // 60, n % 60, n) for n in range(200))
TESTS = b"=== RUN   TestA\n--- PASS: TestA (0.00s)\n" * 60 + b"--- FAIL: TestB (0.01s)\n"
BUILD = b"src/a.c:12:5: warning: unused variable 'x'\n   12 |     int x;\n      |         ^\n" * 30
TRACE = b'Traceback (most recent call last):\n  File "/app/a.py", line 3, in f\n    g()\nValueError: no\n' * 20
APT = (
    b"Get:12 http://deb.example bookworm/main amd64 git amd64 [7,000 kB]\nUnpacking git (1:2.39) ...\nSetting up git\n"
    * 30
)
MAKE = (
    b"make[2]: Entering directory '/src'\n  CC       main.o\ngcc -O2 -c util.c -o util.o\n[ 45%] Built target core\n"
    * 30
)
DOCKER = b"#5 [2/4] RUN pip install flask\n#5 0.412 Collecting flask\n#5 DONE 3.1s\nStep 3/9 : COPY . .\n" * 30
DOTS = b"  50K .......... .......... .......... .......... ..........  1% 14.1M 2s\n" * 60
TRACES = {
    "java": b'Exception in thread "main" IllegalStateException: no\n\tat a.B.c(B.java:3)\nCaused by: d.E: f\n',
    "javascript": b"TypeError: x is not a function\n    at run (/app/a.js:3:5)\n    at main (/app/b.js:9:1)\n",
    "go": b"panic: no\n\ngoroutine 1 [running]:\nmain.run(0x1)\n\t/app/main.go:12 +0x1d\n",
    "rust": b"thread 'main' panicked at src/main.rs:3:5:\nstack backtrace:\n   1: app::run\n             at ./a.rs:3\n",
    "c++": b"#0  0x00007f11 in run (x=1) at a.cc:3\n#1  0x00007f12 in main () at b.cc:9\n",
}


@pytest.mark.parametrize(
    ("sample", "kind"),
    [
        (APT, "build log"),
        (MAKE, "build log"),
        (DOCKER, "build log"),
        (DOTS, "progress"),
        *((trace * 20, "stack trace") for trace in TRACES.values()),
    ],
)
def test_builds_progress_and_traces_are_told_apart(sample: bytes, kind: str) -> None:
    assert line_kind(sample) == kind
    assert form(sample, Call()).view is None


@pytest.mark.parametrize(
    ("sample", "kind"), [(LOG, "log"), (TESTS, "test run"), (BUILD, "diagnostics"), (TRACE, "stack trace"), (b"", "")]
)
def test_lines_say_what_they_are(sample: bytes, kind: str) -> None:
    assert line_kind(sample) == kind


@pytest.mark.parametrize("sample", [LOG, TESTS, BUILD, TRACE])
def test_no_view_reads_what_is_read_by_line(sample: bytes) -> None:
    assert form(sample, Call()).view is None


def test_a_document_that_goes_on_as_a_log_is_no_json() -> None:
    sample = b'{"status": "success", "pod": "a", "code": 0}\n' + LOG
    assert form(sample, Call()).view is None


def test_forms_with_a_view() -> None:
    table = b"name,city,height\n" + b"".join(b"n%d,c%d,%d\n" % (n, n % 7, n * 3) for n in range(300))
    json = b'{"items": [' + b", ".join(b'{"id": %d, "name": "n%d"}' % (n, n) for n in range(300)) + b"]}"
    diff = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n" * 40
    assert form(table, Call()).name == "table"
    assert form(json, Call()).exclusive
    assert form(diff, Call()).name == "diff"


@given(st.binary(max_size=400), st.integers(1, 50))
def test_any_bytes_have_an_answer(piece: bytes, times: int) -> None:
    form(piece * times, Call(command="cat x"))


def test_hits_whose_lines_end_in_a_colon_are_no_directories() -> None:
    hits = b"".join(b"app/models/part%d.py:%d:    def as_sql(self, compiler):\n" % (n % 30, n) for n in range(200))
    assert form(hits, Call()).name == "search"
    folders = b"".join(b"./app/part%d:\ntotal 8\n-rw-r--r-- 1 me me 12 May  1 12:00 a.py\n\n" % n for n in range(60))
    assert form(folders, Call()).name == "listing"


KERNEL = b"".join(b"[%5d.%06d] pci 0000:00:1f.2: reg 0x10: [io 0xc0b0-0xc0b7]\n" % (n, n) for n in range(300))
NINJA = b"".join(b"[%d/300] Building CXX object src/unit%d.o\n" % (n, n) for n in range(300))
JSON_LINES = b"".join(b'[%d, "pci", [1, 2]]\n[%d.5, 2]\n' % (n, n) for n in range(300))


@pytest.mark.parametrize(("sample", "name"), [(KERNEL, "log"), (NINJA, "build log"), (JSON_LINES, "json")])
def test_lines_that_begin_with_a_number_in_brackets_are_no_documents(sample: bytes, name: str) -> None:
    assert form(sample, Call()).name == name


STAMPS = [1_732_060_800.123 + n for n in range(3_000)]


@pytest.mark.parametrize(
    "document",
    [
        {"msg": "ok", "code": 0, "data": [{"id": n} for n in range(900)]},
        {"time": 12, "data": [{"id": n} for n in range(900)]},
        {"values": [[stamp, "1"] for stamp in STAMPS]},
        [1.5e10, -3, 0] * 3_000,
        STAMPS,
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_no_key_or_number_makes_one_document_a_log(document: Any, indent: int | None) -> None:
    assert form(json.dumps(document, indent=indent).encode(), Call()).name == "json"


def test_lines_of_json_that_bear_levels_are_a_log() -> None:
    lines = "".join(json.dumps({"level": "info", "ts": stamp, "msg": "served"}) + "\n" for stamp in STAMPS)
    assert form(lines.encode(), Call()).name == "log"


def test_the_odd_one_in_the_data_of_a_reply_is_shown() -> None:
    items = [{"id": n, "name": f"u{n}", "state": "fraud_hold" if n == 700 else "ok"} for n in range(1_500)]
    text = bound(json.dumps({"msg": "ok", "code": 0, "data": items}), max_tokens=500, store=MemoryStore()).text
    assert "fraud_hold" in text


def test_calls_are_no_table_whose_cells_are_parted_by_commas() -> None:
    calls = b"".join(b'read(%d, "ab%d", 4096) = %d\n' % (n % 7, n, n % 30) for n in range(400))
    assert form(calls, Call(command="strace ls")).name != "table"
    rows = b"".join(b'%d,"a, b",%d,%d\n' % (n, n % 7, n % 30) for n in range(400))
    assert form(b'id,"name (last, first)",price (USD),"n"\n' + rows, Call()).name == "table"
