"""What an output is taken for, from its bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill.core.model import Call
from overspill.core.strategies.recognise import form, line_kind

LOG = b"".join(b"2024-05-01 12:%02d:%02d INFO worker: step %d done\n" % (n // 60, n % 60, n) for n in range(200))
TESTS = b"=== RUN   TestA\n--- PASS: TestA (0.00s)\n" * 60 + b"--- FAIL: TestB (0.01s)\n"
BUILD = b"src/a.c:12:5: warning: unused variable 'x'\n   12 |     int x;\n      |         ^\n" * 30
TRACE = b'Traceback (most recent call last):\n  File "/app/a.py", line 3, in f\n    g()\nValueError: no\n' * 20


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
