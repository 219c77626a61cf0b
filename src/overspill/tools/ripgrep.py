"""Asks ripgrep which files are worth searching: at least all those in which our own engine finds something.

The pattern is put into ripgrep's words first, since the two engines differ in what a class of characters
is; where that can't be said, or ripgrep fails, the answer is None and the caller looks into every file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from time import monotonic

from overspill.tools.running import nobody_waits

MOST_SECONDS = 30.0
_ASKED_SECONDS = 0.1

_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
_END = r"\r?$"
"""Not its own ``--crlf``: that takes the carriage returns inside a line out of every class as well."""
_WORDS = {"b": r"(?-u:\b)", "B": r"(?-u:\B)", "A": "^", "z": f"(?:{_END})", "<": "<", ">": ">"}
_SAME = re.compile(r"[pP](?:\{\^?\w+\}|\w)|x[0-9a-fA-F]{2}|x\{[0-9a-fA-F]+\}|[nrtfva]|[^\w]")
"""Escapes that both read alike."""
_GROUP = re.compile(r"\((?!\?)|\(\?(?:i?:|i\)|P?<\w+>)")
_NAMED_CLASS = re.compile(r"\[:\^?\w+:\]")
_CLASS_START = re.compile(r"\[\^?\]?")
_FLAGS = (
    *("--no-config", "--files-with-matches", "--null", "--color=never", "--no-messages", "--text"),
    *("--encoding=none", "--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-parent"),
    *("--no-ignore-dot", "--glob=!.git/", "--glob=!.hg/", "--glob=!.svn/", "--glob=!.jj/"),
)


def program(name: str | None) -> str | None:
    """Where it is: on the path, or beside this Python, where the ``tools`` extra puts it."""
    if not name:
        return None
    return shutil.which(name) or shutil.which(name, path=sysconfig.get_path("scripts"))


def files(rg: str, pattern: str, root: Path, below: str) -> list[str] | None:
    """The files below a place of the root that have a match, by their names from the root."""
    said = translated(pattern)
    if said is None:
        return None
    words = [rg, *_FLAGS, "-e", said, "--", below or "."]
    try:
        running = subprocess.Popen(
            words, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except (OSError, ValueError):  # a pattern too long for a command line, or with a NUL
        return None
    with running:
        printed = _printed(running)
    if running.returncode not in (0, 1):  # it could not read everything, and does not say what
        return None
    return [os.fsdecode(name).removeprefix("./") for name in printed.split(b"\0") if name]


def _printed(running: subprocess.Popen[bytes]) -> bytes:
    """All of it; ended when it takes too long, or when nobody waits for it any more."""
    until = monotonic() + MOST_SECONDS
    while True:
        try:
            return running.communicate(timeout=_ASKED_SECONDS)[0]
        except subprocess.TimeoutExpired:
            if nobody_waits() or monotonic() > until:
                running.kill()


def translated(pattern: str) -> str | None:
    """The pattern in ripgrep's words: classes of characters are those of ASCII. None when it has no such words."""
    made: list[str] = []
    at, in_class = 0, False
    while at < len(pattern):
        token = _token(pattern, at, in_class=in_class)
        if token is None:
            return None
        at, word = token
        made.append(word)
        in_class = _CLASS_START.fullmatch(word.replace(r"\]", "]")) is not None or (in_class and word != "]")
    return "".join(made)


def _token(pattern: str, at: int, *, in_class: bool) -> tuple[int, str] | None:
    """Where the next part of a pattern ends, and what stands for it."""
    char = pattern[at]
    if char == "\\":
        letter = pattern[at + 1 : at + 2]
        if (word := _word(letter, in_class=in_class)) is not None:
            return at + 2, word
        same = _SAME.match(pattern, at + 1)
        return (same.end(), "\\" + same[0]) if same else None
    if in_class:
        if char == "[":
            # A bracket inside a class is a character to one engine, and a class to the other.
            named = _NAMED_CLASS.match(pattern, at)
            return (named.end(), named[0]) if named else (at + 1, r"\[")
        # ripgrep calculates with sets, ours doesn't.
        return None if char in "&~-" and pattern[at + 1 : at + 2] == char else (at + 1, char)
    if char == "[":
        opening = _CLASS_START.match(pattern, at)
        assert opening
        return opening.end(), opening[0].replace("]", r"\]")
    if char == "(":
        group = _GROUP.match(pattern, at)
        return (group.end(), group[0]) if group else None
    if char == "{" and pattern[at + 1 : at + 2] == ",":
        return None
    return at + 1, {".": r"[^\n]", "$": f"(?:{_END})"}.get(char, char)


def _word(letter: str, *, in_class: bool) -> str | None:
    if letter in _CLASSES:
        return _CLASSES[letter] if in_class else f"[{_CLASSES[letter]}]"
    if letter in ("D", "W", "S") and not in_class:
        return f"[^{_CLASSES[letter.lower()]}]"
    return _WORDS.get(letter) if not in_class else None
