"""What ``auto`` keeps: the promises a reader relies on, on the final text."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overspill.core.capture import Capture, Cut
from overspill.core.model import Bounded, Budget, Call, Span, Totals
from overspill.core.notice import Kept
from overspill.core.policy import Policy
from overspill.core.render import render
from overspill.core.strategies.auto import Auto
from overspill.core.strategies.salience import features, model, units


def shown(data: bytes, tokens: int = 500, call: Call | None = None, chunk: int = 0) -> Bounded:
    policy = Policy(budget=Budget(max_tokens=tokens), strategy=Auto())
    capture = Capture(policy, call or Call())
    for at in range(0, len(data), chunk or len(data)):
        capture.feed(data[at : at + (chunk or len(data))])
    result = capture.finish()
    assert isinstance(result, Cut)
    assert result.fault is None, result.fault
    return render(result, Kept("ovs_test000000"), policy)


def ordinary(lines: int) -> list[bytes]:
    return [
        b"2024-05-01 12:%02d:%02d INFO worker-%d handled request %d in %d ms\n"
        % (n // 60 % 60, n % 60, n % 7, n * 7919 % 10007, n % 83)
        for n in range(lines)
    ]


def test_the_error_in_the_middle_is_kept() -> None:
    lines = ordinary(4000)
    lines[1987] = b"2024-05-01 12:33:07 ERROR storage: checksum mismatch in segment 9\n"
    assert "checksum mismatch in segment 9" in shown(b"".join(lines), 300).text


def test_repeats_do_not_crowd_out_the_one_fatal() -> None:
    lines = ordinary(3000)
    for n in range(200, 2900, 18):
        lines[n] = b"2024-05-01 12:00:00 ERROR pool: connection %d timed out\n" % n
    lines[1500] = b"2024-05-01 12:00:00 FATAL journal: the volume is gone\n"
    text = shown(b"".join(lines), 400).text
    assert "the volume is gone" in text
    assert "timed out" in text


def test_each_kind_of_error_is_shown() -> None:
    lines = ordinary(3000)
    kinds = [b"disk quota exceeded", b"certificate rejected", b"schema drifted", b"lease was lost", b"peer unreachable"]
    for n, kind in enumerate(kinds):
        for again in range(40):
            lines[300 + 500 * n + again] = b"2024-05-01 12:00:00 ERROR mod%d: %s (%d)\n" % (n, kind, again)
    text = shown(b"".join(lines), 700).text
    assert [kind for kind in kinds if kind.decode() not in text] == []


def test_a_trace_keeps_its_message_and_the_frame_that_raised() -> None:
    trace = (
        b"Traceback (most recent call last):\n"
        b'  File "/usr/lib/python3/dist-packages/runner.py", line 8, in run\n    call()\n'
        b'  File "/app/orders/billing.py", line 41, in charge\n    total = price * rate\n'
        b"TypeError: unsupported operand type(s) for *: 'str' and 'Rate'\n"
    )
    text = shown(b"".join(ordinary(1500)) + trace + b"".join(ordinary(1500)), 500).text
    assert "unsupported operand type(s)" in text
    assert "/app/orders/billing.py" in text


def test_what_was_asked_is_found() -> None:
    lines = ordinary(3000)
    lines[2222] = b"2024-05-01 12:00:00 INFO ledger: rate for tenant heliotrope set to 4.25\n"
    data = b"".join(lines)
    text = shown(data, 400, Call(question="What rate does the tenant heliotrope have?")).text
    assert "heliotrope set to 4.25" in text


def test_a_window_of_an_endless_line_is_found() -> None:
    data = b"abc=1&def=2&" * 60_000 + b"FATAL: the token heliotrope expired; " + b"ghi=3&jkl=4&" * 60_000
    assert "the token heliotrope expired" in shown(data, 400).text


def test_an_error_in_a_table_is_kept() -> None:
    rows = [b"id,name,state,ms\n", *(b"%d,job%d,done,%d\n" % (n, n, n * 37 % 101) for n in range(3000))]
    rows.insert(1700, b"ERROR: the export stopped: disk quota exceeded\n")
    assert "disk quota exceeded" in shown(b"".join(rows), 500).text


def test_headline_is_a_line_of_the_source() -> None:
    lines = ordinary(3000)
    lines[700] = b"2024-05-01 12:00:00 ERROR   storage:  checksum mismatch\n"
    bounded = shown(b"".join(lines), 400)
    found = re.fullmatch(r"line (\d+): (.*)", bounded.headline)
    assert found
    assert " ".join(lines[int(found[1]) - 1].decode().split()).startswith(found[2])


def test_one_failure_is_the_key_finding_and_of_hundreds_it_is_how_many() -> None:
    passed = [b"test_case_%d (suite.Ledger) ... ok\n" % n for n in range(1500)]
    cause = b"AssertionError: 24683 != 18513 : moving an entry must not change the balance\n"
    one = b"".join(
        [*passed, b"FAIL: test_moving (suite.Ledger)\n", cause, b"\nRan 1501 tests\n\nFAILED (failures=1)\n"]
    )
    assert "24683 != 18513" in shown(one, 400).headline
    many = b"".join(b"FAILED suite.py::test_%d - KeyError: %d\n" % (n, n) for n in range(300))
    told = shown(b"".join(passed) + many + b"== 300 failed, 1500 passed in 3.1s ==\n", 400).headline
    assert "300 failed" in told


def test_words_of_trouble_in_code_and_documents_are_no_key_finding() -> None:
    code = "".join(f"def handle_error_{n}(error):\n    raise FatalError('error {n}')\n\n" for n in range(400)).encode()
    assert shown(code, 400, Call(command="cat errors.py")).headline == "400 definitions in 1200 lines"
    packages = json.dumps({f"error-{n}": {"name": f"fatal-error-{n}"} for n in range(900)}, indent=1).encode()
    assert shown(packages, 400).headline == ""


def test_the_key_finding_is_free_of_colours() -> None:
    lines = ordinary(2000)
    lines[900] = b"\x1b[37;40mgyp\x1b[0m \x1b[31;40mERR!\x1b[0m \x1b[35mconfigure error\x1b[0m\n"
    bounded = shown(b"".join(lines), 400)
    assert bounded.headline == "line 901: gyp ERR! configure error"


def test_gaps_tell_the_errors_they_hold() -> None:
    lines = ordinary(3000)
    errors = list(range(400, 2600, 25))
    for n in errors:
        lines[n - 1] = b"2024-05-01 12:00:00 ERROR pool: connection timed out after 30 s\n"
    bounded = shown(b"".join(lines), 400)
    told = 0
    for part in bounded.parts:
        if part.gap:
            inside = [n for n in errors if part.gap.first_line <= n <= part.gap.last_line]
            found = re.search(r"(\d+) errors: (\d+)", part.text)
            if found:
                told += 1
                assert int(found[1]) == len(inside)
                assert int(found[2]) == inside[0]
    assert told


def test_passed_tests_named_after_errors_are_no_findings() -> None:
    passed = b"".join(b"test_error_case_%d (suite.ErrorTests) ... ok\n" % n for n in range(2000))
    failed = (
        b"FAIL: test_totals (suite.Books)\nAssertionError: 3 != 4\n\nRan 2001 tests in 3.1s\n\nFAILED (failures=1)\n"
    )
    bounded = shown(passed + failed, 300)
    assert "AssertionError: 3 != 4" in bounded.text
    assert "FAILED (failures=1)" in bounded.text
    assert "... ok" not in bounded.headline


@pytest.mark.parametrize("chunk", [7_001, 131_072, 1_000_003])
def test_chunks_are_invisible_on_a_long_stream(chunk: int) -> None:
    lines = ordinary(60_000)
    lines[31_000] = b"2024-05-01 12:00:00 FATAL journal: the volume is gone\n"
    data = b"".join(lines)
    whole = shown(data, 500)
    assert "the volume is gone" in whole.text
    assert shown(data, 500, chunk=chunk).text == whole.text


def test_memory_does_not_grow_with_the_output() -> None:
    def peak(times: int) -> int:
        capture = Capture(Policy(budget=Budget(max_tokens=500), strategy=Auto()))
        block = b"".join(ordinary(4_000))
        tracemalloc.start()
        try:
            for number in range(times):
                capture.feed(block.replace(b"worker", b"w%d" % number))
            capture.finish()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(60) < peak(20) * 1.4


def test_what_breaks_a_document_off_is_told_of() -> None:
    """Where a view has nothing to say of a gap, its lines do, though none of them was weighed before."""
    document = json.dumps([{"id": n, "state": "ok"} for n in range(2_000)], indent=1).encode()
    cut = document[: len(document) // 2]
    told = shown(cut + b"\n" + b"ERROR the volume is gone\n" * 300 + cut, 1500).text
    assert re.search(r"300 errors: \d+, \d+", told), told


SCRIPT = """
import hashlib, sys
sys.path.insert(0, {tests!r})
from core.strategies.test_auto import Call, SAMPLES, shown, ordinary
lines = ordinary(40_000)
for n in range(100, 39_000, 331):
    lines[n] = b"2024-05-01 ERROR mod%d: thing %d failed\\n" % (n % 13, n)
for sample in (b"".join(lines), b"".join(SAMPLES), *SAMPLES):
    for question in ("", "What failed, and what was it that items said?"):
        print(hashlib.sha256(shown(sample, 300, Call(question=question)).text.encode()).hexdigest())
"""


def test_the_same_in_every_process() -> None:
    tests = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    seen = set()
    for seed in ("0", "1", "77"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(tests=tests)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        seen.add(done.stdout)
    assert len(seen) == 1


SAMPLES = (
    b'{"items": [' + b", ".join(b'{"id": %d, "state": "ok", "note": "n%d"}' % (n, n) for n in range(400)) + b"]}\n",
    b"id,name,ms\n" + b"".join(b"%d,n%d,%d\n" % (n, n, n * 31 % 97) for n in range(600)),
    b"diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@ def f():\n a\n-b\n+c\n" * 60,
    b"<html><body><h1>Title</h1>" + b"<p>Some <b>words</b> here.</p>\n" * 300 + b"</body></html>\n",
    b"# Title\n\n## Part\n\nSome text.\n\n```\ncode\n```\n" * 80,
    b"src/a.py:12:def f(x):\nsrc/b/c.py:7:    raise ValueError\n" * 100,
    b"-rw-r--r-- 1 u g 120 Nov 18 19:19 a.py\ntests/x:\ntotal 8\n" * 80,
    b"def f(x):\n    return x\n\n\nclass A:\n    pass\n\n" * 100,
    b"".join(ordinary(300)),
    b"=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.01s)\n    a_test.go:3: no\n" * 60,
    b" 10%\r 20%\r 30%\rdone\n" * 200,
    b"make[2]: Entering directory '/src'\n  CC       main.o\na.c:3:1: error: no such thing\n    3 | x\n      | ^\n"
    * 60,
    b'Traceback (most recent call last):\n  File "/app/a.py", line 3, in f\n    g()\nValueError: no\n' * 60,
    b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk\n" * 100,
    bytes(range(256)) * 60,
    b"It was a long day, and nothing much came of it in the end; so they went home.\n\n" * 80,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mutated_forms_stay_within_the_contract(data: st.DataObject) -> None:
    parts = []
    for _ in range(data.draw(st.integers(1, 3))):
        sample = data.draw(st.sampled_from(SAMPLES))
        first = data.draw(st.integers(0, len(sample) // 2))
        last = data.draw(st.integers(first + 1, len(sample)))
        parts.append(sample[first:last])
    mixed = b"".join(parts) + data.draw(st.binary(max_size=30))
    mixed *= data.draw(st.integers(1, 3))
    tokens = data.draw(st.sampled_from([200, 500, 1500]))
    call = Call(question=data.draw(st.sampled_from(["", "where does f return x?", "which state is n17 in?"])))
    policy = Policy(budget=Budget(max_tokens=tokens), strategy=Auto())
    capture = Capture(policy, call)
    capture.feed(mixed)
    result = capture.finish()
    if not isinstance(result, Cut):
        return
    assert result.fault is None, result.fault
    bounded = render(result, Kept("ovs_test000000"), policy)
    assert policy.measure.fits(bounded.text, policy.budget)
    end = 0
    for part in bounded.parts:
        if part.span:
            assert mixed[part.span.start : part.span.end] == part.span.data
            assert part.span.start >= end
            end = part.span.end
    assert bounded.kept_bytes > 0


def test_the_one_value_that_differs_is_shown() -> None:
    lines = [b"GET /items/%d 200 done in %d ms\n" % (n, 40 + n * 7919 % 31) for n in range(3000)]
    lines[1777] = b"GET /items/1777 418 done in 52 ms\n"
    assert "/items/1777 418" in shown(b"".join(lines), 400).text


def test_the_slowest_stands_out_however_its_name_is_made() -> None:
    lines = [
        b'{"level":30,"time":%d,"reqId":"req-%s","took":%d.5,"msg":"done"}\n'
        % (1742221183966 + n, b"abc"[n % 3 : n % 3 + 1] if n % 2 else b"%dx" % n, 90 + n * 7919 % 41)
        for n in range(3000)
    ]
    lines[1203] = b'{"level":30,"time":1742221185169,"reqId":"req-b","took":7196.25,"msg":"done"}\n'
    lines[1703] = b'{"level":30,"time":1742221185669,"reqId":"req-c","took":6047.25,"msg":"done"}\n'
    data = b"".join(lines)
    found = features.gather(units.cut([Span(0, data, 1)]), None, None, Call(), Totals(len(data), 3000))
    outliers = found.columns[features.NAMES.index("outlier")]
    assert [index for index, grade in enumerate(outliers) if grade == 4] == [1203, 1703]
    text = shown(data, 500).text
    assert '"took":7196.25' in text
    assert '"took":6047.25' in text


def test_a_failed_run_raises_the_evidence_of_failure() -> None:
    evidence = {}
    for status in (None, 0, 1):
        data = b"step a went well\nERROR step b broke\nstep c went well\n"
        found = features.gather(
            units.cut([Span(0, data, 1)]), None, None, Call(exit_status=status), Totals(len(data), 3)
        )
        scores = model.scores(found.columns, model.learned()["plain"])
        evidence[status] = scores[1] - scores[0]
    assert evidence[0] < evidence[None] < evidence[1]


def test_the_headline_of_a_panic_is_what_it_says_not_the_signal_below() -> None:
    died = (
        b"panic: runtime error: invalid memory address or nil pointer dereference\n"
        b"[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x4981a6]\n\ngoroutine 1 [running]:\n"
        b"main.run(0x1)\n\t/app/main.go:12 +0x1d\nexit status 2\n"
    )
    bounded = shown(b"".join(ordinary(2000)) + died, 500, Call(exit_status=2))
    assert bounded.headline.startswith("line 2001: panic: runtime error")


def test_what_a_probe_finds_missing_is_no_error_of_a_command_that_succeeded() -> None:
    probes = b"".join(b"  CC foo%d.o\n  checking for thing%d.h... no\n" % (n, n) for n in range(1000))
    succeeded = shown(probes, 500, Call(command="make", exit_status=0))
    assert succeeded.headline == ""
    assert "error" not in succeeded.text
    assert "... no" in shown(probes, 500, Call(command="./configure", exit_status=1)).headline


def test_a_headline_does_not_contradict_the_status() -> None:
    """What is called the key finding of a run that failed is no success, of one that went well no failure told of."""
    lines = [b"building part %d ... ok\n" % n for n in range(2000)]
    lines[900] = b"test_error_is_raised ... ok\n"
    for status in (0, 1):
        bounded = shown(b"".join(lines), 300, Call(exit_status=status))
        assert bounded.headline == ""


KINDS = st.sampled_from(
    [
        b"12:00:%02d INFO worker handled request %d\n",
        b"12:00:%02d ERROR pool lost connection %d\n",
        b"=== section of %d things ===\n",
        b"compiling unit %d of many\n",
        b"\n",
    ]
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(KINDS, st.integers(20, 120)), min_size=6, max_size=14))
def test_what_a_gap_is_said_to_hold_is_recomputed_from_the_source(runs: list[tuple[bytes, int]]) -> None:
    made = [kind for kind, times in runs for _ in range(times)]
    lines = [
        kind % ((n % 60, n) if kind.count(b"%") == 2 else n) if b"%" in kind else kind for n, kind in enumerate(made)
    ]
    if sum(map(len, lines)) < 9_000:
        return
    for part in shown(b"".join(lines), 400).parts:
        if part.gap is None:
            continue
        held = [line.decode() for line in lines[part.gap.first_line - 1 : part.gap.last_line]]
        for words, count in re.findall(r"“([^”]+)” ×(\d+)", part.text):
            assert sum(words in line for line in held) == int(count)
        for words, line in re.findall(r"“([^”…]+)” in (\d+)", part.text):
            assert words in lines[int(line) - 1].decode()
            assert part.gap.first_line <= int(line) <= part.gap.last_line
        for count, first in re.findall(r"(\d+) errors: (\d+)", part.text):
            errors = [n for n, line in enumerate(held, part.gap.first_line) if "ERROR" in line]
            assert (len(errors), errors[0]) == (int(count), int(first))


def test_a_gap_of_one_form_says_which_and_how_many() -> None:
    lines = ordinary(3000)
    told = [re.search(r"“([^”]+)” ×(\d+)", part.text) for part in shown(b"".join(lines), 400).parts if part.gap]
    assert any(found and found[1] == "handled request" and int(found[2]) > 1000 for found in told)


def test_lines_are_weighed_beside_a_view_that_shares_and_not_beside_one_that_stands_alone() -> None:
    document = json.dumps([{"id": n, "state": "ok" if n != 700 else "failed"} for n in range(1_500)], indent=1).encode()
    table = b"id,name,state\n" + b"".join(b"%d,n%d,ok\n" % (n, n % 7) for n in range(3_000))
    for source, alone in ((document, True), (table, False)):
        policy = Policy(budget=Budget(max_tokens=400))
        capture = Capture(policy, Call())
        capture.feed(source)
        cut = capture.finish()
        assert isinstance(cut, Cut)
        render(cut, Kept("ovs_test000000"), policy)
        assert ("_weighed" in vars(cut.selection)) is not alone
