"""Where the store is when nobody said: ``OVERSPILL_DIR``, the project's root, or the user's state directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

DIRECTORY = ".overspill"
MARKS = (
    "overspill.toml", ".git", ".hg", ".svn", ".jj", "pyproject.toml", "setup.py", "package.json", "go.mod",
    "Cargo.toml", "pom.xml", "build.gradle", "composer.json", "Gemfile", "deno.json",
)  # fmt: skip


LONGEST_BYTES = 440
"""Of a directory chosen here: SQLite takes no path of more than 512."""


def default_root(start: Path, env: Mapping[str, str]) -> Path | str:
    """The directory, which need not exist yet; a URL where ``OVERSPILL_DIR`` is one."""
    if named := env.get("OVERSPILL_DIR"):
        return named if "://" in named else Path(os.path.expanduser(named))
    home = _home(env)
    for directory in (start, *start.parents):
        # A home directory under version control is no project, and a shared root is nobody's.
        if directory in (home, Path(directory.anchor)):
            break
        if any((directory / mark).exists() for mark in MARKS):
            place = directory / DIRECTORY
            if _is_ours(place):
                return place
            break
    return _state(env, home) / "overspill"


def _is_ours(place: Path) -> bool:
    """Not a link that came with somebody's repository, not another user's, and where we can write and open files."""
    try:
        if place.is_symlink() or len(os.fsencode(place)) > LONGEST_BYTES:
            return False
        if place.exists():
            return place.is_dir() and (not hasattr(os, "getuid") or place.stat().st_uid == os.getuid())
        return os.access(place.parent, os.W_OK)
    except OSError:
        return False


def _home(env: Mapping[str, str]) -> Path:
    named = env.get("USERPROFILE" if sys.platform == "win32" else "HOME")
    found = Path(named or os.path.expanduser("~"))
    return found if found.is_absolute() else Path(os.sep)  # nobody's home: what can't be made there is said not to be


def _state(env: Mapping[str, str], home: Path) -> Path:
    if sys.platform == "win32":
        local = env.get("LOCALAPPDATA")
        return Path(local) if local else home / "AppData" / "Local"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    named = env.get("XDG_STATE_HOME")
    return Path(named) if named and Path(named).is_absolute() else home / ".local" / "state"
