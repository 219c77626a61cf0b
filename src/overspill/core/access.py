"""What this model has to reach the rest of an output, from which the next step is worded.

Each value renders calls that can be pasted as they stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable


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


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell in which the command line of overspill is installed."""

    command: str = "overspill"

    def read(self, rest: Rest) -> str:
        if rest.column:
            first = rest.column + 1
            return f"{self.command} read {rest.handle} --line {rest.first_line} --bytes {first}-{first + 3999}"
        return f"{self.command} read {rest.handle} --lines {rest.first_line}-{rest.last_line}"

    def grep(self, rest: Rest) -> str:
        return f"{self.command} grep {rest.handle} PATTERN"


@dataclass(frozen=True, slots=True)
class Tools:
    """Retrieval tools, by the names under which the model knows them."""

    read_tool: str = "overspill_read"
    grep_tool: str = "overspill_grep"

    def read(self, rest: Rest) -> str:
        if rest.column:
            first = rest.column + 1
            return (
                f'{self.read_tool} {{"handle": "{rest.handle}", "line": {rest.first_line}, '
                f'"bytes": "{first}-{first + 3999}"}}'
            )
        return f'{self.read_tool} {{"handle": "{rest.handle}", "lines": "{rest.first_line}-{rest.last_line}"}}'

    def grep(self, rest: Rest) -> str:
        return f'{self.grep_tool} {{"handle": "{rest.handle}", "pattern": "PATTERN"}}'


@dataclass(frozen=True, slots=True)
class FilePath:
    """File tools only: the output is a plain file."""

    def read(self, rest: Rest) -> str:
        place = rest.path or rest.handle
        if rest.column:
            return f"read {place} line {rest.first_line} from byte {rest.column + 1}"
        return f"read {place} lines {rest.first_line}-{rest.last_line}"

    def grep(self, rest: Rest) -> str:
        return f"search {rest.path or rest.handle} for PATTERN"


@dataclass(frozen=True, slots=True)
class SubAgent:
    """A tool that hands work to another agent, so that the reading costs this context nothing."""

    tool: str = "task"

    def read(self, rest: Rest) -> str:
        return (
            f"{self.tool}: find what you need in {rest.path or rest.handle}, lines {rest.first_line}-{rest.last_line}"
        )

    def grep(self, rest: Rest) -> str:
        return f"{self.tool}: search {rest.path or rest.handle} for PATTERN"
