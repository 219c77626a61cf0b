"""File names: whatever a tool is called, one harmless name in the store's directory, and never the same for two."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from overspill.core.model import Call
from overspill.errors import PolicyError
from overspill.store import LocalStore
from overspill.store.contract import keep
from overspill.store.names import (
    ascending,
    checked_template,
    file_name,
    later,
    sanitised,
    template_pattern,
    time_in_name,
)

NOW = 1_769_904_000.25  # 2026-02-01 00:00:00 UTC
TEMPLATES = [
    "{handle}.txt", "{tool}-{call_id}-{timestamp}.txt", "tool_{timestamp}_{tool}.json", "tool_{ascending}",
    "{session}-{handle}.log",
]  # fmt: skip
ODD = ["", "a/b", "..", ".", "CON", "con.txt", "nul", "LPT1", "工具", "x" * 4096, "é" * 300, "a b", "%", "%2F", "a%2Fb",
       "-rf", "a\\b", "a:b", "\x00", "\n", "~", "*?", "trailing.", ".hidden", "\udc80", "%empty"]  # fmt: skip


@given(st.text(max_size=200), st.text(max_size=200))
@example("a/b", "a%2Fb")
@example("", "%empty")
@example("x" * 4096, "x" * 4097)
@example("CON", "%43ON")
def test_different_names_stay_different(one: str, other: str) -> None:
    assert (sanitised(one) == sanitised(other)) == (one == other)


@pytest.mark.parametrize("template", TEMPLATES)
@given(tool=st.text(max_size=5000) | st.sampled_from(ODD), call_id=st.text(max_size=300) | st.sampled_from(ODD))
def test_one_plain_name(template: str, tool: str, call_id: str) -> None:
    call = Call(tool=tool, id=call_id, session=tool)
    for ordinal in (0, 1, 99):
        name = file_name(template, handle="ovs_7k2m9x4q", call=call, now=NOW, ordinal=ordinal)
        assert len(name.encode()) <= 255 - len(".zst")
        assert not set(name) & set('/\\:*?"<>|\0\n\r\t ')
        assert not name.startswith((".", "-")) or tool.startswith("-")
        assert not name.endswith((".", " "))
        assert template_pattern(template).fullmatch(name)
        assert template_pattern(template).fullmatch(name + ".zst")


@pytest.mark.parametrize("name", ["CON", "con", "Nul", "com1", "LPT9", "aux.txt", "con.tar.gz"])
def test_names_that_windows_reserves_are_not_used(name: str) -> None:
    assert sanitised(name) == f"%{ord(name[0]):02X}{name[1:]}"
    assert sanitised(name + "sole") == name + "sole" or "." in name


def test_the_names_that_presets_imitate() -> None:
    call = Call(tool="bash", id="call_1")
    assert file_name("{tool}-{call_id}-{timestamp}.txt", handle="ovs_x", call=call, now=NOW) == (
        "bash-call_1-20260201_000000.txt"
    )
    assert (
        file_name("tool_{timestamp}_{tool}.json", handle="ovs_x", call=call, now=NOW)
        == "tool_20260201_000000_bash.json"
    )


@given(st.floats(1e9, 4e9), st.floats(1e9, 4e9))
def test_ascending_names_sort_by_time_and_carry_it(one: float, other: float) -> None:
    names = [f"tool_{ascending(now, 'ovs_x')}" for now in (one, other)]
    if int(one * 1000) != int(other * 1000):
        assert (names[0] < names[1]) == (one < other)
    told = time_in_name("tool_{ascending}", names[0])
    assert told is not None
    assert abs(told - one) < 0.01


@given(st.floats(1e9, 4e9), st.lists(st.sampled_from([0.0, 1e-7, -1e-4, 1e-3]), max_size=30))
def test_names_ascend_when_the_clock_stands_still(now: float, steps: list[float]) -> None:
    names, last = [], 0.0
    for step in steps:
        now += step
        last = later(now, last)
        names.append(ascending(last, f"ovs_{len(names)}"))
        assert abs(last - now) < 0.01
    assert names == sorted(names)


def test_time_in_names() -> None:
    assert time_in_name("tool_{timestamp}_{tool}.json", "tool_20260201_000000_bash.json") == int(NOW)
    assert time_in_name("{millis}-{tool}.txt", "1769904000250-bash.txt") == NOW
    assert time_in_name("{handle}.txt", "ovs_7k2m9x4q.txt") is None
    assert time_in_name("tool_{timestamp}", "tool_99999999_999999") is None


@pytest.mark.parametrize(
    "template", ["../{handle}", "{handle}/x", "a", "{tool}.txt", "{nope}", "{handle", ".{handle}", "{handle!r}"]
)
def test_a_template_that_could_name_anything_else_is_refused(template: str) -> None:
    with pytest.raises(PolicyError, match=r"store\.naming"):
        checked_template(template)


def test_outputs_of_the_same_second_get_names_of_their_own(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "s", naming="tool_{timestamp}_{tool}.json", clock=lambda: NOW)
    call = Call(tool="bash")
    rows = [keep(store, b'{"n": %d}' % number, call) for number in range(3)]
    assert [Path(str(row.path)).name for row in rows] == [
        "tool_20260201_000000_bash.json", "tool_20260201_000000_bash-2.json", "tool_20260201_000000_bash-3.json",
    ]  # fmt: skip
    assert [Path(str(row.path)).read_bytes() for row in rows] == [b'{"n": 0}', b'{"n": 1}', b'{"n": 2}']


def test_a_file_of_someone_else_is_never_overwritten(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, naming="tool_{timestamp}_{tool}.json", clock=lambda: NOW)
    (tmp_path / "tool_20260201_000000_bash.json").write_text("mine")
    keep(store, b"x", Call(tool="bash"))
    assert (tmp_path / "tool_20260201_000000_bash.json").read_text() == "mine"
