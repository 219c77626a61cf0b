"""Every preset's text is within its budget: the words too, or beside it within what is said of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from five.texts import bounder
from overspill import Bounder, Budget, FilePath, MemoryStore, Policy, PolicyError, Shell, SubAgent, Tools
from overspill.config.presets import PRESETS
from overspill.core.layouts import LAYOUTS, Custom
from overspill.core.layouts.words import WORDS_BYTES
from overspill.core.measure import within
from overspill.core.model import UNITS
from overspill.core.ports import LINES_ON_TOP, Stored

LEAST = {"max_chars": 269, "max_bytes": 367, "max_lines": 4}
ON_TOP = {"unified", "buffered", "registry", "opencode", "codex", "gemini-cli", "claude-code"}
PIECES = [
    *(b"a line\n", b"\n", b"\r\n", b"x" * 700, b"\xff\xfe", b"\xed\xa0\x80", "漢字".encode(), "👩‍👩‍👧‍👦".encode()),
    *(b"\x1b[38;5;196mred\x1b[0m", b"\0z", b'{"a": "\\n"}\n', b"\t", b"y" * 90 + b"\n"),
]
SIZES = st.fixed_dictionaries(
    {},
    optional={
        unit: st.integers(least + 9, 5 * least) | st.integers(least + 9, 60 * least) for unit, least in LEAST.items()
    },
)


class Elsewhere(MemoryStore):
    """Keeps nothing under a path that is as long as paths get, or for a reason that is."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def spill(self, call: Any) -> Any:
        from overspill.errors import StoreUnavailable

        if not self.path:
            raise StoreUnavailable("somewhere", "漢" * 200)
        spill = super().spill(call)
        commit = spill.commit

        def committed(call: Any) -> Stored:
            return replace(commit(call), path=self.path)

        spill.commit = committed  # type: ignore[method-assign]
        return spill


@settings(max_examples=150)
@given(
    name=st.sampled_from(sorted(PRESETS)),
    sizes=SIZES,
    keep=st.sampled_from(["", "head", "tail", "ends", "auto"]),
    language=st.sampled_from(["en", "zh"]),
    access=st.sampled_from([FilePath(), SubAgent(), Shell(store="s3://a/b"), Tools()]),
    path=st.sampled_from(["", "/tmp/kept/ovs_1.txt", "/" + "long/" * 800]),
    carrier=st.sampled_from(["text", "json"]),
    pieces=st.lists(st.tuples(st.sampled_from(PIECES), st.integers(1, 400)), min_size=1, max_size=6),
)
def test_every_preset_fits(
    name: str, sizes: dict[str, int], keep: str, language: Any, access: Any, path: str, carrier: Any, pieces: Any
) -> None:
    asked = bounder(name, **sizes, **({"keep": keep} if keep else {}))
    policy = replace(asked.policy, language=language, access=access, carrier=carrier, when_failed="bounded")
    data = b"".join(piece * times for piece, times in pieces)
    bounded = Bounder(policy, Elsewhere(path)).bound(data)
    bounded.text.encode()
    if not bounded.truncated:
        assert policy.measure.fits(bounded.text, policy.above)
        return
    assert bounded.excerpt.strip() or not data.strip()
    assert bounded.kept_bytes + bounded.omitted_bytes == len(data)
    on_top = policy.layout.name in ON_TOP if policy.layout else False
    measured = Budget(max_tokens=1, max_bytes=1, max_chars=1, max_lines=1)
    size = policy.measure.size(bounded.text, measured)
    shown = "".join(part.text for part in bounded.parts if part.span).removesuffix("\n")
    assert within(policy.measure.size(shown, policy.budget), policy.budget)
    for unit, used, bound in zip(UNITS, size, policy.budget.bounds, strict=True):
        named = getattr(policy.budget, f"max_{unit}") is not None
        more = (LINES_ON_TOP if unit == "lines" else WORDS_BYTES) if on_top and named else 0
        assert bound is None or used <= bound + more, (unit, used, bound)


def test_what_follows_from_lines_alone_holds_the_words_too() -> None:
    for name in ("unified", "registry", "opencode"):
        bounded = bounder(name, max_lines=400).bound(b"\xff" * 300_000)
        assert bounded.truncated
        assert len(bounded.text.encode()) <= 800_000


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_budget_too_small_for_the_words_is_refused_when_the_policy_is_built(name: str) -> None:
    for unit, least in LEAST.items():
        with pytest.raises(PolicyError) as refused:
            bounder(name, **{unit: least - 1})
        flag = "--" + unit.replace("_", "-")
        assert str(refused.value).startswith(f"{flag} = {least - 1} is not accepted: {least} or more, since")
        bounder(name, **{unit: least})


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_an_output_over_a_unit_that_is_not_the_layouts_own_is_cut(name: str) -> None:
    for budget in (Budget(max_chars=1_000), Budget(max_tokens=300), Budget(max_bytes=1_000, max_chars=300)):
        policy = Policy(budget=budget, layout=LAYOUTS[name])
        bounded = Bounder(policy, MemoryStore()).bound("some words\n" * 90 + "漢" * 200)
        assert bounded.truncated
        assert policy.measure.fits(bounded.text, policy.laid_out)


def test_a_strategy_of_the_users_own_that_returns_too_much_is_not_shown() -> None:
    class Everything:
        def needs_truncation(self, text: str) -> bool:
            return True

        def truncate(self, text: str) -> str:
            return text

    class Nothing(Everything):
        def needs_truncation(self, text: str) -> bool:
            return False

        def truncate(self, text: str) -> str:
            return "asked all the same"

    for truncator in (Everything(), Nothing()):
        policy = Policy(budget=Budget(max_bytes=2_000), layout=Custom(truncator))
        text = "".join(f"line {number}\n" for number in range(900))
        bounded = Bounder(policy, MemoryStore()).bound(text)
        assert len(bounded.text) <= 2_000
        assert "line 0\n" in bounded.text
        assert "line 899" in bounded.text


def test_a_path_too_long_for_the_words_goes_and_the_handle_stays() -> None:
    text = "line\n" * 30_000
    for name in sorted(ON_TOP - {"registry"}):
        bounded = Bounder(bounder(name).policy, Elsewhere("/" + "long/" * 800)).bound(text)
        usual = Bounder(bounder(name).policy, Elsewhere("/tmp/kept")).bound(text)
        assert [part.span for part in bounded.parts] == [part.span for part in usual.parts], name
        assert f"[overspill {bounded.handle}: " in bounded.text
        assert "long/" not in bounded.text


def test_a_mark_says_where_the_rest_is_when_its_room_is_small() -> None:
    path = "/home/somebody/a/project/of/theirs/.overspill/ovs_h5r2m0qz.txt"
    bounded = Bounder(bounder("toollevel").policy, Elsewhere(path)).bound("line\n" * 3_000)
    words = next(part.text for part in bounded.parts if part.gap)
    assert len(words) <= 200
    assert f"Whole: {path}]" in words


@pytest.mark.parametrize("name", sorted({"toollevel", "buffered", "codex", "gemini-cli", "claude-code", "opencode"}))
def test_a_line_of_which_some_is_shown_is_said_to_be_shown_in_part(name: str) -> None:
    assert "1 of 1 lines shown in part" in bounder(name).bound("x" * 90_000).text
    assert "显示 1 行的一部分" in bounder(name, language="zh").bound("x" * 90_000).text


def test_what_has_no_file_is_not_said_to_be_one() -> None:
    text = "line\n" * 30_000
    for access in (FilePath(), SubAgent()):
        words = Bounder(replace(bounder("opencode").policy, access=access), MemoryStore()).bound(text).text
        assert "that file" not in words
        assert "For the rest: " in words
        kept = Bounder(replace(bounder("opencode").policy, access=access), Elsewhere("/tmp/kept")).bound(text).text
        assert "/tmp/kept" in kept
        assert "that file" in kept
