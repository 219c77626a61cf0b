"""``search``: exact lines over all outputs, indexed when somebody searches, honest about the rest."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from multiprocessing import Queue, get_context
from pathlib import Path

import pytest

from overspill.core.access import Tools
from overspill.core.measure import display
from overspill.core.model import Call
from overspill.core.policy import Policy
from overspill.errors import QueryError
from overspill.retrieve import grep, read, search, search_index
from overspill.store import LocalStore, MemoryStore


def put(store: MemoryStore | LocalStore, data: bytes, session: str = "") -> str:
    call = Call(session=session)
    spill = store.spill(call)
    spill.write(data)
    return spill.commit(call).handle


def test_lines_with_handle_and_number_best_first(tmp_path: Path) -> None:
    for store in (MemoryStore(), LocalStore(tmp_path / "store")):
        first = put(store, b"starting\nconnection refused by db-1\nbye\n" * 3)
        put(store, b"connection made\nnothing refused here at all, really not\n" * 5)
        answer = search(store, "connection refused")
        assert f"\n{first}:2:connection refused by db-1\n" in answer.text
        assert answer.next == f"overspill read {first} --around {answer.matches[0].line}"
        assert answer.matches[0].line == 2
        assert search(store, '"refused by"').exit_status == 0
        assert search(store, "nowhere to be found").exit_status == 1


def test_new_outputs_are_found_and_removed_ones_are_not(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    put(store, b"alpha beta\n" * 10)
    assert search(store, "gamma").exit_status == 1
    handle = put(store, b"gamma delta\n" * 10)
    assert handle in search(store, "GAMMA").text
    store.remove(handle, reason="test")
    assert search(store, "gamma").exit_status == 1


def test_the_index_may_be_deleted_or_damaged_at_any_time(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    handle = put(store, b"one needle here\n" + b"hay\n" * 50)
    assert handle in search(store, "needle").text
    index = store.root / "search.sqlite"
    assert index.stat().st_mode & 0o077 == 0
    for suffix in ("", "-wal", "-shm"):
        index.with_name(index.name + suffix).unlink(missing_ok=True)
    assert handle in search(store, "needle").text
    for suffix in ("-wal", "-shm"):
        index.with_name(index.name + suffix).unlink(missing_ok=True)
    index.write_bytes(b"not a database at all, and long enough to be read as one" * 100)
    assert handle in search(store, "needle").text


def test_what_is_not_indexed_is_said() -> None:
    store = MemoryStore()
    put(store, b"\x00\x01binary needle\n" * 10)
    put(store, b"text needle\n")
    answer = search(store, "needle")
    assert "1 binary left out" in answer.text
    ticks = iter(range(0, 10_000, 100))
    store.outputs()
    late = search(store, "needle", seconds=1, clock=lambda: float(next(ticks)))
    assert "1 of 2 not indexed yet" in late.text
    with pytest.raises(QueryError, match=r"as in `overspill search 'disk full'`"):
        search(store, " ")
    with pytest.raises(QueryError, match=r'as in `overspill_search \{"words":"disk full"}`'):
        search(store, " ", policy=Policy(access=Tools()))


def test_words_too_short_for_the_index_are_found_too() -> None:
    store = MemoryStore()
    handle = put(store, "日本語\n東京都は晴れ\nexit code: no\n".encode() + b"x" * 9000 + " 東京\n".encode())
    put(store, "\0東京".encode())
    answer = search(store, "東京")
    assert f"\n{handle}:2:東京都は晴れ\n" in answer.text
    assert "1 binary left out" in answer.text
    assert [(found.line, found.first_byte) for found in answer.matches] == [(2, 1), (4, 9002)]
    assert search(store, "晴 東").matches[0].line == 2
    assert search(store, "NO").matches[0].line == 3
    assert search(store, "qq").exit_status == 1
    ticks = iter(range(0, 10_000, 100))
    late = search(store, "東京", seconds=1, clock=lambda: float(next(ticks)))
    assert "2 of 2 not looked at for time" in late.text


def test_more_lines_than_are_shown_are_said_with_the_call_that_finds_them_all() -> None:
    store = MemoryStore()
    handle = put(store, b"".join(b"%d handled a request\nother %d\n" % (n, n) for n in range(500)))
    answer = search(store, "request handled", max_lines=5)
    assert answer.text.startswith("[overspill search: 5 of at least 500 lines for 'request handled' in 1 output]\n")
    assert answer.next == f"overspill grep {handle} 'request.*handled|handled.*request' --ignore-case"
    assert grep(store, handle, "request.*handled|handled.*request", ignore_case=True).total_matches == 500
    put(store, b"f(x) of b.c\n" * 50)
    assert " 'f\\(x\\).*b\\.c|b\\.c.*f\\(x\\)' " in search(store, "f(x) b.c", max_lines=1).next


def test_words_that_no_line_holds_are_named() -> None:
    store = MemoryStore()
    put(store, b"connection refused\nnothing else\n" * 9)
    said = "none of these lines has all the words, none has 'qqqqq', 'wwwww'"
    assert said in search(store, "refused qqqqq wwwww").text
    assert "lines has all the words]" in search(store, "refused else").text
    assert "all the words" not in search(store, "refused connection").text


def test_outputs_of_which_only_the_start_is_indexed_are_named_with_the_call_for_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search_index, "MOST_BYTES", 1000)
    store = MemoryStore()
    handle = put(store, b"needle\n" + b"hay\n" * 1000)
    call = f"overspill grep {handle} needle --literal --ignore-case"
    assert f"of {handle} only the start is indexed, for the rest: {call}]" in search(store, "needle").text


def test_the_line_with_more_of_the_words_comes_first() -> None:
    store = MemoryStore()
    handle = put(store, b"connection made\n" * 5 + b"Connection was refused\n" + b"connection made\n" * 5)
    assert f"\n{handle}:6:Connection was refused\n" in search(store, "connection refused").text


def test_where_no_index_can_be_kept_the_outputs_themselves_are_searched_and_that_is_said(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    handle = put(store, b"connection made\n" * 200 + b"Connection was refused\n")
    put(store, b"connection made\n" * 5)
    (store.root / "search.sqlite").mkdir()
    (store.root / "search.sqlite" / "in the way").touch()
    answer = search(store, "connection refused")
    assert "in 2 outputs; searched newest first: no index can be kept here]\n" in answer.text
    assert f"]\n{handle}:201:Connection was refused\n" in answer.text
    ticks = iter(range(0, 10_000, 100))
    assert "2 of 2 not looked at for time" in search(store, "refused", seconds=1, clock=lambda: float(next(ticks))).text


def test_a_damaged_output_hides_no_other(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    damaged = store.stored(put(store, b"alpha\n" * 20_000)).path
    assert damaged
    os.truncate(damaged, 0)
    handle = put(store, b"alpha beta\n")
    for words in ("alpha", "al"):
        answer = search(store, words)
        assert f"{handle}:1:alpha beta\n" in answer.text
        assert "1 can't be read: `overspill doctor` says why" in answer.text


def _search_into(root: str, words: str, results: Queue[tuple[str, int]]) -> None:
    results.put((words, len(search(LocalStore(Path(root)), words).matches)))


def test_two_processes_index_at_the_same_time(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    for number in range(12):
        put(store, b"".join(b"line %d of %d\n" % (n, number) for n in range(4000)) + b"needle %d\n" % number)
    context = get_context("spawn")
    results = context.Queue()
    searching = [
        context.Process(target=_search_into, args=(str(store.root), word, results)) for word in ("needle", "eedle")
    ]
    for process in searching:
        process.start()
    found = [results.get(timeout=60) for _ in searching]
    for process in searching:
        process.join()
    assert sorted(found) == [("eedle", 10), ("needle", 10)]
    with closing(sqlite3.connect(store.root / "search.sqlite")) as index:
        assert index.execute("select count(*), count(distinct digest) from outputs").fetchone() == (12, 12)


def test_only_the_outputs_of_a_session() -> None:
    store = MemoryStore()
    mine = put(store, b"shared word of mine\n", session="a")
    put(store, b"shared word of others\n", session="b")
    answer = search(store, "shared", session="a")
    assert f"{mine}:1:shared word of mine" in answer.text
    assert "others" not in answer.text


def test_a_word_in_a_long_line_and_across_pieces_is_found_with_its_place() -> None:
    store = MemoryStore()
    data = b"x" * 4090 + b"needle-in-the-seam" + b"y" * 9000
    handle = put(store, data)
    answer = search(store, "needle-in-the-seam")
    assert answer.matches[0].first_byte == 4091
    shown = read(store, handle, line=1, bytes=(4091, 4108)).text
    assert display(b"needle-in-the-seam") in shown
