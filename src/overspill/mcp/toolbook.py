"""The tools of one server as its host is told of them: schemas promised or not, read-back added, names apart.

Guarantees: what becomes of a tool's structured content is decided once, before its first result, and
never changes to the worse; a name means one tool; a page that needs no change is not changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from overspill.core.access import Rest, Tools
from overspill.core.model import Budget
from overspill.mcp import wire
from overspill.mcp.rules import Plan, Rules
from overspill.mcp.schema import Trimming
from overspill.mcp.wire import Raw

DECLARED_SIZE = "anthropic/maxResultSizeChars"
_MOST_DECLARED = 500_000
_MOST_TASKS = 10_000


@dataclass(frozen=True, slots=True)
class ReadBackTool:
    """One of overspill's own, as `tools/list` tells of it."""

    verb: str
    name: str
    description: str
    input_schema: Mapping[str, Any]

    def listed(self, name: str, store: str) -> dict[str, Any]:
        return {
            "name": name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
            "_meta": {"overspill": {"verb": self.verb, "store": store}},
        }


class ToolBook:
    def __init__(self, rules: Rules, own: Sequence[ReadBackTool] = (), *, store: str = "") -> None:
        self._rules = rules
        self._own = tuple(own)
        self._store = store
        self.names = {tool.verb: tool.name for tool in own}
        """By verb, what the host calls it: changed when the server has a tool of that name."""
        self._plans: dict[str, Plan] = {}
        self._declared: dict[str, int] = {}
        self._inner: set[str] = set()
        self._offered: set[str] = set()
        self._aliases: dict[str, str] = {}
        self._tasks: dict[str, str] = {}
        self.is_known = False
        """Has a list been taken in, or was there none to be had?"""

    def verb(self, name: str) -> str | None:
        """Of overspill's own tools; None for the server's."""
        if name in self._offered:
            return None
        return next((verb for verb, known in self.names.items() if known == name), None)

    def true_name(self, name: str) -> str:
        """What the server calls it."""
        return self._aliases.get(name, name)

    def is_read_back(self, name: str) -> bool:
        """Does it answer for another overspill? Such answers are bounded already."""
        return name in self._inner

    def plan(self, name: str) -> Plan:
        """Decided by the list, or by the first result when nobody has listed the tools."""
        return "keep" if self._rules.structured == "keep" else self._plans.setdefault(name, "text")

    def has_decided(self, name: str) -> bool:
        return name in self._plans

    def promises(self, tool: Raw) -> bool:
        """Takes in one listed tool; False when its schema must not be told."""
        return self._taken_in(_Tool(tool), first=True) is tool

    def max_result_chars(self, name: str) -> int | None:
        return self._declared.get(name)

    def note_task(self, task: str, name: str) -> None:
        """A task was begun: its result is the tool's, whenever and over which connection it is asked for."""
        self._tasks[task] = name
        while len(self._tasks) > _MOST_TASKS:
            del self._tasks[next(iter(self._tasks))]

    def of_task(self, task: str) -> str:
        return self._tasks.get(task, "")

    def needs_list(self, name: str) -> bool:
        """Must the list be known before a result of this tool is bounded?"""
        return not self.is_known and self._rules.structured != "keep" and self._rules.bounder(name) is not None

    def own_page(self) -> list[dict[str, Any]]:
        return [tool.listed(self.names[tool.verb], self._store) for tool in self._own if tool.verb in self.names]

    def page(self, message: bytes, *, first: bool) -> bytes:
        """A `tools/list` response as the host gets it."""
        outer = wire.members(message)
        result = wire.members(outer["result"]) if outer and "result" in outer else None
        listed = wire.elements(result["tools"]) if result and "tools" in result else None
        if outer is None or result is None or listed is None:
            return message
        if first:
            self._forget_names()
        tools = [_Tool(raw) for raw in listed]
        changed = [self._taken_in(tool, first=first) for tool in tools]
        own = self._added(tools) if first else []
        self.is_known = True
        if not own and all(new is tool.raw for new, tool in zip(changed, tools, strict=True)):
            return message
        return wire.encoded({**outer, "result": {**result, "tools": [*changed, *own]}})

    def _forget_names(self) -> None:
        self._offered, self._inner, self._aliases = set(), set(), {}

    def _taken_in(self, tool: _Tool, *, first: bool) -> Any:
        changed: dict[str, Any] | None = None
        meta = wire.decoded(tool.members["_meta"]) if "_meta" in tool.members else None
        if isinstance(meta, dict):
            self._note_meta(tool.name, meta)
        if not first and tool.name in self.names.values():
            alias = self._free(tool.name)
            self._aliases[alias] = tool.name
            changed = {**tool.members, "name": alias}
        else:
            self._offered.add(tool.name)
        if "outputSchema" in tool.members and self._plan_for(tool) == "text":
            changed = {name: value for name, value in (changed or tool.members).items() if name != "outputSchema"}
        return tool.raw if changed is None else changed

    def _note_meta(self, name: str, meta: dict[str, Any]) -> None:
        declared = meta.get(DECLARED_SIZE)
        if isinstance(declared, int) and not isinstance(declared, bool) and declared > 0:
            self._declared[name] = min(declared, _MOST_DECLARED)
        inner = meta.get("overspill")
        if isinstance(inner, dict) and "verb" in inner:
            self._inner.add(name)

    def _plan_for(self, tool: _Tool) -> Plan:
        if self._rules.structured == "keep" or self.is_read_back(tool.name):
            return "keep"
        if self._plans.get(tool.name) == "text":
            return "text"  # a result without its structure may have gone out already
        bounder = self._rules.bounder(tool.name)
        if bounder is None:
            return "keep"
        trimming = Trimming(wire.decoded(tool.members["outputSchema"]))
        sure = self._rules.structured == "trim" and trimming.is_sure(least_room_bytes(bounder.policy.budget))
        self._plans[tool.name] = trimming if sure else "text"
        return self._plans[tool.name]

    def _added(self, tools: Sequence[_Tool]) -> list[dict[str, Any]]:
        """Those of overspill's own that the server has not, under names that it has not."""
        own = []
        for tool in self._own:
            inner = next((one.name for one in tools if one.reads(tool.verb, self._store)), None)
            if inner is not None:
                self.names[tool.verb] = inner
                continue
            self.names[tool.verb] = tool.name if tool.name not in self._offered else self._free(tool.name)
            own.append(tool.listed(self.names[tool.verb], self._store))
        return own

    def _free(self, name: str) -> str:
        taken = {*self._offered, *self._aliases, *self.names.values()}
        number = 2
        while f"{name}_{number}" in taken:
            number += 1
        return f"{name}_{number}"


@dataclass(frozen=True, slots=True)
class NamedTools:
    """Read-back as this host can call it now: by the names of its list."""

    book: ToolBook

    @property
    def _tools(self) -> Tools:
        return Tools(**{f"{verb}_tool": name for verb, name in self.book.names.items() if verb in _VERBS})

    def read(self, rest: Rest) -> str:
        return self._tools.read(rest)

    def grep(self, rest: Rest) -> str:
        return self._tools.grep(rest)

    def call(self, verb: str, handle: str, options: Mapping[str, object]) -> str:
        return self._tools.call(verb, handle, options) if verb in self.book.names else ""


def least_room_bytes(budget: Budget) -> int:
    """What structured content has at the least, beside its text: a byte is a token at the most."""
    known = [budget.max_bytes and budget.max_bytes // 4, budget.max_chars and budget.max_chars // 4]
    known.append(budget.max_tokens and budget.max_tokens // 2)
    return min((size for size in known if size), default=budget.bytes_ceiling // 4)


_VERBS = ("read", "grep", "outline", "query", "search")


class _Tool:
    __slots__ = ("members", "name", "raw")

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.members = wire.members(raw) or {}
        name = wire.decoded(self.members["name"]) if "name" in self.members else ""
        self.name = name if isinstance(name, str) else ""

    def reads(self, verb: str, store: str) -> bool:
        """Is it this read-back tool over the very same store?"""
        meta = wire.decoded(self.members["_meta"]) if "_meta" in self.members else None
        return isinstance(meta, dict) and meta.get("overspill") == {"verb": verb, "store": store}
