"""One message of a model's, from what a chat endpoint sent, whole or in pieces: complete, or an ``EndpointError``.

Whatever an endpoint that speaks the protocol badly sends: nothing else is raised, and what broke off is
never taken for an answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass, field
from typing import Any

from overspill.errors import EndpointError
from overspill.tools.result import ToolCall


@dataclass(slots=True)
class Reply:
    text: str = ""
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tool_calls(self) -> list[ToolCall]:
        made = []
        for index in sorted(self.calls):
            call = self.calls[index]
            made.append(ToolCall(call["name"], call["arguments"], call["id"] or f"call_{index}"))
        return made

    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.tool_calls
            ]
        return message

    def add_text(self, content: Any, on_text: Callable[[str], None] | None) -> None:
        if isinstance(content, str) and content:
            self.text += content
            if on_text:
                on_text(content)

    def add_calls(self, calls: Any) -> None:
        for at, said in enumerate(calls if isinstance(calls, list) else ()):
            index, function = getattr(said, "index", None), getattr(said, "function", None)
            call = self.calls.setdefault(
                index if isinstance(index, int) else at, {"id": "", "name": "", "arguments": ""}
            )
            call["id"] = _text(said, "id") or call["id"]
            call["name"] += _text(function, "name")
            call["arguments"] += _text(function, "arguments")

    def add_usage(self, usage: Any) -> None:
        if usage is not None:
            self.prompt_tokens = getattr(usage, "prompt_tokens", 0) or 0
            self.completion_tokens = getattr(usage, "completion_tokens", 0) or 0


def whole(answered: Any, on_text: Callable[[str], None] | None) -> Reply:
    reply = Reply()
    message = getattr(_first_choice(answered), "message", None)
    if message is None:
        raise EndpointError("no message in it")
    reply.add_usage(answered.usage)
    reply.add_text(getattr(message, "content", None), on_text)
    reply.add_calls(getattr(message, "tool_calls", None))
    return reply


async def pieced(chunks: AsyncIterable[Any], on_text: Callable[[str], None] | None) -> Reply:
    reply, ended = Reply(), False
    async for chunk in chunks:
        choice = _first_choice(chunk)
        delta = getattr(choice, "delta", None)
        reply.add_usage(getattr(chunk, "usage", None))
        reply.add_text(getattr(delta, "content", None), on_text)
        reply.add_calls(getattr(delta, "tool_calls", None))
        ended = ended or bool(getattr(choice, "finish_reason", None))
    if not ended:
        raise EndpointError("it broke off before its end")
    return reply


def _first_choice(said: Any) -> Any:
    choices = getattr(said, "choices", None)
    return choices[0] if isinstance(choices, list) and choices else None


def _text(said: Any, name: str) -> str:
    value = getattr(said, name, None)
    return value if isinstance(value, str) else ""
