"""What this model has to reach the rest of an output, from which the next step is worded.

Each value renders calls that can be pasted as they stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol, runtime_checkable

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

    language: Literal["en", "zh"] = "en"

    def read(self, rest: Rest) -> str:
        place, zh = rest.path or rest.handle, self.language == "zh"
        if rest.column:
            line, byte = rest.first_line, rest.column + 1
            return (
                f"读取 {place} 第 {line} 行，自第 {byte} 字节起" if zh else f"read {place} line {line} from byte {byte}"
            )
        lines = f"{rest.first_line}-{rest.last_line}"
        return f"读取 {place} 第 {lines} 行" if zh else f"read {place} lines {lines}"

    def grep(self, rest: Rest) -> str:
        return "在其中搜索 PATTERN" if self.language == "zh" else "search it for PATTERN"


@dataclass(frozen=True, slots=True)
class SubAgent:
    """A tool that hands work to another agent, so that the reading costs this context nothing."""

    tool: str = "task"
    language: Literal["en", "zh"] = "en"

    def read(self, rest: Rest) -> str:
        place, lines = rest.path or rest.handle, f"{rest.first_line}-{rest.last_line}"
        if self.language == "zh":
            return f"{self.tool}：在 {place} 第 {lines} 行中查找所需内容"
        return f"{self.tool}: find what you need in {place}, lines {lines}"

    def grep(self, rest: Rest) -> str:
        return "在其中搜索 PATTERN" if self.language == "zh" else "search it for PATTERN"


def speaking(access: Access, language: Literal["en", "zh"]) -> Access:
    """The same in a language, where it is words and not a call."""
    if isinstance(access, FilePath | SubAgent) and access.language != language:
        return replace(access, language=language)
    return access
