"""``outline``: what it states is true of the output and can be counted again; it always fits."""

from __future__ import annotations

import csv
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill.core.model import Budget
from overspill.retrieve import Answer, outline, read
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


def facts_of(answer: Answer) -> list[str]:
    return [line for line in answer.text.splitlines() if line.startswith("# ")]


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
    st.one_of(st.none(), st.booleans(), st.integers(-1000, 1000), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=4)
    ),
    max_leaves=30,
)


def leaves(value: object) -> int:
    if isinstance(value, dict):
        return sum(map(leaves, value.values()))
    if isinstance(value, list):
        return sum(map(leaves, value))
    return 1


@given(st.lists(JSON, min_size=1, max_size=8), st.sampled_from([None, 1]))
def test_every_value_of_a_document_is_counted(values: list[object], indent: int | None) -> None:
    from overspill.core.model import Call
    from overspill.retrieve.shapes import Stretch
    from overspill.retrieve.shapes.json_shape import json_shape
    from overspill.retrieve.source import Source

    store, handle = keep(json.dumps(values, indent=indent).encode())
    with Source(store, handle) as source:
        facts = json_shape(Stretch(source, 0, source.size, 1, Call())).facts
    counted = sum(
        sum(n for kind, n in path["types"].items() if kind not in ("object", "array")) for path in facts.values()
    )
    assert counted == leaves(values)


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
