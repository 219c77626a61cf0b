"""A small agent: a model behind an OpenAI-compatible chat endpoint, and the tools it calls.

Every result is bounded once more before it enters the history, whatever the tools did; a result that had
to be cut here is logged as a warning.  The history holds the bounded form and nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, Literal

from overspill.core.model import Call
from overspill.errors import EndpointError, PolicyError
from overspill.tools.base import Tool
from overspill.tools.middleware import Middleware
from overspill.tools.registry import ToolRegistry
from overspill.tools.reply import Reply, pieced, whole
from overspill.tools.result import ToolResult
from overspill.tools.running import in_own_thread

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from overspill.bounder import Bounder
    from overspill.core.policy import Policy
    from overspill.core.ports import Store

NO_OUTPUT = "(no output)"
"""Some endpoints refuse an empty message."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run gave."""

    text: str
    messages: list[dict[str, Any]]
    """The whole history, ready to be continued."""
    turns: int
    prompt_tokens: int = 0
    completion_tokens: int = 0
    ended: Literal["answered", "broken off", "out of turns"] = "answered"
    """Broken off: the endpoint had no more room for the answer, or withheld the rest."""


class Agent:
    """``policy`` bounds every result; without one, the ``toollevel`` preset does: 8,000 characters."""

    def __init__(
        self,
        *,
        model: str,
        tools: ToolRegistry | Sequence[Tool | Callable[..., Any]] = (),
        base_url: str | None = None,
        api_key: str | None = None,
        policy: Policy | None = None,
        store: Store | str | None = None,
        system: str = "",
        delivery: Literal["whole", "streamed"] = "whole",
        on_text: Callable[[str], None] | None = None,
        max_turns: int = 20,
        timeout_seconds: float = 120.0,
    ) -> None:
        from overspill.api import preset
        from overspill.bounder import Bounder
        from overspill.summarise import openai_client

        if delivery not in ("whole", "streamed"):
            raise PolicyError("delivery", delivery, "whole or streamed")
        if isinstance(max_turns, bool) or not isinstance(max_turns, int) or max_turns < 1:
            raise PolicyError("max_turns", max_turns, "a whole number, 1 or more")
        if not isinstance(timeout_seconds, int | float) or not timeout_seconds > 0:
            raise PolicyError("timeout_seconds", timeout_seconds, "a number of seconds above 0")
        safety = preset("toollevel", store=store)
        self.bounder: Bounder = Bounder(policy, safety.store) if policy else safety
        self.tools = tools if isinstance(tools, ToolRegistry) else self._registry(tools)
        self._client = openai_client("the agent's loop", base_url, api_key, timeout_seconds)
        self._model, self._system = model, system
        self._delivery, self._on_text = delivery, on_text
        self._max_turns = max_turns

    async def run(self, prompt: str | Iterable[dict[str, Any]]) -> Answer:
        """The model's answer; ``prompt`` is what the user says, or a history that ends with it.

        What the endpoint refuses is raised as the ``openai`` client says it, an answer that is none as an
        ``EndpointError``.
        """
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
        if self._system and not any(message.get("role") == "system" for message in messages):
            messages.insert(0, {"role": "system", "content": self._system})
        async with self._client() as client:
            return await self._turns(client, messages)

    async def _turns(self, client: AsyncOpenAI, messages: list[dict[str, Any]]) -> Answer:
        prompt_tokens = completion_tokens = 0
        reply = Reply()
        for turn in range(1, self._max_turns + 1):
            reply = await self._reply(client, messages)
            messages.append(reply.message())
            prompt_tokens += reply.prompt_tokens
            completion_tokens += reply.completion_tokens
            if not reply.calls:
                ended: Literal["answered", "broken off"] = "broken off" if reply.broken_off else "answered"
                return Answer(reply.text, messages, turn, prompt_tokens, completion_tokens, ended)
            results = await self.tools.run(reply.tool_calls)
            messages += [await self._tool_message(result) for result in results]
        return Answer(reply.text, messages, self._max_turns, prompt_tokens, completion_tokens, "out of turns")

    async def _tool_message(self, result: ToolResult) -> dict[str, Any]:
        """The second safety: what enters the history fits, also when a tool was told not to be cut."""
        text = result.text
        bounded = await in_own_thread(lambda: self.bounder.bound(text, Call(tool=result.tool, id=result.call_id)))
        if bounded.truncated:
            logging.getLogger("overspill").warning(
                "%s: a result of %d characters reached the agent and was cut to %d",
                result.tool,
                len(text),
                len(bounded.text),
            )
        return {"role": "tool", "tool_call_id": result.call_id, "content": bounded.text or NO_OUTPUT}

    async def _reply(self, client: AsyncOpenAI, messages: list[dict[str, Any]]) -> Reply:
        asked: dict[str, Any] = {"model": self._model, "messages": messages}
        if definitions := self.tools.definitions():
            asked["tools"] = definitions
        if self._delivery == "whole":
            with _json_expected():
                answered = await client.chat.completions.create(**asked)
            return whole(answered, self._on_text)
        asked |= {"stream": True, "stream_options": {"include_usage": True}}
        async with await client.chat.completions.create(**asked) as stream:
            return await pieced(_chunks(stream), self._on_text)

    def _registry(self, tools: Sequence[Tool | Callable[..., Any]]) -> ToolRegistry:
        middleware = Middleware(policy=self.bounder.policy, store=self.bounder.store)
        return ToolRegistry(tools, middleware=middleware)


async def _chunks(stream: AsyncIterable[Any]) -> AsyncIterator[Any]:
    pieces = aiter(stream)
    while True:
        with _json_expected():
            try:
                chunk = await anext(pieces)
            except StopAsyncIteration:
                return
        yield chunk


@contextmanager
def _json_expected() -> Iterator[None]:
    """The client lets through what its parser says of a body that is no JSON."""
    try:
        yield
    except JSONDecodeError as error:
        raise EndpointError(f"no JSON ({error})") from None
