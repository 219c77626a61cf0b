"""The tools a model may call, and one way to call them: a batch at once, every result bounded, in order.

A tool that raises, hangs, gets wrong arguments or does not exist gives a result that says so; the others
of its batch are not touched by it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from overspill.core.model import Call
from overspill.errors import PolicyError
from overspill.tools.arguments import Arguments, description_of
from overspill.tools.base import Tool
from overspill.tools.middleware import Middleware
from overspill.tools.result import ToolCall, ToolResult
from overspill.tools.running import TimedOut, called, sentence_of, within

F = TypeVar("F", bound=Callable[..., Any])

TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    function: Callable[..., Any] | None
    tool: Tool | None
    description: str
    arguments: Arguments
    timeout_seconds: float | None


class ToolRegistry:
    def __init__(
        self,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        *,
        middleware: Middleware | None = None,
        timeout_seconds: float | None = TIMEOUT_SECONDS,
    ) -> None:
        self.middleware = middleware or Middleware()
        self._timeout_seconds = timeout_seconds
        self._entries: dict[str, _Entry] = {}
        for tool in tools:
            self.register(tool)

    def register(
        self, tool: Tool | Callable[..., Any], *, name: str = "", timeout_seconds: float | None = None
    ) -> None:
        """A tool, or any function: its name, documentation and signature are what the model is told."""
        if isinstance(tool, Tool):
            title = self._free(name or tool.title)
            seconds = timeout_seconds or tool.timeout_seconds or self._timeout_seconds
            words = tool.definition()["function"]["description"]
            entry = _Entry(title, None, tool, words, tool.arguments, seconds)
            tool.report_to(self.middleware.tell)
            if tool.policy is not None:
                self.middleware.declare(title, tool.policy)
        else:
            title = self._free(name or getattr(tool, "__name__", type(tool).__name__))
            policy = getattr(tool, "policy", None)
            if policy is not None:
                self.middleware.declare(title, policy)
            seconds = timeout_seconds or self._timeout_seconds
            entry = _Entry(title, tool, None, description_of(tool), Arguments(title, tool), seconds)
        self._entries[title] = entry

    def _free(self, title: str) -> str:
        if title in self._entries:
            raise PolicyError("tool", title, "a name that no other tool here has; register(tool, name=…) gives one")
        return title

    def tool(self, function: F) -> F:
        """``register`` as a decorator."""
        self.register(function)
        return function

    @property
    def names(self) -> list[str]:
        return list(self._entries)

    def definitions(self) -> list[dict[str, Any]]:
        """All tools as the chat protocols describe them to a model."""
        return [
            {
                "type": "function",
                "function": {
                    "name": entry.name,
                    "description": entry.description,
                    "parameters": entry.arguments.schema(),
                },
            }
            for entry in self._entries.values()
        ]

    async def run(self, calls: Iterable[ToolCall], *, options: Mapping[str, Any] | None = None) -> list[ToolResult]:
        """A batch, all at once; one result for each call, in their order. ``options`` hold for these calls."""
        return list(await asyncio.gather(*(self.call(call, options=options) for call in calls)))

    async def call(self, call: ToolCall, *, options: Mapping[str, Any] | None = None) -> ToolResult:
        if not isinstance(call.name, str):  # as endpoints send it that speak the protocol badly
            call = replace(call, name=repr(call.name)[:80])
        entry = self._entries.get(call.name)
        described = Call(tool=call.name, id=call.id)
        if entry is None:
            known = ", ".join(self._entries) or "there are none"
            result = self._failed(call, f"there is no tool {call.name[:80]!r}; known tools: {known}")
            return await self.middleware.apply(result, described, options=options)
        try:
            # What a generator yields is the tool's work as well: it counts into the time.
            return await within(self._answered(entry, call, described, options), entry.timeout_seconds)
        except TimedOut:
            result = self._failed(call, f"{call.name} took longer than {entry.timeout_seconds:g} seconds")
        except Exception as error:
            result = self._failed(call, sentence_of(error))
        return await self.middleware.apply(result, described, options=options)

    async def _answered(
        self, entry: _Entry, call: ToolCall, described: Call, options: Mapping[str, Any] | None
    ) -> ToolResult:
        if entry.tool is not None:
            # It limits itself, and its result says so; only a limit of its own keeps the middleware away.
            result: Any = await entry.tool.run(call.arguments, call_id=call.id)
        else:
            assert entry.function is not None
            result = await called(entry.function, entry.arguments.checked(call.arguments))
        return await self.middleware.apply(_named(result, call), described, options=options)

    def _failed(self, call: ToolCall, sentence: str) -> ToolResult:
        return ToolResult(content=sentence, is_error=True, tool=call.name, call_id=call.id)


def _named(result: Any, call: ToolCall) -> Any:
    if not isinstance(result, ToolResult):
        return result
    return replace(result, tool=call.name, call_id=call.id)
