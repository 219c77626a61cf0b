"""Which files and variables have something to say: found cheaply, so that having none costs next to nothing."""

from __future__ import annotations

import os

from overspill.config.settings import CONFIG_VARIABLE, SETTINGS, VARIABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAMES = ("overspill.toml", "overspill.yaml", "overspill.yml")
PYPROJECT = "pyproject.toml"
_OURS = "OVERSPILL_"
_MARKS = (".git", ".hg", ".svn", ".jj")


def files(start: str, env: Mapping[str, str]) -> list[str]:
    """The files to read, the nearest first: the project's, then the user's.

    ``OVERSPILL_CONFIG`` names the one file to read instead of all of them; empty, it means none.
    """
    named = env.get(CONFIG_VARIABLE)
    if named is not None:
        return [os.path.expanduser(named)] if named else []
    found = list(_of_project(start, env))
    for name in NAMES:
        path = os.path.join(_user_directory(env), name)
        if os.path.isfile(path):
            found.append(path)
    return found


def variables(env: Mapping[str, str]) -> list[str]:
    """The names of settings in the environment that are set; where the store lies is no matter of policy."""
    return [
        variable
        for setting in SETTINGS
        if setting.name != "store.place"
        for variable in setting.variables
        if env.get(variable)
    ]


def misspelt(env: Mapping[str, str]) -> dict[str, str]:
    """Variables that look like ours and are none, each with the name that was meant, or nothing if none is near."""
    from difflib import get_close_matches

    ours = {name.removeprefix(_OURS): name for name in VARIABLES}
    unknown = sorted(name for name in env if name.startswith(_OURS) and name not in VARIABLES)
    return {name: "".join(ours[near] for near in get_close_matches(name[len(_OURS) :], ours, 1)) for name in unknown}


def _of_project(start: str, env: Mapping[str, str]) -> Iterator[str]:
    """The first directory upwards that has any; not above a project's root or the user's home."""
    home = env.get("HOME", "")
    directory = start
    while True:
        found = [path for name in NAMES if os.path.isfile(path := os.path.join(directory, name))]
        pyproject = os.path.join(directory, PYPROJECT)
        if _speaks_of_overspill(pyproject):
            found.append(pyproject)
        yield from found
        parent = os.path.dirname(directory)
        if found or parent == directory or directory == home:
            return
        if any(os.path.exists(os.path.join(directory, mark)) for mark in _MARKS):
            return
        directory = parent


def _speaks_of_overspill(pyproject: str) -> bool:
    try:
        with open(pyproject, "rb") as file:
            return b"tool.overspill" in file.read()
    except OSError:
        return False


def _user_directory(env: Mapping[str, str]) -> str:
    if os.name == "nt":
        return os.path.join(env.get("APPDATA", ""), "overspill")
    base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", ""), ".config")
    return os.path.join(base, "overspill")
