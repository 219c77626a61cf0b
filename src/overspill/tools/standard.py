"""The five tools for one root, set up as a configuration file's ``tool_output_limits.tools`` says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from overspill.core.access import FilePath
from overspill.tools.base import Tool
from overspill.tools.bash import Bash
from overspill.tools.get_repo_structure import RepoStructure
from overspill.tools.grep_search import CONTEXT_LINES, GrepSearch
from overspill.tools.read_file import ReadFile
from overspill.tools.repo_map import RepoMap

if TYPE_CHECKING:
    from overspill.config.configuration import Configuration
    from overspill.core.ports import Store


def repository_tools(
    root: str | os.PathLike[str] = ".",
    *,
    store: Store | str | None = None,
    configuration: Configuration | None = None,
) -> list[Tool]:
    """``repo_map``, ``read_file``, ``grep_search``, ``get_repo_structure`` and, where there is a shell, ``bash``.

    What a file says of one of these by its name replaces the tool's own limits; what it says of everything
    does not: each has limits that suit it.  A ``truncation_strategy`` is for ``bash`` alone: the others
    never answer more than fits, so that there is nothing to cut.
    """
    from overspill.config.configuration import Configuration

    settings = configuration or Configuration()
    shown = settings.tool_parameters(GrepSearch.name)
    tree = settings.tool_parameters(RepoStructure.name)
    tools: list[Tool] = [
        RepoMap(root, store=store),
        ReadFile(root, store=store),
        GrepSearch(root, store=store, context_lines=_context(shown)),
        RepoStructure(root, store=store, **{name: tree[name] for name in ("max_depth", "max_files") if name in tree}),
    ]
    for tool in tools:
        own = settings.of_tool(tool.title)
        tool.MAX_OUTPUT_CHARS = own.get("max_chars", tool.MAX_OUTPUT_CHARS)
        tool.MAX_OUTPUT_LINES = own.get("max_lines", tool.MAX_OUTPUT_LINES)
        tool.check_limits()
    if hasattr(os, "killpg"):
        named = settings.of_tool(Bash.name)
        settled = settings.settle(tool=Bash.name)
        policy = settled.policy(access=FilePath()) if named else None
        if policy and settled.skip:
            policy = policy.uncut
        tools.append(Bash(root, store=store, policy=policy))
    return tools


def _context(parameters: Mapping[str, Any]) -> int:
    """A number of lines, or whether to show any."""
    said = parameters.get("show_context", CONTEXT_LINES)
    return (CONTEXT_LINES if said else 0) if isinstance(said, bool) else int(said)
