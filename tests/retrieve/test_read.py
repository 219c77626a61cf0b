"""``read``: bounded on any bytes, and its pages are the output."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill.core.access import Tools
from overspill.core.measure import display
from overspill.core.model import Budget, Call
from overspill.core.policy import Policy
from overspill.errors import RequestError, UnknownHandle
from overspill.retrieve import Answer, Session, pages, read
from overspill.retrieve.source import Source
from overspill.store import MemoryStore
from retrieve.kept import BUDGETS, OUTPUTS, keep, tight


def shown(store: MemoryStore, answer: Answer) -> bytes:
    blob = store.open(answer.handle)
    return b"".join(blob.read(page.start, page.end - page.start) for page in answer.pages)


@given(OUTPUTS, BUDGETS)
def test_the_pages_joined_are_the_output(data: bytes, budget: Budget) -> None:
    store, handle = keep(data)
    policy = tight(budget)
    read_back = b""
    for answer in pages(store, handle, policy=policy):
        assert policy.measure.fits(answer.text, budget)
        part = shown(store, answer)
        assert part or not data
        read_back += part
    assert read_back == data


@given(OUTPUTS, BUDGETS, st.data())
def test_the_pages_of_any_range_of_lines_are_that_range(data: bytes, budget: Budget, draw: st.DataObject) -> None:
    store, handle = keep(data)
    lines = data.split(b"\n") if data else []
    lines = (
        [line + b"\n" for line in lines[:-1]] + lines[-1:] if lines and lines[-1] else [x + b"\n" for x in lines[:-1]]
    )
    if not lines:
        return
    first = draw.draw(st.integers(1, len(lines)))
    last = draw.draw(st.integers(first, len(lines) + 2))
    read_back = b"".join(
        shown(store, answer) for answer in pages(store, handle, lines=f"{first}-{last}", policy=tight(budget))
    )
    assert read_back == b"".join(lines[first - 1 : last])


@given(OUTPUTS, BUDGETS, st.data())
def test_any_bytes_of_a_line_are_shown_and_can_be_walked_to_its_end(
    data: bytes, budget: Budget, draw: st.DataObject
) -> None:
    if not data:
        return
    store, handle = keep(data)
    policy = tight(budget)
    count = store.stored(handle).lines
    line = draw.draw(st.integers(1, count))
    start = sum(len(part) + 1 for part in data.split(b"\n")[: line - 1])
    end = data.find(b"\n", start) + 1 or len(data)
    first = draw.draw(st.integers(1, end - start))
    last = draw.draw(st.integers(first, end - start))
    answer = read(store, handle, line=line, bytes=(first, last), policy=policy)
    page = answer.pages[0]
    at = page.start
    assert at <= start + first - 1
    while True:
        assert policy.measure.fits(answer.text, budget)
        assert answer.pages[0].start == at
        at = answer.pages[0].end
        if not answer.rest:
            break
        answer = read(store, handle, lines=answer.rest, policy=policy)
    assert at >= start + last


@given(OUTPUTS, BUDGETS, st.integers(1, 20), st.integers(0, 9))
def test_around_shows_the_line_it_names(data: bytes, budget: Budget, line: int, context: int) -> None:
    store, handle = keep(data)
    answer = read(store, handle, around=line, context=context, policy=tight(budget))
    assert tight(budget).measure.fits(answer.text, budget)
    if data and line <= store.stored(handle).lines:
        assert f"\n{line}:" in answer.text or f"\n{line}[" in answer.text
    elif data:
        assert answer.exit_status == 1


@given(OUTPUTS, BUDGETS, st.integers(1, 20))
def test_tail_ends_with_the_end_and_leads_back_to_the_start_of_it(data: bytes, budget: Budget, count: int) -> None:
    if not data:
        return
    store, handle = keep(data)
    answer = read(store, handle, tail=count, policy=tight(budget))
    assert tight(budget).measure.fits(answer.text, budget)
    assert answer.pages[0].end == len(data)
    before = b"".join(shown(store, page) for page in pages(store, handle, lines=answer.rest, policy=tight(budget)))
    lines = data.splitlines(keepends=True) if b"\r" not in data else None
    read_back = before + shown(store, answer)
    assert data.endswith(read_back)
    if lines is not None and data.isascii() and not set(data) & set(b"\x0b\x0c\x1c\x1d\x1e\x85"):
        assert read_back == b"".join(lines[-count:])


def test_a_line_is_numbered_and_verbatim() -> None:
    store, handle = keep(b"first\n  second: 2\nthird")
    assert read(store, handle).text == (f"[overspill read {handle}: lines 1-3 of 3]\n1:first\n2:  second: 2\n3:third\n")


def test_the_last_line_of_the_answer_is_the_call_that_goes_on() -> None:
    store, handle = keep(b"".join(b"line %d of a long log of a server\n" % number for number in range(1, 5001)))
    answer = read(store, handle, lines="800-4000")
    *_, last_shown, more = answer.text.splitlines()
    number = int(last_shown.partition(":")[0])
    assert more == f"[more: overspill read {handle} --lines {number + 1}-4000]"
    assert read(store, handle, lines=answer.rest).text.splitlines()[1].startswith(f"{number + 1}:")
    tools = read(store, handle, lines="800-4000", policy=Policy(access=Tools()))
    assert f'overspill_read {{"handle":"{handle}","lines":"' in tools.next


def test_thirty_megabytes_in_one_line() -> None:
    data = b"".join(b'{"id":%d},' % number for number in range(3_000_000))
    store, handle = keep(data)
    answer = read(store, handle, line=1, bytes="20000001-20000200")
    assert display(data[20_000_000:20_000_200]) in answer.text
    assert f"--line 1 --bytes {20_000_201}-" in answer.next
    assert len(read(store, handle).text) < 9_000


def test_characters_inside_a_line() -> None:
    store, handle = keep("一\n".encode() + "日本語テキスト".encode() * 1000)
    answer = read(store, handle, line=2, chars="8-10")
    assert "]:日本語\n" in answer.text
    assert read(store, handle, line=2, chars="7001-").exit_status == 1


def test_crlf_is_one_line_end_and_never_cut() -> None:
    store, handle = keep(b"a\r\nb\r\n")
    assert "1:a\n2:b\n" in read(store, handle).text


def test_what_is_not_there_is_said() -> None:
    store, handle = keep(b"a\nb\n")
    beyond = read(store, handle, lines="7-9")
    assert beyond.exit_status == 1
    assert "there is no line 7; the output has 2 lines" in beyond.text
    assert "line 2 has 2 bytes" in read(store, handle, line=2, bytes="9-").text
    empty, nothing = keep(b"")
    assert "empty" in read(empty, nothing).text
    with pytest.raises(UnknownHandle):
        read(store, "ovs_zzzzzzzz")


@pytest.mark.parametrize("wrong", ["x", "", "0", "-", "5-2", "1-2-3", (1, 2, 3), "1.0", True])
def test_a_range_that_makes_no_sense_is_refused_with_what_would(wrong: object) -> None:
    store, handle = keep(b"a\n")
    with pytest.raises(RequestError, match="lines"):
        read(store, handle, lines=wrong)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="can't be combined"):
        read(store, handle, head=1, tail=1)


@pytest.mark.parametrize("way", ["2-3", "2..3", "2:3", "L2-L3", " 2 - 3 ", "[2-3]", (2, 3)])
def test_ranges_as_models_write_them(way: str | tuple[int, int]) -> None:
    store, handle = keep(b"a\nb\nc\nd\n")
    assert "2:b\n3:c\n" in read(store, handle, lines=way).text


def test_a_repeated_read_costs_nothing_and_says_what_is_new() -> None:
    session = Session()
    store, handle = keep(b"".join(b"line %d\n" % number for number in range(1, 101)))
    read(store, handle, lines="10-20", session=session)
    again = read(store, handle, lines="10-20", session=session)
    assert "12:" not in again.text
    assert "Not shown yet: lines 1-9, lines 21-100" in again.text
    wider = read(store, handle, lines="9-21", session=session)
    assert "9:line 9\n[lines 10-20 already shown]\n21:line 21\n" in wider.text
    assert "12:line 12" in read(store, handle, lines="10-20", session=session, again=True).text


def test_what_the_excerpt_showed_counts_as_shown() -> None:
    from overspill.bounder import Bounder

    store = MemoryStore()
    data = "".join(f"line {number} of the output\n" for number in range(1, 2001))
    bounded = Bounder(Policy(budget=Budget(max_tokens=300)), store).bound(data, Call())
    session = Session()
    session.note_bounded(bounded)
    assert bounded.handle
    gap = bounded.gaps[0]
    assert (
        "already shown"
        in read(store, bounded.handle, lines=(max(1, gap.first_line - 5), gap.last_line), session=session).text
    )


def test_a_page_is_a_twentieth_of_the_window_when_that_is_known() -> None:
    store, handle = keep(b"some words of a log line\n" * 5000)
    policy = Policy()
    answer = read(store, handle, policy=policy, window_tokens=8000)
    assert policy.measure.tokens(answer.text) <= 400
    assert answer.next


def test_the_line_of_any_place_whatever_the_lengths_of_lines() -> None:
    data = b"a\n" * 400_000 + b"".join(b"%d%s\n" % (n, b"x" * (n % 7) * 40_000) for n in range(60)) + b"\n" * 900_000
    store, handle = keep(data)
    with Source(store, handle) as source:
        for offset in range(0, len(data), 77_777):
            assert source.line_at(offset) == data.count(b"\n", 0, offset) + 1


def test_who_asks_for_bytes_gets_those_that_were_overwritten_too() -> None:
    store, handle = keep(b"get 1%\rget 2%\rdone\r\n")
    assert read(store, handle).text.endswith("\n1:done\n")
    assert read(store, handle, line=1, bytes="1-").text.endswith("\n1[1-7]:get 1%\n1[8-14]:get 2%\n1[15-19]:done\n")
    assert read(store, handle, bytes="9-11").pages[0].start == 8
    binary = bytes(range(256)) * 40 + b"\r" * 50
    store, handle = keep(binary)
    answer = read(store, handle, bytes="1-1100")
    assert answer.rest == ""
    assert all(text in answer.text for text in ("()*+,-./0123456789", "ABCDEFGHIJ"))


@pytest.mark.parametrize("lines", ["1.9000-1.9001", "1.5-1.9", "2.5-", "2.9-"])
def test_a_place_behind_the_end_of_its_line_has_its_sentence(lines: str) -> None:
    answer = read(*keep(b"abc\ndef\n"), lines=lines)
    first, byte = lines.split("-")[0].split(".")
    assert f"line {first} has 4 bytes, line end included; byte {byte} is beyond its end]\n" in answer.text
    assert answer.exit_status == 1
    assert read(*keep(b"abc\ndef\n"), lines="1.4-1.4").text.endswith("\n1[4-4]:\n")


def test_states_that_were_overwritten_are_not_taken_for_shown() -> None:
    session = Session()
    store, handle = keep(b"get 1%\rget 2%\rdone\nend\n")
    read(store, handle, session=session)
    assert ":get 1%\n" in read(store, handle, line=1, bytes="1-", session=session).text


@given(OUTPUTS, BUDGETS, BUDGETS, st.integers(1, 9), st.integers(0, 9))
def test_what_one_budget_left_out_is_not_shown_before_for_another(
    data: bytes, first: Budget, second: Budget, line: int, more: int
) -> None:
    store, handle = keep(data)
    session = Session()
    seen: set[int] = set()
    for budget in (first, second, first):
        answer = read(store, handle, lines=f"{line}-{line + more}", policy=tight(budget), session=session)
        fresh = read(store, handle, lines=f"{line}-{line + more}", policy=tight(budget), session=session, again=True)
        skipped = re.findall(r"^\[lines? (\d+)(?:-(\d+))? already shown\]$", answer.text, re.MULTILINE)
        for start, stop in skipped:
            assert seen >= set(range(int(start), int(stop or start) + 1))
        seen |= {int(number) for number in re.findall(r"^(\d+):", fresh.text + answer.text, re.MULTILINE)}
