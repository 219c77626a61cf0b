"""Tools that raise, hang, end the program or return anything at all: each has its outcome, however it is called."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from overspill import Bounder, Budget, Event, MemoryStore, Policy, PolicyError
from overspill.config import load
from overspill.tools import (
    GrepSearch,
    Middleware,
    RepoStructure,
    Tool,
    ToolCall,
    ToolRegistry,
    ToolResult,
    define,
    repository_tools,
)
from overspill.tools.rates import CutRates

SHORT = 0.3


class Outcome(NamedTuple):
    function: Callable[[], Any]
    start: str
    is_error: bool = False
    truncated: bool = False
    seconds: float = 60.0


class Odd:
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


def circle() -> list[Any]:
    knot: list[Any] = []
    knot.append(knot)
    return knot


def raising(error: BaseException) -> Callable[[], Any]:
    def function() -> Any:
        raise error

    return function


async def ends_the_program() -> None:
    sys.exit(4)


async def cancels_itself() -> None:
    raise asyncio.CancelledError


async def waits() -> str:
    await asyncio.sleep(60)
    return "late"


def yields() -> Iterator[str]:
    for number in range(9_000):
        yield f"{number:05}\n"


def yields_and_breaks() -> Iterator[str]:
    yield from yields()
    raise ValueError("the pipe broke")


def yields_for_ever() -> Iterator[bytes]:
    while True:
        time.sleep(0.001)
        yield b"again\n" * 100


async def yields_slowly() -> AsyncIterator[str]:
    for text in yields():
        yield text
    await asyncio.sleep(60)


async def yields_everything() -> AsyncIterator[Any]:
    yield None
    yield b"\xff\n"
    yield {"a": 1}


OUTCOMES = {
    "raises": Outcome(raising(ValueError("wrong")), "ValueError: wrong", True),
    "raises a whole output": Outcome(raising(ValueError("e" * 90_000)), "[overspill ovs_", True, True),
    "raises without words": Outcome(raising(KeyError()), "KeyError", True),
    "raises StopIteration": Outcome(raising(StopIteration(3)), "RuntimeError: it raised StopIteration: 3", True),
    "ends the program": Outcome(raising(SystemExit(2)), "RuntimeError: it raised SystemExit: 2", True),
    "ends the loop": Outcome(ends_the_program, "RuntimeError: it raised SystemExit: 4", True),
    "is interrupted": Outcome(raising(KeyboardInterrupt()), "RuntimeError: it raised KeyboardInterrupt", True),
    "cancels itself": Outcome(cancels_itself, "RuntimeError: it was cancelled from inside", True),
    "reads arguments that are not there": Outcome(
        lambda: argparse.ArgumentParser().parse_args(["--no"]), "RuntimeError: it raised SystemExit: 2", True
    ),
    "hangs": Outcome(lambda: time.sleep(60), " took longer than 0.3 seconds", True, seconds=SHORT),
    "hangs and can be told to stop": Outcome(waits, " took longer than 0.3 seconds", True, seconds=SHORT),
    "a coroutine from a plain function": Outcome(lambda: waits(), " took longer than 0.3 seconds", True, seconds=SHORT),
    "nothing": Outcome(lambda: None, ""),
    "bytes": Outcome(lambda: b"caf\xe9", "caf\ufffd"),
    "many bytes": Outcome(lambda: b"\xff\x00" * 50_000, "[overspill ovs_", False, True),
    "text": Outcome(lambda: "plain", "plain"),
    "half characters": Outcome(lambda: "\ud800" * 9, "\ufffd" * 9),
    "a number": Outcome(lambda: 3.5, "3.5"),
    "a circle": Outcome(circle, '[\n "<circular>"\n]'),
    "no JSON": Outcome(lambda: {"set": {1}, 2: float("inf")}, "{"),
    "without words": Outcome(Odd, '"<Odd that raised RuntimeError>"'),
    "pieces": Outcome(yields, "[overspill ovs_", False, True),
    "pieces of every kind": Outcome(yields_everything, 'null\n\ufffd\n{\n "a": 1\n}\n'),
    "pieces that break off": Outcome(
        yields_and_breaks, "[ValueError: the pipe broke; what had come by then:]\n", True, True
    ),
    "pieces without an end": Outcome(
        yields_for_ever, "[it was stopped: its time was up; what had come by then:]\n", True, True, SHORT
    ),
    "pieces that stop coming": Outcome(
        yields_slowly, "[it was stopped: its time was up; what had come by then:]\n", True, True, 2.0
    ),
}  # fmt: skip


def readable(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


async def by_registry(function: Callable[[], Any], seconds: float) -> ToolResult:
    def named() -> Any:
        return function()

    registry = ToolRegistry(middleware=Middleware(store=MemoryStore()), timeout_seconds=seconds)
    registry.register(function if inspect.iscoroutinefunction(function) else named, name="named")
    beside = ToolCall("beside")
    registry.register(lambda: "not touched", name="beside")
    before, result, after = await registry.run([beside, ToolCall("named", {}, "7"), beside])
    assert before.text == after.text == "not touched"
    assert (result.tool, result.call_id) == ("named", "7")
    return result


async def by_the_base_class(function: Callable[[], Any], seconds: float) -> ToolResult:
    class Named(Tool):
        name = "named"
        timeout_seconds = seconds
        policy = Policy()

        def execute(self) -> Any:
            return function()

    return await Named(store=MemoryStore()).run({}, call_id="7")


@pytest.mark.parametrize("way", [by_registry, by_the_base_class])
@pytest.mark.parametrize("name", OUTCOMES)
def test_each_has_its_outcome(
    name: str, way: Callable[[Callable[[], Any], float], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = OUTCOMES[name]
    if name.startswith("pieces"):  # they answer when told to stop, on a busy machine late
        monkeypatch.setattr("overspill.tools.running.GRACE_SECONDS", 30.0)
    result = asyncio.run(way(expected.function, expected.seconds))
    shown = readable(result.text)
    assert expected.start in shown if expected.start.startswith(" ") else shown.startswith(expected.start)
    assert (result.is_error, result.truncated) == (expected.is_error, expected.truncated)
    assert len(result.text.encode("utf-8", "surrogatepass")) <= 9_000


@pytest.mark.parametrize("name", ["bytes", "many bytes", "nothing", "a circle", "without words", "text", "pieces"])
def test_the_middleware_alone_gives_the_same(name: str) -> None:
    expected = OUTCOMES[name]
    result = asyncio.run(Middleware(store=MemoryStore()).apply(expected.function(), "named"))
    assert readable(result.text).startswith(expected.start)
    assert result.truncated == expected.truncated


@pytest.mark.parametrize(
    "name", ["many bytes", "a circle", "without words", "pieces", "nothing", "pieces of every kind"]
)
def test_a_definition_gives_the_same_and_raises_what_the_function_raises(name: str) -> None:
    bounds = Bounder(Policy(), MemoryStore())
    result = asyncio.run(define("named", "Named.", OUTCOMES[name].function, bounder=bounds).execute({}))
    assert result["output"].startswith(OUTCOMES[name].start)
    assert result["metadata"]["truncated"] is OUTCOMES[name].truncated
    with pytest.raises(ValueError, match="wrong"):
        asyncio.run(define("named", "Named.", OUTCOMES["raises"].function, bounder=bounds).execute({}))


def test_200_megabytes_of_pieces_cost_little_memory() -> None:
    """Measured in a process of its own: the peak of a process never falls."""
    code = """
import asyncio, resource
from overspill.tools import Middleware, ToolCall, ToolRegistry
def much():
    for _ in range(200):
        yield b"a line of output\\n" * 61_681
registry = ToolRegistry([much], middleware=Middleware(), timeout_seconds=60)
small = asyncio.run(registry.call(ToolCall("nowhere")))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = asyncio.run(registry.call(ToolCall("much")))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(result.truncated, result.metadata["removed_bytes"] > 200_000_000, (after - before) // 1024)
"""
    if sys.platform != "linux":
        pytest.skip("the unit of ru_maxrss is Linux's")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-500:]
    cut, whole, megabytes = done.stdout.split()
    assert (cut, whole) == ("True", "True")
    assert int(megabytes) < 60


def test_200_megabytes_at_once_are_bounded_and_kept() -> None:
    store = MemoryStore(max_total_bytes=1 << 30)
    result = asyncio.run(Middleware(store=store).apply(b"x" * 199 + b"\n", "small"))
    assert not result.truncated
    output = (b"x" * 199 + b"\n") * 1_000_000
    result = asyncio.run(Middleware(store=store).apply(output, "large"))
    assert result.truncated
    assert len(result.text) <= 9_000
    assert store.stored(result.metadata["handle"]).bytes == 200_000_000


def test_when_the_caller_goes_the_tool_is_told_to_stop() -> None:
    told = []

    async def listening() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            told.append("stop")
            raise
        return ""

    async def main() -> None:
        registry = ToolRegistry([listening], middleware=Middleware(store=MemoryStore()))
        running = asyncio.ensure_future(registry.call(ToolCall("listening")))
        await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.sleep(0)

    asyncio.run(main())
    assert told == ["stop"]


@pytest.mark.parametrize("seconds", [None, 0.5])
def test_in_a_registry_too_what_had_come_by_the_end_of_the_time_is_shown(seconds: float | None) -> None:
    """Both times up at once, or the registry's alone."""

    class Yields(Tool):
        timeout_seconds = None if seconds else 0.5

        def execute(self) -> Iterator[bytes]:
            return yields_for_ever()

    class Gathers(Tool):
        async def execute(self) -> AsyncIterator[str]:
            return yields_slowly()

    registry = ToolRegistry(middleware=Middleware(store=MemoryStore()), timeout_seconds=0.5)
    for tool in (Yields, Gathers):
        registry.register(tool(store=MemoryStore()), timeout_seconds=seconds)
    for result in asyncio.run(registry.run([ToolCall("Yields"), ToolCall("Gathers")])):
        assert result.is_error
        assert result.content.startswith("[it was stopped: its time was up; what had come by then:]\n")
        assert len(result.content) > 100


def test_calls_whose_names_are_none_do_not_touch_the_others() -> None:
    registry = ToolRegistry([waits], middleware=Middleware(store=MemoryStore()), timeout_seconds=SHORT)
    registry.register(lambda: "fine", name="fine")
    odd: Any = (None, 5, ["fine"])
    *refused, fine = asyncio.run(registry.run([*(ToolCall(name) for name in odd), ToolCall("fine")]))
    assert [result.text.split(";")[0] for result in refused] == [f"there is no tool {str(name)!r}" for name in odd]
    assert fine.text == "fine"


def test_an_override_of_the_limits_may_name_its_parameter_and_one_that_raises_loses_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Named(Tool):
        def execute(self) -> str:
            return "line\n" * 9_000

        def truncate_output(self, text: str) -> str:  # type: ignore[override]
            return text[:9]

    class Waiting(Named):
        async def truncate_output(self, text: str) -> str:  # type: ignore[override]
            return text[:4]

    class Broken(Named):
        def truncate_output(self, text: str) -> str:  # type: ignore[override]
            raise ValueError("no idea")

    store = MemoryStore()
    assert asyncio.run(Named(store=store).run({})).content == "line\nline"
    assert asyncio.run(Waiting(store=store).run({})).content == "line"
    broken = asyncio.run(Broken(store=store).run({}))
    assert (broken.is_error, broken.truncated) == (False, True)
    assert store.stored(broken.metadata["handle"]).bytes == 45_000
    assert "no idea" in caplog.text


def test_options_that_make_no_sense_leave_the_tools_own_policy_and_the_store() -> None:
    store, output = MemoryStore(), "line\n" * 9_000
    through = Middleware("unified", store=store)
    through.declare("own", Policy(budget=Budget(max_bytes=2_000)))
    for tool, size in (("own", 2_000), ("other", 52_000)):
        result = asyncio.run(through.apply(output, tool, options={"max_bytes": 10}))
        assert result.truncated
        assert len(result.text) <= size
        assert store.stored(result.metadata["handle"]).bytes == 45_000


def test_a_summariser_without_a_key_is_said_and_the_whole_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "overspill.yaml").write_text(
        "summarization: {enabled: true, model: m}\n"
        "tool_output_limits: {default: {max_chars: 8000, truncation_strategy: summarize}}\n"
    )
    events: list[Event] = []
    for preset in ("", "registry"):
        store = MemoryStore()
        configuration = load(str(tmp_path), {})
        through = Middleware(preset, store=store, configuration=configuration, on_event=events.append)
        result = asyncio.run(through.apply("line\n" * 9_000, "x"))
        assert len(result.text) <= 8_000
        assert store.stored(result.metadata["handle"]).bytes == 45_000
        assert [event.kind for event in events] == ["error", "truncated"]
        assert "api_key" in events[0].reason
        events.clear()


def _positional(text: str, /) -> str:
    return text


def _hidden(__text: str) -> str:
    return __text


@pytest.mark.parametrize("function", [_positional, _hidden, len, max])
def test_a_function_that_no_call_could_reach_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(PolicyError, match=r"wrap (it|the function)"):
        ToolRegistry([function])


def test_what_makes_no_sense_is_refused_where_it_is_said() -> None:
    registry = ToolRegistry([waits])
    through: Any = Middleware
    for said, words in (
        (lambda: registry.register(waits), "a name that no other tool here has"),
        (lambda: CutRates(period_seconds=0), "a number of seconds above 0"),
        (lambda: CutRates(most_periods=0), "1 or more"),
        (lambda: through(skip="no"), "a list of the names of tools"),
        (lambda: through(redact="no"), "true or false"),
        (lambda: through().configure("x", skip="false"), "true or false"),
        (lambda: through().settlement("x", {"skip": "no"}), "true or false"),
        (lambda: RepoStructure(max_depth=100), "1 to 50"),
        (lambda: GrepSearch(context_lines=1_000), "0 to 50"),
    ):
        with pytest.raises(PolicyError, match=words):
            said()


def test_a_fault_of_many_words_is_kept_whole() -> None:
    def breaks() -> Iterator[str]:
        yield "begun\n"
        raise ValueError("e" * 100_000)

    store = MemoryStore()
    result = asyncio.run(Middleware(store=store).apply(breaks(), "x"))
    assert result.is_error
    assert result.content.startswith("[ValueError: eee")
    assert store.stored(result.metadata["handle"]).bytes > 100_000


def test_a_tool_that_hangs_does_not_keep_the_program_from_ending() -> None:
    code = (
        "import asyncio, time; from overspill.tools import *;"
        "r = ToolRegistry([lambda: time.sleep(600)], middleware=Middleware(), timeout_seconds=0.2);"
        "print(asyncio.run(r.call(ToolCall('<lambda>'))).text)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout == "<lambda> took longer than 0.2 seconds\n"


def test_a_thousand_pieces_come_in_their_order() -> None:
    async def numbers() -> AsyncIterator[str]:
        for number in range(100_000):
            yield f"{number}\n"

    store = MemoryStore()
    policy = Policy(budget=Budget(max_bytes=2_000))
    result = asyncio.run(Middleware(policy=policy, store=store).apply(numbers(), "numbers"))
    kept = store.open(result.metadata["handle"])
    assert kept.read(0, kept.size) == "".join(f"{number}\n" for number in range(100_000)).encode()


def test_limits_too_small_are_refused_when_the_tool_is_made(tmp_path: Path) -> None:
    class Tiny(Tool):
        MAX_OUTPUT_CHARS = 50

    class Wordy(Tool):
        MAX_OUTPUT_LINES = "many"  # type: ignore[assignment]

    with pytest.raises(PolicyError, match=r"Tiny\.MAX_OUTPUT_CHARS = 50 is not accepted: 269 or more"):
        Tiny()
    with pytest.raises(PolicyError, match=r"Wordy\.MAX_OUTPUT_LINES = 'many' is not accepted: a whole number"):
        Wordy()
    (tmp_path / "overspill.toml").write_text("[tools.grep_search]\nmax_chars = 20\n")
    configuration = load(str(tmp_path), {})
    with pytest.raises(PolicyError, match=r"grep_search\.MAX_OUTPUT_CHARS = 20"):
        repository_tools(tmp_path, store=MemoryStore(), configuration=configuration)
    with pytest.raises(PolicyError, match=r"overspill\.toml \[tools\.grep_search\]\) = 20"):
        Middleware(configuration=configuration)


def test_a_grammar_that_is_missing_says_which_extra_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from overspill.tools import repo_map

    (tmp_path / "a.py").write_text("def f(): pass\n")
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    repo_map._grammar.cache_clear()
    result = asyncio.run(repo_map.RepoMap(tmp_path, store=MemoryStore()).run({}))
    assert result.is_error
    assert result.content == "repo_map needs an extra: pip install 'overspill[code]'"
