"""Sixty commands, with and without `overspill run`: the same status, the same bytes, the same side effects."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.commands import OVERSPILL

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX shells and signals")
PYTHON = sys.executable


class Case(NamedTuple):
    name: str
    words: tuple[str, ...]
    stdin: bytes = b""


def sh(name: str, string: str, stdin: bytes = b"") -> Case:
    return Case(name, ("/bin/sh", "-c", string), stdin)


def py(name: str, code: str, stdin: bytes = b"") -> Case:
    return Case(name, (PYTHON, "-c", code), stdin)


TABLE = (
    # exit statuses
    Case("true", ("true",)),
    Case("false", ("false",)),
    *(
        sh(f"exit {status}", f"exit {status}")
        for status in (2, 3, 42, 64, 77, 99, 124, 125, 126, 127, 128, 129, 200, 254, 255)
    ),
    sh("status of a pipeline", "false | true"),
    sh("set -e", "set -e; echo before; false; echo after"),
    # ends by a signal
    *(
        sh(f"killed by {name}", f"echo started; kill -{name} $$")
        for name in ("HUP", "INT", "QUIT", "ABRT", "KILL", "SEGV", "PIPE", "ALRM", "TERM", "USR1")
    ),
    py("abort", "import os; os.abort()"),
    # what it prints
    sh("nothing", ":"),
    sh("one line", "echo one"),
    sh("no line end", "printf one"),
    sh("only line ends", "printf '\\n\\n\\n'"),
    sh("stderr alone", "echo err >&2"),
    sh("both", "echo out; echo err >&2; echo out again"),
    sh("NUL", "printf 'a\\0b'"),
    sh("all bytes", "printf '\\377\\376\\001\\033[31mred\\033[0m'"),
    py("every byte", "import sys; sys.stdout.buffer.write(bytes(range(256)))"),
    sh("CR progress", "for i in 1 2 3; do printf '\\r%s%%' $i; done"),
    sh("CRLF", "printf 'a\\r\\nb\\r\\n'"),
    sh("UTF-8", "printf 'żółć 漢字 👩‍👩‍👧\\n'"),
    sh("cut UTF-8", "printf '\\344\\275'"),
    sh("much on stderr, then a line on stdout", "head -c 1500 /dev/zero | tr '\\0' e >&2; echo out"),
    # what it reads
    Case("cat", ("cat",), b"from stdin\n"),
    Case("cat nothing", ("cat",)),
    sh("read a line, leave the rest", "read line; echo got $line", b"first\nsecond\n"),
    sh("stdin not read", "echo done", b"x" * 200_000),
    py("big stdin", "import sys; print(len(sys.stdin.buffer.read()))", b"y" * 3_000_000),
    Case("wc", ("wc", "-c"), b"12345"),
    # what it is given
    Case("arguments", ("printf", "[%s]", "a b", "", "--", "-x", "*", "$HOME", "ż", "'\"")),
    Case("a dash argument", ("echo", "--help", "-c", "--max-lines")),
    sh("environment", "env | grep -v '^_=' | sort"),
    sh("directory", "pwd"),
    sh("umask", "umask"),
    sh("descriptor 3", "echo three >&3 2>/dev/null || echo closed"),
    sh("limits", "ulimit -n"),
    py("signal mask", "import signal; print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"),
    py("SIGPIPE", "import ctypes, signal; print(open('/proc/self/status').read().split('SigIgn:')[1].split()[0][-4:])"),
    py("not a terminal", "import os; print(os.isatty(0), os.isatty(1), os.isatty(2))"),
    # what it does
    sh("a file", "echo content > made; ls"),
    sh("a file and a failure", "echo content > made; exit 3"),
    sh("redirections of its own", "echo out; echo err >&2; (echo to file; echo err to file >&2) > made 2>&1"),
    sh("a child in the background that ends", "(echo late) & wait; echo done"),
    sh("a child that prints after its parent", "(sleep 0.1; echo late) & echo first"),
    sh("closes its output", "exec >&- 2>&-; sleep 0.1; exit 5"),
    sh("exec", "exec echo replaced"),
    sh("a trap", "trap 'echo trapped; exit 9' TERM; kill -TERM $$"),
    sh("a subshell's signal", "(kill -9 $BASHPID$$) 2>/dev/null; sh -c 'kill -9 $$'; echo $?"),
    # what can't be started
    Case("not found", ("no-such-command-here",)),
    Case("a directory", ("/",)),
    Case("not executable", ("/etc/passwd",)),
)


def outcome(words: tuple[str, ...], stdin: bytes, directory: Path) -> tuple[int, bytes, bytes, dict[str, bytes]]:
    directory.mkdir()
    done = subprocess.run(words, input=stdin, capture_output=True, cwd=directory, timeout=60)
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    files = {path.name: path.read_bytes() for path in directory.iterdir()}
    return status, done.stdout.replace(str(directory).encode(), b"DIR"), done.stderr, files


def test_without_a_locale_the_environment_is_untouched_too() -> None:
    env = {"PATH": os.environ["PATH"], "OVERSPILL_DIR": os.environ["OVERSPILL_DIR"]}
    without, through = (
        subprocess.run([*words, "env"], env=env, capture_output=True, timeout=30).stdout
        for words in ((), (*OVERSPILL, "run", "--"))
    )
    assert through == without


def test_the_table_has_sixty_commands_or_more() -> None:
    assert len({case.name for case in TABLE}) == len(TABLE) >= 60


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
def test_it_is_as_without(case: Case, tmp_path: Path) -> None:
    if case.name in ("not found", "a directory", "not executable"):
        # Without overspill it is the shell that answers, in its own words.
        without = outcome(("/bin/sh", "-c", '"$0"', *case.words), b"", tmp_path / "without")
        through = outcome((*OVERSPILL, "run", "--", *case.words), b"", tmp_path / "through")
        assert through[0] == without[0]
        assert through[1] == b""
        assert through[2].count(b"\n") == 1
        return
    without = outcome(case.words, case.stdin, tmp_path / "without")
    through = outcome((*OVERSPILL, "run", "--", *case.words), case.stdin, tmp_path / "through")
    assert through == without


@pytest.mark.parametrize(
    "case", [case for case in TABLE if case.words[:2] == ("/bin/sh", "-c")], ids=lambda case: case.name
)
def test_a_shell_string_is_as_a_command(case: Case, tmp_path: Path) -> None:
    without = outcome(case.words, case.stdin, tmp_path / "without")
    words = (*OVERSPILL, "run", "--shell", "/bin/sh", "-c", case.words[2])
    assert outcome(words, case.stdin, tmp_path / "through") == without
