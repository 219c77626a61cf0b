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
    broken_off: bool = False
    """By the endpoint itself: the model had more to say."""
    _places: dict[int, list[int]] = field(default_factory=dict)
    """The calls that were said to be at each index: some endpoints say 0 of all of them."""

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
        if isinstance(content, list):
            content = "".join(map(_text_of_part, content))
        if isinstance(content, str) and content:
            self.text += content
            if on_text:
                on_text(content)

    def add_calls(self, calls: Any) -> None:
        for at, said in enumerate(calls if isinstance(calls, list) else ()):
            index, function = getattr(said, "index", None), getattr(said, "function", None)
            identity, name = _text(said, "id"), _text(function, "name")
            call = self._call_at(index if isinstance(index, int) else at, identity, name)
            if not (identity and call["id"] == identity and call["name"] == name):  # said once more
                call["name"] += name
            call["id"] = call["id"] or identity
            call["arguments"] += _text(function, "arguments")

    def _call_at(self, index: int, identity: str, name: str) -> dict[str, str]:
        """The call that a piece belongs to: another id with a name begins another, wherever it is said to be."""
        places = self._places.setdefault(index, [])
        same = [place for place in places if identity and self.calls[place]["id"] == identity]
        begins = name and identity and places and self.calls[places[-1]]["id"] not in ("", identity)
        if not same and (begins or not places):
            places.append(index if index not in self.calls else max(self.calls) + 1)
            self.calls[places[-1]] = {"id": "", "name": "", "arguments": ""}
        return self.calls[same[0] if same else places[-1]]

    def add_ending(self, choice: Any) -> bool:
        """Was this the end? One for want of room, before anything was said, is no answer."""
        reason = getattr(choice, "finish_reason", None)
        self.broken_off = self.broken_off or reason in ("length", "content_filter")
        if self.broken_off and not self.text and not self.calls:
            raise EndpointError(f"it ended before anything was said (finish_reason {reason!r})")
        return bool(reason)

    def add_usage(self, usage: Any) -> None:
        if usage is not None:
            self.prompt_tokens = getattr(usage, "prompt_tokens", 0) or 0
            self.completion_tokens = getattr(usage, "completion_tokens", 0) or 0


def whole(answered: Any, on_text: Callable[[str], None] | None) -> Reply:
    reply = Reply()
    choice = _first_choice(answered)
    message = getattr(choice, "message", None)
    if message is None:
        raise EndpointError("no message in it")
    reply.add_usage(answered.usage)
    reply.add_text(getattr(message, "content", None), on_text)
    reply.add_calls(getattr(message, "tool_calls", None))
    reply.add_ending(choice)
    return reply


async def pieced(chunks: AsyncIterable[Any], on_text: Callable[[str], None] | None) -> Reply:
    reply, ended = Reply(), False
    async for chunk in chunks:
        choice = _first_choice(chunk)
        delta = getattr(choice, "delta", None)
        reply.add_usage(getattr(chunk, "usage", None))
        reply.add_text(getattr(delta, "content", None), on_text)
        reply.add_calls(getattr(delta, "tool_calls", None))
        ended = reply.add_ending(choice) or ended
    if not ended:
        raise EndpointError("it broke off before its end")
    return reply


def _first_choice(said: Any) -> Any:
    choices = getattr(said, "choices", None)
    return choices[0] if isinstance(choices, list) and choices else None


def _text_of_part(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else getattr(part, "text", None)
    return text if isinstance(text, str) else ""


def _text(said: Any, name: str) -> str:
    value = getattr(said, name, None)
    return value if isinstance(value, str) else ""
