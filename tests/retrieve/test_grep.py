"""``grep``: what matches, where, and never more than the budget."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from overspill.core.measure import display
from overspill.core.model import Budget
from overspill.errors import PatternError
from overspill.retrieve import block, grep, read, scan, search
from overspill.retrieve.pattern import Pattern, compiled
from overspill.retrieve.source import Source
from retrieve.kept import BUDGETS, OUTPUTS, keep, tight

WORDS = st.lists(
    st.sampled_from([b"err", b"error", b"e", b" ", b"ok", b"\n", b"\n", b"ab", b"aab", b"b", b"\r\n"]), max_size=60
)
PATTERNS = [
    "err",
    "error$",
    "^e",
    "a+b",
    "e.*k",
    "(ok|ab) e",
    r"\bok\b",
    "zzz",
    "r{2}",
    r"\x65r",
    "[e]r{1,2}o?r?",
    "(?i)ERR",
    "[^e ]b",
    "o",
    "$",
    "ok ?e",
    r"\s",
    r"e\s*o",
    r"[^b]b",
    r"[^\s]b",
    r"\W*o",
    "(?s)r.",
    "b*",
    "^$",
]


def lines_of(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    return parts[:-1] if not parts[-1] else parts


@given(WORDS.map(b"".join), st.sampled_from(PATTERNS), st.booleans(), st.booleans())
def test_the_matching_lines_are_those_of_a_line_by_line_search(
    data: bytes, pattern: str, ignore_case: bool, invert: bool
) -> None:
    store, handle = keep(data)
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    oracle = re.compile(pattern.replace("$", "(?=\r?$)").encode(), flags)
    want = [number for number, line in enumerate(lines_of(data), 1) if bool(oracle.search(line)) is not invert]
    answer = grep(store, handle, pattern, ignore_case=ignore_case, invert=invert, max_matches=1000)
    assert answer.total_matches == len(want)
    assert answer.exit_status == int(not want)
    assert [found.line for found in answer.matches] == want[: len(answer.matches)]
    counted = grep(store, handle, pattern, ignore_case=ignore_case, invert=invert, count=True)
    assert counted.total_matches == len(want)


def tallied(source: Source, search: Pattern, kind: block.Kind, long_line: int) -> list[block.Hit]:
    """The hits, and as many by count: most lines are only counted, run by run."""
    every = scan.tally(source, search, 0, source.size, kind=kind, long_line=long_line, most=1 << 30, seconds=60)
    assert every.total == len(every.shown)
    counted = scan.tally(source, search, 0, source.size, kind=kind, long_line=long_line, most=1, seconds=60)
    assert (counted.total, counted.shown) == (every.total, every.shown[:1])
    assert every.last < 0 or source.line_at(counted.last) == source.line_at(every.last)
    return every.shown


@given(
    WORDS.map(b"".join),
    st.sampled_from(PATTERNS),
    st.integers(1, 9),
    st.integers(4, 30),
    st.sampled_from(["matching", "others"]),
    st.sampled_from([3, 6, block.ONCE]),
)
@example(b"ok" + b"e" * 60, "^e", 3, 10, "matching", block.ONCE)
@example(b"ab\nx\nb\n" * 9, "[^e]b", 9, 30, "matching", block.ONCE)
@example(b"\nx\n", "^$", 9, 30, "matching", block.ONCE)
def test_chunks_pieces_and_seams_are_invisible(
    data: bytes, pattern: str, chunk: int, whole: int, kind: block.Kind, long_line: int
) -> None:
    store, handle = keep(data * 3)
    search = compiled(pattern)
    with Source(store, handle) as source:
        at_once = tallied(source, search, kind, long_line)
        kept = scan.CHUNK_BYTES, scan.WHOLE_LINE_BYTES, scan.OVERLAP_BYTES, block._FEW
        scan.CHUNK_BYTES, scan.WHOLE_LINE_BYTES, scan.OVERLAP_BYTES, block._FEW = chunk, 1 << 30, 8, 0
        try:
            in_chunks = tallied(source, search, kind, long_line)
            scan.WHOLE_LINE_BYTES = max(whole, 10)
            lines = [hit.line_start for hit in tallied(source, search, kind, long_line)]
        finally:
            scan.CHUNK_BYTES, scan.WHOLE_LINE_BYTES, scan.OVERLAP_BYTES, block._FEW = kept
    assert in_chunks == at_once
    if long_line == block.ONCE and not set(pattern) & set(
        ".*"
    ):  # longer than the overlap: may be missed, as documented
        assert lines == [hit.line_start for hit in at_once]


@given(OUTPUTS, BUDGETS, st.sampled_from(["x", "e", "中", "[a-z]+", "", "\\x00", "."]), st.integers(0, 3))
def test_answers_fit_and_their_places_can_be_read(data: bytes, budget: Budget, pattern: str, context: int) -> None:
    if not pattern:
        return
    store, handle = keep(data)
    policy = tight(budget)
    answer = grep(store, handle, pattern, context=context, policy=policy)
    assert policy.measure.fits(answer.text, budget)
    assert bool(answer.matches) == (answer.exit_status == 0)
    for found in answer.matches[:3]:
        assert any(page.start <= found.start and found.start < max(page.end, page.start + 1) for page in answer.pages)
        if found.end - found.start < 20 and b"\x1b" not in data:
            assert display(data[found.start : found.end]) in answer.text
        shown = read(store, handle, line=found.line, bytes=(found.first_byte, found.first_byte + 9))
        assert shown.pages[0].start <= found.start < shown.pages[0].end


@settings(max_examples=40)
@given(OUTPUTS, st.sampled_from(["xx", "[0-9]", "red|plain"]), st.integers(300, 1000))
def test_going_on_from_answer_to_answer_finds_every_match_once(data: bytes, pattern: str, most: int) -> None:
    store, handle = keep(data)
    found: list[int] = []
    answer = grep(store, handle, pattern, max_matches=most)
    total = answer.total_matches
    while True:
        found += [match.start for match in answer.matches]
        if not answer.rest:
            break
        answer = grep(store, handle, pattern, max_matches=most, lines=answer.rest)
    assert len(found) == total
    assert found == sorted(set(found))


def test_lines_are_numbered_as_by_grep() -> None:
    store, handle = keep(b"one\ntwo error\nthree\nfour\nfive error\nsix\n")
    assert grep(store, handle, "error", context=1).text == (
        f"[overspill grep {handle}: 2 matches for 'error' in lines 2-5]\n"
        "1-one\n2:two error\n3-three\n4-four\n5:five error\n6-six\n"
    )


def test_twenty_of_many_and_the_call_that_goes_on() -> None:
    store, handle = keep(b"".join(b"line %d %s\n" % (n, b"hit" if n % 3 == 0 else b"") for n in range(1, 4001)))
    answer = grep(store, handle, "hit")
    assert answer.text.startswith(f"[overspill grep {handle}: 20 of 1333 matches for 'hit' in lines 3-3999]\n")
    assert answer.text.endswith(f"[more: overspill grep {handle} hit --lines 61-4000]\n")
    assert "\n63:" in grep(store, handle, "hit", lines=answer.rest).text


def test_a_window_around_each_match_of_a_thirty_megabyte_line() -> None:
    data = b"".join(b'{"id":%d,"ok":true},' % n for n in range(1_500_000))
    data = data[:20_000_000] + b'{"error":"disk full"},' + data[20_000_000:]
    store, handle = keep(data)
    answer = grep(store, handle, r'"error":"[^"]*"')
    assert '"error":"disk full"' in answer.text
    assert answer.total_matches == 1
    assert len(answer.text) < 700
    assert answer.matches[0].start == 20_000_001
    first = answer.matches[0].first_byte
    assert "disk full" in read(store, handle, line=1, bytes=(first, first + 40)).text


def test_a_long_line_full_of_matches_is_searched_once_not_once_for_each() -> None:
    looked_at = 0

    class Counted(bytes):
        def find(self, part: bytes, start: int = 0, end: int = 1 << 62) -> int:  # type: ignore[override]
            nonlocal looked_at
            place = super().find(part, start, min(end, len(self)))
            looked_at += (place if place >= 0 else min(end, len(self))) - start
            return place

    data = Counted(b"x7 " * 30_000)
    long_line = block.Block(data, 0, 0, len(data), len(data), -1)
    search = block.Search(compiled("7", syntax="literal"), "matching", 1, 480, lambda: None)
    assert block.in_block(long_line, search).total == 30_000
    assert looked_at < 4 * len(data)


@pytest.mark.parametrize(
    "pattern", [r"\Aerr", r"err\z", "(?-m)^err$", "(?-m:^err)", r"(\A)(?i)ERR", "^err", "(?i-m)^ERR"]
)
def test_the_ends_of_the_text_are_those_of_a_line(pattern: str) -> None:
    store, handle = keep(b"ok\r\nerr\r\nok\r\nerr\r\n")
    assert [found.line for found in grep(store, handle, pattern).matches] == [2, 4]


def test_the_ends_of_lines_may_change_behind_the_first_pages() -> None:
    store, handle = keep(b"banner line\n" * 6000 + b"build done\r\nnext\r\n")
    for pattern in ("done$", r"done\z"):
        assert [found.line for found in grep(store, handle, pattern).matches] == [6001]
    assert grep(store, handle, "[et]$", invert=True, count=True).total_matches == 0


@pytest.mark.parametrize("pattern", [r"\Q$5 (net)\E$", r"\Q$5 (net)", r"(\Q$5\E) \(net\)"])
def test_what_is_quoted_in_a_pattern_is_no_end_of_a_line(pattern: str) -> None:
    store, handle = keep(b"total\r\n$5 (net)\r\n")
    assert [found.line for found in grep(store, handle, pattern).matches] == [2]


def test_a_match_longer_than_its_window_shows_its_start() -> None:
    store, handle = keep(b"a" * 2000 + b"START" + b"b" * 5000 + b"\n")
    answer = grep(store, handle, "START.*")
    assert "STARTbbb" in answer.text


def test_a_match_that_its_line_overwrites_later_is_shown_all_the_same() -> None:
    data = b"start\nget 1%\rget 2% timeout\rdone        \nab\b\bcd\n" + b"99%\r" * 300 + b"failed\rend\n"
    store, handle = keep(data)
    assert grep(store, handle, "time").text.endswith("\n2[8-22]:get 2% timeout\n")
    assert grep(store, handle, "done").text.endswith("\n2:done        \n")
    assert grep(store, handle, "ab").text.endswith("\n3[1-2]:ab\n")
    assert "]:failed\n" in grep(store, handle, "failed").text
    assert f"{handle}:2[8-22]:get 2% timeout\n" in search(store, "timeout").text


@pytest.mark.parametrize("pattern", ["(a|aa)+$", "(a*)*b", "(x+x+)+y", "(a{1,30}){1,30}b"])
def test_no_pattern_hangs(pattern: str) -> None:
    # A backtracking engine would not come back from these.
    store, handle = keep(b"a" * 200_000 + b"!\n" + b"x" * 200_000)
    assert grep(store, handle, pattern).exit_status in (0, 1)


def test_a_search_that_takes_too_long_says_how_far_it_came() -> None:
    store, handle = keep(b"error here\n" * 400_000)
    ticks = iter(range(10_000))
    answer = grep(store, handle, "error", seconds=5, clock=lambda: float(next(ticks)))
    assert answer.total_matches is None
    assert "at least" in answer.text
    assert "stopped for time at line" in answer.text


@pytest.mark.parametrize(
    ("pattern", "says", "position"),
    [
        ("foo(", "missing )", None),
        ("(?=x)", "lookahead isn't supported", 0),
        ("ab(?<=x)", "lookbehind isn't supported", 2),
        (r"(a)\1", "backreferences aren't supported", 3),
        ("x[z-a]", "invalid character class range: z-a", 2),
        ("ab**", "bad repetition operator", 2),
        ("", "empty", None),
    ],
)
def test_a_bad_pattern_is_told_with_its_position(pattern: str, says: str, position: int | None) -> None:
    store, handle = keep(b"text\n")
    with pytest.raises(PatternError, match=re.escape(says)) as raised:
        grep(store, handle, pattern)
    if position is not None:
        assert raised.value.position is not None
        assert abs(raised.value.position - position) <= 1
        assert "at character" in str(raised.value)


def test_no_match_says_so_and_what_would() -> None:
    store, handle = keep(b"Connection Refused (code 5)\nok\n")
    answer = grep(store, handle, "connection refused")
    assert answer.exit_status == 1
    assert "no match" in answer.text
    assert f"1 line with: overspill grep {handle} 'connection refused' --ignore-case" in answer.text
    assert "1 line with" in grep(store, handle, "Refused (code 5)").text
    assert "no match" in grep(*keep(b""), "x").text


@pytest.mark.parametrize("pattern", ["Gr..e", "^.*5$", "Größe"])
def test_lines_that_are_not_utf8_are_said_where_nothing_matches(pattern: str) -> None:
    store, handle = keep("Größe: 5\n".encode("latin-1") * 2 + "grün\n".encode() * 9)
    answer = grep(store, handle, pattern)
    assert "; 2 lines are not UTF-8: such a byte is matched by \\C only]" in answer.text
    assert grep(store, handle, r"Gr\C\Ce").total_matches == 2
    assert "UTF-8" not in grep(store, handle, "zzz", literal=True).text


def test_binary_and_cjk_are_searched_as_they_are() -> None:
    store, handle = keep(b"\x00\x01\xff\xfe error \x80\n" + "日本語の行\n".encode())
    assert grep(store, handle, "error").total_matches == 1
    assert "2:日本語の行" in grep(store, handle, "本語").text
    assert display(b"x") == "x"
