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
from collections.abc import Iterator
from pathlib import Path

BIN = Path(sys.executable).parent
WORK = (
    "overspill run -- seq 200000",
    "overspill run --tool build -c 'for i in $(seq 3000); do echo compiling unit $i; done; echo; exit 2'",
    "overspill run -c 'seq 5 60000; : a command with many words, so many that a table has to end it somewhere'",
)
SHOWN = (
    "overspill run --max-lines 12 --keep ends -- seq 300",
    "overspill ls",
    "overspill show --no-pager $(overspill ls --json --max 1 | grep -o 'ovs_[0-9a-z]*' | head -1) | tail -5",
    "overspill stats",
    "overspill doctor",
)


def looks(columns: int, directory: Path) -> Iterator[tuple[str, str]]:
    """Each command and the screen after it; lines the terminal wrapped are joined."""
    env = {"OVERSPILL_DIR": str(directory / "store"), "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(directory)}
    for command in WORK:
        subprocess.run(["/bin/bash", "-c", command], env=env, cwd=directory, stdout=subprocess.DEVNULL, check=False)
    socket = f"overspill-{os.getpid()}-{columns}"
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in env.items())
    shell = f"cd {directory} && env -i TERM=screen PS1='$ ' {settings} bash --norc --noprofile"
    tmux = ("tmux", "-L", socket, "-f", "/dev/null")
    subprocess.run([*tmux, "new-session", "-d", "-s", "look", "-x", str(columns), "-y", "60", shell], check=True)
    try:
        for command in SHOWN:
            done = directory / "done"
            subprocess.run([*tmux, "send-keys", "-t", "look", f"clear; {command}; touch done", "Enter"], check=True)
            for _ in range(400):
                if done.exists():
                    break
                time.sleep(0.05)
            done.unlink()
            time.sleep(0.3)
            screen = subprocess.run(
                [*tmux, "capture-pane", "-p", "-J", "-t", "look"], capture_output=True, text=True, check=True
            )
            yield command, re.sub(r"\$ *$", "", screen.stdout.rstrip()).rstrip()
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)


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
