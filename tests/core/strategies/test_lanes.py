"""Columns worked on as a whole say what a loop over the units would say."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill.core.model import Call, Totals
from overspill.core.strategies.salience import features, lanes, model, question, shapes, templates, units, values
from overspill.core.strategies.salience.place import columns_of_place

SMALL = st.binary(min_size=1, max_size=80).map(lambda data: bytes(byte & 7 for byte in data))
TOKENS = [b"a", b"Bad", b"-", b"7", b'"', b"'", b"`", b"/", b"@", b"<", b">", b" ", b"\x1b[1m", b"E501", b":", b"_"]
TOKENS += [b"https://x", b"KeyError", b"\xe2\x80\x98", b"\xe2\x80\x99", b"[some-code]"]
LINES = st.lists(st.lists(st.sampled_from(TOKENS), max_size=12).map(b"".join), max_size=12)


@given(SMALL, st.integers(1, 30))
def test_sums_windows_and_places(column: bytes, reach: int) -> None:
    size = len(column)
    assert lanes.added(column, column) == bytes(2 * number for number in column)
    assert lanes.paired(column, 30, column) == bytes(31 * number for number in column)
    assert lanes.either(column, b"\x08" * size) == bytes(8 | number for number in column)
    assert lanes.where(column) == [index for index, number in enumerate(column) if number]
    ones = bytes(number & 1 for number in column)
    assert lanes.around(ones, reach) == bytes(
        sum(ones[max(0, index - reach) : index + reach + 1]) for index in range(size)
    )


@given(SMALL, st.sampled_from([1, 40]))
def test_ranks_of_few_and_of_many_kinds(kinds: bytes, repeated: int) -> None:
    of = [*kinds] * repeated
    ranks, marked = lanes.ranked(of, 8)
    seen: Counter[int] = Counter()
    for index, kind in enumerate(of):
        assert ranks[index] == min(lanes.MANY, seen[kind])
        assert (marked[index] & lanes.LAST > 0) == (kind not in of[index + 1 :])
        seen[kind] += 1


@given(st.lists(st.integers(0, 299), min_size=1, max_size=400))
def test_what_kinds_have_is_spread_over_their_units(kinds: list[int]) -> None:
    numbers = bytes(kind % 251 for kind in range(300))
    expected = bytes(kind % 251 for kind in kinds)
    assert lanes.spreading([*kinds, 0], 300)(numbers)[:-1] == expected
    few = [kind % 200 for kind in kinds]
    assert lanes.spreading(few, 200)(numbers[:200]) == bytes(kind % 251 for kind in few)


@given(st.lists(st.binary(min_size=5, max_size=5), min_size=1, max_size=6), st.integers(1, 40_000))
def test_scores_are_exact_sums(columns: list[bytes], most: int) -> None:
    """However far apart the weights are, and in whatever order: sums of whole thousandths."""
    raw = {
        name: {str(byte): (byte * 7919 % most - most // 3) / 1000 for byte in set(column)}
        for name, column in zip(features.NAMES, columns, strict=False)
    }
    tables = model.parsed({"any": raw})["any"]
    filled = [*columns, *[b"\0" * 5] * (len(features.NAMES) - len(columns))]
    telling = [
        (raw[name], column) for name, column in zip(features.NAMES, columns, strict=False) if len(set(column)) > 1
    ]
    expected = [
        sum(round(1000 * weights[str(column[unit])]) for weights, column in telling) / 1000 for unit in range(5)
    ]
    assert model.scores(filled, tables) == expected


def test_weights_too_far_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="apart at most"):
        model.parsed({"any": {"fine": {"1": 70.0}}})


@given(LINES)
def test_words_of_many_lines_are_those_of_each(lines: list[bytes]) -> None:
    together = templates.plain_words([line + b"\n" for line in lines])
    assert together == [templates.plain_words([line])[0] for line in lines]


@given(LINES)
def test_shapes_of_many_lines_are_those_of_each(lines: list[bytes]) -> None:
    lines = [line + b"\n" for line in lines]
    for name, column in shapes.columns_of_shape(lines).items():
        assert column == b"".join(shapes.columns_of_shape([line])[name] for line in lines)


@given(
    st.lists(st.lists(st.sampled_from([b"1", b"2", b"-3.5", b"x", b"y", b"\0", b"e7"]), max_size=5), max_size=60),
    st.integers(1, 70),
)
def test_what_stands_out_does_not_depend_on_how_many_rows_are_read_at_once(rows: list[list[bytes]], once: int) -> None:
    texts = [b" ".join(row) + b"\n" for row in rows for _ in range(3)]
    forms = [0] * len(texts)
    whole = values.standing_out(texts, forms)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "ROWS_AT_ONCE", once)
        assert values.standing_out(texts, forms) == whole


def test_blank_lines_first_do_not_hide_what_stands_out() -> None:
    texts = [b"\n"] * 20 + [b"state ok\n"] * 60 + [b"state odd\n"]
    found = values.standing_out(texts, [0] * len(texts))
    assert found.rare_values == {80: b"odd"}


@given(st.lists(st.integers(0, 900), min_size=1, max_size=60), st.booleans())
def test_places_are_counted_from_both_ends(lengths: list[int], pieces: bool) -> None:
    data = b"".join(b"x" * length + b"\n" for length in lengths)
    cut = units.Units()
    at = 0
    for line, length in enumerate(lengths, 1):
        cut.texts.append(data[at : at + length + 1])
        cut.starts.append(at)
        cut.lines.append(line)
        cut.columns.append(400 if pieces and line % 3 == 0 else 0)
        cut.joined.append(line > 1)
        at += length + 1
    columns = columns_of_place(cut, Totals(len(data), len(lengths)))
    for index, line in enumerate(cut.lines):
        before = line - 1 + cut.columns[index] // 200
        left = min((len(data) - cut.starts[index] - lengths[index] - 1) // 40, len(lengths) - line + 1)
        assert columns["from_start"][index] == bin_of(before)
        assert columns["from_end"][index] == bin_of(left)
        assert columns["decile"][index] == min(9, int(cut.starts[index] * (10 / len(data))))


def bin_of(distance: int) -> int:
    return distance if distance < 4 else 3 + min(12, (distance // 4).bit_length())


def evidence_of(texts: list[bytes], counts: dict[bytes, int] | None = None) -> dict[str, bytes]:
    data = b"".join(texts)
    cut = units.Units(texts, [0] * len(texts), [1] * len(texts), [0] * len(texts), [True] * len(texts))
    found = features.gather(cut, counts, None, Call(), Totals(len(data), len(texts)))
    return dict(zip(features.NAMES, found.columns, strict=True))


def test_a_last_line_without_its_end_has_the_form_of_its_like() -> None:
    assert evidence_of([b"one step\n", b"one step"])["run"] == bytes([2, 1])


def test_forms_that_were_counted_in_a_long_output_are_known_by_their_lines() -> None:
    """What the pool counts and what is asked of its lines go by the same keys."""
    (key,) = templates.fine_keys(b"one step\n")
    often = evidence_of([b"one step\n", b"something else\n"], {key: 500})["coarse"]
    once = evidence_of([b"one step\n", b"something else\n"], {})["coarse"]
    assert often[0] > once[0]
    assert often[1] == once[1]


@given(st.lists(st.sampled_from([b"nothing\n", b"a needle\n", b"# head\n", b"needles and pins\n"]), min_size=1))
def test_the_same_answers_wherever_they_stand(texts: list[bytes]) -> None:
    """A question raises the lines that speak to it, and no other."""
    cut = units.Units(texts, [0] * len(texts), [1] * len(texts), [0] * len(texts), [True] * len(texts))
    asked = question.Asked(question.terms("where is the needle?"))
    found = features.gather(cut, None, asked, Call(), Totals(len(b"".join(texts)), len(texts)))
    columns = dict(zip(features.NAMES, found.columns, strict=True))
    assert [number > 0 for number in columns["asked"]] == [b"needle" in text for text in texts]
    assert [number > 0 for number in columns["asked_rank"]] == [b"needle" in text for text in texts]
