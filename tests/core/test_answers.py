"""Answers of read-back are known to other layers, and are only ever shortened by whole lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from overspill.core.answers import ANSWER, tightened
from overspill.core.measure import Measure
from overspill.core.model import Budget
from overspill.core.tokens import estimate_tokens
from overspill.retrieve import grep, outline, read
from retrieve.kept import keep


def test_every_answer_is_recognised() -> None:
    store, handle = keep(b"some line of a log\n" * 3000)
    for answer in (
        read(store, handle),
        grep(store, handle, "log"),
        outline(store, handle),
        read(store, handle, lines=9000),
    ):
        found = ANSWER.match(answer.text)
        assert found is not None
        assert found["handle"] == handle


@given(st.integers(20, 3000), st.sampled_from(["max_tokens", "max_bytes", "max_lines", "max_chars"]))
def test_a_tighter_layer_shows_fewer_of_its_lines(size: int, unit: str) -> None:
    store, handle = keep(b"".join(b"line %d of a log\n" % n for n in range(3000)))
    text = read(store, handle).text
    measure, budget = Measure(estimate_tokens), Budget(**{unit: size})
    shown = tightened(text, budget, measure)
    assert measure.fits(shown, budget)
    if measure.fits(text, budget):
        assert shown is text
    elif shown.endswith("ask for fewer]\n"):
        assert text.startswith(shown[: shown.rindex("[")])
