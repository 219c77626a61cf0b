"""``outline``: what it states is true of the output and can be counted again; it always fits."""

from __future__ import annotations

import csv
import difflib
import json
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overspill.core.model import Budget, Call
from overspill.core.policy import Policy
from overspill.retrieve import Answer, outline, read
from overspill.retrieve.shapes import Shape, Stretch, json_shape, shape_of
from overspill.retrieve.source import Source
from retrieve.kept import BUDGETS, OUTPUTS, keep, tight

PYTHON = "".join(
    f"class Thing{n}:\n    def first(self):\n        return {n}\n\n    def second(self, value):\n"
    f"        if value:\n            raise ValueError(value)\n        return value\n\n\n"
    for n in range(120)
)
DIFF = "".join(
    f"diff --git a/src/file{n}.py b/src/file{n}.py\nindex 1..2 100644\n--- a/src/file{n}.py\n+++ b/src/file{n}.py\n"
    f"@@ -1,4 +1,5 @@ def run{n}():\n context\n-old line {n}\n+new line {n}\n+another {n}\n more\n"
    for n in range(150)
)
MARKDOWN = "# Title\n\nIntro.\n" + "".join(
    f"\n## Section {n}\n\n* a point of it\n* another\n\n### Detail {n}\n\n"
    "Some `words` here.\n\n```\n# no heading\n```\n"
    for n in range(150)
)


def shape(text: str, command: str = "") -> Shape:
    store, handle = keep(text.encode())
    call = Call(command=command)
    with Source(store, handle) as source:
        return shape_of(Stretch(source, 0, source.size, 1, call), beginning=text.encode())


def facts_of(answer: Answer) -> list[str]:
    lines = [line for line in answer.text.splitlines() if line.startswith("# ")]
    return [line for line in lines if not line.startswith(("# pages ", "# with places "))]


def named_lines(answer: Answer) -> list[tuple[str, int]]:
    """The places listed as ``name line``."""
    joined = ", ".join(line.removeprefix("# ").split("; ")[0] for line in facts_of(answer))
    return [(name, int(line)) for name, line in re.findall(r"(?:^|, )([^,]+?) (\d+)(?=,|$)", joined)]


@given(OUTPUTS, BUDGETS)
def test_it_fits_on_any_bytes_and_shows_lines_of_the_source(data: bytes, budget: Budget) -> None:
    store, handle = keep(data)
    policy = tight(budget)
    answer = outline(store, handle, policy=policy)
    assert policy.measure.fits(answer.text, budget)
    blob = store.open(handle)
    for page in answer.pages:
        assert 0 <= page.start < page.end <= blob.size
    if data:
        assert answer.pages or answer.next or facts_of(answer)


@pytest.mark.parametrize("max_tokens", [351, 360, 375, 400])
def test_the_start_of_a_line_is_shown_where_no_line_fits(max_tokens: int) -> None:
    store, handle = keep("👩‍👧‍👦".encode() * 42)
    answer = outline(store, handle, policy=Policy(budget=Budget(max_tokens=max_tokens)))
    assert "👩‍👧‍👦" in answer.text
    assert answer.pages


def test_a_log_names_its_severities_and_its_rare_lines() -> None:
    lines = [
        f"2026-01-01 10:00:{n % 60:02} INFO worker {n % 7} handled request {n} in {n % 90} ms" for n in range(1, 6001)
    ]
    lines[2612] = "2026-01-01 10:00:00 ERROR cannot write checkpoint: No space left on device"
    lines[4099] = "2026-01-01 10:00:00 WARN slow query took 9000 ms"
    store, handle = keep("\n".join(lines).encode() + b"\n")
    answer = outline(store, handle)
    assert isinstance(answer.facts, dict)
    assert answer.facts["severities"] == {"error": [2613], "warning": [4100]}
    assert "# 1 error line: 2613" in answer.text
    assert "\n2613:2026-01-01 10:00:00 ERROR cannot write checkpoint" in answer.text
    counted = sum(count for count, _ in answer.facts["templates"].values())
    assert counted == 6000


def test_a_range_is_an_outline_of_that_range() -> None:
    lines = [f"line {n} of a build, compiling module_{n}.c" for n in range(1, 3001)]
    lines[499] = "module_500.c:12: error: unknown type name 'foo'"
    lines[2499] = "module_2500.c:9: error: expected ';'"
    store, handle = keep("\n".join(lines).encode())
    answer = outline(store, handle, lines="1001-3000")
    assert "lines 1001-3000 of 3000" in answer.text.splitlines()[0]
    assert "\n2500:module_2500.c:9: error" in answer.text
    assert "500:module_500.c" not in answer.text.replace("2500:module_2500.c", "")


def test_json_states_paths_ranges_and_where_the_rare_values_are() -> None:
    rows = [{"id": n, "status": "ok", "ms": n % 50, "tags": ["a"] * (n % 3)} for n in range(400)]
    rows[271]["status"] = "failed"
    text = json.dumps(rows, indent=1)
    store, handle = keep(text.encode())
    answer = outline(store, handle)
    at = 1 + text[: text.index('"failed"')].count("\n")
    assert f'[].status: "ok" ×399; rare: "failed" at {at}' in answer.text
    facts = answer.facts
    assert isinstance(facts, dict)
    assert facts["[].id"]["count"] == 400
    assert (facts["[].ms"]["min"], facts["[].ms"]["max"]) == (0, 49)
    assert facts["[].tags[]"]["count"] == sum(n % 3 for n in range(400))
    assert '"failed"' in read(store, handle, around=at).text


@pytest.mark.parametrize("gap", ["\n", ","])
def test_json_that_is_spelled_differently_is_the_same(gap: str) -> None:
    parts = (
        r'{"s":"café","k":1}',
        r'{"s":"caf\u00e9","k":1.0}',
        r'{"s":"café","\u006b":10e-1}',
        r'{"s":"caf\/x","k":NaN}',
    )
    rows = gap.join([*parts, r'{"s":"caf/x","k":0.50}'] * 300)
    facts = outline(*keep((f"[{rows}]" if gap == "," else rows).encode())).facts
    assert isinstance(facts, dict)
    assert [name.rpartition(".")[2] for name in facts][-2:] == ["s", "k"]
    strings, numbers = list(facts.values())[-2:]
    assert strings["values"] == {'"café"': 900, '"caf/x"': 600}
    assert numbers["values"] == {"1": 900, "NaN": 300, "0.5": 300}
    assert (numbers["count"], numbers["min"], numbers["max"]) == (1500, 0.5, 1)


def test_the_one_value_of_another_type_is_placed() -> None:
    rows: list[object] = [{"v": n} for n in range(6000)]
    rows.insert(3000, {"v": "oops"})
    assert "# .v: number/string ×6001, string at 3001, 0 (at 1)" in outline(*keep(_json_lines(rows))).text
    rows[10:10] = [{"v": None}] * 7
    assert ", null ×7 at 11, string at 3008, 0 (at 1)" in outline(*keep(_json_lines(rows))).text


def _json_lines(rows: list[object]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_lines_that_are_no_json_are_placed_and_counted_as_nothing_else() -> None:
    rows = [json.dumps({"v": n}) for n in range(3000)]
    rows[1500:1500] = ["Traceback (most recent call last):", '  {"v": null, true 17']
    answer = outline(*keep("\n".join([*rows, '{"v": 30']).encode()))
    assert "# 3 lines that are no JSON: 1501, 1502, 3003\n" in answer.text
    assert isinstance(answer.facts, dict)
    assert {name: fact["count"] for name, fact in answer.facts.items()} == {"$": 3000, ".v": 3000}
    assert (answer.facts[".v"]["types"], answer.facts[".v"]["max"]) == ({"number": 3000}, 2999)
    assert ".v: number ×3000, 0 (at 1) to 2999 (at 3002)" in answer.text


def test_json_in_one_line_gives_places_that_can_be_read() -> None:
    rows = [{"id": n, "status": "ok"} for n in range(2000)]
    rows[1200]["status"] = "failed"
    text = json.dumps(rows)
    store, handle = keep(text.encode())
    place = re.search(r'"failed" at (1\.\d+)', outline(store, handle).text)
    assert place is not None
    assert int(place.group(1).partition(".")[2]) == text.index('"failed"') + 1
    assert '"failed"' in read(store, handle, around=place.group(1)).text


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-1000, 1000), st.text('ab "\\{}[]:,\n', max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=4)
    ),
    max_leaves=30,
)


def stated(value: object, name: str, found: dict[str, list[object]]) -> None:
    """Every value of a document by its path."""
    found.setdefault(name or "$", []).append(value)
    if isinstance(value, dict):
        for key, inner in value.items():
            stated(inner, f"{name}.{key}", found)
    elif isinstance(value, list):
        for inner in value:
            stated(inner, f"{name}[]", found)


@given(st.lists(JSON, min_size=1, max_size=8), st.sampled_from([None, 1]))
def test_every_fact_of_a_document_can_be_recomputed(values: list[object], indent: int | None) -> None:
    text = json.dumps(values, indent=indent)
    store, handle = keep(text.encode())
    with Source(store, handle) as source:
        facts = json_shape.json_shape(Stretch(source, 0, source.size, 1, Call())).facts
    want: dict[str, list[object]] = {}
    stated(values, "", want)
    assert set(facts) == set(want)
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", type(None): "null"}
    for name, there in want.items():
        fact = facts[name]
        assert fact["count"] == len(there)
        assert fact["types"] == Counter(kinds[type(value)] for value in there)
        numbers = [value for value in there if type(value) is int]
        assert (fact["min"], fact["max"]) == ((min(numbers), max(numbers)) if numbers else (None, None))
        sizes = [len(value) for value in there if isinstance(value, dict | list)]
        assert fact["lengths"] == ((min(sizes), max(sizes)) if sizes else None)
        plain = Counter(json.dumps(value) for value in there if not isinstance(value, dict | list))
        assert fact["values"] == plain
        for value, place in fact["first"].items():
            line, _, byte = place.partition(".")
            there_is = text.split("\n")[int(line) - 1]
            assert there_is.startswith(value, int(byte) - 1) if byte else value in there_is


def test_a_table_states_its_columns() -> None:
    body = "".join(f"{n},city{n},{n * 7 % 1000},{'x' if n != 77 else 'y'}\n" for n in range(1, 1001))
    text = "id,name,population,zone\n" + body
    store, handle = keep(text.encode(), command="cat cities.csv")
    answer = outline(store, handle)
    rows = list(csv.DictReader(text.splitlines()))
    highest = max(int(row["population"]) for row in rows)
    line = 2 + next(index for index, row in enumerate(rows) if int(row["population"]) == highest)
    assert "1000 rows, 4 columns" in answer.text
    facts = answer.facts
    assert isinstance(facts, dict)
    assert facts["columns"]["population"]["max"] == highest
    assert facts["columns"]["population"]["max_line"] == line
    assert "'y' line 78" in answer.text


@pytest.mark.parametrize(
    ("text", "command", "starts"),
    [
        (PYTHON, "cat thing.py", ("class ", "    def ")),
        (DIFF, "git diff", ("diff --git", "@@ ")),
        (MARKDOWN, "cat README.md", ("#",)),
    ],
)
def test_every_listed_place_is_where_it_says(text: str, command: str, starts: tuple[str, ...]) -> None:
    store, handle = keep(text.encode(), command=command)
    answer = outline(store, handle)
    lines = text.split("\n")
    found = named_lines(answer)
    assert len(found) > 20
    for name, number in found:
        line = lines[number - 1]
        assert line.startswith(starts), (name, line)
        assert name.split(" +")[0].removeprefix("@@ ").split("(")[0].strip() in line


PYTEST = (
    "============================= test session starts ==============================\n"
    + "".join(
        f"tests/test_a.py::test_{n} {'FAILED' if n % 50 == 7 else 'PASSED'}   [ {n % 100}%]\n" for n in range(400)
    )
    + "=================================== FAILURES ===================================\n"
    + "".join(f"____________ test_{n} ____________\n\n>   assert {n} == 0\nE   assert\n" for n in range(7, 400, 50))
    + "=========================== short test summary info ============================\n"
    + "".join(f"FAILED tests/test_a.py::test_{n} - assert\n" for n in range(7, 400, 50))
    + "======================== 8 failed, 392 passed in 1.24s =========================\n"
)
GO = "".join(
    f"=== RUN   Test{n}\n"
    + (f"    a_test.go:9: no\n--- FAIL: Test{n} (0.00s)\n" if n % 40 == 3 else f"--- PASS: Test{n} (0.00s)\n")
    for n in range(400)
)
UNITTEST = (
    "".join(f"test_{n} (tests.T) ... {'FAIL' if n % 60 == 5 else 'ok'}\n" for n in range(400))
    + "".join(
        f"{'=' * 70}\nFAIL: test_{n} (tests.T)\n{'-' * 70}\nTraceback (most recent call last):\n"
        for n in range(5, 400, 60)
    )
    + "Ran 400 tests in 0.100s\n"
)


@pytest.mark.parametrize(
    ("text", "heads"),
    [(PYTEST, r"^_+ (\S+) _+$"), (GO, r"^--- FAIL: (\S+)"), (UNITTEST, r"^FAIL: (.+)$")],
)
def test_a_test_run_names_its_failures_where_their_details_stand(text: str, heads: str) -> None:
    answer = outline(*keep(text.encode()))
    facts = answer.facts
    assert isinstance(facts, dict)
    want = {
        found[1]: number
        for number, line in enumerate(text.split("\n"), 1)
        if (found := re.match(heads, line)) is not None
    }
    assert facts["failures"] == want
    assert f"{len(want)} failures named" in answer.text
    for name, line in want.items():
        assert f"{name} {line}" in answer.text
    for line, name in facts["sections"].items():
        assert name in text.split("\n")[line - 1]


LEVELS = {"INFO": "", "DEBUG": "", "WARN": "warning", "ERROR": "error", "FATAL": "fatal"}


@settings(max_examples=20)
@given(st.lists(st.sampled_from(sorted(LEVELS)), min_size=100, max_size=200))
def test_the_severities_of_any_log_are_those_of_its_lines(levels: list[str]) -> None:
    text = "".join(f"2026-01-01 10:00:{n % 60:02} {level} worker did step {n}\n" for n, level in enumerate(levels))
    facts = shape(text).facts
    for name in ("warning", "error", "fatal"):
        want = [number for number, level in enumerate(levels, 1) if LEVELS[level] == name]
        assert facts["severities"].get(name, []) == want
    assert sum(count for count, _ in facts["templates"].values()) == len(levels)
    for words, (_, first) in facts["templates"].items():
        assert set(words.split()) <= set(re.findall("[A-Za-z]+", text.split("\n")[first - 1]))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-999, 9999), st.sampled_from(["a", "b", "c d", ""])), min_size=20, max_size=40))
def test_the_columns_of_any_table_are_those_of_its_rows(rows: list[tuple[int, str]]) -> None:
    text = "id,size,kind\n" + "".join(f"{n},{size},{kind}\n" for n, (size, kind) in enumerate(rows))
    facts = shape(text, command="cat t.csv").facts
    size = facts["columns"]["size"]
    sizes = [size for size, _ in rows]
    assert facts["rows"] == len(rows)
    assert (size["min"], size["max"]) == (min(sizes), max(sizes))
    for place, value in (("min_line", min(sizes)), ("max_line", max(sizes))):
        assert text.split("\n")[size[place] - 1].split(",")[1] == str(value)
    assert size["distinct"] == len(set(sizes))
    kinds = [kind for _, kind in rows if kind]
    assert facts["columns"]["kind"]["missing"] == len(rows) - len(kinds)
    assert facts["columns"]["kind"]["values"] == {kind: kinds.count(kind) for kind in set(kinds)}


@given(st.lists(st.tuples(st.lists(st.sampled_from("abcd"), max_size=9), st.lists(st.sampled_from("abcd"), max_size=9)),
                min_size=1, max_size=6))  # fmt: skip
def test_the_counts_of_any_diff_are_those_of_its_hunks(changes: list[tuple[list[str], list[str]]]) -> None:
    text, want = "", {}
    for number, (before, after) in enumerate(changes):
        name = f"src/f{number}.py"
        body = list(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm=""))
        if body:
            text += f"diff --git a/{name} b/{name}\nindex 1..2 100644\n" + "\n".join(body) + "\n"
            want[name] = tuple(sum(line[0] == sign for line in body[2:]) for sign in "+-")
    if want:
        assert shape(text, command="git diff").facts["files"] == want


NAMED = st.tuples(st.integers(1, 6), st.text("abc Xé中", min_size=1, max_size=9).filter(str.strip))
NAMELESS = st.tuples(st.integers(1, 6), st.just(" "))


@given(st.builds(list.__add__, st.lists(NAMED, min_size=3, max_size=12), st.lists(NAMELESS, max_size=3)))
def test_the_headings_of_any_page_are_those_of_its_source(headings: list[tuple[int, str]]) -> None:
    made = [(level, " ".join(name.split())) for level, name in headings]
    page = "<html>\n<body>\n" + "".join(f"<h{n} class='x'>{name}</h{n}>\n<p>text <b>b</b></p>\n" for n, name in made)
    readme = "Intro of it.\n\n" + "".join(f"{'#' * n} {name}\n\nSome text here.\n\n" for n, name in made)
    for text, command, step, first in ((page, "curl x.html", 2, 3), (readme, "cat README.md", 4, 3)):
        want = [(first + step * n, name, level) for n, (level, name) in enumerate(made) if name]
        assert [tuple(mark[:3]) for mark in shape(text, command=command).facts["headings"]] == want


@given(
    st.lists(st.tuples(st.sampled_from(["a.py", "src/b.c", "d/e/f.go"]), st.integers(1, 99)), min_size=12, max_size=40)
)
def test_the_files_of_any_search_are_those_of_its_hits(hits: list[tuple[str, int]]) -> None:
    text = "".join(f"{file}:{line}:    found(it)\n" for file, line in hits)
    facts = shape(text, command="grep -rn found").facts
    files = [file for file, _ in hits]
    assert facts["hits"] == {file: files.count(file) for file in files}
    assert facts["first_lines"] == {file: files.index(file) + 1 for file in files}


def test_the_keys_of_a_map_are_data() -> None:
    packages = {f"pkg-{n}": {"version": f"1.{n % 3}", "dev": n == 77, "size": n * 7 % 1009} for n in range(400)}
    text = json.dumps({"name": "x", "packages": packages, "times": {f"t{n}": n for n in range(200)}}, indent=1)
    store, handle = keep(text.encode())
    answer = outline(store, handle)
    facts = answer.facts
    assert isinstance(facts, dict)
    assert set(facts) == {"$", ".name", ".packages", ".packages.*", ".packages.*.version", ".packages.*.dev",
                          ".packages.*.size", ".times", ".times.*"}  # fmt: skip
    assert facts[".packages.*"]["count"] == 400
    assert facts[".packages"]["lengths"] == (400, 400)
    assert (facts[".packages.*.size"]["min"], facts[".packages.*.size"]["max"]) == (0, 1008)
    assert facts[".packages.*.version"]["values"] == {'"1.0"': 134, '"1.1"': 133, '"1.2"': 133}
    at = 1 + text[: text.index("true")].count("\n")
    assert f".packages.*.dev: false ×399; rare: true at {at}" in answer.text


def test_what_stands_inside_a_string_of_json_is_no_value() -> None:
    data = {"long": "a 123 [true] {} " * 150_000, "ends": 'with \\" a quote ' * 70_000, "n": 7}
    store, handle = keep(json.dumps(data).encode())
    facts = outline(store, handle).facts
    assert isinstance(facts, dict)
    assert {name: fact["types"] for name, fact in facts.items()} == {
        "$": {"object": 1},
        ".long": {"string": 1},
        ".ends": {"string": 1},
        ".n": {"number": 1},
    }


def test_pages_are_no_longer_than_a_read_goes_though_little_of_them_is_shown() -> None:
    for data in (b"\0" * 300_000, b"\x1b[31mred\x1b[0m" * 30_000):
        store, handle = keep(data)
        found = re.search(r"# pages of (\d+) bytes: ", outline(store, handle).text)
        assert found is not None
        assert not read(store, handle, bytes=(1, int(found[1]))).rest


def test_a_long_output_is_told_by_pages_that_a_read_can_show() -> None:
    varied = "".join(f"line {n}: {'x' * (n * 37 % 90)}\n" for n in range(1, 30001))
    one_line = "".join(f'{{"n":{n}}},' for n in range(60_000))
    for text in (varied, one_line):
        store, handle = keep(text.encode())
        found = re.search(
            r"^# pages of (\d+) (lines|bytes): overspill read \S+ --(\2) 1-(\1), ", outline(store, handle).text, re.M
        )
        assert found is not None
        step, unit = int(found[1]), found[2]
        for first in (1, 1 + 7 * step, 1 + 100 * step):
            answer = read(store, handle, **{unit: f"{first}-{first + step - 1}"})  # type: ignore[arg-type]
            assert not answer.rest
    named = outline(
        *keep("".join(f"2026-01-01 {n // 60:02}:{n % 60:02} did a thing\n" for n in range(1400)).encode())
    ).text
    listed = re.search(r"^# pages from: (.+)$", named, re.M)
    assert listed is not None
    for name, line in (item.rsplit(" ", 1) for item in listed[1].split(", ")[1:]):
        assert name.startswith(f"{(int(line) - 1) // 60:02}:{(int(line) - 1) % 60:02} did")


def test_definitions_are_told_with_and_without_a_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    from overspill.retrieve.shapes import grammars

    store, handle = keep(PYTHON.encode(), command="cat thing.py")
    parsed = outline(store, handle).facts
    monkeypatch.setattr(grammars, "_parser", lambda *_: None)
    by_lines = outline(store, handle).facts
    assert isinstance(parsed, dict)
    assert isinstance(by_lines, dict)
    assert len(parsed["definitions"]) == 360
    assert [mark[:2] for mark in parsed["definitions"]] == [mark[:2] for mark in by_lines["definitions"]]


def test_a_diff_counts_its_changes() -> None:
    store, handle = keep(DIFF.encode(), command="git diff")
    answer = outline(store, handle)
    assert "150 files, +300 −150" in answer.text


def test_what_is_small_is_shown_whole_and_what_is_empty_said_to_be() -> None:
    store, handle = keep(b"only\ntwo lines\n")
    assert outline(store, handle).text.endswith("1:only\n2:two lines\n")
    assert "empty" in outline(*keep(b"")).text


def test_it_ends_with_a_call_into_what_it_does_not_show() -> None:
    store, handle = keep("".join(f"plain line {n} of many\n" for n in range(1, 9001)).encode())
    answer = outline(store, handle)
    found = re.search(r"\[more: overspill outline \S+ --lines (\d+)-(\d+)\]\n$", answer.text)
    assert found is not None
    inside = outline(store, handle, lines=f"{found[1]}-{found[2]}")
    numbers = [int(number) for number in re.findall(r"^(\d+):", inside.text, re.MULTILINE)]
    assert numbers
    assert int(found[1]) <= min(numbers) <= max(numbers) <= int(found[2])


@pytest.mark.parametrize("line", [b"some words of a text in a log\n", b"some words of a text in a log. "])
def test_every_page_that_is_named_holds_its_part_where_it_is_densest_too(line: bytes) -> None:
    dense = "数据库连接失败\n" if line.endswith(b"\n") else "数据库连接失败"
    store, handle = keep(line * 13_000 + dense.encode() * 700 + line * 9_000)
    found = re.search(r"pages of (\d+) (lines|bytes)", outline(store, handle).text)
    assert found
    step, end = int(found[1]), 22_700 if found[2] == "lines" else store.stored(handle).bytes
    for first in range(1, end, step):
        assert not read(store, handle, **{found[2]: f"{first}-{first + step - 1}"}).rest


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["a", 'q"\\', "é\n", "{[", "x" * 90])),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=9,
)
PIECES = st.lists(
    st.one_of(
        VALUES.map(lambda value: json.dumps(value)),
        VALUES.map(lambda value: json.dumps(value, indent=1)),
        st.sampled_from(["", '"open', "12", "}", "[1,", '"k" \n : 2', "no json"]),
    ),
    max_size=9,
)


@given(PIECES, st.booleans())
def test_json_read_line_by_line_has_the_shape_of_json_read_token_by_token(parts: list[str], ends: bool) -> None:
    data = ("\n".join(parts) + "\n" * ends).encode()
    store, handle = keep(data)
    with Source(store, handle) as source:
        by_lines, by_tokens = json_shape._Walk(), json_shape._Walk()
        stretch = Stretch(source, 0, source.size, 1, Call())
        json_shape._read(stretch, by_lines, one_line=False)
        json_shape._read(stretch, by_tokens, one_line=True)
    assert told(by_lines) == told(by_tokens)


def told(walk: json_shape._Walk) -> object:
    """All of it but the bytes in lines, which are told of one line only."""
    paths = [
        (
            name,
            path.count,
            path.types,
            path.low,
            path.high,
            path.low_at[0],
            path.high_at[0],
            path.values,
            {value: place[0] for value, place in path.first.items()},
            path.fewest,
            path.most,
        )
        for name, path in walk.root.paths()
    ]
    return paths, [(mark[0], mark[1], mark[2]) for mark in walk.landmarks]


def test_a_column_of_more_values_than_are_counted_says_so() -> None:
    data = "id,name,ms\n" + "".join(f"{n},user {n % 6000},{n % 97}\n" for n in range(9000))
    assert "# name: text, too many values to count\n" in outline(*keep(data.encode())).text
