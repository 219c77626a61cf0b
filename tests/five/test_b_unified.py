"""Rows B1 to B7: one rule for all tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from five.texts import HINT, bounder, generated, message, reference
from overspill import Bounder, Budget, LocalStore, MemoryStore, Policy, SubAgent, configured
from overspill.api import preset
from overspill.config import load
from overspill.core.layouts import LAYOUTS
from overspill.core.model import Call
from overspill.core.strategies import head, tail
from overspill.envelope import bound_envelope, envelope_text, raw_json
from overspill.errors import PolicyError

DAY = 86_400.0


def response(lines: int = 5_000, **more: Any) -> dict[str, Any]:
    return {
        "status": "success",
        "data": {"items": [f"item {number}" for number in range(lines)]},
        "text": "found many",
        "stats": {"time_ms": 12},
        "context": {"cwd": ".", "params_input": {"q": "x"}},
        **more,
    }


def test_b1_two_thousand_lines_or_51200_bytes_whichever_comes_first() -> None:
    bounds = bounder("unified")
    assert bounds.bound(text := "line\n" * 2_000).text is text
    assert not bounds.bound("y" * 51_200).truncated
    by_lines = bounds.bound("line\n" * 2_001)
    assert (by_lines.kept_lines, by_lines.kept_bytes) == (2_000, 10_000)
    by_bytes = bounds.bound(("y" * 99 + "\n") * 1_000)
    assert (by_bytes.kept_lines, by_bytes.omitted_lines) == (512, 488)
    assert by_bytes.kept_bytes == 51_200


@pytest.mark.parametrize("layout", ["unified", "registry"])
def test_b1_equals_the_reference_on_ten_thousand_texts(layout: str) -> None:
    store = MemoryStore()
    cuts = 0
    for at, text in enumerate(generated(10_000, seed=4)):
        max_lines, max_bytes = 4 + at % 60, 367 + (at * 7919) % 900
        direction = ("head", "tail")[at % 2]
        expected = reference(text, max_lines, max_bytes, direction, after_last=False)
        budget = Budget(max_lines=max_lines, max_bytes=max_bytes)
        policy = Policy(budget=budget, strategy=(head(), tail())[at % 2], layout=LAYOUTS[layout])
        bounded = Bounder(policy, store).bound(text)
        if expected is None:
            assert bounded.text is text
            continue
        little = max_bytes // 20 if layout == "unified" else 0
        if len(expected.preview.encode()) <= little and expected.unit == "bytes":
            continue  # not one line fits, or next to nothing: both ends follow
        cuts += 1
        found = HINT.search(bounded.text)
        assert found
        # The preview's last line end is the source's own, as the last before the gap is.
        preview = expected.preview + "\n" * (direction == "tail" and text.endswith("\n"))
        assert bounded.text == message(expected._replace(preview=preview), found[0], direction)
    assert cuts > 7_000


def test_b1_the_head_by_default_and_the_tail_on_request() -> None:
    text = "".join(f"{number}\n" for number in range(3_000))
    first, last = bounder("unified").bound(text), bounder("unified", keep="tail").bound(text)
    assert first.text.startswith("0\n1\n2\n")
    assert "\n1999\n" in first.text
    assert "\n2000\n" not in first.text
    assert last.text.endswith("\n2998\n2999\n")
    assert "\n1000\n" in last.text
    assert "\n999\n" not in last.text


def test_b2_the_raw_result_as_json_under_the_project_kept_7_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OVERSPILL_DIR")
    start = 1_750_000_000.0
    bounds = preset("unified", clock=lambda: start)
    given = response()
    cut = bound_envelope(given, tool="search", bounder=bounds)
    path = Path(cut["data"]["truncation"]["full_output_path"])
    assert path.parent == tmp_path / "tool-output"
    assert re.fullmatch(r"tool_\d{8}_\d{6}_search\.json", path.name)
    assert json.loads(path.read_text("utf-8")) == given
    soon = preset("unified", clock=lambda: start + 6.9 * DAY)
    soon.bound("other\n" * 3_000)
    assert path.exists()
    late = preset("unified", clock=lambda: start + 7.1 * DAY)
    late.bound("another\n" * 3_000)
    assert not path.exists()


def test_b3_the_envelope_is_partial_with_exact_figures() -> None:
    given = response()
    cut = bound_envelope(given, tool="search", bounder=bounder("unified"))
    raw = raw_json(given)
    assert set(cut) == {"status", "data", "text", "stats", "context"}
    assert cut["status"] == "partial"
    assert cut["data"]["truncated"] is True
    truncation = cut["data"]["truncation"]
    assert list(truncation) == [
        "direction", "max_lines", "max_bytes", "original_lines", "original_bytes", "kept_lines", "kept_bytes",
        "full_output_path",
    ]  # fmt: skip
    assert truncation["direction"] == "head"
    assert (truncation["max_lines"], truncation["max_bytes"]) == (2_000, 51_200)
    assert truncation["original_lines"] == raw.count("\n") + 1
    assert truncation["original_bytes"] == len(raw.encode())
    preview = cut["data"]["preview"]
    assert raw.startswith(preview)
    assert truncation["kept_lines"] == preview.count("\n") == 2_000
    assert truncation["kept_bytes"] == len(preview.encode())
    assert "\n" not in cut["text"]
    assert truncation["full_output_path"] in cut["text"]
    assert (cut["stats"], cut["context"]) == (given["stats"], given["context"])
    json.loads(json.dumps(cut, allow_nan=False))


def test_b3_data_that_is_one_long_text_shows_its_start_and_its_end() -> None:
    given = {"status": "success", "data": "".join(f"{number:05}\n" for number in range(20_000)), "text": ""}
    store = MemoryStore()
    for keep in ("head", "tail"):
        cut = bound_envelope(given, bounder=preset("unified", store=store, keep=keep))
        preview, account = cut["data"]["preview"], cut["data"]["truncation"]
        assert preview.startswith('{\n  "status": "success",\n  "data": "00000\\n00001\\n')
        assert preview.endswith('19998\\n19999\\n",\n  "text": ""\n}')
        assert 19_900 < account["kept_bytes"] <= 20_000
        assert len(preview.encode()) <= 20_200


def test_b3_a_generator_that_ends_the_program_ends_its_own_call() -> None:
    def pieces() -> Iterator[int]:
        yield 1
        raise SystemExit(3)

    cut = bound_envelope({"data": pieces()}, bounder=bounder("unified"))
    assert (cut["status"], cut["data"], cut["error"]) == ("error", [1], {"message": "SystemExit: 3"})


def test_b3_an_error_stays_an_error() -> None:
    error = {"code": "E_TIMEOUT", "message": "too slow"}
    cut = bound_envelope(response(status="error", error=error), bounder=bounder("unified"))
    assert (cut["status"], cut["error"]) == ("error", error)


def test_b3_a_small_envelope_is_the_very_same_object() -> None:
    given = response(3)
    assert bound_envelope(given, bounder=bounder("unified")) is given


class Odd:
    def __str__(self) -> str:
        raise RuntimeError("no words")


def circle() -> dict[str, Any]:
    knot: dict[str, Any] = response()
    knot["data"]["self"] = knot
    return knot


def deep() -> dict[str, Any]:
    nested: Any = "x"
    for _ in range(50_000):
        nested = [nested]
    return {"status": "success", "data": nested, "text": "y" * 60_000}


@pytest.mark.parametrize(
    "response",
    [
        circle(),
        deep(),
        {"data": "x" * 60_000},
        {"status": 7, "data": {1: float("nan"), ("a", 2): b"\xff" * 60_000}},
        {"status": "success", "data": {"odd": Odd(), "many": ["x" * 100] * 3_000}},
        {"status": None, "data": {"x"} | {str(n) for n in range(9_000)}, "context": "none"},
        ["line"] * 5_000,
        "not json at all\n" * 5_000,
        b"\xfe\xff" * 60_000,
        json.dumps(response()),
        {"status": "success", "stats": {"rows": ["r" * 50] * 3_000}, "data": 1, "context": {"truncation_skip": "yes"}},
    ],
    ids=["circle", "deep", "no-status", "nan", "raises", "set", "list", "text", "bytes", "json-text", "large-stats"],
)
def test_b3_whatever_comes_in_valid_json_comes_out(response: Any) -> None:
    cut = bound_envelope(response, tool="odd", bounder=bounder("unified"))
    text = json.dumps(cut, allow_nan=False, ensure_ascii=False)
    assert json.loads(text) == cut
    text.encode()
    assert cut["status"] == "partial"
    assert cut["data"]["truncation"]["kept_bytes"] <= 51_200
    assert len(cut["data"]["preview"]) <= 60_000
    assert cut["data"]["preview"]


class Steals(dict[str, Any]):
    def keys(self) -> Any:
        raise RuntimeError("no keys")


def pieces(count: int, *, breaks: str = "") -> Iterator[dict[str, int]]:
    for number in range(count):
        yield {"item": number}
    if breaks:
        raise OSError(breaks)


def test_b3_what_comes_piece_by_piece_becomes_a_list() -> None:
    bounds = bounder("unified")
    assert bound_envelope({"status": "success", "data": pieces(2)}, bounder=bounds)["data"] == [
        {"item": 0},
        {"item": 1},
    ]
    cut = bound_envelope(pieces(9_000), bounder=bounds)
    assert cut["status"] == "partial"
    assert cut["data"]["preview"].startswith('{\n  "status": "success",\n  "data": [\n    {\n      "item": 0')
    broken = bound_envelope(pieces(9_000, breaks="the pipe broke"), bounder=bounds)
    assert (broken["status"], broken["error"]) == ("error", {"message": "OSError: the pipe broke"})
    assert broken["data"]["truncation"]["original_lines"] > 27_000


def test_b3_half_characters_make_no_broken_text() -> None:
    store = MemoryStore()
    given = {"status": "success", "data": "\ud800" * 60_000, "stats": {"name": "\udfff"}}
    cut = bound_envelope(given, bounder=preset("unified", store=store))
    json.dumps(cut, ensure_ascii=False).encode()
    kept = store.open(cut["data"]["truncation"]["full_output_path"])
    assert json.loads(kept.read(0, kept.size).decode()) == given
    envelope_text({"status": "success", "data": "\ud800"}, bounder=bounder("unified")).encode()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.binary(max_size=20)
    | st.builds(Odd) | st.text(st.characters(categories=["Cs"]), max_size=3) | st.just({1, 2}),
    lambda inner: st.lists(inner, max_size=6)
    | st.dictionaries(st.text(max_size=5) | st.integers() | st.none(), inner, max_size=5)
    | st.builds(Steals, st.just({"status": "error"}))
    | st.builds(iter, st.lists(inner, max_size=3)),
    max_leaves=25,
)  # fmt: skip
ENVELOPES = st.fixed_dictionaries(
    {"data": ANYTHING},
    optional={
        "status": st.sampled_from(["success", "error", "partial"]) | ANYTHING,
        "text": st.text() | ANYTHING,
        "stats": ANYTHING,
        "context": ANYTHING | st.dictionaries(st.just("truncation_skip"), st.booleans() | st.text()),
        "error": ANYTHING,
        "more": ANYTHING,
    },
)


@settings(max_examples=60)
@given(ENVELOPES | ANYTHING, st.integers(4, 12), st.integers(367, 700), st.sampled_from(["head", "tail"]))
def test_b3_any_envelope_comes_out_valid_and_accounted_for(
    given: Any, max_lines: int, max_bytes: int, keep: str
) -> None:
    streams = isinstance(given, dict) and isinstance(given.get("data"), Iterator)
    store = MemoryStore()
    bounds = preset("unified", store=store, keep=keep, max_lines=max_lines, max_bytes=max_bytes)
    cut = bound_envelope(given, tool="any", bounder=bounds)
    if cut is given or not (
        isinstance(cut, dict) and isinstance(cut.get("data"), dict) and "truncation" in cut["data"]
    ):
        assert cut is given or streams or isinstance(given, Iterator)
        return
    json.dumps(cut, ensure_ascii=False, allow_nan=False).encode()
    assert cut.keys() <= {"status", "data", "text", "stats", "context", "error", "more"}
    is_error = isinstance(given, dict) and not isinstance(given, Steals) and given.get("status") == "error"
    assert cut["status"] == ("error" if is_error else "partial")
    account = cut["data"]["truncation"]
    kept = store.open(account["full_output_path"])
    raw = kept.read(0, kept.size).decode()
    json.loads(raw)
    assert (account["original_bytes"], account["original_lines"]) == (len(raw.encode()), raw.count("\n") + 1)
    assert account["direction"] == keep
    preview = cut["data"]["preview"]
    if account["kept_bytes"] == len(preview.encode()):
        assert raw.startswith(preview) if keep == "head" else raw.endswith(preview)
    else:  # no whole line fits: both ends, with words between
        assert account["kept_lines"] <= max_lines


def test_b4_truncation_skip_lets_the_output_through_whole() -> None:
    given = response(context={"truncation_skip": True})
    assert bound_envelope(given, bounder=bounder("unified")) is given
    asked = response(context={"truncation_skip": False})
    assert bound_envelope(asked, bounder=bounder("unified"))["status"] == "partial"


def test_b5_the_notice_depends_on_what_the_model_has(tmp_path: Path) -> None:
    with_task = preset("unified", store=LocalStore(tmp_path), access=SubAgent("Task"))
    without = preset("unified", store=LocalStore(tmp_path))
    handed, own = (bound_envelope(response(), bounder=bounds)["text"] for bounds in (with_task, without))
    assert "sub-agent with the Task tool" in handed
    assert "Read" in own
    assert "Grep" in own
    assert "sub-agent" not in own
    chinese = preset("unified", store=LocalStore(tmp_path), language="zh")
    assert "请用 Read 分页读取" in bound_envelope(response(), bounder=chinese)["text"]


def test_b6_the_history_gets_the_bounded_form() -> None:
    message = envelope_text(response(), tool="search", bounder=bounder("unified"))
    assert json.loads(message)["status"] == "partial"
    assert len(message) < 80_000


def test_b7_in_python_what_the_environment_and_files_say_wins_over_the_preset(tmp_path: Path) -> None:
    env = {"TOOL_OUTPUT_MAX_LINES": "70", "TOOL_OUTPUT_DIR": str(tmp_path / "out")}
    numbers = "".join(f"{number}\n" for number in range(3_000))
    bounds = configured("unified", tool="search", start=tmp_path, environment=env)
    bounded = bounds.bound(numbers, Call(tool="search"))
    assert bounded.kept_lines == 70
    assert re.fullmatch(r"tool_\d{8}_\d{6}_search\.json", Path(bounded.path or "").name)
    assert Path(bounded.path or "").parent == tmp_path / "out"
    (tmp_path / "overspill.toml").write_text('keep = "tail"\n[tools.search]\nmax_lines = 30\n')
    bounded = configured("unified", tool="search", start=tmp_path, environment=env).bound(numbers)
    assert (bounded.kept_lines, bounded.text[-6:]) == (30, "\n2999\n")
    assert configured("unified", start=tmp_path, environment={}).bound(numbers).kept_lines == 2_000
    said = configured("unified", tool="search", start=tmp_path, environment=env, max_lines=40)
    assert said.policy.budget == Budget(max_lines=40)
    named = configured("unified", start=tmp_path, environment={**env, "OVERSPILL_PRESET": "buffered"})
    assert named.policy.layout
    assert named.policy.layout.name == "buffered"
    (tmp_path / "overspill.toml").write_text('preset = "codex"\n')
    assert configured("unified", start=tmp_path, environment={}).policy.budget == Budget(max_bytes=10_000)
    with pytest.raises(PolicyError, match="TOOL_OUTPUT_MAX_LINES"):
        configured("unified", start=tmp_path, environment={"TOOL_OUTPUT_MAX_LINES": "3"})


def test_b7_the_environment(tmp_path: Path) -> None:
    env = {
        "TOOL_OUTPUT_MAX_LINES": "70",
        "TOOL_OUTPUT_MAX_BYTES": "9000",
        "TOOL_OUTPUT_TRUNCATE_DIRECTION": "tail",
        "TOOL_OUTPUT_DIR": str(tmp_path / "out"),
        "TOOL_OUTPUT_RETENTION_DAYS": "3",
        "OVERSPILL_PRESET": "unified",
    }
    settled = load(str(tmp_path), env).settle(tool="x")
    from overspill import FilePath

    store = settled.store(default="nowhere")
    policy = settled.policy(access=FilePath())
    bounded = Bounder(policy, store).bound("".join(f"{number}\n" for number in range(500)), Call(tool="x"))
    assert bounded.kept_lines == 70
    assert bounded.text.endswith("\n499\n")
    assert Path(bounded.path or "").parent == tmp_path / "out"
    assert store.retention.days == 3  # type: ignore[union-attr]
    for variable, wrong in (
        ("TOOL_OUTPUT_MAX_LINES", "-1"),
        ("TOOL_OUTPUT_MAX_BYTES", "many"),
        ("TOOL_OUTPUT_TRUNCATE_DIRECTION", "middle"),
    ):
        with pytest.raises(PolicyError, match=variable):
            load(str(tmp_path), {variable: wrong}).settle().policy(access=FilePath())


def test_b3_a_cut_envelope_is_not_cut_again_but_anew() -> None:
    store = MemoryStore()
    unified, tighter = (preset("unified", store=store, max_lines=lines) for lines in (2_000, 500))
    given = response(data=['"\\' * 10] * 3_000)  # escaped once more, its preview is over the figure
    cut = bound_envelope(given, bounder=unified)
    for as_it_is in (cut, json.dumps(cut)):
        assert bound_envelope(as_it_is, bounder=unified) is as_it_is
    anew = bound_envelope(cut, bounder=tighter)
    assert anew == bound_envelope(given, bounder=tighter)
    assert len(list(store.outputs())) == 1
    changed = {**cut, "data": {**cut["data"], "preview": cut["data"]["preview"] + "\nand more"}}
    assert bound_envelope(changed, bounder=tighter)["data"]["preview"].endswith("and more")


def test_b3_keys_of_the_tools_own_stay() -> None:
    secret = "ghp_" + "a1B2" * 9
    own = {"request_id": "r-1", "tool_call_id": 7, "large": "x" * 90_000, "token": secret}
    cut = bound_envelope({**response(), **own}, bounder=preset("unified", store=MemoryStore(), redact=True))
    assert (cut["request_id"], cut["tool_call_id"], cut["large"]["truncated"]) == ("r-1", 7, True)
    assert secret not in json.dumps(cut)
    many = bound_envelope({**response(), **{f"k{at}": "x" * 99 for at in range(9_000)}}, bounder=bounder("unified"))
    assert len(json.dumps(many)) < 90_000


def test_b3_a_line_shown_in_part_and_a_limit_in_characters_are_said() -> None:
    line = {"data": "x" * 90_000}
    assert "3/3 lines shown in part (" in bound_envelope(line, bounder=bounder("unified"))["text"]
    assert "显示 3/3 行的一部分（" in bound_envelope(line, bounder=bounder("unified", language="zh"))["text"]
    cut = bound_envelope(line, bounder=Bounder(Policy(budget=Budget(max_chars=4_000)), MemoryStore()))
    assert cut["data"]["truncation"]["max_chars"] == 4_000


@pytest.mark.parametrize("layer", ["toollevel", "gemini-cli", "codex"])
def test_b3_a_layer_that_takes_an_envelope_for_a_text_cuts_the_response_anew(layer: str) -> None:
    store = MemoryStore()
    cut = bound_envelope(response(request_id="r-1"), bounder=preset("unified", store=store))
    handle = cut["data"]["truncation"]["full_output_path"]
    for form in (raw_json(cut), json.dumps(cut), cut):
        bounded = preset(layer, store=store).bound(form)
        assert (bounded.handle, len(list(store.outputs()))) == (handle, 1)
        assert bounded.kept_bytes + bounded.omitted_bytes == cut["data"]["truncation"]["original_bytes"]
    more = preset(layer, store=store).bound({**cut, "error": "only here"})
    assert more.handle != handle
