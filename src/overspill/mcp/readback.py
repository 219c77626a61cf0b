"""The read-back tools as MCP has them: the table of ``retrieve``, over one store, for one connection."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from overspill.core.access import Access
from overspill.core.model import Budget
from overspill.core.policy import Policy
from overspill.core.ports import Store
from overspill.mcp.toolbook import ReadBackTool
from overspill.retrieve.session import Session
from overspill.retrieve.tools import DEFINITIONS, Toolset

PREFIX = "overspill_"
USUAL = ("read", "grep", "query", "outline")
ALL = (*USUAL, "search")
_HEAD_BYTES = 4_096
_FRAME_BYTES = 160
"""What a response adds to the text of its answer: it is within the budget as it is serialised."""


def own_tools(verbs: Sequence[str] = USUAL, *, prefix: str = PREFIX) -> list[ReadBackTool]:
    return [
        ReadBackTool(verb, prefix + verb, definition.description, definition.schema)
        for definition in DEFINITIONS
        if (verb := definition.name.removeprefix(PREFIX)) in verbs
    ]


def store_id(place: str) -> str:
    """Tells two stores apart, and a host nothing about where they are."""
    return hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Answering:
    """Answers calls by their verbs; thread-safe as its store is."""

    def __init__(self, store: Store, policy: Policy, *, access: Access, session: Session | None = None) -> None:
        self._store = store
        self._tools = Toolset(store, policy=_for_answers(policy, access), session=session)

    def answer(self, verb: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        if verb == "read" and list(arguments) == ["handle"] and (words := self._of_media(str(arguments["handle"]))):
            return words, False
        answer = self._tools.call(PREFIX + verb, arguments)
        return answer.text, answer.exit_status > 1

    def _of_media(self, handle: str) -> str:
        """What is read instead of an image or another file that has no lines; empty for what has some."""
        from overspill.core.strategies.views.blob import form_of, magic_of

        try:
            blob = self._store.open(handle)
        except Exception:  # the tools say what is wrong with a handle
            return ""
        with closing(blob):
            head = blob.read(0, _HEAD_BYTES)
            kind = magic_of(head) if form_of(head) == "binary" else ""
            size = blob.size
        return kind and (
            f"[overspill read {handle}: a file without lines: {kind}, {size} bytes; "
            f"`overspill show --raw {handle}` writes it]"
        )


def _for_answers(policy: Policy, access: Access) -> Policy:
    """The budget less what the response takes around the text."""
    budget = policy.budget
    sizes = {
        "max_tokens": budget.max_tokens and max(budget.max_tokens - _FRAME_BYTES // 2, budget.max_tokens // 2),
        "max_bytes": budget.max_bytes and max(budget.max_bytes - _FRAME_BYTES, budget.max_bytes // 2),
        "max_chars": budget.max_chars and max(budget.max_chars - _FRAME_BYTES, budget.max_chars // 2),
        "max_lines": budget.max_lines,
    }
    return replace(policy, budget=Budget(**sizes), limit=None, access=access, carrier="json")
