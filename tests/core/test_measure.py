"""Units, display and safe places, against full implementations where they exist."""

from __future__ import annotations

import json

import regex
from hypothesis import example, given
from hypothesis import strategies as st

from overspill.core.measure import Measure, cut_after, cut_before, display, encode, readable, states
from overspill.core.model import Budget
from overspill.core.tokens import estimate_tokens

ALPHABET = (
    "ab \n\r\t\u0301\u0327\u200d\u200b\u200c\ufe0f👩👧👦🏽🇩🇪🇫각한각ㄱनमसतक्षิำ"
    "\u0e33\u0eb3\U000e0067\U000e007f漢字שלום\u0600\u06dd\u0d4eـ"
)
EVERYTHING = Budget(max_tokens=1, max_bytes=1, max_chars=1, max_lines=1)


@given(st.text(ALPHABET, max_size=60) | st.text(max_size=30), st.integers(0, 200))
@example("🇩🇪🇫🇷🇩🇪", 10)
@example("e" + "\u0301" * 20, 9)
@example("🇩🇪🇫🇷" * 60, 92)
@example("x" + "🇩🇪🇫🇷" * 60, 401)
def test_a_cut_never_stands_inside_a_cluster(text: str, at: int) -> None:
    data = text.encode()
    borders, place = {0}, 0
    for cluster in regex.findall(r"\X", text):
        if len(cluster) > 16:
            return
        place += len(cluster.encode())
        borders.add(place)
    before, after = cut_before(data, at), cut_after(data, at)
    assert before in borders
    assert after in borders
    assert before <= min(at, len(data)) <= after


@given(st.binary(max_size=80), st.integers(0, 80))
def test_a_cut_of_any_bytes_is_near_and_in_range(data: bytes, at: int) -> None:
    at = min(at, len(data))
    assert 0 <= cut_before(data, at) <= at <= cut_after(data, at) <= len(data)


_BROKEN = [b"a", b"\x80", b"\xc3", b"\xe2\x82", b"\xf0\x90", b"\xf0\x9f\x91", b"\xed\xa0\x80", b"\xff", "é".encode()]


@given(st.lists(st.sampled_from(_BROKEN), max_size=12).map(b"".join))
def test_two_halves_of_broken_bytes_are_shown_as_the_whole_is(data: bytes) -> None:
    for at in range(len(data) + 1):
        for place in (cut_before(data, at), cut_after(data, at)):
            assert readable(data[:place]) + readable(data[place:]) == readable(data)


@given(
    st.lists(st.sampled_from([b"\x1b[1;31m", b"\x1b]0;title\x07", b"\x1bP1$r\x1b\\", b"text", b"\x1b(B"]), max_size=9)
)
def test_a_cut_never_stands_inside_an_escape_sequence(pieces: list[bytes]) -> None:
    data, borders = b"".join(pieces), {0}
    for piece in pieces:
        start = max(borders)
        borders |= set(range(start, start + len(piece) + 1)) if piece == b"text" else {start + len(piece)}
    for at in range(len(data) + 1):
        assert cut_before(data, at) in borders
        assert cut_after(data, at) in borders


def test_a_line_end_ends_what_an_escape_sequence_left_unfinished() -> None:
    data = b"\x1b]0;no end\nmore\x07"
    assert cut_before(data, 11) == cut_after(data, 11) == 11
    assert display(data[11:]) == "more"


def test_a_cut_among_many_escapes_looks_at_the_nearest_only() -> None:
    data = b"\x1b]0;t\x1b\\" * 3 + b"\x1b\\" * 4
    ends = {0, 7, 14, 21, 23, 25, 27, 29}
    assert {cut_before(data, at) for at in range(30)} == {cut_after(data, at) for at in range(30)} == ends
    longest = b"\x1b]" + b"t" * 4092 + b"\x1b\\"
    assert {cut_before(longest + b".", at) for at in range(1, 4096)} == {0}


def test_a_cut_never_parts_a_carriage_return_from_its_line_feed() -> None:
    assert cut_before(b"ab\r\ncd", 3) == 2
    assert cut_after(b"ab\r\ncd", 3) == 4


@given(st.binary(max_size=200))
def test_whatever_bytes_come_valid_unicode_goes_out(data: bytes) -> None:
    display(data).encode("utf-8")
    readable(data).encode("utf-8")


@given(st.text(st.characters(), max_size=100))
def test_encoding_loses_nothing(text: str) -> None:
    assert encode(text).decode("utf-8", "surrogatepass") == text


def test_the_terminal_shows_the_last_state() -> None:
    assert display(b"  1%\r 50%\r100%\ndone\r\n") == "100%\ndone\n"
    assert display(b"\x1b[2K\x1b[1mbold\x1b[0m") == "bold"
    assert display(b"spin |\b/\b-\bok\n") == "spin ok\n"
    assert display(b"a\x00b\x07\x7f\xc2\x85") == "ab"
    assert display(b"broken \xff \xed\xa0\x80!") == "broken \ufffd \ufffd!"
    assert display(b"tab\there") == "tab\there"


def test_dropping_a_control_joins_no_halves_of_a_code_point() -> None:
    assert display(b"\xc3\x00\x80") == "\ufffd\ufffd"


@given(st.text(max_size=200))
def test_a_json_carrier_counts_what_travels(text: str) -> None:
    size = Measure(len, "json").size(text, EVERYTHING)
    assert size.bytes == len(json.dumps(text, ensure_ascii=False).encode()) - 2


@given(
    st.text(max_size=3000), st.integers(1, 3000), st.sampled_from(["max_tokens", "max_bytes", "max_chars", "max_lines"])
)
def test_what_surely_fits_fits(text: str, size: int, unit: str) -> None:
    measure, budget = Measure(estimate_tokens), Budget(**{unit: size})
    assert measure.fits(text, budget) or not measure.surely_fits(text, budget)


@given(st.lists(st.sampled_from([b"ab", b"\r", b"\n", b"\x1b[31m", b"\x00", b"\xff", "é".encode(), b" "])), st.data())
def test_what_is_shown_of_any_part_stands_in_the_states_of_the_whole(pieces: list[bytes], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(pieces)))
    last = data.draw(st.integers(first, len(pieces)))
    every = states(b"".join(pieces))
    at = 0
    for line in display(b"".join(pieces[first:last])).split("\n"):
        assert line in every[at:]
        at = every.index(line, at) + len(line)
