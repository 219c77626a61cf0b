"""What marks and headlines say of forms with a view, recounted from the source by other means."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from itertools import accumulate
from typing import Any

import jmespath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.accounts import assert_kept_promises
from core.strategies.viewing import cut_of
from overspill import bound
from overspill.core.model import Bounded, Budget, Gap
from overspill.core.policy import Policy
from overspill.core.strategies.views import diff
from overspill.core.strategies.views.offers import counted
from overspill.store import MemoryStore


def cut(text: str, *, tokens: int = 600, **hints: Any) -> Bounded:
    bounded = bound(text, max_tokens=tokens, store=MemoryStore(), **hints)
    assert bounded.truncated
    return bounded


# Tables


def table(rows: int, *, columns: int = 3, rule: str = "", end: str = "\n") -> str:
    header = ",".join(f"c{column}" for column in range(columns))
    lines = [",".join(str(row * (column + 1) % 97) for column in range(columns)) for row in range(rows)]
    return end.join([header, *([rule] if rule else []), *lines]) + end


@pytest.mark.parametrize("columns", [3, 39, 40, 60, 300])
def test_the_columns_of_a_wide_table_are_counted_all(columns: int) -> None:
    assert f"400 rows × {columns} columns" in cut(table(400, columns=columns), tokens=2_000).header


def test_the_rule_below_a_header_is_no_row() -> None:
    text = "| name | size | state |\n|---|--:|:---|\n" + "".join(f"| n{i} | {i} | ok |\n" for i in range(500))
    bounded = cut(text)
    assert "500 rows × 3 columns" in bounded.header
    assert "---" not in bounded.header


def test_rows_over_several_lines_are_not_counted_as_rows() -> None:
    text = "id,text,v\n" + "".join(f'{i},"a{chr(10) if i % 40 == 7 else " "}b",{i}\n' for i in range(600))
    bounded = cut(text, command="cat notes.csv")
    assert bounded.kind == "table"
    assert " rows" not in bounded.header


@pytest.mark.parametrize("first", ["1700000000", "12345.678", "0.1"])
def test_ranges_are_told_to_the_digit_also_where_rows_lack_a_cell(first: str) -> None:
    rows = [f"n{i},{float(first) + i:.3f},{1000 + 7 * i}" for i in range(600)]
    rows[30:33] = ["n30,5.5", "n31,2.25", "n32,6.5"]
    bounded = cut("name,v,w\n" + "\n".join(rows) + "\n")
    assert re.search(r"omitted: v .*–.*; w .*–", bounded.excerpt)
    for gap in re.finditer(r"\[… lines (\d+)-(\d+) omitted: (.*)\]", bounded.excerpt):
        inside = [row.split(",") for row in rows[int(gap[1]) - 2 : int(gap[2]) - 1]]
        for name, low, high in re.findall(r"(v|w) ([\d.]+)–([\d.]+)", gap[3]):
            values = [float(row[" vw".index(name)]) for row in inside if len(row) > " vw".index(name)]
            assert (float(low), float(high)) == (min(values), max(values))


UNITS = {"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6, "%": 1, "Ki": 2**10, "Mi": 2**20, "KB": 1e3, "MB": 1e6}


def scaled(cell: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+) ?(\D+)", cell).groups()  # type: ignore[union-attr]
    return float(number) * UNITS[unit]


@pytest.mark.parametrize("units", [["ms"], ["us", "ms", " s", "m"], ["%"], ["Ki", "Mi"], [" KB", " MB"]])
def test_ranges_of_numbers_with_units_are_in_the_words_of_cells(units: list[str]) -> None:
    rows = [f"n{i},{i * 7919 % 613 / 4}{units[i % len(units)]},x" if i % 50 else f"n{i},-,x" for i in range(600)]
    found = 0
    for part in cut("name,v,w\n" + "\n".join(rows) + "\n").parts:
        told = re.search(r"omitted: (?:\d+ errors: .*; )?v (\S+(?: \w+)?)–(\S+(?: \w+)?)\]", part.text)
        if part.gap and told:
            inside = [row.split(",")[1] for row in rows[part.gap.first_line - 2 : part.gap.last_line - 1]]
            values = [scaled(cell) for cell in inside if cell != "-"]
            assert (scaled(told[1]), scaled(told[2])) == (min(values), max(values))
            found += 1
    assert found


@pytest.mark.parametrize("units", [["ms", "MB"], ["ms", ""], ["x", "y"], ["%", "s"]])
def test_units_that_do_not_convert_have_no_range(units: list[str]) -> None:
    rows = "".join(f"n{i},{i * 7919 % 613}{units[i % len(units)]},x\n" for i in range(600))
    assert "–" not in cut("name,v,w\n" + rows).excerpt


def test_thousands_that_may_be_1000_or_1024_have_a_range_only_where_it_does_not_matter() -> None:
    clear = "".join(f"n{i},{('7K', '3M', '9K')[i % 3]},x\n" for i in range(600))
    assert "omitted: v 7K–3M]" in cut("name,v,w\n" + clear).excerpt
    unclear = "".join(f"n{i},{('1010K', '1M', '1005K')[i % 3]},x\n" for i in range(600))
    assert "–" not in cut("name,v,w\n" + unclear).excerpt


def test_ranges_are_told_to_the_last_digit() -> None:
    values = [i * 7919 % 613 * 0.1 + 0.2 for i in range(600)]
    bounded = cut("name,v,w\n" + "".join(f"n{i},{value!r},x\n" for i, value in enumerate(values)))
    told = re.findall(r"\[… lines (\d+)-(\d+) omitted: v ([\d.e-]+)–([\d.e-]+)\]", bounded.excerpt)
    assert told
    for first, last, low, high in told:
        inside = values[int(first) - 2 : int(last) - 1]
        assert (float(low), float(high)) == (min(inside), max(inside))


def test_errors_in_a_gap_are_told_before_its_ranges() -> None:
    rows = [f"pod-{i:<6}  1/1    {'Running' if i % 91 else 'Failed'}  {i}m" for i in range(900)]
    bounded = cut("NAME      READY  STATUS   AGE\n" + "\n".join(rows) + "\n", tokens=300)
    told = re.findall(r"\[… lines (\d+)-(\d+) omitted: (\d+) errors: (\d+), …; AGE (\d+)m–(\d+)m\]", bounded.excerpt)
    assert told
    for first, last, errors, line, low, high in (map(int, one) for one in told):
        inside = rows[first - 2 : last - 1]
        assert errors == sum("Failed" in row for row in inside)
        assert "Failed" in rows[line - 2]
        assert (low, high) == (first - 2, last - 2)


@pytest.mark.parametrize("code", ["`a|b||c`", "a\\\\|b", "plain", "x | y | z"])
def test_a_markdown_table_has_the_columns_of_its_header(code: str) -> None:
    rows = "".join(f"| n{i} | {i % 77} | {code} |\n" for i in range(500))
    for edge in ("|", ""):
        text = f"{edge} name | size | code {edge}\n{edge}---|--:|:---{edge}\n{rows}"
        assert "500 rows × 3 columns" in cut(text).header


# Diffs


def hunk(line: int, *changed: str) -> str:
    old, new = (2 + sum(one[0] == sign for one in changed) for sign in "-+")
    return f"@@ -{line},{old} +{line},{new} @@\n" + "".join(f"{one}\n" for one in (" a", *changed, " b"))


def test_what_follows_a_hunk_is_no_change() -> None:
    def patch(i: int) -> str:
        return (
            f"From {i:040x} Mon Sep 17 00:00:00 2001\nSubject: x{i}\n---\n f{i}.py | 2 +-\n\n"
            f"diff --git a/f{i}.py b/f{i}.py\nindex 1..2 100644\n--- a/f{i}.py\n+++ b/f{i}.py\n"
            f"{hunk(1, '-old', '+new')}-- \n2.39.2\n\n"
        )

    bounded = cut("".join(map(patch, range(200))))
    assert "200 files, +200 −200" in bounded.header
    assert re.findall(r"f\d+\.py \+(\d+) −(\d+)", bounded.excerpt) == [("1", "1")] * 4


def test_changed_comments_that_look_like_a_header_are_changes() -> None:
    hunks = "".join(hunk(10 * i, f"--- old note {i}", f"+++ new note {i}") for i in range(1, 200))
    bounded = cut(f"diff --git a/x.sql b/x.sql\nindex 1..2\n--- a/x.sql\n+++ b/x.sql\n{hunks}")
    assert "1 file, +199 −199" in bounded.header


def test_files_are_named_without_their_times_and_told_apart_though_short() -> None:
    def file(i: int) -> str:
        time = "2026-01-02 10:00:00.0 +0000"
        return f"--- old{i}.c\t{time}\n+++ new{i}.c\t{time}\n@@ -1 +1 @@\n-x\n+y\n"

    bounded = cut("".join(map(file, range(400))))
    assert "400 files, +400 −400" in bounded.header
    assert re.search(r"omitted: new\d+\.c \+1 −1, ", bounded.excerpt)
    assert "+0000 +" not in bounded.excerpt


def test_files_beyond_those_remembered_are_neither_counted_nor_counted_to_another() -> None:
    one = "diff --git a/f{0} b/f{0}\n--- a/f{0}\n+++ b/f{0}\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n"
    bounded = cut("".join(one.format(number) for number in range(4_100)), command="git diff")
    marks = [part.text for part in bounded.parts if part.gap]
    assert not re.search(r"more files?\]", max(marks, key=len))
    counted = re.findall(r"f\d+ \+(\d+) −(\d+)", bounded.text)
    assert counted
    assert set(counted) == {("2", "1")}


def patch_of(seed: int, least_bytes: int) -> str:
    """The diff of many files, of no regular size; what stands after its hunks looks like changes, and is none."""
    chance = random.Random(seed)
    files: list[str] = []
    size = 0
    files.append(f"commit {0:040x}\nAuthor: x\n\n    Change 0\n\n")
    while size < least_bytes:
        name, at, hunks = f"src/{chance.choice('abc')}/f{len(files) % 7}.py", 1, []
        for _ in range(chance.choice((1, 1, 2, 5))):
            lines = [
                chance.choice("   +-")
                + " " * chance.choice((0, 4))
                + f"value {chance.random()}" * chance.choice((1, 1, 2, 4))
                for _ in range(chance.choice((2, 9, 60)))
            ]
            old, new = (sum(line[0] in f" {sign}" for line in lines) for sign in "-+")
            hunks.append(f"@@ -{at},{old} +{at},{new} @@ def f{at}\n" + "".join(f"{line}\n" for line in lines))
            at += 100
        files.append(f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n{''.join(hunks)}")
        if chance.random() < 0.1:
            files.append(f"-- \n2.39.2\n\ncommit {len(files):040x}\nAuthor: x\n\n    Change {len(files)}\n\n")
        size += len(files[-1])
    return "".join(files)


def changes_by_file(patch: str) -> list[tuple[int, str, str]]:
    """Where each header and each changed line begins, the file it belongs to, and its sign."""
    found, at, name, left = [], 0, "", [0, 0]
    for line in patch.splitlines(keepends=True):
        if opens := re.match(r"@@ -\d+,(\d+) \+\d+,(\d+) @@", line):
            left = [int(opens[1]), int(opens[2])]
        elif left != [0, 0]:
            left = [left[0] - (line[0] in " -"), left[1] - (line[0] in " +")]
            if line[0] != " ":
                found.append((at, name, line[0]))
        elif line.startswith("diff --git "):
            name = line.split(" b/")[1].strip()
            found.append((at, name, "header"))
        at += len(line)
    return found


def assert_recounted(words: str, gap: Gap, changes: list[tuple[int, str, str]]) -> None:
    inside = [change for change in changes if gap.start <= change[0] < gap.end]
    told = re.findall(r"(src/\S+?\.py)(?: \+(\d+) −(\d+))?(?=[],]|$)", words)
    for name, added, removed in told:
        signs = Counter(sign for _, file, sign in inside if file == name)
        assert (int(added or 0), int(removed or 0)) == (signs["+"], signs["-"]), words
    if told:
        more = re.search(r"(\d+) more file", words)
        assert len({file for _, file, _ in inside}) == len(told) + (int(more[1]) if more else 0), words


@given(st.integers(0, 10**6), st.integers(300, 4_000), st.booleans())
@example(1, 500, False)
@example(2, 1_000, True)
@example(3, 4_000, False)
@settings(max_examples=3, deadline=None)
def test_of_a_diff_larger_than_what_is_held_every_line_is_shown_or_in_a_gap(seed: int, tokens: int, asks: bool) -> None:
    patch = patch_of(seed, 1_100_000 if tokens < 2_000 else 2_200_000)
    bounded = cut(patch, tokens=tokens, question="where is value 0.201 changed?" if asks else "")
    assert bounded.kind == "diff"
    assert_kept_promises(bounded, patch.encode(), Policy(budget=Budget(max_tokens=tokens)))
    changes = changes_by_file(patch)
    for gap, words in ((part.gap, part.text) for part in bounded.parts if part.gap):
        assert_recounted(words, gap, changes)


@given(st.integers(0, 10**6), st.data())
@settings(max_examples=40, deadline=None)
def test_what_is_told_of_a_gap_in_a_diff_counts_the_lines_of_the_gap(seed: int, data: st.DataObject) -> None:
    patch = patch_of(seed, 20_000)
    bounded, _ = cut_of("diff", patch.encode())
    starts = [*accumulate(map(len, patch.splitlines(keepends=True)), initial=0)]
    for _ in range(8):
        first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(starts) - 1)] * 2)))
        gap = Gap(starts[first], starts[last], first + 1, last)
        assert_recounted(bounded.selection.describe(gap), gap, changes_by_file(patch))
    changes = changes_by_file(patch)
    files, signs = {name for _, name, _ in changes}, Counter(sign for _, _, sign in changes)
    assert bounded.selection.headline.startswith(
        f"{counted(len(files), 'file')}, +{signs['+']} −{signs['-']} in {counted(patch.count('commit '), 'commit')}"
    )


def test_of_more_changes_than_are_remembered_only_whole_files_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "CHANGES_KEPT", 3)
    change = hunk(1, "-a", "+b") + hunk(9, "-c", "+d")
    patch = "".join(f"diff --git a/f{i} b/f{i}\n--- a/f{i}\n+++ b/f{i}\n{change}" for i in range(99))
    selection = cut_of("diff", patch.encode())[0].selection
    files = [match.start() for match in re.finditer("diff --git", patch)]
    assert selection.describe(Gap(files[20], files[22] + 60, 221, 248)) == "f20 +2 −2, f21 +2 −2, f22"
    assert selection.describe(Gap(files[20] - 40, files[21], 217, 231)) == "f19, f20 +2 −2"
    assert selection.describe(Gap(files[0], files[0] + 60, 1, 5)) == "f0 +0 −1"


def test_a_log_of_commits_without_patches_counts_no_files() -> None:
    one = "commit {0:040x}\nAuthor: A <a@b.c>\nDate: x\n\n    Change {0}\n\n src/f{0}.py | 2 +-\n 1 file changed\n\n"
    assert "Key: 99 commits. " in cut("".join(map(one.format, range(99)))).header


def test_the_diff_of_a_merge_is_not_counted() -> None:
    files = "".join(
        f"diff --cc f{i}.py\nindex 1,2..3\n--- a/f{i}.py\n+++ b/f{i}.py\n"
        "@@@ -1,3 -1,3 +1,4 @@@\n  a\n +b\n+ c\n++d\n- e\n"
        for i in range(300)
    )
    bounded = cut(f"commit {'a' * 40}\nMerge: 1 2\nAuthor: x\n\n    m\n\n{files}")
    assert "300 files in 1 commit." in bounded.header
    assert "−" not in bounded.text


# Pages


@pytest.mark.parametrize(
    "head",
    [
        "<title>Status page</title><style>.a{color:red}</style>",
        "\n<title>Status\n page</title>\n",
        "<title>Status page<style>.a{color:red}</style>",
        "<TITLE>Status page</TITLE ><script>f()</script>",
    ],
)
def test_the_title_of_a_page_is_all_that_is_told_of_it(head: str) -> None:
    page = "".join(f"<div><h2>Part {i}</h2><p>text {i} about things</p></div>\n" for i in range(400))
    assert cut(f"<!DOCTYPE html><html><head>{head}\n</head><body>\n{page}").headline == "Status page"


# Search hits and listings


def test_what_a_lister_says_is_no_entry() -> None:
    disks = "".join(f"/dev/sd{i} {9_000 + i} {i} {10_000 - i} {i % 100}% /mnt/data{i}\n" for i in range(300))
    for header in (
        "Filesystem     1K-blocks    Used Available Use% Mounted on",
        "Filesystem  Size  Used Avail Use% Mounted on",
    ):
        assert "Key: 300 entries. " in cut(f"{header}\n{disks}", command="df").header


@pytest.mark.parametrize("status", [None, 0, 11])
def test_the_errors_of_a_lister_are_no_entries_and_the_key_if_it_failed(status: int | None) -> None:
    copied = "".join(f"photos/{i}.jpg\n" for i in range(3_000))
    said = (
        "rsync: [sender] write error: No space left on device (28)\n"
        "rsync error: error in file IO (code 11) at receiver.c(378)\nsent 9 bytes  received 3 bytes\n"
    )
    bounded = cut(copied + said, command="rsync -r photos there:", exit_status=status)
    assert re.match(r"line 300[12]: rsync" if status else r"3000 entries$", bounded.headline)


def test_context_is_no_hit() -> None:
    lines = [f"src/a{i // 9}.py{sign}{i}{sign}  some text {i}" for i in range(540) for sign in ":-"[i % 3 != 1]]
    bounded = cut("\n".join(lines) + "\n", command="grep -rn -C1 some src")
    assert "180 hits in 60 files: src/a0.py ×3" in bounded.header
    for gap in re.finditer(r"\[… lines (\d+)-(\d+) omitted: (.*)\]", bounded.excerpt):
        inside = lines[int(gap[1]) - 1 : int(gap[2])]
        for path, count in re.findall(r"(src/a\d+\.py) ×(\d+)", gap[3]):
            assert sum(line.startswith(f"{path}:") for line in inside) == int(count)


def test_lines_that_end_in_a_colon_are_no_directories() -> None:
    lines = [f"pkg/mod{i % 50}/file.py:{i}:def name_{i}(self):" for i in range(800)]
    assert "director" not in cut("\n".join(lines), command="ls").text
    listing = "".join(f"./d{i}:\ntotal 8\nfile{i}.txt\n\n" for i in range(500))
    bounded = cut(listing, command="ls -lR")
    assert "500 entries in 500 directories" in bounded.header
    for gap in re.finditer(r"\[… lines (\d+)-(\d+) omitted: .* and (\d+) more directories\]", bounded.excerpt):
        inside = listing.split("\n")[int(gap[1]) - 1 : int(gap[2])]
        assert sum(line.endswith(":") for line in inside) == int(gap[3]) + 2


# JSON

KEYS = st.sampled_from(["id", "a b", "x.y", "naïve", "\n", "", "[0]", '"', "\\", "é"])
LEAVES = st.sampled_from([1, None, True, "ok", "x" * 150, "x" * 500, "ü\u2028\n" * 60])
VALUES = st.recursive(
    LEAVES, lambda one: st.lists(one, max_size=6) | st.dictionaries(KEYS, one, max_size=6), max_leaves=60
)


@settings(max_examples=25)
@example([{"a": 1, "b": {"c": {"d": "x" * 900}}}] * 30, 1, 400)
@example([{"a": [1] * 99, "[0]": [2] * 99, "naïve": [3] * 99, "": [4] * 99, "\n": [5] * 99}] * 9, None, 400)
@given(st.lists(VALUES, min_size=8, max_size=30), st.sampled_from([None, 1]), st.sampled_from([170, 400, 1_000]))
def test_every_mark_in_json_counts_what_stands_at_its_place(document: Any, indent: int | None, tokens: int) -> None:
    source = json.dumps(document, indent=indent, ensure_ascii=False)
    bounded = bound(source, max_tokens=tokens, store=MemoryStore())
    if not bounded.truncated:
        return
    json.loads(bounded.excerpt)
    for text in re.findall(r'"(… (?:[^"\\]|\\.)*)"', bounded.excerpt):
        found = re.fullmatch(r"… (\d+) more: (.*)\[(\d+):(\d+)\], (.+)", json.loads(f'"{text}"'), re.DOTALL)
        if found:
            path, first, end = found[2], int(found[3]), int(found[4])
            elements = (jmespath.search(path, document) if path else document)[first:end]
            assert len(elements) == int(found[1])
            assert json.loads(f"[{place(source, found[5])}]") == elements
    for where, count in re.findall(r'"… ((?:lines?|bytes) [\d-]+)": "(\d+) more"', bounded.excerpt):
        members = json.loads(f"{{{place(source, where)}}}", object_pairs_hook=list)
        assert len(members) == int(count)


def place(source: str, where: str) -> str:
    numbers = [int(number) for number in re.findall(r"\d+", where)]
    first, last = numbers[0] - 1, numbers[-1]
    whole = source.encode()
    part = whole[first:last] if where.startswith("bytes") else b"\n".join(whole.split(b"\n")[first:last])
    return part.decode().strip().removesuffix(",")


@pytest.mark.parametrize("end", [0, 900])
def test_what_is_only_deep_is_not_said_to_be_invalid(end: int) -> None:
    bounded = cut(("[" * 3_000 + "]" * 3_000)[: 6_000 - end])
    assert "not valid" not in bounded.header
    assert "nested more than 400 levels deep" in bounded.header


# All


def test_a_section_without_a_name_breaks_no_view(caplog: pytest.LogCaptureFixture) -> None:
    assert cut("# a comment here\n[\t]\nname = value\n" * 2_000, command="cat x.conf").kind == "configuration"
    assert not [record for record in caplog.records if record.levelname != "INFO"]


@pytest.mark.parametrize(
    "shape", ["diff --git a/{0} b/{0}\n@@ -1 +1 @@\n-x\n+y\n", "src/{0}.py:3:text {1}\n", "ERROR {0} {1}\n"]
)
def test_nothing_that_is_said_of_an_output_steers_the_terminal(shape: str) -> None:
    steering = "\x1b[31mx\x1b]0;title\x07\x1b[2J\x9b1m\x08"
    text = cut("".join(shape.format(f"{steering}{i}", i) for i in range(900))).text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
