"""Rows D1 to D11: a service in a tool registry."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from five.texts import bounder
from overspill import Bounder, Budget, Call, Event, LocalStore, MemoryStore, Policy, PolicyError, StoreError, preset
from overspill.core.layouts import Custom
from overspill.core.strategies import tail
from overspill.tools import (
    Agent,
    Middleware,
    Passed,
    Storage,
    StorageStore,
    Tool,
    ToolCall,
    ToolRegistry,
    ToolResult,
    Truncated,
    outcome,
)

LONG = "".join(f"{number:05}\n" for number in range(6_000))


def middleware(**settings: Any) -> Middleware:
    return Middleware("registry", store=MemoryStore(), **settings)


def applied(through: Middleware, result: Any, tool: str = "search", **options: Any) -> ToolResult:
    return asyncio.run(through.apply(result, tool, options=options or None))


def test_d1_only_the_truncated_result_has_a_path_and_counts() -> None:
    whole, cut = outcome(bounder("registry").bound("x")), outcome(bounder("registry").bound(LONG))
    assert isinstance(whole, Passed)
    assert whole.truncated is False
    assert not hasattr(whole, "path")
    assert isinstance(cut, Truncated)
    assert cut.truncated is True
    assert (cut.removed_lines, cut.removed_bytes) == (4_000, 24_000)


def test_d2_three_layers_changeable_at_run_time_and_skip_per_call() -> None:
    through = middleware()
    assert applied(through, LONG).metadata["removed_lines"] == 4_000
    through.configure(max_lines=100, max_bytes=51_200)
    assert applied(through, LONG).metadata["removed_lines"] == 5_900
    through.configure("search", max_lines=200, max_bytes=51_200)
    assert applied(through, LONG).metadata["removed_lines"] == 5_800
    assert applied(through, LONG, "other").metadata["removed_lines"] == 5_900
    assert applied(through, LONG, max_lines=300, max_bytes=51_200).metadata["removed_lines"] == 5_700
    assert applied(through, LONG, skip=True).content is LONG
    through.configure("search", max_lines=None, max_bytes=None)
    assert applied(through, LONG).metadata["removed_lines"] == 5_900
    with pytest.raises(PolicyError):
        through.configure(keep="middle")
    assert applied(through, LONG).metadata["removed_lines"] == 5_900


class FirstElements:
    """A user's own strategy: the first elements of a JSON array, as valid JSON."""

    def __init__(self, most: int) -> None:
        self._most = most

    def needs_truncation(self, text: str) -> bool:
        return text.startswith("[") and len(json.loads(text)) > self._most

    def truncate(self, text: str) -> str:
        return json.dumps(json.loads(text)[: self._most])


def test_d3_a_strategy_of_the_users_own() -> None:
    policy = Policy(budget=Budget(max_bytes=100_000), layout=Custom(FirstElements(3)))
    bounds = Bounder(policy, MemoryStore())
    source = json.dumps(list(range(10)))
    bounded = bounds.bound(source)
    assert bounded.truncated
    assert json.loads(bounded.excerpt) == [0, 1, 2]
    assert bounded.kept_bytes + bounded.omitted_bytes == len(source)
    assert bounded.handle
    assert bounded.handle in bounded.header
    assert not bounds.bound("[1, 2]").truncated


def test_d3_one_that_raises_breaks_nothing() -> None:
    class Broken(FirstElements):
        def truncate(self, text: str) -> str:
            raise RuntimeError("no")

    bounded = Bounder(Policy(layout=Custom(Broken(1))), MemoryStore()).bound("[1, 2]" + " " * 20_000)
    assert bounded.truncated
    assert "[1, 2]" in bounded.text


@pytest.mark.parametrize("output", ["small", LONG])
def test_d3_one_that_can_not_even_say_whether_breaks_nothing_either(output: str) -> None:
    class Undecided(FirstElements):
        def needs_truncation(self, text: str) -> bool:
            raise RuntimeError("no")

    events: list[Event] = []
    bounded = Bounder(Policy(layout=Custom(Undecided(1))), MemoryStore(), on_event=events.append).bound(output)
    assert output[-5:] in bounded.text
    assert [event.kind for event in events] == ["error", "truncated"]


def test_d4_a_storage_of_the_users_own_and_ours_in_four_verbs(tmp_path: Path) -> None:
    class Folder:
        directory = str(tmp_path)

        def __init__(self) -> None:
            self.cleaned: list[float] = []

        def save(self, content: bytes, *, tool: str, call_id: str) -> str:
            path = tmp_path / f"{tool}.out"
            path.write_bytes(content)
            return str(path)

        def read(self, path: str) -> bytes:
            return Path(path).read_bytes()

        def cleanup(self, retention_days: float) -> None:
            self.cleaned.append(retention_days)

    folder = Folder()
    store = StorageStore(folder)
    result = applied(Middleware("registry", store=store), LONG)
    assert result.metadata["path"] == str(tmp_path / "search.out")
    assert Path(result.metadata["path"]).read_text() == LONG
    assert Storage(store).read(result.metadata["handle"]) == LONG.encode()
    assert folder.cleaned == [7]

    ours = Storage(LocalStore(tmp_path / "ours"))
    kept = ours.save("content", tool="x")
    assert ours.read(kept.handle) == b"content"
    assert ours.directory == str(tmp_path / "ours")
    assert ours.cleanup(7) == []
    assert [row.handle for row in ours.cleanup(0)] == [kept.handle]


def test_d4_a_storage_that_fails_is_a_sentence() -> None:
    class Gone:
        directory = "nowhere"

        def __getattr__(self, name: str) -> Any:
            raise OSError("the share is gone")

    store = StorageStore(Gone())  # type: ignore[arg-type]
    assert "the share is gone" in Bounder(Policy(), store).bound(LONG).text


def test_d4_a_storage_that_answers_nonsense_is_a_sentence() -> None:
    class Odd:
        directory = "odd"

        def save(self, content: bytes, *, tool: str, call_id: str) -> Any:
            if tool == "ends":
                raise SystemExit(3)
            return None if tool == "nowhere" else "a/path"

        def read(self, path: str) -> Any:
            return "text"

        def cleanup(self, retention_days: float) -> None: ...

    store = StorageStore(Odd())
    assert "save() returned NoneType, not a path" in Bounder(Policy(), store).bound(LONG, Call(tool="nowhere")).text
    kept = Bounder(Policy(), store).bound(LONG)
    with pytest.raises(StoreError, match="not bytes"):
        store.open(str(kept.handle))
    through = Middleware(store=StorageStore(Odd()))
    ended = applied(through, LONG, "ends")
    assert ended.metadata["truncated"] is True
    assert len(str(ended.content)) <= 9_000
    assert applied(Middleware("registry", store=StorageStore(Odd())), LONG, "ends").content is LONG


def test_d5_the_skip_list_should_truncate_and_the_metadata() -> None:
    asked = []

    def should_truncate(tool: str, result: ToolResult) -> bool | Mapping[str, Any] | None:
        asked.append((tool, result.content is LONG))
        return {"no": False, "yes": True, "tailed": {"keep": "tail"}}.get(tool)  # type: ignore[return-value]

    through = middleware(skip=["memory"], should_truncate=should_truncate)
    assert applied(through, LONG, "memory").content is LONG
    assert applied(through, LONG, "no").content is LONG
    assert asked == [("no", True)]
    assert applied(through, LONG, "yes").metadata["removed_lines"] == 4_000
    assert applied(through, LONG, "tailed").content.endswith("05999\n")
    already = ToolResult(content=LONG, metadata={"truncated": False})
    assert applied(through, already) is already
    cut = applied(through, ToolResult(content=LONG, metadata={"source": "web"}))
    assert cut.metadata["source"] == "web"
    assert cut.metadata["truncated"] is True
    assert (cut.metadata["removed_lines"], cut.metadata["removed_bytes"]) == (4_000, 24_000)
    assert cut.metadata["handle"]
    assert applied(through, "small").metadata == {"truncated": False}


def test_d6_a_batch_at_once_in_order_each_through_the_middleware() -> None:
    running = 0
    most = 0

    async def slow(seconds: float) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(seconds)
        running -= 1
        return f"{seconds}\n{LONG}"

    def broken() -> str:
        raise ValueError("out of order")

    registry = ToolRegistry([slow, broken], middleware=middleware())
    calls = [
        ToolCall("slow", {"seconds": 0.2}, "a"),
        ToolCall("broken", {}, "b"),
        ToolCall("slow", '{"seconds": 0.01}', "c"),
        ToolCall("nowhere", {}, "d"),
        ToolCall("slow", {"seconds": "long"}, "e"),
    ]
    results = asyncio.run(registry.run(calls))
    assert [result.call_id for result in results] == ["a", "b", "c", "d", "e"]
    assert most == 2
    assert results[0].content.startswith("0.2\n")
    assert results[0].truncated
    assert results[2].content.startswith("0.01\n")
    assert [result.is_error for result in results] == [False, True, False, True, True]
    assert results[1].content == "ValueError: out of order"
    assert "known tools: slow, broken" in results[3].content
    assert "slow: seconds" in results[4].content


def test_d7_events_with_sizes_path_and_time(tmp_path: Path) -> None:
    events: list[Event] = []
    through = Middleware("registry", store=LocalStore(tmp_path), on_event=events.append, skip=["memory"])
    applied(through, "small")
    applied(through, LONG)
    applied(through, LONG, "memory")
    broken = Middleware("registry", store=str(tmp_path / "x"), on_event=events.append)
    (tmp_path / "x").write_text("not a directory")
    applied(broken, LONG)
    assert [event.kind for event in events] == ["skipped", "truncated", "skipped", "error"]
    assert (events[1].bytes_before, events[1].path is not None, events[1].call.tool) == (36_000, True, "search")
    assert events[1].bytes_after < 13_000
    assert events[1].seconds > 0
    assert events[2].reason == "told to skip"


def test_d7_tools_with_limits_of_their_own_report_as_well_and_once() -> None:
    class Dump(Tool):
        def execute(self, text: str = LONG) -> str:
            return text

    events: list[Event] = []
    through = Middleware("registry", store=MemoryStore(), on_event=events.append)
    first, second = Dump(store=MemoryStore()), Dump(store=MemoryStore())
    first.bounder = second.bounder = bounder("toollevel")
    registry = ToolRegistry([first], middleware=through)
    registry.register(first, name="again")
    registry.register(second, name="other")
    asyncio.run(registry.call(ToolCall("Dump")))
    assert [(event.kind, event.call.tool) for event in events] == [("truncated", "Dump")]
    asyncio.run(registry.run([ToolCall("again", {"text": "small"}), ToolCall("other")]))
    assert [event.kind for event in events[1:]] == ["skipped", "truncated"]
    assert first.bounder.policy.layout is bounder("toollevel").policy.layout


def test_d8_a_tool_declares_its_own_policy() -> None:
    class Log(Tool):
        policy = Policy(budget=Budget(max_lines=50, max_bytes=9_000), strategy=tail())

        def execute(self) -> str:
            return LONG

    def plain() -> str:
        return LONG

    plain.policy = Policy(budget=Budget(max_lines=20, max_bytes=9_000), strategy=tail())  # type: ignore[attr-defined]
    registry = ToolRegistry([Log(store=MemoryStore()), plain], middleware=middleware())
    log, other = asyncio.run(registry.run([ToolCall("Log"), ToolCall("plain")]))
    assert log.content.count("\n") == 50
    assert log.content.endswith("05999\n")
    assert other.content.count("\n") == 20


@pytest.mark.parametrize(
    ("tool", "kept", "ending"), [("shell", 500, "05999\n"), ("bash", 500, "05999\n"), ("grep", 3_000, "")]
)
def test_d9_defaults_per_tool(tool: str, kept: int, ending: str) -> None:
    result = applied(middleware(), LONG, tool)
    assert 6_000 - result.metadata["removed_lines"] == kept
    assert result.content.endswith(ending)


def test_d9_read_pages_itself() -> None:
    assert applied(middleware(), LONG, "read").content is LONG


def test_d10_an_agent_takes_the_policy_as_a_plain_argument() -> None:
    policy = Policy(budget=Budget(max_bytes=3_000))
    agent = Agent(model="any", base_url="http://127.0.0.1:9/v1", tools=[], policy=policy, store=MemoryStore())
    assert agent.bounder.policy is policy


def test_d11_a_fault_inside_is_an_error_event_and_the_original_comes(tmp_path: Path) -> None:
    events: list[Event] = []
    place = tmp_path / "x"
    place.write_text("not a directory")
    through = Middleware("registry", store=str(place), on_event=events.append)
    result = applied(through, LONG)
    assert result.content == LONG
    assert [event.kind for event in events] == ["error"]
    honest = Middleware(store=str(place), on_event=events.append)
    bounded = applied(honest, LONG)
    assert len(bounded.content) < 9_100
    assert "could NOT be saved" in bounded.content

    def broken(tool: str, result: ToolResult) -> bool:
        raise RuntimeError("no verdict")

    asked = Middleware("registry", store=MemoryStore(), on_event=events.append, should_truncate=broken)
    assert applied(asked, LONG).content is LONG
    assert events[-1].reason == "RuntimeError: no verdict"


def test_d2_a_setting_that_is_none_is_refused_where_it_is_said() -> None:
    through = middleware()
    for said in (
        lambda: through.configure("search", maxlines=5),
        lambda: Middleware("registry", store=MemoryStore(), keeps="tail"),
        lambda: preset("registry", store=MemoryStore(), maxlines=5),
        lambda: through.settlement("search", {"max_line": 5}),
    ):
        with pytest.raises(PolicyError, match=r"did you mean (max_lines|keep)"):
            said()
    events: list[Event] = []
    through = middleware(on_event=events.append)
    assert applied(through, LONG, maxlines=5).content is LONG
    assert events[0].kind == "error"
    assert "did you mean max_lines?" in events[0].reason
