"""Writes docs/terminal.md: how the commands look in a real terminal (tmux), at 80 and at 200 columns.

`looks` is what the test of the terminal calls as well.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

BIN = Path(sys.executable).parent
WORK = (
    "overspill run -- seq 200000",
    "overspill run --tool build -c 'for i in $(seq 3000); do echo compiling unit $i; done; echo; exit 2'",
    "overspill run --tool build -c 'for i in $(seq 3000); do echo compiling unit $i; done; echo; exit 2'",
    "overspill read $(overspill ls --json --max 1 | grep -o 'ovs_[0-9a-z]*' | head -1) --lines 1500-1520",
    "overspill run -c 'seq 5 60000; : a command with many words, so many that a table has to end it somewhere'",
)


class Look(NamedTuple):
    """What is typed; with ``shows`` the screen is looked at when that is there, and then ``leaves`` is typed."""

    command: str
    shows: str = ""
    leaves: str = ""


SHOWN = (
    Look("overspill run --max-lines 12 --keep ends -- seq 300"),
    Look("overspill run -c 'seq 5000; sleep 60'", shows=" · 2 s", leaves="C-c"),
    Look("overspill ls"),
    Look("OVERSPILL_MAX_LINES=12 overspill show $(overspill ls --json | grep -o 'ovs_[0-9a-z]*' | tail -1)",
         shows="199999\n200000", leaves="q"),
    Look("overspill stats"),
    Look("overspill doctor"),
)  # fmt: skip


def looks(columns: int, directory: Path) -> Iterator[tuple[str, str]]:
    """Each command and the screen after it, or while it runs; lines the terminal wrapped are joined."""
    env = {"OVERSPILL_DIR": str(directory / "store"), "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(directory)}
    for command in WORK:
        subprocess.run(["/bin/bash", "-c", command], env=env, cwd=directory, stdout=subprocess.DEVNULL, check=False)
    socket = f"overspill-{os.getpid()}-{columns}"
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in env.items())
    shell = f"cd {directory} && env -i TERM=screen LANG=C.UTF-8 PS1='$ ' {settings} bash --norc --noprofile"
    tmux = ("tmux", "-u", "-L", socket, "-f", "/dev/null")
    subprocess.run([*tmux, "new-session", "-d", "-s", "look", "-x", str(columns), "-y", "40", shell], check=True)

    def screen() -> str:
        words = [*tmux, "capture-pane", "-p", "-J", "-t", "look"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    def typed(*keys: str) -> None:
        subprocess.run([*tmux, "send-keys", "-t", "look", *keys], check=True)

    try:
        for look in SHOWN:
            done = directory / "done"
            typed(f"clear; {look.command}" + ("" if look.shows else "; touch done"), "Enter")
            if look.shows:
                _wait(lambda look=look: look.shows in screen())  # type: ignore[misc]
                seen = screen()
                typed(look.leaves)
                time.sleep(0.3)
                typed("touch done", "Enter")
            _wait(done.exists)
            done.unlink()
            if not look.shows:
                time.sleep(0.3)
                seen = screen()
            yield look.command, re.sub(r"\$ *$", "", seen.rstrip()).rstrip()
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)


def _wait(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise TimeoutError("the terminal does not show what it should")


def page() -> str:
    parts = ["# In a terminal\n\nWritten by `python tools/terminal_looks.py` from a real terminal.\n"]
    for columns in (80, 200):
        parts.append(f"## {columns} columns\n")
        with tempfile.TemporaryDirectory(prefix="", ignore_cleanup_errors=True) as directory:
            for command, screen in looks(columns, Path(directory)):
                shown = screen.replace(directory, "/home/you/project")
                parts.append(f"```text\n$ {command}\n{shown}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    (Path(__file__).parent.parent / "docs" / "terminal.md").write_text(page(), "utf-8")
