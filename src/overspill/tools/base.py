"""The base class of tools whose output is limited after each call, by itself.

A subclass writes ``execute``, plain or ``async``.  ``run`` checks the arguments, executes, and applies
``truncate_output``: by the limits of the class, or by a ``policy`` that the class declares.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from overspill.core.model import Bounded, Call
from overspill.tools.arguments import Arguments, description_of
from overspill.tools.result import ToolResult, metadata_of
from overspill.tools.running import TimedOut, called, sentence_of, within

if TYPE_CHECKING:
    from overspill.bounder import Bounder
    from overspill.core.policy import Policy
    from overspill.core.ports import Store


class Tool:
    """One tool. ``name`` and ``description`` default to the class's own name and documentation."""

    name: ClassVar[str] = ""
    description: ClassVar[str] = ""
    MAX_OUTPUT_CHARS: ClassVar[int] = 8_000
    MAX_OUTPUT_LINES: ClassVar[int] = 500
    policy: ClassVar[Policy | None] = None
    """Declared, it holds instead of the two limits."""
    timeout_seconds: float | None = None

    def __init__(self, *, store: Store | str | None = None) -> None:
        self._store = store
        self._bounder: Bounder | None = None
        self._arguments: Arguments | None = None

    @property
    def title(self) -> str:
        return self.name or type(self).__name__

    def execute(self, *args: Any, **arguments: Any) -> Any:
        """What the tool does: returns its whole output, as text, bytes, JSON or an iterator of pieces."""
        raise NotImplementedError(f"{type(self).__name__} has no execute()")

    def truncate_output(self, output: Any) -> Any:
        """The output within the limits; may be overridden, and may return a text or a ``Bounded``."""
        return self.bounder.bound(output, Call(tool=self.title))

    @property
    def bounder(self) -> Bounder:
        """What ``truncate_output`` uses; made when it is first needed."""
        if self._bounder is None:
            from overspill.api import preset
            from overspill.bounder import Bounder

            sizes: dict[str, Any] = {"max_chars": self.MAX_OUTPUT_CHARS, "max_lines": self.MAX_OUTPUT_LINES}
            made = preset("toollevel/tool", store=self._store, **sizes)
            self._bounder = Bounder(self.policy, made.store) if self.policy else made
        return self._bounder

    @bounder.setter
    def bounder(self, bounder: Bounder) -> None:
        self._bounder = bounder

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
            output = await within(self._limited(checked), self.timeout_seconds)
        except TimedOut:
            return self._failed(f"{self.title} took longer than {self.timeout_seconds:g} seconds", call_id)
        except Exception as error:
            return self._failed(sentence_of(error), call_id)
        return self._result(output, call_id)

    async def _limited(self, arguments: dict[str, Any]) -> Any:
        output = await called(self.execute, arguments)
        if isinstance(output, ToolResult | Bounded) or output is None:
            return output
        if isinstance(output, AsyncIterable):
            async with self.bounder.capture(Call(tool=self.title)) as capturing:
                async for chunk in output:
                    await capturing.afeed(chunk)
            return capturing.bounded
        return await called(self.truncate_output, {"output": output})

    def _result(self, output: Any, call_id: str) -> ToolResult:
        if isinstance(output, ToolResult):
            from dataclasses import replace

            return replace(output, tool=self.title, call_id=call_id)
        if isinstance(output, Bounded):
            return ToolResult(
                content=output.text, metadata=metadata_of(output), tool=self.title, call_id=call_id
            )  # fmt: skip
        return ToolResult(content="" if output is None else output, tool=self.title, call_id=call_id)

    def _failed(self, sentence: str, call_id: str) -> ToolResult:
        """An error's text is bounded as well: some carry a whole output."""
        try:
            bounded = self.bounder.bound(sentence, Call(tool=self.title, id=call_id))
            text, metadata = bounded.text, metadata_of(bounded)
        except Exception:  # a store that can't even be opened
            text, metadata = sentence[: self.MAX_OUTPUT_CHARS], {"truncated": len(sentence) > self.MAX_OUTPUT_CHARS}
        return ToolResult(content=text, metadata=metadata, is_error=True, tool=self.title, call_id=call_id)
