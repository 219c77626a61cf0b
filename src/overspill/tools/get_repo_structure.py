"""Shows the tree of a repository down to a depth and up to a number of files, and counts what is below the cut."""

from __future__ import annotations

import os
from pathlib import Path

from overspill.config.settings import TOOL_PARAMETERS
from overspill.core.ports import Store
from overspill.errors import PolicyError, RequestError
from overspill.tools.base import Tool
from overspill.tools.root import Root, Walk, but_for, printable

MAX_DEPTH = 3
MAX_FILES = 500
_DEPTHS, _FILES = TOOL_PARAMETERS["max_depth"], TOOL_PARAMETERS["max_files"]


class RepoStructure(Tool):
    """Lists directories and files as a tree, 3 levels and 500 files of it; what is below the cut is counted."""

    name = "get_repo_structure"
    MAX_OUTPUT_CHARS = 20_000
    MAX_OUTPUT_LINES = 1_000

    def __init__(
        self,
        root: str | os.PathLike[str] = ".",
        *,
        store: Store | str | None = None,
        max_depth: int = MAX_DEPTH,
        max_files: int = MAX_FILES,
    ) -> None:
        super().__init__(store=store)
        self._root = Root(root)
        self._max_depth, self._max_files = max_depth, max_files
        for name, value in (("max_depth", max_depth), ("max_files", max_files)):
            taken = TOOL_PARAMETERS[name]
            if value not in taken:
                raise PolicyError(f"{self.title}.{name}", value, f"{taken[0]} to {taken[-1]:,}")

    def execute(self, path: str = ".", max_depth: int | None = None, max_files: int | None = None) -> str:
        depth = self._max_depth if max_depth is None else max_depth
        files = self._max_files if max_files is None else max_files
        if depth not in _DEPTHS:
            raise RequestError("max_depth", depth, f"a number of levels, {_DEPTHS[0]} to {_DEPTHS[-1]}")
        if files not in _FILES:
            raise RequestError("max_files", files, f"a number of files, {_FILES[0]} to {_FILES[-1]:,}")
        place = self._root.directory(path)
        walk = Walk(self._root, place)
        tree = _Tree(walk, depth, files)
        lines = tree.drawn(place)
        total = f"[{_counted(tree.total, 'file')} in {_counted(tree.directories, 'directory', 'directories')}"
        if tree.shown < tree.total:
            total += f"; {tree.shown} shown, to depth {depth}; for more: a path further down"
        head = f"{printable(self._root.shown(place) if place != self._root.path else place.name)}/"
        return self._fitted(head, lines, f"{total}{but_for(walk.unread)}]")

    def _fitted(self, head: str, lines: list[str], total: str) -> str:
        """The tool's own limits hold as well: lines are given up from the end, and counted."""
        room = self.MAX_OUTPUT_CHARS - len(head) - len(total) - 80
        for count, line in enumerate(lines):
            room -= len(line) + 1
            if room < 0 or count + 4 > self.MAX_OUTPUT_LINES:
                lines = [*lines[:count], f"[… {len(lines) - count} more lines]"]
                break
        return "\n".join([head, *lines, total])


class _Tree:
    def __init__(self, walk: Walk, max_depth: int, max_files: int) -> None:
        self._walk, self._max_depth, self._max_files = walk, max_depth, max_files
        self.shown = self.total = self.directories = 0

    def drawn(self, directory: Path, depth: int = 1) -> list[str]:
        directories, files = self._walk.entries(directory)
        pad = "  " * depth
        lines = []
        for child in directories:
            self.directories += 1
            if depth >= self._max_depth or self.shown >= self._max_files:
                inner, below = self._walk.counted(child)
                self.total += below
                self.directories += inner
                lines.append(f"{pad}{printable(child.name)}/ ({_counted(below, 'file')} below)")
            else:
                lines += [f"{pad}{printable(child.name)}/", *self.drawn(child, depth + 1)]
        room = max(0, self._max_files - self.shown)
        lines += [f"{pad}{printable(file.name)}" for file in files[:room]]
        if len(files) > room:
            lines.append(f"{pad}… {_counted(len(files) - room, 'more file')}")
        self.shown += min(room, len(files))
        self.total += len(files)
        return lines


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
