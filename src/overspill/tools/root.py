"""One directory that a tool may look into, and nothing outside it: neither by ``..`` nor through links.

A name is resolved first, then what it resolved to is opened part by part without following any link: a
directory that became a link in between leads nowhere.  Walks honour ``.gitignore`` files at every level
and pass over version control's own directories; links are never followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from overspill.errors import RequestError
from overspill.tools.gitignore import Rules, lines_of

VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj"})
_HAVE_RULES = frozenset({".git", ".gitignore"})
_NO_RULES = Rules(())
_LOOKED_AT_BYTES = 8_192
_MOST_IGNORE_BYTES = 1 << 20
_BY_PARTS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Windows opens by whole names only: there the check stands alone."""
_DIRECTORY = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_PASSED = getattr(os, "O_PATH", os.O_RDONLY) | _DIRECTORY
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Root:
    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.path = Path(directory).expanduser().resolve()

    def inside(self, name: str) -> Path:
        """The path of a name as a model says it; refused when it leads out."""
        if "\0" in name:
            raise RequestError("path", name, "a name without NUL")
        try:
            path = (self.path / name).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise RequestError("path", name[:200], f"a path that leads somewhere ({error})") from None
        if not path.is_relative_to(self.path):
            raise RequestError("path", name, f"a path inside {self.path}")
        return path

    def file(self, name: str) -> Path:
        path = self._there(name, "a file")
        if path.is_dir():
            raise RequestError("path", name, "a file; this is a directory")
        if not path.is_file():
            raise RequestError("path", name, "a regular file")
        return path

    def directory(self, name: str) -> Path:
        path = self._there(name, "a directory")
        if not path.is_dir():
            raise RequestError("path", name, "a directory; this is a file")
        return path

    def place(self, name: str) -> Path:
        """Either of the two."""
        path = self._there(name, "a file or directory that is there")
        if not (path.is_file() or path.is_dir()):
            raise RequestError("path", name, "a regular file or a directory")
        return path

    def open(self, path: Path) -> BinaryIO:
        """A file inside the root, at a path without links; a ``RequestError`` when it can't be read."""
        try:
            return os.fdopen(self._descriptor(path, _FILE), "rb")
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise RequestError("path", self.shown(path), f"a file that can be read ({reason})") from None

    def entries(self, directory: Path) -> list[tuple[Path, bool]]:
        """What is directly in a directory, by name: directories (True) and files; neither links nor devices.

        A ``RequestError`` when it can't be listed.
        """
        try:
            if not _BY_PARTS:
                with os.scandir(directory) as found:
                    return _sorted(directory, found)
            descriptor = self._descriptor(directory, os.O_RDONLY | _DIRECTORY)
            try:
                with os.scandir(descriptor) as found:
                    return _sorted(directory, found)
            finally:
                os.close(descriptor)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise RequestError("path", self.shown(directory), f"a directory that can be read ({reason})") from None

    def shown(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()

    def _there(self, name: str, wanted: str) -> Path:
        path = self.inside(name)
        try:
            found = path.exists()
        except OSError as error:
            raise RequestError("path", name[:200], f"{wanted} ({error.strerror})") from None
        if not found:
            raise RequestError("path", name[:200], f"{wanted}; there is none of this name" + self._near(path))
        return path

    def _descriptor(self, path: Path, flags: int) -> int:
        parts = path.relative_to(self.path).parts
        if not _BY_PARTS:
            self.inside(self.shown(path))
            return _regular(os.open(path, flags | getattr(os, "O_BINARY", 0)))
        if not parts:
            return os.open(self.path, flags)
        above = os.open(self.path, _PASSED)
        try:
            for part in parts[:-1]:
                inner = os.open(part, _PASSED, dir_fd=above)
                os.close(above)
                above = inner
            found = os.open(parts[-1], flags, dir_fd=above)
        finally:
            os.close(above)
        return found if flags & _DIRECTORY == _DIRECTORY else _regular(found)

    def _near(self, path: Path) -> str:
        import difflib

        if not path.parent.is_relative_to(self.path):
            return ""
        try:
            names = [found.name for found, _ in self.entries(path.parent)]
        except RequestError:
            return ""
        close = difflib.get_close_matches(path.name, names, 1)
        return f"; did you mean {self.shown(path.parent / close[0])}?" if close else ""


class Walk:
    """The directories and files from a place on, in order of their names, without what is ignored.

    Whoever names an ignored directory means it: from there on only the rules inside it hold.
    """

    def __init__(self, root: Root, start: Path) -> None:
        self._root, self._start = root, start
        self.unread = 0
        """Directories on the way that could not be listed: who says what there is has to say so."""
        self._rules: dict[Path, Rules] = {}
        self._top = root.path
        if self._is_ignored_itself():
            self._top = start

    def files(self, start: Path | None = None) -> Iterator[Path]:
        """All files; depth first, in an order that is the same everywhere."""
        pending = [start or self._start]
        while pending:
            directories, files = self.entries(pending.pop())
            yield from files
            pending.extend(reversed(directories))

    def counted(self, start: Path) -> tuple[int, int]:
        """How many directories and files there are below a place."""
        pending, seen = [start], [0, 0]
        while pending:
            directories, files = self.entries(pending.pop())
            seen = [seen[0] + len(directories), seen[1] + len(files)]
            pending += directories
        return seen[0], seen[1]

    def entries(self, directory: Path) -> tuple[list[Path], list[Path]]:
        """The directories and the files directly in a place."""
        directories: list[Path] = []
        files: list[Path] = []
        try:
            found = self._root.entries(directory)
        except RequestError:
            if directory == self._start:
                raise
            self.unread += 1
            return [], []
        if not any(path.name in _HAVE_RULES for path, _ in found):
            self._rules.setdefault(directory, _NO_RULES)
        for path, is_directory in found:
            if is_directory and path.name in VERSION_CONTROL:
                continue
            if not self.ignores(path, is_directory=is_directory):
                (directories if is_directory else files).append(path)
        return directories, files

    def ignores(self, path: Path, *, is_directory: bool) -> bool:
        """By the nearest ``.gitignore`` that has something to say about it."""
        for parent in path.parents:
            if rules := self._rules_in(parent):
                verdict = rules.verdict(path.relative_to(parent).as_posix(), is_directory=is_directory)
                if verdict is not None:
                    return verdict
            if parent == self._top:
                break
        return False

    def reaches(self, file: Path) -> bool:
        """Would the walk come to a file that is somewhere below its start?"""
        between = [parent for parent in file.parents if parent != self._start and parent.is_relative_to(self._start)]
        if any(parent.name in VERSION_CONTROL or self.ignores(parent, is_directory=True) for parent in between):
            return False
        return not self.ignores(file, is_directory=False)

    def _is_ignored_itself(self) -> bool:
        above = [self._start, *self._start.parents]
        within = above[: above.index(self._root.path)]
        return any(self.ignores(path, is_directory=True) for path in within)

    def _rules_in(self, directory: Path) -> Rules:
        if directory not in self._rules:
            self._rules[directory] = Rules(self._lines_in(directory))
        return self._rules[directory]

    def _lines_in(self, directory: Path) -> Iterator[bytes]:
        # The repository's own list, which is not shared, stands below .gitignore.
        for name in (".git/info/exclude", ".gitignore"):
            try:
                with self._root.open(directory / name) as file:
                    yield from lines_of(file.read(_MOST_IGNORE_BYTES))
            except RequestError:
                continue


def looks_binary(source: BinaryIO) -> bool:
    """Is it no text? As ripgrep and git see it: a NUL near the start. Leaves the file at its start."""
    start = source.read(_LOOKED_AT_BYTES)
    source.seek(0)
    return b"\0" in start


def but_for(unread: int) -> str:
    """What an answer says of what it could not look into: without it, "none" would be read as a finding."""
    return f"; {unread} could not be read" if unread else ""


def printable(name: str) -> str:
    """A name on one line, whatever it is made of."""
    safe = name.encode("utf-8", "replace").decode()
    return safe if safe.isprintable() else safe.encode("unicode_escape").decode()


def _regular(descriptor: int) -> int:
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(0, "no regular file")


def _sorted(directory: Path, found: Iterator[os.DirEntry[str]]) -> list[tuple[Path, bool]]:
    known = []
    for entry in sorted(found, key=lambda entry: entry.name):
        is_directory = entry.is_dir(follow_symlinks=False)
        if is_directory or entry.is_file(follow_symlinks=False):
            known.append((directory / entry.name, is_directory))
    return known
