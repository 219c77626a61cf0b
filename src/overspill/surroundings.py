"""What overspill was started in: descriptors, environment, terminal, shell, exactly as its parent left them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def working_directory() -> str:
    """Where we are; the root of all where that was deleted under us, since a tool may not mind."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep


def absolute(path: str) -> str:
    """The path from the root; as it is where the directory that it is relative to was deleted under us."""
    try:
        return os.path.join(os.getcwd(), path)
    except OSError:
        return path


def in_foreground() -> bool:
    """Does a terminal's Ctrl-C reach this process by itself?"""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def descendants(pid: int) -> list[int]:
    """What a process started, and what those started, as far as can be known."""
    parents = _parents()
    found = [pid]
    for parent in found:
        found += [child for child, of in parents.items() if of == parent]
    return found[1:]


def _parents() -> dict[int, int]:
    """Every process's parent: from /proc, since small containers have no `ps`, else from that."""
    parents = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    # The name in parentheses may hold anything: what comes after the last one counts.
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue  # it has just ended
    if parents:
        return parents
    from subprocess import run

    try:
        listed = run(("ps", "-A", "-o", "pid=", "-o", "ppid="), capture_output=True, check=False).stdout
    except OSError:
        return {}
    return {int(child): int(parent) for child, parent in (line.split() for line in listed.splitlines())}


def same_file(one: int, other: int) -> bool:
    """Do two descriptors lead to the same place? Not when either is closed."""
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:
        return False


def closed_streams() -> tuple[int, ...]:
    """The standard descriptors that overspill was started without.

    A stand-in takes each number, or the next file that is opened would have it and get what is meant for the
    reader. It can't be used either: reading one's input or writing to one's output fails as it should.
    """
    closed = []
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            closed.append(stream)
            os.open(os.devnull, os.O_RDONLY if stream else os.O_WRONLY)
    return tuple(closed)


def original_environment() -> Mapping[bytes, bytes]:
    """The environment as overspill got it: in the C locale Python adds LC_CTYPE to its own."""
    if b"LC_CTYPE" not in os.environb or os.environb.get(b"LC_ALL"):
        return os.environb
    try:
        with open("/proc/self/environ", "rb") as file:
            given = file.read()
    except OSError:
        return os.environb
    if given.startswith(b"LC_CTYPE=") or b"\0LC_CTYPE=" in given:
        return os.environb
    return {name: value for name, value in os.environb.items() if name != b"LC_CTYPE"}


def shell_words(string: str, shell: str | None) -> tuple[str, ...]:
    """The command that runs a shell string: by the shell asked for, the user's own, bash, or sh."""
    if shell is None:
        shell = os.environ.get("SHELL", "")
        if os.path.basename(shell) not in ("bash", "zsh", "ksh", "mksh", "dash", "ash", "sh"):
            shell = next((path for path in ("/bin/bash", "/usr/bin/bash") if os.access(path, os.X_OK)), "/bin/sh")
    return shell, "-c", string
