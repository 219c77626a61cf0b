"""JSON cut stays JSON: whatever the document, the room and the question."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.strategies.viewing import cut_of, gap_words, viewed
from overspill.core.excerpt import Costs, Excerpt
from overspill.core.model import Budget, Call, Span, Totals, totals_of
from overspill.core.policy import Policy
from overspill.core.strategies.recognise import form
from overspill.core.strategies.views import best_view
from overspill.core.strategies.views.json_facts import Facts
from overspill.core.strategies.views.json_scan import Frame, Run, Scan
from overspill.core.strategies.views.json_view import sniff

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(10**30, 10**31),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=40),
    st.text(min_size=300, max_size=700),
    st.sampled_from(["ok", "failed", "CRITICAL", '"quoted" \\ back', "é́ 👩‍👩‍👧 漢字", "\u2028", "\x7f", "[{,:]}"]),
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=25),
        st.dictionaries(st.text(max_size=12), inner, max_size=12),
        st.lists(
            st.fixed_dictionaries({"id": st.integers(), "status": st.sampled_from(["ok", "bad"]), "v": inner}),
            max_size=9,
        ),
    ),
    max_leaves=24,
)
LAYOUTS = st.sampled_from([{}, {"indent": 2}, {"separators": (",", ":")}, {"indent": 1, "ensure_ascii": False}])
QUESTIONS = st.sampled_from(["", "which status failed, and why?", "what is the latest version?", 'id 7 \\ "'])


def excerpt_of(source: bytes, **how: Any) -> str:
    return viewed("json", source, **how).excerpt


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(DOCUMENTS, LAYOUTS, QUESTIONS, st.integers(300, 900))
def test_a_document_cut_is_a_document(document: Any, layout: dict[str, Any], question: str, tokens: int) -> None:
    whole = {"items": enough([document], tokens), "also": document}
    source = json.dumps(whole, **layout).encode("utf-8", "surrogatepass")
    json.loads(excerpt_of(source, room=Budget(max_tokens=tokens), question=question))


def enough(documents: list[Any], tokens: int) -> list[Any]:
    """The documents again and again, until no room of so many tokens holds them."""
    return documents * (1 + 8 * tokens // len(json.dumps(documents)))


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(DOCUMENTS, min_size=1, max_size=6), st.integers(300, 900))
def test_each_line_of_json_lines_stays_json(documents: list[Any], tokens: int) -> None:
    many = enough(documents, tokens)
    source = b"".join(json.dumps({"a": one, "n": n}).encode() + b"\n" for n, one in enumerate(many))
    for line in excerpt_of(source, room=Budget(max_tokens=tokens)).splitlines():
        json.loads(line)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(DOCUMENTS, LAYOUTS, st.data())
def test_broken_json_is_shown_all_the_same(document: Any, layout: dict[str, Any], data: st.DataObject) -> None:
    source = bytearray(json.dumps(enough([document], 500), **layout).encode("utf-8", "surrogatepass"))
    for at in data.draw(st.lists(st.integers(0, len(source) - 1), max_size=5)):
        source[at : at + 1] = data.draw(st.sampled_from([b"", b'"', b"]", b"}", b"\\", b"\n", b"\xff", b"junk, {"]))
    cut_at = data.draw(st.integers(3_000, len(source))) if len(source) > 3_000 else len(source)
    assert viewed("json", bytes(source[:cut_at])).excerpt


def records(many: int, **odd: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [
        {"id": n, "name": f"job-{n}", "status": "ok", "seconds": 10 + n % 7, "zone": f"z{n % 3}"} for n in range(many)
    ]
    for key, change in odd.items():
        rows[int(key[1:])] |= change
    return rows


@pytest.mark.parametrize("layout", [{}, {"indent": 2}])
def test_the_one_that_differs_is_kept(layout: dict[str, Any]) -> None:
    rows = records(3_000, n1777={"status": "failed", "error": "disk full on /var"}, n2345={"seconds": 90_000})
    excerpt = excerpt_of(json.dumps({"total": 3_000, "jobs": rows}, **layout).encode())
    assert "disk full on /var" in excerpt
    assert "90000" in excerpt
    assert '"total": 3000' in excerpt


def test_the_record_asked_for_is_kept_whole() -> None:
    source = json.dumps(records(3_000), indent=1).encode()
    excerpt = excerpt_of(source, question="how many seconds did job-1234 take?")
    [asked] = [row for row in json.loads(excerpt) if isinstance(row, dict) and row.get("name") == "job-1234"]
    assert asked["seconds"] == 10 + 1234 % 7


def releases() -> dict[str, Any]:
    numbers = [f"{major}.{minor}.0" for major in range(1, 6) for minor in range(11)]
    return {
        "name": "thing",
        "versions": {
            number: {"version": number, "dist": {"sum": f"sum of {number}", "pad": "x" * 300}} for number in numbers
        },
    }


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the latest version and its sum?", "5.10.0"),
        ("Which sum has the last 3.x?", "3.10.0"),
        ("Which sum has the first 4.x?", "4.0.0"),
    ],
)
def test_a_version_that_is_asked_for_by_its_place_is_shown(question: str, answer: str) -> None:
    excerpt = excerpt_of(json.dumps(releases()).encode(), question=question)
    assert f'"sum of {answer}"' in excerpt
    json.loads(excerpt)


def test_a_version_that_is_pointed_at_is_shown() -> None:
    document = {"tags": {"stable": "2.7.0"}, **releases()}
    assert '"sum of 2.7.0"' in excerpt_of(json.dumps(document).encode(), question="sum of the stable one?")


def test_who_asks_for_one_state_does_not_ask_for_the_records_in_another() -> None:
    rows = [
        {"name": f"alert{n}", "state": "firing"}
        if n % 2
        else {"name": f"alert{n} of a node of the cluster", "state": "idle"}
        for n in range(600)
    ]
    question = "Which alerts are firing on a node of the cluster?"
    excerpt = excerpt_of(json.dumps(rows, indent=1).encode(), question=question)
    assert excerpt.count('"firing"') > 2 * excerpt.count('"idle"')


def test_a_record_that_is_named_is_shown_in_whatever_state() -> None:
    rows = [{"order": f"W{n}", "status": "cancelled" if n % 2 else "delivered", "city": f"City{n}"} for n in range(400)]
    excerpt = excerpt_of(json.dumps(rows).encode(), question="City of order W250, and of the cancelled W33?")
    assert '"City250"' in excerpt
    assert '"City33"' in excerpt


def test_marks_count_what_is_left_out_and_say_where_it_is() -> None:
    rows = records(2_000, n700={"status": "failed"})
    source = json.dumps({"data": {"jobs": rows}}, indent=1).encode()
    lines = source.split(b"\n")
    marks = [
        (int(found[1]), int(found[2]), int(found[3]), first, last)
        for first, last, text in gap_words(viewed("json", source))
        if (found := re.search(r"… (\d+) more: data\.jobs\[(\d+):(\d+)\]", text))
    ]
    assert marks
    for count, start, end, first, last in marks:
        omitted = json.loads(b"[" + b"\n".join(lines[first - 1 : last]).strip().rstrip(b",") + b"]")
        assert omitted == rows[start:end]
        assert len(omitted) == count


def test_a_very_long_string_stays_a_string() -> None:
    text = 'needle in the hay \\ "quoted" é ' * 60_000
    source = json.dumps({"before": 1, "text": text, "after": [1, 2, 3]}).encode()
    document = json.loads(excerpt_of(source))
    assert document["after"] == [1, 2, 3]
    assert document["text"].startswith("needle in the hay")


def test_chunks_are_invisible() -> None:
    source = json.dumps(records(12_000, n9_000={"status": "failed"})).encode()
    assert viewed("json", source, chunk=977).text == viewed("json", source).text


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS, LAYOUTS, st.integers(1, 400))
def test_runs_openings_and_closings_tile_the_source(document: Any, layout: dict[str, Any], block: int) -> None:
    source = json.dumps([document, {"x": [document] * 4}] * 4, **layout).encode("utf-8", "surrogatepass")
    assert not tiled(source, block * 50).broken


SIGNS = st.sampled_from(
    [b"{", b"}", b"[", b"]", b",", b'"', b":", b"\\", b"\n", b"\x1b]", b"\xcc\x81", b"a", b"a" * 700]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(SIGNS, min_size=8, max_size=60), st.integers(1, 40))
@example([b"{"] * 5 + [b"}"] * 3 + [b",", b"}", b"{", b",", b"a"], 1)
@example([b"{", b"a" * 2_100, b"[{[aaaaa{aaaa}}}}aa[a{{{{aa[[aaaaa{a{aaa{[[a}}}}aaaa"], 1)
@example([b"{" * 5, b"}" * 3, b",}\x1b]{-"], 1)
def test_what_is_no_json_is_tiled_as_well(signs: list[bytes], times: int) -> None:
    tiled(b"".join(signs) * times + b"the end", 1 << 20)


def tiled(source: bytes, block: int) -> Scan:
    """The scan of a source, which leaves nothing of it out and takes nothing twice."""
    runs: list[Run] = []
    scan = Scan(runs.append)
    for start in range(0, len(source), block):
        scan.feed(Span(start, source[start : start + block], *place(source, start)))
    scan.finish()
    tiles = [(run.start, run.data, run.line, run.column) for run in runs]
    frames: set[int] = set()
    for run in runs:
        frame: Frame | None = run.frame
        while frame is not None and frame.parent is not None and id(frame) not in frames:
            frames.add(id(frame))
            tiles.append((frame.start, frame.opening, frame.line, frame.column))
            if frame.closing:
                tiles.append((frame.closing_start, frame.closing, *frame.closing_place))
            frame = frame.parent
    at = 0
    for start, data, line, column in sorted(tiles):
        assert start == at
        assert source[start : start + len(data)] == data
        assert (line, column) == place(source, start)
        at += len(data)
    assert at == len(source)
    return scan


def place(source: bytes, at: int) -> tuple[int, int]:
    return source.count(b"\n", 0, at) + 1, at - source.rfind(b"\n", 0, at) - 1


def test_deep_nesting_is_no_recursion() -> None:
    assert viewed("json", b"[" * 50_000 + b"1" + b"]" * 50_000).truncated


def test_the_same_document_gives_the_same_choice() -> None:
    source = json.dumps(records(900, n17={"status": "failed"})).encode()
    one, other = (cut_of("json", source)[0] for _ in range(2))
    assert one.selection.headline == other.selection.headline


@pytest.mark.parametrize("text", [b"[INFO] starting\n" * 50, b"{ not json }\n" * 50, b"plain text\n" * 50, b""])
def test_other_texts_are_not_taken_for_json(text: bytes) -> None:
    assert sniff(text, Call()) < 0.5


def test_json_is_recognised() -> None:
    assert sniff(json.dumps(records(50)).encode(), Call()) > 0.5
    assert sniff(b"".join(json.dumps(row).encode() + b"\n" for row in records(50)), Call()) > 0.5
    assert sniff(json.dumps(records(50), indent=4).encode(), Call()) > 0.5


@pytest.mark.parametrize("offset", range(6))
def test_a_string_too_long_to_hold_is_not_cut_inside_an_escape(offset: int) -> None:
    source = b'{"pad": "' + b"x" * offset + b"\\u00e9\\ud83d\\ude00" * 40_000 + b'", "end": 1}'
    assert json.loads(excerpt_of(source))["pad"].startswith("x" * offset + "é😀")


@pytest.mark.parametrize("tokens", [300, 450, 700])
def test_marks_that_cost_more_than_the_values_leave_it_json(tokens: int) -> None:
    key = "é𐀀\x19" * 12
    document = {"items": [{key: [{key: ["é" * 90, n, None, {key: n}]} for n in range(12)]} for _ in range(9)]}
    json.loads(excerpt_of(json.dumps(document).encode(), room=Budget(max_tokens=tokens)))


def test_a_room_too_small_for_any_value_shows_what_opens_and_closes() -> None:
    source = json.dumps({"first": {"second": "é𐀀\x19" * 400}, "third": "é𐀀\x19" * 400}).encode()
    shown = json.loads(excerpt_of(source, room=Budget(max_tokens=200)))
    assert "first" in shown or any("…" in key for key in shown)


@pytest.mark.parametrize("cluster", [",\u0301", "\u0600,", "{\u0308", '"\u0301', "\u0600}", "👩‍👩‍👧,\u0301"])
def test_no_cut_parts_a_cluster_in_what_is_no_json(cluster: str) -> None:
    document = [{"id": n, "v": ["text " + cluster * 3 + "…" * 40, cluster, n]} for n in range(60)]
    source = json.dumps(document, ensure_ascii=False)
    viewed("json", source.encode())
    viewed("json", source.replace('"text', "text").replace('…"', "…").encode())


# What real writers of JSON do


@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"separators": (",", ":")}])
@pytest.mark.parametrize("before", [b"", b"\r\n "])
def test_a_byte_order_mark_belongs_to_the_document(layout: dict[str, Any], before: bytes) -> None:
    rows = records(900, n500={"status": "failed", "error": "disk full"})
    source = b"\xef\xbb\xbf" + before + json.dumps({"jobs": rows}, **layout).encode()
    bounded = viewed("json", source)
    assert "not valid" not in bounded.header
    assert "disk full" in bounded.excerpt
    json.loads(bounded.excerpt.removeprefix("\ufeff"))
    assert best_view(source, Call()) == form(source, Call()).name == "json"


def test_lines_of_json_may_begin_with_a_byte_order_mark() -> None:
    source = b"\xef\xbb\xbf" + b"".join(json.dumps(row).encode() + b"\n" for row in records(900))
    bounded = viewed("json", source)
    assert "900 JSON documents" in bounded.header
    for line in bounded.excerpt.splitlines():
        json.loads(line.removeprefix("\ufeff"))


@pytest.mark.parametrize("odd", ["NaN", "-Infinity", '"\\ud83d half"'])
def test_what_python_writes_as_json_is_counted_as_well(odd: str) -> None:
    rows = [f'{{"id": {n}, "state": "{"ok" if n != 700 else "lost"}", "v": {odd}}}' for n in range(1_500)]
    assert '"lost"' in excerpt_of(f"[{', '.join(rows)}]".encode())


def test_half_a_character_in_a_key_stays_an_escape_in_paths() -> None:
    key = "\\udc00 half"
    text = f'{{"a": {{"{key}": [{", ".join(str(n) for n in range(4_000))}]}}}}'
    bounded = viewed("json", text.encode())
    paths = re.findall(r"… \d+ more: (.*?)\[\d+:\d+\]", bounded.excerpt)
    assert paths
    assert all(json.loads(f'"{path}"') == f'a."{key}"' for path in paths)


@pytest.mark.parametrize(
    "source",
    [
        b"[1," + b"9" * 1_000_000 + b",2]",
        b'{"a": ' + b"9" * 1_000_000 + b', "b": 1}',
        b"[1" + b"\n" * 1_000_000 + b",2]",
    ],
)
def test_valid_json_is_never_called_invalid(source: bytes) -> None:
    assert "not valid" not in viewed("json", source).header


def test_deep_boxes_bring_their_ends_along_once() -> None:
    levels = b"".join(b'{"k%d": "value %d", "next": ' % (n, n) for n in range(380))
    source = levels + b"null" + b"}" * 380
    cut, _ = cut_of("json", source, room=Budget(max_tokens=3_000))
    counting = Counting(Budget(max_tokens=3_000), totals_of(source))
    cut.selection.fill(counting)
    assert counting.spans()
    assert counting.offered < 4 * 380


class Counting(Excerpt):
    """An excerpt that knows how many spans it was offered."""

    offered = 0

    def __init__(self, room: Budget, totals: Totals) -> None:
        super().__init__(room, totals, Costs(Policy().measure, room))

    def add(self, *spans: Span, leave: float = 0.0) -> bool:
        self.offered += len(spans)
        return super().add(*spans, leave=leave)


@pytest.mark.parametrize("question", ["", "which job-77 failed, in which zone?"])
@pytest.mark.parametrize("rooms", [(600, 900, 750, 300, 1_500), (1_950, 2_063, 2_006, 1_978), (400, 380, 360, 90, 420)])
def test_an_excerpt_gets_the_same_whoever_was_filled_before(question: str, rooms: tuple[int, ...]) -> None:
    rows = records(400, n77={"status": "failed", "log": "word " * 300}, n300={"seconds": 9_000})
    for n in range(0, 400, 3):
        rows[n] |= {"steps": [{"n": step, "of": {"zone": f"z{step}", "path": "/a/b" * step}} for step in range(9)]}
    source = json.dumps({"total": 400, "jobs": rows, "also": {"more": rows[:20]}}).encode()

    def selection() -> Any:
        return cut_of("json", source, call=Call(question=question))[0].selection

    one = selection()
    for tokens in rooms:
        room = Budget(max_tokens=tokens)
        again, fresh = (Excerpt(room, totals_of(source), Costs(Policy().measure, room)) for _ in range(2))
        one.fill(again)
        selection().fill(fresh)
        assert again.spans() == fresh.spans()


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(DOCUMENTS, min_size=1, max_size=20), st.booleans(), st.integers(1, 5))
@example(documents=[5, 3, 9, 1, 4], alike=False, apart=1)
def test_values_counted_by_columns_are_those_of_the_document(documents: list[Any], alike: bool, apart: int) -> None:
    members = [{"id": n, "v": one} for n, one in enumerate(documents)] if alike else documents
    facts, array = Facts(), Frame(None, "[", 0, 0, 1, 0, depth=1)
    for at in range(0, len(members), apart):
        if apart % 2:
            array = Frame(None, "[", 0, 0, 1, 0, depth=1)
        some = members[at : at + apart]
        facts.see(Run(array, at, len(some), 0, 1, 0, ",".join(map(json.dumps, some)).encode()), "")
    facts.weigh()
    counted: dict[tuple[int, str], list[Any]] = {}
    held(members, 1, "", counted)
    assert facts.fields.keys() == counted.keys()
    for where, values in counted.items():
        field = facts.fields[where]
        numbers = [one for one in values if type(one) in (int, float)]
        assert (field.seen, field.numbers) == (len(values), len(numbers))
        assert not numbers or (field.lowest, field.highest) == (min(numbers), max(numbers))
        assert field.rising == sum(later >= one for one, later in pairwise([0, *numbers]))
        assert field.values is None or field.values.total() == len(values)


def held(value: Any, depth: int, name: str, found: dict[tuple[int, str], list[Any]]) -> None:
    """The values inside another, by depth and key, in the plainest way."""
    for key, item in value.items() if isinstance(value, dict) else [(name, item) for item in value]:
        found.setdefault((depth, key), []).append(item)
        if isinstance(item, dict | list):
            held(item, depth + 1, key, found)
