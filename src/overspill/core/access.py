"""What this model has to reach the rest of an output, from which the next step is worded.

Each value renders calls that can be pasted as they stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

_POSITIONAL = ("pattern", "query", "words")
"""Options that the command line takes without a name."""


class Rest(NamedTuple):
    """Where what is not shown can be found."""

    handle: str
    path: str | None
    first_line: int
    last_line: int
    column: int
    """Bytes of ``first_line`` that are shown already."""


@runtime_checkable
class Access(Protocol):
    def read(self, rest: Rest) -> str:
        """The call that reads the first of what is missing."""

    def grep(self, rest: Rest) -> str:
        """The call that searches the whole output for PATTERN."""


@runtime_checkable
class Calls(Protocol):
    """What an ``Access`` may offer beside: any of the read-back calls, with their options."""

    def call(self, verb: str, handle: str, options: Mapping[str, object]) -> str:
        """The call, ready to be pasted. ``options`` are the verb's own, by their names in the library."""


def worded(access: Access, verb: str, rest: Rest, **options: object) -> str:
    """The call of a verb as this model can make it; empty when it has no such call."""
    if isinstance(access, Calls):
        return access.call(verb, rest.handle, options)
    if verb == "read":
        return access.read(rest)
    if verb == "grep" and "pattern" in options:
        return access.grep(rest).replace("PATTERN", str(options["pattern"]))
    return ""


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell in which the command line of overspill is installed."""

    command: str = "overspill"
    store: str = ""
    """The place that a command has to be told, since it would not look there by itself."""

    def read(self, rest: Rest) -> str:
        if rest.column:
            first = rest.column + 1
            return self._told(f"read {rest.handle} --line {rest.first_line} --bytes {first}-{first + 3999}")
        return self._told(f"read {rest.handle} --lines {rest.first_line}-{rest.last_line}")

    def grep(self, rest: Rest) -> str:
        return self._told(f"grep {rest.handle} PATTERN")

    def call(self, verb: str, handle: str, options: Mapping[str, object]) -> str:
        import shlex

        words = [verb, *([handle] if handle else [])]
        for name, value in options.items():
            if name in _POSITIONAL:
                words.append(shlex.quote(str(value)))
            elif value is True:
                words.append(f"--{name.replace('_', '-')}")
            else:
                words += [f"--{name.replace('_', '-')}", shlex.quote(str(value))]
        return self._told(" ".join(words))

    def _told(self, words: str) -> str:
        if not self.store:
            return f"{self.command} {words}"
        import shlex

        return f"{self.command} {words} --store {shlex.quote(self.store)}"


@dataclass(frozen=True, slots=True)
class Tools:
    """Retrieval tools, by the names under which the model knows them."""

    read_tool: str = "overspill_read"
    grep_tool: str = "overspill_grep"
    outline_tool: str = "overspill_outline"
    query_tool: str = "overspill_query"
    search_tool: str = "overspill_search"

    def read(self, rest: Rest) -> str:
        if rest.column:
            first = rest.column + 1
            return self.call("read", rest.handle, {"line": rest.first_line, "bytes": f"{first}-{first + 3999}"})
        return self.call("read", rest.handle, {"lines": f"{rest.first_line}-{rest.last_line}"})

    def grep(self, rest: Rest) -> str:
        return self.call("grep", rest.handle, {"pattern": "PATTERN"})

    def call(self, verb: str, handle: str, options: Mapping[str, object]) -> str:
        import json

        named = {"handle": handle, **options} if handle else dict(options)
        return f"{getattr(self, verb + '_tool')} {json.dumps(named, ensure_ascii=False, separators=(',', ':'))}"


@dataclass(frozen=True, slots=True)
class FilePath:
    """File tools only: the output is a plain file."""

    def read(self, rest: Rest) -> str:
        place = rest.path or rest.handle
        if rest.column:
            return f"read {place} line {rest.first_line} from byte {rest.column + 1}"
        return f"read {place} lines {rest.first_line}-{rest.last_line}"

    def grep(self, rest: Rest) -> str:
        return "search it for PATTERN"


@dataclass(frozen=True, slots=True)
class SubAgent:
    """A tool that hands work to another agent, so that the reading costs this context nothing."""

    tool: str = "task"

    def read(self, rest: Rest) -> str:
        return (
            f"{self.tool}: find what you need in {rest.path or rest.handle}, lines {rest.first_line}-{rest.last_line}"
        )

    def grep(self, rest: Rest) -> str:
        return "search it for PATTERN"
