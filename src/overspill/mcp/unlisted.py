"""Tools that are called before anybody has listed them: overspill lists them itself, once, before the first call.

Hosts keep lists, from an earlier connection or from another worker's, and hold a result against the schema
that they were told of; so it must be known before the result comes.  Messages in and out, no transport.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from overspill.mcp import wire
from overspill.mcp.toolbook import ToolBook
from overspill.mcp.wire import Raw

WAITING_SECONDS = 5.0
"""A server that answers no sooner is not waited for: its tools then promise nothing."""
_MOST_PAGES = 100
_SPOKEN = "io.modelcontextprotocol/"
"""From 2026-07-28 on each request says by these members who asks, and in which version."""


class Unlisted:
    """One listing: ``request`` is to be asked, its answer given to ``listed``, until there is none."""

    def __init__(self, book: ToolBook, meta: Raw, ids: count[int]) -> None:
        self._book = book
        self._ids = ids
        self._pages = 0
        said = wire.decoded(meta) if bytes(meta) else None
        self._meta = said if isinstance(said, dict) else {}
        self.key = ""
        self.request = self._of_page({})

    @property
    def is_known(self) -> bool:
        """Has a list been taken in since, whoever asked for it?"""
        return self._book.is_known

    def listed(self, answer: bytes) -> None:
        """Takes a page in; empty when none came."""
        outer = wire.members(answer) if answer else None
        result = wire.members(outer["result"]) if outer and "result" in outer else None
        self.request = b""
        if result is not None:
            self._book.page(answer, first=self._pages == 1)
            cursor = wire.decoded(result["nextCursor"]) if "nextCursor" in result else None
            if cursor and self._pages < _MOST_PAGES:
                self.request = self._of_page({"cursor": cursor})
                return
        self._book.is_known = True

    def _of_page(self, params: dict[str, Any]) -> bytes:
        self._pages += 1
        self.key = f"overspill-list-{next(self._ids)}"
        spoken = {name: value for name, value in self._meta.items() if name.startswith(_SPOKEN)}
        asked = params | ({"_meta": spoken} if spoken else {})
        return wire.encoded({"jsonrpc": "2.0", "id": self.key, "method": "tools/list", "params": asked})
