"""Severity, forms, units, the pool, the order and the contents of gaps: what each promises alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overspill.core.model import Call, Gap, Span, Totals
from overspill.core.strategies.salience import features, model, question, selection, severity, shapes, templates, units
from overspill.core.strategies.salience.contents import Contents
from overspill.core.strategies.salience.pool import WHOLE_BYTES, Pool


def level_of(line: bytes) -> int:
    return max((hit.level for hit in severity.scan(line)), default=severity.NONE)


@pytest.mark.parametrize(
    ("line", "level"),
    [
        (b"2024-01-01 FATAL cannot continue", severity.FATAL),
        (b"panic: runtime error: index out of range", severity.FATAL),
        (b"Segmentation fault (core dumped)", severity.FATAL),
        (b"src/a.c:3:1: error: expected ';'", severity.ERROR),
        (b"sqlite3.OperationalError: database is locked", severity.ERROR),
        (b"java.net.NoRouteToHostException: no route", severity.ERROR),
        (b"pkg/a.py:91:23: F821 Undefined name `upper`", severity.ERROR),
        (b"[WARN] the disk is nearly full", severity.WARN),
        (b"DeprecationWarning: use the other one", severity.WARN),
        (b"the page was not found", severity.WEAK),
        (b"kernel: AirPort: Link Down on en0", severity.WEAK),
        (b"dhcpd: network A: no free leases", severity.WEAK),
        (b"service started", severity.STATE),
        (b"an ordinary line of text", severity.NONE),
    ],
)
def test_levels(line: bytes, level: int) -> None:
    assert level_of(line) == level


@pytest.mark.parametrize(
    "line",
    [
        b"0 errors, 0 warnings",
        b"finished with no errors",
        b"an error-free run",
        b"errors=0 failed=0",
        b'"error": null',
        b"import error_handler.py",
        b"tests/test_error/",
        b"if %errorlevel% neq 0",
        b"compiling src/errors/mod.rs",
        b"`from pkg import *` used; unable to detect undefined names",
        b"unused import: `pkg.Error`",
    ],
)
def test_negatives_are_no_errors(line: bytes) -> None:
    assert level_of(line) < severity.ERROR


def test_a_count_above_nothing_is_an_error() -> None:
    assert level_of(b"10 errors generated") >= severity.ERROR
    assert level_of(b"failed=3") >= severity.ERROR


def gathered(data: bytes, asked: str = "") -> features.Evidence:
    terms = question.terms(asked)
    totals = Totals(len(data), data.count(b"\n") + (not data.endswith(b"\n")))
    return features.gather(
        units.cut([Span(0, data, 1)]), None, question.Asked(terms) if terms else None, Call(question=asked), totals
    )


def test_a_good_verdict_outweighs_the_name_of_what_was_tried() -> None:
    levels = gathered(b"test_error_is_raised (a.B) ... ok\ntest_it (a.B) ... ERROR\n").levels
    assert levels[0] < severity.WARN
    assert levels[1] >= severity.ERROR


def test_code_only_speaks_of_errors() -> None:
    levels = gathered(b"        raise ValueError('bad')\nE       ValueError: bad\n").levels
    assert levels[0] < severity.WARN
    assert levels[1] >= severity.ERROR


def test_the_source_that_findings_quote_is_one_form() -> None:
    framed = b"F821 Undefined name `upper`\n --> pkg/a.py:3:5\n  |\n3 | total = upper + rest\n4 | other = thing\n"
    failed = b"    def test_it():\n        total = upper(rest)\n>       other(thing)\nE       NameError: other\n"
    assert [form == features.QUOTED for form in gathered(framed).coarse] == [False, False, True, True, True]
    assert [form == features.QUOTED for form in gathered(failed).coarse] == [True, True, False, False]
    assert features.QUOTED not in gathered(b"    total = upper + rest\n3 | other = thing\n").coarse


def test_findings_know_the_unit_that_says_where_they_are() -> None:
    grouped = [
        b"/src/a.js\n",
        b"  3:1  error  no\n",
        b"  9:1  error  yes\n",
        b"\n",
        b"/src/b.js\n",
        b"  2:2  error  x\n",
    ]
    assert shapes.places(grouped) == {1: 0, 2: 0, 5: 4}
    assert shapes.places([b"F821 Undefined name\n", b" --> pkg/a.py:3:5\n"]) == {0: 1}
    assert shapes.places([b"/src/a.js\n", b"/src/b.js\n", b"  and more\n"]) == {}


def test_a_finding_that_is_shown_brings_the_unit_that_says_where() -> None:
    scores, costs, joined = [0.0, *[2.0] * 9, 5.0], [9.0] * 11, [True] * 11
    forms = [(b"name",), *[(b"usual",)] * 9, (b"finding",)]
    chosen = [*selection.order(scores, costs, joined, forms, max_tokens=50, places={10: 0})]
    assert chosen.index(0) == chosen.index(10) + 1
    assert 0 not in selection.order(scores, costs, joined, forms, max_tokens=50)


def test_the_last_of_a_trouble_that_came_often_is_news() -> None:
    lines = [b"ERROR disk %d is full\n" % number for number in range(9)]
    found = gathered(b"".join([b"started\n", *lines, b"stopped\n"]))
    assert list(found.news) == [9]


def test_values_do_not_make_a_form() -> None:
    lines = [
        b"12:00:01 worker 17 took 13.5 ms for /var/lib/a",
        b"12:07:44 worker 3 took 2.25 ms for /srv/other/file.txt",
    ]
    words = dict(zip(lines, templates.plain_words(lines), strict=True))
    assert words[lines[0]] == words[lines[1]]


def test_a_place_of_many_names_is_a_place_of_values() -> None:
    names = [b"ann", b"bob", b"carol", b"dave", b"erin", b"frank", b"grace"]
    lines = [b"password refused for " + name + b" from there" for name in names] + [b"password accepted for grace"]
    words = dict(zip(lines, templates.plain_words(lines), strict=True))
    forms = templates.coarse_keys(words, dict.fromkeys(lines, 1))
    assert len({forms[line] for line in lines[:-1]}) == 1
    assert forms[lines[-1]] != forms[lines[0]]


PIECES = st.sampled_from(
    [
        b"\n",
        b"word ",
        b"ERROR x\n",
        b"\r",
        b"\r\n",
        b" 10%\r",
        "é漢👩".encode(),
        b"\xff",
        b'{"a": 1}, ' * 20,
        b"x" * 700,
    ]
)


@given(st.lists(PIECES, max_size=60))
def test_units_are_the_bytes_in_order(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    cut = units.cut([Span(0, data, 1)])
    assert b"".join(cut.texts) == data
    for index in range(len(cut)):
        span = cut.span(index)
        before = data[: span.start]
        assert span.line == before.count(b"\n") + 1
        assert span.column == len(before) - (before.rfind(b"\n") + 1)
    assert not any(text[:1] and text[0] & 0xC0 == 0x80 for text in cut.texts)


@given(st.lists(PIECES, max_size=60))
def test_every_column_answers_for_every_unit(pieces: list[bytes]) -> None:
    evidence = gathered(b"".join(pieces), "which word is in ERROR?")
    assert {len(column) for column in evidence.columns} == {len(evidence.units)}
    assert len(model.scores(evidence.columns, model.learned()["hints"])) == len(evidence.units)


def blocks(data: bytes) -> list[Span]:
    spans, at, line = [], 0, 1
    while at < len(data):
        end = data.rfind(b"\n", at, at + 131_072) + 1 or min(len(data), at + 131_072)
        column = at - (data.rfind(b"\n", 0, at) + 1)
        spans.append(Span(at, data[at:end], line, column))
        line += data.count(b"\n", at, end)
        at = end
    return spans


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_a_pool_holds_stretches_of_a_long_output(seed: int, long_lines: bool) -> None:
    words = [b"alpha", b"beta", b"gamma", b"warning: odd", b"ok", b"FATAL gone"]
    end = b" " if long_lines else b"\n"
    line = b"%d %s " % (seed % 97, words[seed % 6])
    data = b"".join(line + words[(seed >> shift) % 6] + end for shift in range(29)) * (WHOLE_BYTES // 300)
    pool = Pool(question.Asked(question.terms("what is gamma")))
    for block in blocks(data):
        pool.feed(block)
    end_before = 0
    for span in pool.stretches():
        assert span.start >= end_before
        assert data[span.start : span.end] == span.data
        assert span.line == data.count(b"\n", 0, span.start) + 1
        end_before = span.end
    assert end_before == len(data)


def test_a_pool_finds_the_one_new_form_and_forgets_the_rest() -> None:
    ordinary = b"".join(b"12:00:%02d request %d served in %d ms\n" % (n % 60, n, n % 977) for n in range(120_000))
    half = ordinary.find(b"\n", len(ordinary) // 2) + 1
    data = ordinary[:half] + b"12:00:00 FATAL the volume is gone\n" + ordinary[half:]
    pool = Pool(None)
    for block in blocks(data):
        pool.feed(block)
    held = pool.stretches()
    assert any(b"FATAL the volume is gone" in span.data for span in held)
    assert sum(len(span.data) for span in held) < WHOLE_BYTES


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.integers(1, 60), st.booleans()), max_size=80),
    st.integers(10, 2000),
)
def test_an_order_names_each_unit_at_most_once(rows: list[tuple[float, int, bool]], max_tokens: int) -> None:
    scores = [score for score, _, _ in rows]
    costs = [float(cost) for _, cost, _ in rows]
    joined = [together for _, _, together in rows]
    forms = [(b"w%d" % (index % 5),) for index in range(len(rows))]
    chosen = [*selection.order(scores, costs, joined, forms, max_tokens=max_tokens)]
    assert len(set(chosen)) == len(chosen)
    assert chosen == [*selection.order(scores, costs, joined, forms, max_tokens=max_tokens)]
    if rows:
        assert chosen


def test_what_was_said_is_worth_less_the_next_time() -> None:
    forms = [(b"disk", b"full")] * 50 + [(b"volume", b"gone")]
    scores = [3.0] * 50 + [2.5]
    chosen = [*selection.order(scores, [10.0] * 51, [False] * 51, forms, max_tokens=200)]
    assert chosen.index(50) <= 3


def test_a_gap_shorter_than_its_mark_is_no_gap() -> None:
    scores = [3.0, -9.0, 3.0]
    chosen = [
        *selection.order(scores, [10.0, 2.0, 10.0], [False, True, True], [(b"a",), (b"b",), (b"c",)], max_tokens=60)
    ]
    assert sorted(chosen) == [0, 1, 2]


@given(st.lists(st.sampled_from(["fatal", "error", "warning", ""]), min_size=1, max_size=40), st.data())
def test_contents_count_what_is_there(names: list[str], data: st.DataObject) -> None:
    severe = [(10 * index, index + 1, name) for index, name in enumerate(names) if name]
    first = data.draw(st.integers(1, len(names)))
    last = data.draw(st.integers(first, len(names)))
    told = Contents(severe, complete=True).describe(Gap(10 * (first - 1), 10 * last, first, last))
    for name in ("fatal", "error", "warning"):
        count = names[first - 1 : last].count(name)
        if count > 1:
            assert f"{count} {name}s: " in told
        elif count:
            assert f"{name} in {names.index(name, first - 1) + 1}" in told
        else:
            assert name not in told


def test_terms_of_a_question() -> None:
    found = {
        term.text for term in question.terms("Why does bulk_update() fail for `max_retries` in the 3rd migration?")
    }
    assert "bulk_update" in found
    assert "max_retries" in found
    assert "why" not in found
    assert any("migration".startswith(text) and len(text) >= 4 for text in found)


def test_the_weights_are_small() -> None:
    from importlib.resources import files

    assert len((files("overspill.core.strategies.salience") / "weights.json").read_bytes()) < 1_000_000
