"""Every view keeps the contract on its form, on damaged forms and on anything else, and states true facts."""

from __future__ import annotations

import base64
import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.strategies.viewing import gap_words, viewed
from overspill.core.model import Budget, Call
from overspill.core.strategies.views import SURE, VIEWS, best_view
from overspill.core.strategies.views.query_terms import query_for

TABLE = b"day,region,price,status\n" + b"".join(
    b"2024-01-%02d,%s,%d,%s\n" % (1 + n % 28, (b"north", b"south")[n % 2], 100 + n % 9, b"ok") for n in range(600)
)
HITS = b"".join(b"src/part%d/file%d.py:%d:    value = compute(%d)\n" % (n % 5, n // 7, 10 + n, n) for n in range(500))
LISTING = b"".join(
    b"tree/dir%d:\ntotal 8\n" % d
    + b"".join(b"-rw-r--r-- 1 root root %d Nov 18 19:19 file%d.txt\n" % (100 + f, f) for f in range(12))
    + b"\n"
    for d in range(60)
)
CODE = b"import os\n\n" + b"".join(
    b"class Thing%d:\n    def run_%d(self):\n        total = 0\n        return total + %d\n\n\n" % (n, n, n)
    for n in range(120)
)
DIFF = b"".join(
    b"diff --git a/f%d.py b/f%d.py\n--- a/f%d.py\n+++ b/f%d.py\n"
    b"@@ -1,3 +1,4 @@ def f():\n same\n-old %d\n+new %d\n+more\n same\n" % (n, n, n, n, n, n)
    for n in range(150)
)
MARKDOWN = b"".join(
    b"## Part %d\n\nText about topic%d goes on.\n\n* a point\n* another\n\n" % (n, n) for n in range(200)
)
HTML = b"<!DOCTYPE html><html><head><title>Manual</title></head><body>\n" + b"".join(
    b"<h2>Part %d</h2>\n<p>Text about topic%d goes on.</p>\n" % (n, n) for n in range(200)
)
SETTINGS = (
    b"".join(b"# what option-%d does\n# in two lines\n# option-%d yes\n" % (n, n) for n in range(150)) + b"port 6379\n"
)
BINARY = (
    b"\x7fELF\x02\x01" + bytes(range(256)) * 60 + b"libonig.so.5 GCC: (Debian 12.2.0) 12.2.0" + bytes(range(256)) * 20
)
BASE64 = base64.encodebytes(b"\x89PNG" + bytes(range(256)) * 60)
JSON = b"[" + b",".join(b'{"id": %d, "name": "n%d"}' % (n, n) for n in range(900)) + b"]"

SAMPLES = {
    "table": TABLE,
    "search": HITS,
    "listing": LISTING,
    "code": CODE,
    "diff": DIFF,
    "markup": MARKDOWN + HTML,
    "settings": SETTINGS,
    "blob": BINARY,
    "json": JSON,
}


@pytest.mark.parametrize(
    ("view", "sample", "command"),
    [
        ("table", TABLE, ""),
        ("search", HITS, "grep -rn value src"),
        ("listing", LISTING, "ls -lR tree"),
        ("code", CODE, "cat thing.py"),
        ("diff", DIFF, "git diff"),
        ("markup", MARKDOWN, "cat README.md"),
        ("markup", HTML, ""),
        ("settings", SETTINGS, "cat app.conf"),
        ("blob", BINARY, ""),
        ("blob", BASE64, ""),
        ("json", JSON, ""),
        (None, b"2024-01-01 12:00:00 INFO started worker\n" * 200, "cat app.log"),
        (None, b"A sentence of prose follows another. " * 200, ""),
    ],
)
def test_forms_are_told_apart(view: str | None, sample: bytes, command: str) -> None:
    assert best_view(sample, Call(command=command)) == view


@pytest.mark.parametrize("name", VIEWS)
def test_no_sniff_is_surer_than_its_view_says(name: str) -> None:
    commands = ("", "cat thing.py", "cat README.md", "cat app.conf", "ls -lR", "grep -rn x", "git diff", "ps aux")
    calls = [Call(command=command) for command in commands]
    for sample in SAMPLES.values():
        assert max(VIEWS[name].sniff(sample, call) for call in calls) <= VIEWS[name].surest
        for call in calls:
            surest = max(view.sniff(sample, call) for view in VIEWS.values())
            found = best_view(sample, call)
            assert surest == VIEWS[found].sniff(sample, call) if found else surest < SURE


def test_every_view_has_a_sample() -> None:
    assert SAMPLES.keys() == VIEWS.keys()


QUESTIONS = st.sampled_from(["", "where is topic7 and run_42?", "largest price in the north"])
ROOMS = st.sampled_from(
    [Budget(max_tokens=300), Budget(max_tokens=900, max_bytes=3_000), Budget(max_lines=30, max_bytes=4_000)]
)
JUNK = st.sampled_from(
    [b"\x00", b"\xff\xfe", b"\n", b"\x1b[31m", b'"', b"<", b"@@ ", "漢字é́".encode(), b"x" * 3_000, b",,\t|"]
)


@pytest.mark.parametrize("view", VIEWS)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), question=QUESTIONS, room=ROOMS)
def test_damaged_forms_keep_the_contract(view: str, data: st.DataObject, question: str, room: Budget) -> None:
    source = bytearray(SAMPLES[view])
    for at in data.draw(st.lists(st.integers(0, len(source)), max_size=6)):
        source[at : at + data.draw(st.integers(0, 40))] = data.draw(JUNK)
    cut = data.draw(st.integers(len(source) // 2, len(source)))
    viewed(view, bytes(source[:cut]), room=room, question=question)


PIECES = st.sampled_from(
    [b"\x00", b"\x1b", b"\x1b]", b"\x1bP", b"\x1b[", b"\x07", b"\x1b\\", b"\n", b"\r", b"\r\n", b'"', b"{", b"}", b"[",
     b"]", b",", b":", b"\\", b"\xff", b"\xe2\x80\x8d", b"\xcc\x81", b"a", b"the end ", b"<", b"\t", b"\b", b"-",
     b"@@ -1 ", b"\xed\xa0\x80", b"\\u", b"d83d", b"a/b.py:3:", "🇩🇪".encode(), "\u0e33".encode(), b"x" * 400]
)  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(PIECES, st.sampled_from([1, 2, 40, 900])), min_size=2, max_size=30))
@example([(b"\x00", 900), (b"\x1b]", 1), (b"\x00", 40), (b"\n", 1), (b"\x07", 1), (b"\n", 2), (b"\x00", 900)])
@example([(b"\x00", 1), (b"\xe2\x80\x8d", 2)])
@example([(b"{", 1), (b"a", 900), (b"[{[aa{aa}}}}", 1), (b"a", 40), (b"[a{{{{aa[[aa{", 1), (b"a{aaa{[[a}}}}", 1)])
def test_anything_at_all_keeps_the_contract(view: str, pieces: list[tuple[bytes, int]]) -> None:
    source = b"".join(piece * times for piece, times in pieces)
    viewed(view, source * (1 + 6_000 // len(source)) + b" and so on\n" * 300 + b"the end", question="the end?")


@pytest.mark.parametrize("view", VIEWS)
def test_chunks_are_invisible(view: str) -> None:
    source = SAMPLES[view]
    assert viewed(view, source, chunk=101).text == viewed(view, source).text


def test_a_table_keeps_its_header_and_the_rows_that_differ() -> None:
    rows = TABLE.splitlines(keepends=True)
    rows[311] = b"2024-01-04,north,104,cancelled\n"
    rows[402] = b"2024-01-05,south,9999,ok\n"
    excerpt = viewed("table", b"".join(rows)).excerpt
    assert excerpt.startswith("day,region,price,status\n")
    assert "cancelled" in excerpt
    assert "9999" in excerpt


def test_ranges_of_a_tables_gaps_are_true() -> None:
    bounded = viewed("table", TABLE)
    rows = TABLE.decode().splitlines()
    stated = 0
    for first, last, text in gap_words(bounded):
        for low, high in re.findall(r"price (\d+)–(\d+)", text):
            prices = [int(row.split(",")[2]) for row in rows[first - 1 : last]]
            assert (int(low), int(high)) == (min(prices), max(prices))
            stated += 1
    assert stated


def test_counts_of_search_gaps_are_true() -> None:
    bounded = viewed("search", HITS, room=Budget(max_tokens=900))
    lines = HITS.decode().splitlines()
    stated = 0
    for first, last, text in gap_words(bounded):
        counts = Counter(line.split(":")[0] for line in lines[first - 1 : last])
        for path, count in re.findall(r"(\S+) ×(\d+)", text):
            if path in counts:
                assert counts[path] == int(count)
                stated += 1
    assert stated


def test_listings_keep_errors_and_odd_ones() -> None:
    lines = LISTING.splitlines(keepends=True)
    lines[200] = b"ls: cannot open directory 'tree/secret': Permission denied\n"
    lines[301] = b"-rwsr-xr-x 1 root root 7340032 Nov 18 19:19 helper\n"
    excerpt = viewed("listing", b"".join(lines)).excerpt
    assert "Permission denied" in excerpt
    assert "helper" in excerpt


def test_a_branch_that_is_asked_for_brings_what_it_hangs_on() -> None:
    tree = "".join(f"├─┬ top{n}@1.0\n│ └─┬ middle{n}@1.0\n│   └── leaf{n}@1.0\n" for n in range(300)).encode()
    excerpt = viewed("listing", tree, question="through which package does leaf177 come in?").excerpt
    assert "top177" in excerpt
    assert "middle177" in excerpt


def test_code_that_is_asked_for_is_shown_with_its_body() -> None:
    excerpt = viewed("code", CODE, question="what does run_42 return?").excerpt
    assert "def run_42(self):" in excerpt
    assert "return total + 42" in excerpt


def test_the_line_that_defines_a_name_wins_over_those_that_use_it() -> None:
    filler = b"".join(b"    a%d = b%d\n" % (n, n) for n in range(12))
    uses = b"".join(b"    print(compute_total(%d, compute_total))\n" % n + filler for n in range(40))
    source = uses + b"compute_total = partial(subtract, first=None, second=None, strict=False)\n" + filler + uses
    assert "partial(subtract" in viewed("code", source, question="what is compute_total?").excerpt


@pytest.mark.parametrize("name", [b"RemovedInDjango41Warning", b"django_41", b"see django-41"])
def test_words_that_a_name_joins_find_it(name: bytes) -> None:
    query = query_for("what goes in Django 4.1?")
    assert any(query.terms[term].text.endswith("41") for _, terms in query.hits(name) for term in terms)


def test_a_setting_that_is_asked_for_is_shown_though_it_is_a_comment() -> None:
    prose = b"".join(
        b"# about cache-mode, and what the cache-mode of part %d does\n# goes on\n\n" % n for n in range(150)
    )
    source = prose + b"# cache-mode write-back\n\n" + prose
    assert "write-back" in viewed("settings", source, question="what is the default cache-mode?").excerpt


def test_scripts_and_drawings_of_a_page_are_no_answer() -> None:
    words = b"the quota limit is 5 quota limit " * 8
    page = HTML.replace(b"topic77 goes on.", b"the quota limit is 12.")
    page = page.replace(
        b"<body>\n", b"<body><script>\n" + words + b"\n</script><svg><text>" + words + b"</text></svg>\n"
    )
    excerpt = viewed("markup", page, question="what is the quota limit?").excerpt
    assert "limit is 12" in excerpt
    assert "limit is 5" not in excerpt


def test_headings_of_a_page_in_one_line_are_found() -> None:
    bounded = viewed("markup", HTML.replace(b"\n", b""), question="what does Part 133 say?")
    assert "topic133" in bounded.excerpt


def test_definitions_in_a_gap_stand_on_the_lines_that_are_said() -> None:
    lines = CODE.decode().splitlines()
    stated = 0
    for _, _, text in gap_words(viewed("code", CODE)):
        for name, line in re.findall(r"\b(Thing\d+|run_\d+) (\d+)\b", text):
            assert name in lines[int(line) - 1]
            stated += 1
    assert stated


def test_the_hunk_that_is_asked_for_is_shown() -> None:
    changed = DIFF.replace(b"+new 77\n", b"+    raise TimeoutError('too slow')\n")
    assert "+    raise TimeoutError" in viewed("diff", changed, question="where is TimeoutError raised now?").excerpt


def test_strings_of_a_binary_are_shown() -> None:
    excerpt = viewed("blob", BINARY).excerpt
    assert "libonig.so.5" in excerpt
    assert "GCC: (Debian 12.2.0)" in excerpt
