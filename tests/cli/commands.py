"""How the tests call the command line: as a user does, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

OVERSPILL = (sys.executable, "-m", "overspill")


def overspill(*words: str | Path, **settings: Any) -> subprocess.CompletedProcess[bytes]:
    """Runs to the end; input is empty unless given."""
    settings.setdefault("input", b"")
    settings.setdefault("timeout", 60)
    if "stdin" in settings:
        del settings["input"]
    if "stdout" not in settings and "stderr" not in settings:
        settings["capture_output"] = True
    return subprocess.run([*OVERSPILL, *map(str, words)], **settings)


def text(*words: str | Path, **settings: Any) -> str:
    """What it prints when all is well."""
    done = overspill(*words, **settings)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def start(*words: str, **settings: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*OVERSPILL, *words], **settings)


def shell(string: str) -> Sequence[str]:
    return ("run", "--shell", "/bin/sh", "-c", string)


def environment(base: Mapping[str, str], **more: str) -> dict[str, str]:
    return {**base, **more}
