"""Tools whose output always fits: a base class, a registry, a middleware, an agent's loop, and five real ones.

Importing it loads none of them: each name is loaded when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from overspill.tools.base import Tool as Tool
    from overspill.tools.bash import Bash as Bash
    from overspill.tools.definition import Definition as Definition
    from overspill.tools.definition import define as define
    from overspill.tools.get_repo_structure import RepoStructure as RepoStructure
    from overspill.tools.grep_search import GrepSearch as GrepSearch
    from overspill.tools.loop import Agent as Agent
    from overspill.tools.loop import Answer as Answer
    from overspill.tools.middleware import Middleware as Middleware
    from overspill.tools.read_file import ReadFile as ReadFile
    from overspill.tools.registry import ToolRegistry as ToolRegistry
    from overspill.tools.repo_map import RepoMap as RepoMap
    from overspill.tools.result import Passed as Passed
    from overspill.tools.result import ToolCall as ToolCall
    from overspill.tools.result import ToolResult as ToolResult
    from overspill.tools.result import Truncated as Truncated
    from overspill.tools.result import outcome as outcome
    from overspill.tools.standard import repository_tools as repository_tools
    from overspill.tools.storage import Storage as Storage
    from overspill.tools.storage import StorageStore as StorageStore

_HOMES = {
    "Agent": "loop",
    "Answer": "loop",
    "Bash": "bash",
    "Definition": "definition",
    "GrepSearch": "grep_search",
    "Middleware": "middleware",
    "Passed": "result",
    "ReadFile": "read_file",
    "RepoMap": "repo_map",
    "RepoStructure": "get_repo_structure",
    "Storage": "storage",
    "StorageStore": "storage",
    "Tool": "base",
    "ToolCall": "result",
    "ToolRegistry": "registry",
    "ToolResult": "result",
    "Truncated": "result",
    "define": "definition",
    "outcome": "result",
    "repository_tools": "standard",
}

__all__ = [
    "Agent",
    "Answer",
    "Bash",
    "Definition",
    "GrepSearch",
    "Middleware",
    "Passed",
    "ReadFile",
    "RepoMap",
    "RepoStructure",
    "Storage",
    "StorageStore",
    "Tool",
    "ToolCall",
    "ToolRegistry",
    "ToolResult",
    "Truncated",
    "define",
    "outcome",
    "repository_tools",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"overspill.tools.{home}"), name)
    globals()[name] = value
    return value
