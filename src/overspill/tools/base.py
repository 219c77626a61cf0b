"""The base class of tools whose output is limited after each call, by itself.

A subclass writes ``execute``, plain or ``async``.  ``run`` checks the arguments, executes, and applies
``truncate_output``: by the limits of the class, or by a ``policy`` that the class declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from overspill.core.model import Bounded, Call
from overspill.errors import PolicyError
from overspill.reports import report_fault
from overspill.summarise import summarised
from overspill.tools.arguments import Arguments, description_of
from overspill.tools.result import ToolResult, metadata_of
from overspill.tools.running import TimedOut, called, sentence_of, within
from overspill.tools.streams import bounded_stream, is_stream

if TYPE_CHECKING:
    from overspill.bounder import Bounder
    from overspill.core.events import Event, Listener
    from overspill.core.policy import Policy
    from overspill.core.ports import Store


class Tool:
    """One tool. ``name`` and ``description`` default to the class's own name and documentation."""

    name: ClassVar[str] = ""
    description: ClassVar[str] = ""
    MAX_OUTPUT_CHARS: int = 8_000
    MAX_OUTPUT_LINES: int = 500
    policy: ClassVar[Policy | None] = None
    """Declared, it holds instead of the two limits."""
    timeout_seconds: float | None = None

    def __init__(self, *, store: Store | str | None = None) -> None:
        self._store = store
        self._bounder: Bounder | None = None
        self._listeners: list[Listener] = []
        self._arguments: Arguments | None = None
        self.check_limits()

    def check_limits(self) -> None:
        """Refuses limits that are none, or leave no room for a notice; for whoever changes them later."""
        from overspill.core.model import Budget
        from overspill.core.policy import Policy

        try:
            Policy(budget=Budget(max_chars=self.MAX_OUTPUT_CHARS, max_lines=self.MAX_OUTPUT_LINES))
        except PolicyError as error:
            name = error.setting.replace("max_", "MAX_OUTPUT_").upper()
            raise PolicyError(f"{self.title}.{name}", error.value, error.accepted) from None

    @property
    def title(self) -> str:
        return self.name or type(self).__name__

    def execute(self, *args: Any, **arguments: Any) -> Any:
        """What the tool does: returns its whole output, as text, bytes, JSON or an iterator of pieces."""
        raise NotImplementedError(f"{type(self).__name__} has no execute()")

    def truncate_output(self, output: Any) -> Any:
        """The output within the limits; may be overridden, and may return a text or a ``Bounded``.

        What is yielded piece by piece does not come here: it is bounded while it comes.
        """
        from overspill.content import bound_parts, is_parts

        call = Call(tool=self.title)
        return bound_parts(self.bounder, output, call) if is_parts(output) else self.bounder.bound(output, call)

    @property
    def bounder(self) -> Bounder:
        """What ``truncate_output`` uses; made when it is first needed."""
        if self._bounder is None:
            from overspill.api import preset
            from overspill.bounder import Bounder

            sizes: dict[str, Any] = {"max_chars": self.MAX_OUTPUT_CHARS, "max_lines": self.MAX_OUTPUT_LINES}
            made = preset("toollevel/tool", store=self._store, **sizes)
            self.bounder = Bounder(self.policy, made.store) if self.policy else made
        assert self._bounder is not None
        return self._bounder

    @bounder.setter
    def bounder(self, bounder: Bounder) -> None:
        from overspill.bounder import Bounder

        # One of its own: several tools may be given the same, and each reports its own outputs.
        self._bounder = Bounder(bounder.policy, bounder.store, on_event=(*bounder.listeners, self._tell))

    def report_to(self, listener: Listener) -> None:
        """The events of this tool's outputs go there as well; asked for twice, once."""
        if listener not in self._listeners:
            self._listeners.append(listener)

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)

    @property
    def arguments(self) -> Arguments:
        if self._arguments is None:
            self._arguments = Arguments(self.title, self.execute)
        return self._arguments

    def definition(self) -> dict[str, Any]:
        """The tool as the chat protocols describe it to a model."""
        return {
            "type": "function",
            "function": {
                "name": self.title,
                "description": self.description or description_of(type(self)) or description_of(self.execute),
                "parameters": self.arguments.schema(),
            },
        }

    async def run(self, arguments: Mapping[str, Any] | str = "{}", *, call_id: str = "") -> ToolResult:
        """One call, its result within the limits. Nothing is raised: a fault is a result for the model to read."""
        try:
            checked = self.arguments.checked(arguments)
            result = await within(self._limited(checked, call_id), self.timeout_seconds)
        except TimedOut:
            return self._failed(f"{self.title} took longer than {self.timeout_seconds:g} seconds", call_id)
        except Exception as error:
            return self._failed(sentence_of(error), call_id)
        return replace(result, tool=self.title, call_id=call_id)

    async def _limited(self, arguments: dict[str, Any], call_id: str) -> ToolResult:
        output = await called(self.execute, arguments)
        if not isinstance(output, ToolResult):
            return await self._bounded(output, call_id)
        if "truncated" in output.metadata:
            return output
        bounded = await self._bounded(output.content, call_id)
        return replace(
            bounded, metadata={**output.metadata, **bounded.metadata}, is_error=output.is_error or bounded.is_error
        )  # fmt: skip

    async def _bounded(self, output: Any, call_id: str) -> ToolResult:
        if is_stream(output):
            return await bounded_stream(self.bounder, output, Call(tool=self.title, id=call_id))
        if output is None:
            return ToolResult(content="")
        limited = output if isinstance(output, Bounded) else await self._truncated(output)
        if isinstance(limited, Bounded):
            limited = await summarised(self.bounder, limited, Call(tool=self.title, id=call_id), output)
            return ToolResult(content=limited.text, metadata=metadata_of(limited))
        return ToolResult(content=limited, metadata={"truncated": limited is not output})

    async def _truncated(self, output: Any) -> Any:
        """By the tool's own ``truncate_output``; by the limits, and kept, where that raises."""
        try:
            return await called(partial(self.truncate_output, output), {})
        except (Exception, SystemExit) as error:
            report_fault(self.bounder.listeners, RuntimeError(sentence_of(error)), Call(tool=self.title))
            return await called(partial(Tool.truncate_output, self, output), {})

    def _failed(self, sentence: str, call_id: str) -> ToolResult:
        """An error's text is bounded as well: some carry a whole output."""
        try:
            bounded = self.bounder.bound(sentence, Call(tool=self.title, id=call_id))
            text, metadata = bounded.text, metadata_of(bounded)
        except Exception:  # a store that can't even be opened
            text, metadata = sentence[: self.MAX_OUTPUT_CHARS], {"truncated": len(sentence) > self.MAX_OUTPUT_CHARS}
        return ToolResult(content=text, metadata=metadata, is_error=True, tool=self.title, call_id=call_id)
