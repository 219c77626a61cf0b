"""Read by the type checker, never run: what users write against the public names must check."""

from __future__ import annotations

from typing import assert_type

import overspill
from overspill import Bounded, Bounder, Budget, Call, Event, Gap, MemoryStore, Policy
from overspill.core.model import Block, Totals
from overspill.core.ports import Excerpt, Selection, Selector, Store, Strategy


def one_call(text: str) -> None:
    bounded = overspill.bound(text, max_tokens=1_000, strategy="tail")
    assert_type(bounded, Bounded)
    assert_type(bounded.text, str)
    assert_type(bounded.handle, str | None)
    assert_type(bounded.gaps, tuple[Gap, ...])


def on_event(event: Event) -> None:
    assert_type(event.percent_less, float)


def decorated(bounder: Bounder) -> None:
    @bounder.tool
    def tool(times: int) -> str:
        return "word" * times

    @bounder.tool
    async def asynchronous(name: str) -> bytes:
        return name.encode()

    assert_type(tool(3), str)
    tool("3")  # type: ignore[arg-type]


class KeepMatching:
    """A strategy of a user's own."""

    name = "matching"

    def selector(self, room: Budget, call: Call) -> Selector:
        return Matching()


class Matching:
    kind = ""
    headline = ""

    def __init__(self) -> None:
        self._found: list[Block] = []

    def feed(self, block: Block) -> None:
        self._found += [line for line in block.lines() if b"word" in line.data][:100]

    def finish(self, totals: Totals, call: Call) -> Selection:
        return self

    def fill(self, excerpt: Excerpt) -> None:
        for line in self._found:
            excerpt.add(line)

    def describe(self, gap: Gap) -> str:
        return ""

    def mark(self, gap: Gap, words: str) -> str | None:
        return None


strategy: Strategy = KeepMatching()
store: Store = MemoryStore()
bounder = Bounder(Policy(strategy=strategy), store, on_event=on_event)
