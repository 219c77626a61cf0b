"""Completion in the shells themselves: the script is taken in, a word is completed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import overspill
from cli.shells import Typing
from cli.test_run import handle_in

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX shells")
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
LINES = [
    ("overspill co", ["config", "completion"]),
    ("overspill run --max-", ["--max-tokens", "--max-bytes", "--max-lines", "--max-chars"]),
    ("overspill stats --by ", ["tool", "command"]),
    ("overspill config ", ["check", "init", "show"]),
    ("overspill read ovs_", ["HANDLE"]),
    ("overspill run -- ./over", ["./overspill-file"]),
]
"""What is typed, and what is offered, in this order where the shell keeps ours."""


def asked(script: str, *words: str) -> str:
    env = {**os.environ, "PATH": PATH}
    return subprocess.run([*words, script], env=env, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.fixture
def handle() -> str:
    Path("overspill-file").touch()
    return handle_in(overspill("bound", input=b"line\n" * 9_000).stdout)


BASH = """
eval "$(overspill completion bash)"
complete -p overspill >&2
try() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _overspill_completion overspill
    case ${!#} in
        ./*) compgen -f -- "${!#}" ;;  # bash itself does this where it was told so
        *) echo "${COMPREPLY[@]}" ;;
    esac
}
"""


@pytest.mark.needs("bash")
def test_bash_completes(handle: str) -> None:
    lines = "\n".join("try " + line + "''" * line.endswith(" ") for line, _ in LINES)
    seen = asked(BASH + lines, "bash", "-c").splitlines()
    assert [line.split() for line in seen] == [expected(words, handle) for _, words in LINES]


@pytest.mark.needs("fish")
def test_fish_completes(handle: str) -> None:
    for line, words in LINES:
        seen = asked(f"overspill completion fish | source; complete -C '{line}'", "fish", "--no-config", "-c")
        assert {one.split("\t")[0] for one in seen.splitlines()} == set(expected(words, handle)), line


@pytest.mark.needs("zsh")
def test_zsh_completes(handle: str) -> None:
    env = {**os.environ, "PATH": PATH, "TERM": "dumb"}
    with Typing("zsh", "-f", "-i", env=env) as typing:
        typing.keys('autoload -Uz compinit; compinit -u; eval "$(overspill completion zsh)"; echo taken $((2)) in\r')
        typing.until("taken 2 in")
        for line, words in LINES:
            typing.keys(line + "\t")
            for word in expected(words, handle):
                # Of one that is offered alone the shell writes the rest.
                typing.until(word.removeprefix(line.split()[-1]) if len(words) == 1 else word)
            typing.keys("\x15echo next $((2)) line\r")
            typing.until("next 2 line")


def expected(words: list[str], handle: str) -> list[str]:
    return [handle if word == "HANDLE" else word for word in words]
