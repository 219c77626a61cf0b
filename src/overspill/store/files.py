"""Files that belong to their owner alone: every touch of the file system that depends on the platform.

Directories are 0700 and files 0600; links are never followed; a file in the making is locked by its
maker, so that a sweeper can tell remains from work in progress without trusting process numbers.
Where a platform lacks one of these (Windows has no such modes, some network disks no locks) the
difference is confined to this file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":  # pragma: no cover
    fcntl = None
else:
    import fcntl

_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_UNLOCKABLE_SECONDS = 86_400
_YOUNG_SECONDS = 60

_WORDS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file can't grow further here (size limit)",
    errno.EROFS: "it is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOENT: "its directory was removed, or can't be made",
    errno.ENOTDIR: "a part of its path is not a directory",
    errno.ELOOP: "a symbolic link stands in the way, and links are not followed",
    errno.EMFILE: "too many open files",
    errno.ENAMETOOLONG: "the path is too long",
    errno.EIO: "the disk reports an input/output error",
}


def in_words(error: OSError) -> str:
    """What happened, for people."""
    return _WORDS.get(error.errno or 0) or error.strerror or type(error).__name__


def private_directory(path: Path) -> None:
    """Makes the directory if it isn't there; refuses a link or anything else in its place."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        require_directory(path)


def require_directory(path: Path) -> None:
    """The directory itself, not a link to one."""
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if not stat.S_ISDIR(mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def write_private(path: Path, data: bytes, *, by_way_of: Path) -> None:
    """A new small file, whole or not at all; one that is there already is left as it is."""
    if os.path.lexists(path):
        return
    handle, temporary = open_temporary(str(by_way_of))
    try:
        write_all(handle, data)
        if fcntl is None:  # pragma: no cover - an open file can't be renamed there
            os.close(handle)
            handle = -1
        os.replace(temporary, path)
    finally:
        if handle >= 0:
            os.close(handle)


def make_private(path: Path) -> None:
    """An empty file, if there is none.

    Nothing is opened where that can be helped, least of all a file that is there: closing it would take away every
    lock that this process holds on it, those of SQLite's other connections included.
    """
    if not os.path.lexists(path):
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                os.mknod(path, 0o600)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY, 0o600))


def is_read_only(path: Path) -> bool:
    """Is the whole file system, as against the directory?"""
    if sys.platform == "win32":  # pragma: no cover
        return False
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def open_temporary(directory: str) -> tuple[int, str]:
    """A new, empty, locked file under a name nobody can foresee."""
    path = os.path.join(directory, secrets.token_hex(12) + ".part")
    return open_held(path, exclusively=os.O_EXCL), path


def open_held(path: str, *, exclusively: int = 0) -> int:
    """A file that stays locked as long as its maker holds it open: ``is_forsaken`` tells others."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | exclusively | _NO_FOLLOW | _BINARY, 0o600)
        if fcntl is None:
            return handle
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        # A sweeper may have taken the file between its creation and its lock.
        if os.fstat(handle).st_nlink:
            return handle
        os.close(handle)


def is_forsaken(handle: int) -> bool:
    """Has the maker of a held file gone? Where there are no locks, nobody is taken for dead."""
    if fcntl is None:
        return False
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    return False


def write_all(handle: int, data: bytes | bytearray | memoryview) -> None:
    """Every byte, however little the system takes at a time."""
    written = os.write(handle, data)
    if written == len(data):
        return
    with memoryview(data) as view:
        while written < len(view):
            written += os.write(handle, view[written:])


def open_regular(path: str | Path) -> int:
    """A regular file for reading: no link, no pipe, no device."""
    handle = os.open(path, os.O_RDONLY | _NO_FOLLOW | _NO_WAIT | _BINARY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EPERM, "not a regular file", str(path))
    return handle


def is_private_file(path: str) -> bool:
    """A regular file as this module makes them; a person's own file of a similar name hardly ever is one."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(found.st_mode):
        return False
    return sys.platform == "win32" or (found.st_uid == os.getuid() and not found.st_mode & 0o077)


def read_at(handle: int, start: int, length: int) -> bytes:
    """Exactly ``length`` bytes from ``start``, fewer only at the end; safe between threads where possible."""
    parts = []
    while length > 0:
        # One call never returns more than about 2 GiB.
        part = _read_some(handle, start, min(length, 1 << 30))
        if not part:
            break
        parts.append(part)
        start += len(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


if sys.platform == "win32":  # pragma: no cover

    def _read_some(handle: int, start: int, length: int) -> bytes:
        os.lseek(handle, start, os.SEEK_SET)
        return os.read(handle, length)

else:

    def _read_some(handle: int, start: int, length: int) -> bytes:
        return os.pread(handle, length, start)


def append(path: str | Path, data: bytes) -> None:
    """Adds to a file in one write, so that writers of other processes never land inside it."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_FOLLOW | _BINARY, 0o600)
    try:
        write_all(handle, data)
    finally:
        os.close(handle)


def sync_directory(path: Path) -> None:
    """Makes a rename in it durable; a platform that can't open directories does that by itself."""
    if sys.platform != "win32":
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def abandoned(directory: Path) -> list[Path]:
    """The files in the making whose maker is gone."""
    found = []
    for path in _made_in(directory):
        with _claimed(path) as ours:
            if ours:
                found.append(path)
    return found


def sweep(directory: Path) -> int:
    """Removes what dead makers left; the number of files that went."""
    swept = 0
    for path in _made_in(directory):
        # Removed while the lock is held: between a look and a removal its maker could lock it and trust in it.
        with contextlib.suppress(OSError), _claimed(path) as ours:
            if ours:
                path.unlink()
                swept += 1
    return swept


def _made_in(directory: Path) -> list[Path]:
    with os.scandir(directory) as entries:
        return [Path(entry.path) for entry in entries if entry.is_symlink() or entry.is_file(follow_symlinks=False)]


@contextmanager
def _claimed(path: Path) -> Iterator[bool]:
    """Holds the file's lock where its maker doesn't; says whether it does."""
    handle = -1
    try:
        if path.is_symlink():
            yield True
            return
        if fcntl is None:  # pragma: no cover
            # An open file can't be removed there, so trying is safe; a young one may be between two steps.
            yield time.time() - path.stat().st_mtime > _YOUNG_SECONDS
            return
        try:
            handle = os.open(path, os.O_RDONLY | _NO_FOLLOW | _NO_WAIT | _BINARY)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = True
        except (BlockingIOError, FileNotFoundError, PermissionError):
            ours = False
        except OSError:
            # No locks on this file system: age has to do.
            ours = handle >= 0 and time.time() - os.fstat(handle).st_mtime > _UNLOCKABLE_SECONDS
        yield ours
    finally:
        if handle >= 0:
            os.close(handle)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """One process at a time, as far as the platform can say."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | _NO_FOLLOW | _BINARY, 0o600)
    try:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
