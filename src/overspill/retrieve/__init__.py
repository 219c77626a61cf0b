"""Read-back: read, grep, outline, query and search over what a store keeps, each answer bounded.

Importing it loads no engine: re2, sqlite3, duckdb, jmespath and parsers are loaded where they are used.
"""

from __future__ import annotations

from overspill.retrieve.answer import Answer
from overspill.retrieve.grep import grep
from overspill.retrieve.outline import outline
from overspill.retrieve.query import query
from overspill.retrieve.read import pages, read
from overspill.retrieve.search import search
from overspill.retrieve.session import Session
from overspill.retrieve.tools import Toolset, anthropic_tools, mcp_tools, openai_tools

__all__ = [
    "Answer",
    "Session",
    "Toolset",
    "anthropic_tools",
    "grep",
    "mcp_tools",
    "openai_tools",
    "outline",
    "pages",
    "query",
    "read",
    "search",
]
