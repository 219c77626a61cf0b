"""The read-back calls as tools for models: one table, in the forms of OpenAI, Anthropic and MCP.

Guarantees: an answer is a bounded text whatever the arguments; numbers, booleans and handles are taken as
models write them; a wrong call is answered with what would be right, never raised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from overspill.core.access import Tools
from overspill.core.policy import Policy
from overspill.core.ports import Store
from overspill.errors import OverspillError, RequestError
from overspill.retrieve.answer import Answer, within
from overspill.retrieve.grep import grep
from overspill.retrieve.outline import outline
from overspill.retrieve.query import query
from overspill.retrieve.read import read
from overspill.retrieve.search import search
from overspill.retrieve.session import Session

_HANDLE = {"type": "string", "description": "The ovs_… name from an overspill header."}
_LINES = {"type": "string", "description": "Range of line numbers, e.g. 800-900 or 800-."}


@dataclass(frozen=True, slots=True)
class Definition:
    """One tool: what the model is told of it, and what runs."""

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]
    run: Callable[[Toolset, dict[str, Any]], Answer]

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the arguments. Numbers may come as strings: models write both."""
        return {
            "type": "object",
            "properties": {name: dict(value) for name, value in self.properties.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }


def _number(description: str, default: int | None = None) -> dict[str, Any]:
    return {"type": "integer", "description": description} | ({} if default is None else {"default": default})


def _flag(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description, "default": False}


DEFINITIONS: tuple[Definition, ...] = (
    Definition(
        "overspill_read",
        "Read lines of a stored tool output, numbered and verbatim; the answer ends with the call for the rest.",
        {
            "handle": _HANDLE,
            "lines": _LINES,
            "around": {"type": "string", "description": "Line to show with its neighbours, e.g. 812, or 812.4001."},
            "context": _number("Lines on each side of around; as many as suit when left out."),
            "line": _number("One line, when it is too long; give bytes too."),
            "bytes": {
                "type": "string",
                "description": "Byte range inside line (without one: of the whole output), e.g. 4001-8000.",
            },
            "tail": _number("That many last lines, instead of lines."),
            "again": _flag("Show lines that were shown before, too."),
        },
        ("handle",),
        lambda tools, given: read(tools.store, **given, policy=tools.policy, session=tools.session),
    ),
    Definition(
        "overspill_grep",
        "Search a stored tool output by regular expression (RE2); returns numbered lines, windows in long ones.",
        {
            "handle": _HANDLE,
            "pattern": {"type": "string", "description": "What to look for."},
            "literal": _flag("Take the pattern as plain text."),
            "ignore_case": _flag("Ignore upper and lower case."),
            "context": _number("Lines to show around each match.", 0),
            "max": _number("Most matches to show.", 20),
            "lines": _LINES,
        },
        ("handle", "pattern"),
        lambda tools, given: grep(tools.store, **_renamed(given, max="max_matches"), policy=tools.policy),
    ),
    Definition(
        "overspill_outline",
        "See what is in a stored tool output, or in a range of its lines, before reading: facts and telling lines.",
        {
            "handle": _HANDLE,
            "lines": _LINES,
            "question": {"type": "string", "description": "What you want to know; its words count more."},
        },
        ("handle",),
        lambda tools, given: outline(tools.store, **given, policy=tools.policy),
    ),
    Definition(
        "overspill_query",
        "Query a stored JSON output by JMESPath, or a table (CSV, JSON, Parquet) by SQL on the view `output`.",
        {
            "handle": _HANDLE,
            "query": {"type": "string", "description": "JMESPath, e.g. [?status=='failed'].id"},
            "sql": {"type": "string", "description": "SELECT … FROM output, instead of query."},
            "skip": _number("Results to leave out at the start.", 0),
        },
        ("handle",),
        lambda tools, given: query(tools.store, **_renamed(given, query="expression"), policy=tools.policy),
    ),
    Definition(
        "overspill_search",
        "Search all stored tool outputs for words; returns exact lines with handle and line number.",
        {
            "words": {"type": "string", "description": 'Words, or a "phrase in quotes".'},
            "max": _number("Most lines to show.", 10),
        },
        ("words",),
        lambda tools, given: search(
            tools.store, **_renamed(given, max="max_lines"), session=tools.only_session, policy=tools.policy
        ),
    ),
)


class Toolset:
    """The five tools over one store, for one session."""

    store: Store
    policy: Policy
    session: Session | None
    only_session: str

    def __init__(
        self,
        store: Store,
        *,
        policy: Policy | None = None,
        session: Session | None = None,
        only_session: str = "",
    ) -> None:
        """``only_session`` limits ``overspill_search`` to the outputs of that session."""
        self.store = store
        self.policy = policy or Policy(access=Tools())
        self.session = session
        self.only_session = only_session
        self._by_name = {definition.name: definition for definition in DEFINITIONS}

    def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Runs a tool; a fault is an answer too, with ``exit_status`` 2."""
        try:
            definition = self._by_name.get(name)
            if definition is None:
                raise RequestError("tool", name, "one of " + ", ".join(self._by_name))
            return definition.run(self, _checked(definition, arguments))
        except OverspillError as error:
            words = " ".join(str(error).split())
            return Answer(text=within(f"[overspill error: {words}]\n", self.policy), exit_status=2)

    def callables(self) -> dict[str, Callable[..., str]]:
        """Each tool as a function of its arguments that returns text."""
        return {name: self._callable(name) for name in self._by_name}

    def _callable(self, name: str) -> Callable[..., str]:
        definition = self._by_name[name]

        def run(**arguments: Any) -> str:
            return self.call(name, arguments).text

        run.__name__ = name
        run.__doc__ = definition.description
        return run


def openai_tools() -> list[dict[str, Any]]:
    """For the ``tools`` of OpenAI's chat completions."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
        }
        for tool in DEFINITIONS
    ]


def anthropic_tools() -> list[dict[str, Any]]:
    """For the ``tools`` of Anthropic's messages."""
    return [{"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in DEFINITIONS]


def mcp_tools() -> list[dict[str, Any]]:
    """For the result of MCP's ``tools/list``."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.schema,
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }
        for tool in DEFINITIONS
    ]


def _checked(definition: Definition, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the library takes them: nothing unknown, flags as booleans, empty ones left out."""
    given: dict[str, Any] = {}
    for name, value in arguments.items():
        about = definition.properties.get(name)
        if about is None:
            raise RequestError("argument", name, f"{definition.name} takes {', '.join(definition.properties)}")
        if value is None or value == "":
            continue
        given[name] = _flag_value(name, value) if about["type"] == "boolean" else value
    for name in definition.required:
        if name not in given:
            about = definition.properties[name]["description"]
            raise RequestError(name, arguments.get(name), f"{definition.name} needs it: {about}")
    for name, about in definition.properties.items():
        if about["type"] == "string" and name in given and not isinstance(given[name], str):
            given[name] = _text(name, given[name])
    return given


def _text(name: str, value: object) -> str:
    if isinstance(value, list | tuple) and len(value) == 2:
        return f"{value[0]}-{value[1]}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(int(value) if value == int(value) else value) if math.isfinite(value) else str(value)
    raise RequestError(name, value, "a string")


def _flag_value(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    known = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
    found = known.get(str(value).strip().lower())
    if found is None:
        raise RequestError(name, value, "true or false")
    return found


def _renamed(given: dict[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in given.items()}
