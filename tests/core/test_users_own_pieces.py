"""Strategies, stores and log handlers of a user's own: whatever they do, the output is bounded and accounted for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from core.accounts import assert_kept_promises
from overspill import Bounder, Budget, MemoryStore, Policy
from overspill.core.layouts import Custom
from overspill.core.model import Block, Call, Gap, Part, Span, Totals
from overspill.core.model import Budget as Room
from overspill.core.ports import Composition, Excerpt
from overspill.envelope import bound_envelope
from overspill.tools import Middleware, StorageStore

LONG = "a line of a long output\n" * 9_000
SOURCE = "".join(f"line {number}\n" for number in range(20_000)).encode()
BUDGET = Budget(max_bytes=2_000)


class FirstLine:
    """A strategy, a selector and a selection in one, as short as they come; tests put one thing wrong in it."""

    name = "first-line"
    kind = ""
    headline: Any = ""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def selector(self, room: Room, call: Call) -> Any:
        return type(self)()

    def feed(self, block: Block) -> None:
        self.blocks.append(block)

    def finish(self, totals: Totals, call: Call) -> Any:
        self.totals = totals
        return self

    @property
    def line(self) -> Span:
        return next(self.blocks[0].lines())

    def fill(self, excerpt: Excerpt) -> None:
        excerpt.add(self.line)

    def describe(self, gap: Gap) -> Any:
        return ""

    def mark(self, gap: Gap, words: str) -> Any:
        return None


def filling(choose: Callable[[FirstLine], Any]) -> dict[str, Any]:
    return {"fill": lambda self, excerpt: excerpt.add(choose(self))}


def composing(parts: Callable[[FirstLine], Any]) -> dict[str, Any]:
    return {"compose": lambda self, kept, *, access, language: parts(self)}


def raising(*_: object) -> Any:
    raise RuntimeError("wrong in it")


WRONG: dict[str, dict[str, Any]] = {
    "nothing": {},
    "no selector": {"selector": lambda self, room, call: None},
    "no selection": {"finish": lambda self, totals, call: None},
    "feed raises": {"feed": raising},
    "describe raises": {"describe": raising},
    "describe says nothing": {"describe": lambda self, gap: None},
    "describe says half a character": {"describe": lambda self, gap: "1 \ud83d"},
    "a headline with half a character": {"headline": "key \ud83d\x1b[31m\n"},
    "a headline that is none": {"headline": 7},
    "a kind that is none": {"kind": object()},
    "a mark with half a character": {"mark": lambda self, gap, words: "[\ud83d]"},
    "a mark that steers a terminal": {"mark": lambda self, gap, words: "[\x1b[2J\x00gone]"},
    "a mark over the budget": {"mark": lambda self, gap, words: "x" * 9_999},
    "a mark that is none": {"mark": lambda self, gap, words: 7},
    "a span behind the end": filling(lambda self: Span(len(SOURCE), b"more\n", 20_001)),
    "a span before the start": filling(lambda self: Span(-3, b"lin", 1)),
    "a span over the end": filling(lambda self: Span(len(SOURCE) - 3, b"99\nmore\n", 20_000, 7)),
    "a span of another line": filling(lambda self: self.line._replace(line=77)),
    "a span before its line": filling(lambda self: self.blocks[0].part(700, 707)._replace(line=1_000)),
    "a span of another column": filling(lambda self: self.line._replace(column=5)),
    "a span of text": filling(lambda self: Span(0, "line 0\n", 1)),  # type: ignore[arg-type]
    "a span of nothing": filling(lambda self: Span(0, b"", 1)),
    "no span": filling(lambda self: "line 0"),
    "a composition over the budget": composing(
        lambda self: Composition("", (Part("x" * 3_000, gap=Gap(0, len(SOURCE), 1, 20_000)),))
    ),
    "a composition without an account": composing(lambda self: Composition("all is well\n", ())),
    "no composition": composing(lambda self: 7),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_strategy(wrong: dict[str, Any]) -> None:
    policy = Policy(budget=BUDGET, strategy=type("Wrong", (FirstLine,), wrong)())
    store = MemoryStore()
    bounded = Bounder(policy, store).bound(SOURCE)
    assert_kept_promises(bounded, SOURCE, policy)
    assert bounded.handle is not None
    assert store.open(bounded.handle).size == len(SOURCE)
    assert not any(char < " " and char != "\n" for char in bounded.text)


def test_a_strategy_whose_name_goes() -> None:
    class Nameless(FirstLine):
        asked = 0

        @property
        def name(self) -> str:  # type: ignore[override]
            Nameless.asked += 1
            if Nameless.asked > 1:
                raise RuntimeError("no name left")
            return "nameless"

    assert Bounder(Policy(budget=BUDGET, strategy=Nameless()), MemoryStore()).bound(SOURCE).handle


@pytest.mark.parametrize("handle", ["ovs_" + "a" * 5_000, "ovs_x\ny", "", "a-name", None, 5, "\ud83d"])
def test_a_store_without_handles(handle: Any) -> None:
    class Store(MemoryStore):
        def spill(self, call: Call) -> Any:
            spill = super().spill(call)
            commit = spill.commit
            spill.commit = lambda call: replace(commit(call), handle=handle)  # type: ignore[method-assign]
            return spill

    policy = Policy(budget=BUDGET)
    bounded = Bounder(policy, Store()).bound(SOURCE)
    assert bounded.handle is None
    assert "is no handle" in bounded.text
    assert_kept_promises(bounded, SOURCE, policy)


def test_a_store_whose_own_parts_raise() -> None:
    class Store(MemoryStore):
        def __getattribute__(self, name: str) -> Any:
            if name == "annotate":
                raise RuntimeError("no such thing")
            return super().__getattribute__(name)

    assert Bounder(Policy(budget=BUDGET), Store()).bound(SOURCE).handle


@pytest.fixture
def raising_handler() -> Iterator[None]:
    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError("the log is full")

    handler, log = Handler(), logging.getLogger("overspill")
    level = log.level
    log.addHandler(handler)
    log.setLevel("DEBUG")
    yield
    log.removeHandler(handler)
    log.setLevel(level)


@pytest.mark.usefixtures("raising_handler")
def test_a_log_that_raises() -> None:
    bounder = Bounder(Policy(budget=BUDGET), MemoryStore(), on_event=raising)
    assert bounder.bound(SOURCE).handle


def leaves(*_: Any, **__: Any) -> Any:
    raise SystemExit(3)


class Leaving:
    """Ends the program, whatever is asked of it."""

    __str__ = __repr__ = needs_truncation = truncate = spill = open = stored = save = read = cleanup = leaves
    outputs = remove = leaves
    directory = "anywhere"


@pytest.mark.parametrize(
    "bounded",
    [
        lambda: Bounder(store=MemoryStore()).bound({"a": Leaving(), "b": LONG}),
        lambda: bound_envelope({"data": [Leaving(), LONG]}, bounder=Bounder(store=MemoryStore())),
        lambda: Bounder(Policy(layout=Custom(Leaving()))).bound(LONG),
        lambda: Bounder(store=Leaving()).bound(LONG),
        lambda: Bounder(store=MemoryStore(), on_event=leaves).bound(LONG),
        lambda: Bounder(store=MemoryStore(), on_event=leaves).bound("small"),
        lambda: asyncio.run(Middleware(store=MemoryStore(), should_truncate=leaves).apply(LONG)),
        lambda: asyncio.run(Middleware(store=MemoryStore(), on_event=leaves).apply(LONG)),
        lambda: asyncio.run(Middleware(store=StorageStore(Leaving())).apply(LONG)),
    ],
)
def test_one_that_ends_the_program_ends_nothing(bounded: Callable[[], Any]) -> None:
    try:
        assert bounded() is not None
    except SystemExit:
        pytest.fail("it ended the program", pytrace=False)
