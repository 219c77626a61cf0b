"""One directory that a tool may look into, and nothing outside it: neither by ``..`` nor through links.

Walks honour ``.gitignore`` files at every level and pass over version control's own directories; links
are listed, never followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from overspill.errors import RequestError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj"})
_LOOKED_AT_BYTES = 8_192


class Root:
    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.path = Path(directory).expanduser().resolve()

    def inside(self, name: str) -> Path:
        """The path of a name as a model says it; refused when it leads out."""
        if "\0" in name:
            raise RequestError("path", name, "a name without NUL")
        try:
            path = (self.path / name).resolve()
        except (OSError, RuntimeError) as error:
            raise RequestError("path", name, f"a path that leads somewhere ({error})") from None
        if not path.is_relative_to(self.path):
            raise RequestError("path", name, f"a path inside {self.path}")
        return path

    def file(self, name: str) -> Path:
        path = self.inside(name)
        if path.is_dir():
            raise RequestError("path", name, "a file; this is a directory")
        if not path.exists():
            raise RequestError("path", name, "a file; there is none of this name" + self._near(path))
        if not path.is_file():
            raise RequestError("path", name, "a regular file")
        return path

    def directory(self, name: str) -> Path:
        path = self.inside(name)
        if not path.is_dir():
            raise RequestError("path", name, "a directory; there is none of this name" + self._near(path))
        return path

    def shown(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()

    def _near(self, path: Path) -> str:
        import difflib

        try:
            names = os.listdir(path.parent)
        except OSError:
            return ""
        close = difflib.get_close_matches(path.name, names, 1)
        return f"; did you mean {self.shown(path.parent / close[0])}?" if close else ""


class Walk:
    """The directories and files below a place, in order of their names, without what is ignored."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._specs: dict[Path, GitIgnoreSpec | None] = {}

    def files(self, start: Path) -> Iterator[Path]:
        """All files; depth first, in an order that is the same everywhere."""
        pending = [start]
        while pending:
            directories, files = self.entries(pending.pop())
            yield from files
            pending.extend(reversed(directories))

    def entries(self, directory: Path) -> tuple[list[Path], list[Path]]:
        """The directories and the files directly in a place."""
        directories, files = [], []
        try:
            with os.scandir(directory) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            return [], []
        for entry in entries:
            path = Path(entry.path)
            is_directory = entry.is_dir(follow_symlinks=False)
            if (is_directory and entry.name in VERSION_CONTROL) or self.ignored(path, is_directory=is_directory):
                continue
            if is_directory:
                directories.append(path)
            elif entry.is_file(follow_symlinks=False):
                files.append(path)
        return directories, files

    def ignored(self, path: Path, *, is_directory: bool) -> bool:
        """By the nearest ``.gitignore`` that has something to say about it."""
        for parent in path.parents:
            spec = self._spec(parent)
            if spec is not None:
                name = path.relative_to(parent).as_posix() + ("/" if is_directory else "")
                verdict = spec.check_file(name).include
                if verdict is not None:
                    return verdict
            if parent == self._root.path:
                break
        return False

    def _spec(self, directory: Path) -> GitIgnoreSpec | None:
        if directory not in self._specs:
            self._specs[directory] = _read_spec(directory)
        return self._specs[directory]


def _read_spec(directory: Path) -> GitIgnoreSpec | None:
    lines: list[str] = []
    # The repository's own list, which is not shared, stands below .gitignore.
    for name in (".git/info/exclude", ".gitignore"):
        path = directory / name
        try:
            if not path.is_symlink():
                lines += path.read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
    if not lines:
        return None
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


def is_binary(path: Path) -> bool:
    """Does it look like no text? As ripgrep and git see it: a NUL near the start."""
    try:
        with path.open("rb") as file:
            return b"\0" in file.read(_LOOKED_AT_BYTES)
    except OSError:
        return True
