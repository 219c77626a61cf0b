"""FastMCP: a middleware, so that a server's own results fit and its read-back tools come with it.

    mcp = FastMCP("server")
    mcp.add_middleware(OverspillMiddleware())

Guarantees: what ``overspill.mcp`` guarantees for a result; a small one is the very object that the tool
returned.  Options are those of `overspill mcp` (``max_tokens=…``, ``structured="text"``, ``tools="none"``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from overspill.concurrency import in_thread
from overspill.core.model import Call
from overspill.errors import MissingExtra
from overspill.mcp import wire
from overspill.mcp.assembly import Assembly, assembled_in_python
from overspill.mcp.readback import Answering, own_tools, store_id
from overspill.mcp.results import bound_message
from overspill.mcp.rules import Setting
from overspill.mcp.toolbook import NamedTools, ReadBackTool, ToolBook

try:
    import mcp_types
    from fastmcp.exceptions import ToolError
    from fastmcp.server.middleware import CallNext, MiddlewareContext
    from fastmcp.server.middleware.tool_injection import ToolInjectionMiddleware
    from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
    from pydantic import PrivateAttr
except ModuleNotFoundError:
    raise MissingExtra("overspill.integrations.fastmcp", "mcp") from None

__all__ = ["OverspillMiddleware"]


class OverspillMiddleware(ToolInjectionMiddleware):
    """Add it last, so that it sees what the others have made of a result."""

    def __init__(self, *, assembly: Assembly | None = None, **options: Any) -> None:
        parts = assembly or assembled_in_python(options, start=os.getcwd(), env=os.environ)
        own = own_tools(parts.verbs, prefix=parts.prefix)
        self._rules = parts.rules
        self._book = ToolBook(parts.rules, own, store=store_id(parts.place))
        named = NamedTools(self._book)
        if own:
            parts.access.follow(named)
        self._answering = Answering(parts.store, parts.policy, access=named)
        super().__init__([_own_tool(tool, self._answering) for tool in own])

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp_types.ListToolsRequest],
        call_next: CallNext[mcp_types.ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        """Schemas that could not be kept are not promised."""
        return [self._promised(tool) for tool in await call_next(context)]

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        name = context.message.name
        bounder = self._rules.bounder(name)
        if bounder is None or self.get_injected_tool(name) is not None:
            return await call_next(context)
        try:
            result = await call_next(context)
        except ToolError as error:
            bounded = await in_thread(bounder.bound, str(error), Call(tool=name))
            if not bounded.truncated:
                raise
            # Raised again it would lose its _meta: the host is told the same by a result that is an error.
            return ToolResult(
                content=[mcp_types.TextContent(type="text", text=bounded.text)],
                meta={"overspill": {"handles": [bounded.handle]}} if bounded.handle else None,
                is_error=True,
            )
        if not isinstance(result, ToolResult) or isinstance(result, InputRequiredToolResult):
            return result
        await self._know(context, name)
        setting = Setting(
            bounder=bounder,
            rules=self._rules,
            call=Call(tool=name),
            plan=self._book.plan(name),
            max_result_chars=self._book.max_result_chars(name),
        )
        return await in_thread(_bounded, result, setting)

    async def _know(self, context: MiddlewareContext[Any], name: str) -> None:
        """A host may call a tool that it has listed in another session."""
        if not self._book.has_decided(name) and context.fastmcp_context is not None:
            tool = await context.fastmcp_context.fastmcp.get_tool(name)
            if tool is not None:
                self._promised(tool)

    def _promised(self, tool: Tool) -> Tool:
        if self.get_injected_tool(tool.name) is not None:
            return tool
        listed = tool.to_mcp_tool().model_dump_json(by_alias=True, exclude_none=True).encode()
        keeps = self._book.promises(wire.Raw(listed))
        return tool if keeps or tool.output_schema is None else tool.model_copy(update={"output_schema": None})


def _bounded(result: ToolResult, setting: Setting) -> ToolResult:
    """By way of its serialised form: that is what has to fit."""
    said = result.to_mcp_result()
    if not isinstance(said, mcp_types.CallToolResult):
        content, structured = said if isinstance(said, tuple) else (said, None)
        said = mcp_types.CallToolResult(content=content, structured_content=structured)
    message = wire.response(b"0", wire.Raw(said.model_dump_json(by_alias=True, exclude_none=True).encode()))
    bounded = bound_message(message, setting)
    if bounded is message:
        return result
    found = wire.members(bounded)
    assert found is not None
    return ToolResult.from_mcp_result(mcp_types.CallToolResult.model_validate_json(bytes(found["result"])))


class _OwnTool(Tool):
    """A read-back tool as FastMCP runs it."""

    verb: str
    _answering: Answering = PrivateAttr()

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        text, is_error = await in_thread(self._answering.answer, self.verb, arguments)
        return ToolResult(content=[mcp_types.TextContent(type="text", text=text)], is_error=is_error)


def _own_tool(tool: ReadBackTool, answering: Answering) -> Tool:
    made = _OwnTool(
        name=tool.name,
        description=tool.description,
        parameters=dict(tool.input_schema),
        annotations=mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        verb=tool.verb,
    )
    made._answering = answering
    return made
