"""Sixty commands and more, with and without `overspill run`: the same status, bytes and side effects.

Into two pipes, into one, into files and into a terminal.  What is too much is compared with what is kept of it.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
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
)
NOT_STARTED = (("no-such-command-here",), ("/",), ("/etc/passwd",), ("./none",), ("",))
MUCH = (
    sh("huge stderr", "seq 60000 >&2; echo out; exit 3"),
    sh("both", "for i in $(seq 4000); do echo out $i; echo err $i >&2; done"),
    py("binary", "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4000)"),
    py("CR progress", "for done in range(9000): print(f'\\r{done / 90:.0f}%', end='')"),
    sh("one line of 3 MB", "head -c 3000000 /dev/zero | tr '\\0' x"),
    sh("NULs", "head -c 100000 /dev/zero"),
    sh("50 MB", "yes | head -c 50000000"),
    sh("killed after much", "seq 60000; kill -9 $$"),
    sh("what it reads", "cat; exit 7", b"".join(b"%d\n" % number for number in range(60_000))),
    sh("closes its output and goes on", "seq 60000; exec >&- 2>&-; sleep 0.2; echo done > made; exit 5"),
    sh("a child that prints after it", "(sleep 1; seq 60000; echo done > made) & echo first"),
    sh("much in a pipeline", "seq 60000 | tee made | wc -l; seq 60000"),
)


class Outcome(NamedTuple):
    status: int
    out: bytes
    err: bytes
    files: dict[str, bytes]


def two_pipes(words: tuple[str, ...], stdin: bytes) -> tuple[int, bytes, bytes]:
    done = subprocess.run(words, input=stdin, capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def one_pipe(words: tuple[str, ...], stdin: bytes) -> tuple[int, bytes, bytes]:
    done = subprocess.run(words, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    return done.returncode, done.stdout, b""


def files(words: tuple[str, ...], stdin: bytes) -> tuple[int, bytes, bytes]:
    """Nobody waits for the end of a file: what a child in the background prints is there in time."""
    until = time.monotonic() + 20
    with open("../out", "wb") as out, open("../err", "wb") as err:
        done = subprocess.run(words, input=stdin, stdout=out, stderr=err, timeout=60)
    while "echo late" in words[-1] and b"late" not in Path("../out").read_bytes() and time.monotonic() < until:
        time.sleep(0.02)
    return done.returncode, Path("../out").read_bytes(), Path("../err").read_bytes()


def terminal(words: tuple[str, ...], stdin: bytes) -> tuple[int, bytes, bytes]:
    ours, its = pty.openpty()
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=its, stderr=its) as running:
        os.close(its)
        assert running.stdin is not None
        with suppress(BrokenPipeError):
            running.stdin.write(stdin)
            running.stdin.close()
        seen = b""
        with suppress(OSError):
            while data := os.read(ours, 1 << 16):
                seen += data
        os.close(ours)
    return running.returncode, seen, b""


Place = Callable[[tuple[str, ...], bytes], tuple[int, bytes, bytes]]
PLACES: tuple[Place, ...] = (two_pipes, one_pipe, files, terminal)


def outcome(words: tuple[str, ...], stdin: bytes, directory: Path, place: Place = two_pipes) -> Outcome:
    work = directory / "work"
    work.mkdir(parents=True)
    before = Path.cwd()
    os.chdir(work)
    try:
        status, out, err = place(words, stdin)
    finally:
        os.chdir(before)
    made = {path.name: path.read_bytes() for path in work.iterdir()}
    own = str(work).encode()
    return Outcome(status if status >= 0 else 128 - status, out.replace(own, b"DIR"), err.replace(own, b"DIR"), made)


def through(case: Case) -> tuple[str, ...]:
    """A shell's string goes by -c: so both forms are held to the table."""
    if case.words[:2] == ("/bin/sh", "-c"):
        return (*OVERSPILL, "run", "--shell", "/bin/sh", "-c", case.words[2])
    return (*OVERSPILL, "run", "--", *case.words)


def test_without_a_locale_the_environment_is_untouched_too() -> None:
    env = {"PATH": os.environ["PATH"], "OVERSPILL_DIR": os.environ["OVERSPILL_DIR"]}
    without, with_it = (
        subprocess.run([*words, "env"], env=env, capture_output=True, timeout=30).stdout
        for words in ((), (*OVERSPILL, "run", "--"))
    )
    assert with_it == without


def test_the_table_has_sixty_commands_or_more() -> None:
    assert len({case.name for case in TABLE}) == len(TABLE) >= 60


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
def test_it_is_as_without(case: Case, tmp_path: Path) -> None:
    without = outcome(case.words, case.stdin, tmp_path / "without")
    assert outcome((*OVERSPILL, "run", "--", *case.words), case.stdin, tmp_path / "through") == without


@pytest.mark.parametrize("place", PLACES[1:], ids=lambda place: place.__name__)
@pytest.mark.parametrize(
    "case", [case for case in TABLE if not case.name.startswith(("exit ", "killed by "))], ids=lambda case: case.name
)
def test_it_is_as_without_wherever_its_output_goes(case: Case, place: Place, tmp_path: Path) -> None:
    if place is terminal and case.name == "not a terminal":
        pytest.skip("what is bounded is read through a pipe; `--pty` gives a terminal")
    without = outcome(case.words, case.stdin, tmp_path / "without", place)
    assert outcome(through(case), case.stdin, tmp_path / "through", place) == without


@pytest.mark.parametrize("words", NOT_STARTED, ids=lambda words: words[0] or "nothing")
def test_what_cannot_be_started_has_the_status_a_shell_gives_it(words: tuple[str, ...], tmp_path: Path) -> None:
    without = outcome(("/bin/sh", "-c", '"$0"', *words), b"", tmp_path / "without")
    with_it = outcome((*OVERSPILL, "run", "--", *words), b"", tmp_path / "through")
    assert (with_it.status, with_it.out) == (without.status, b"")
    assert with_it.err.count(b"\n") == 1
    assert with_it.err.startswith(b"overspill: ")


@pytest.mark.parametrize("case", MUCH, ids=lambda case: case.name)
def test_of_too_much_the_status_and_the_deeds_are_the_same_and_every_byte_is_kept(case: Case, tmp_path: Path) -> None:
    without = outcome(case.words, case.stdin, tmp_path / "without", one_pipe)
    words = (*through(case)[: len(OVERSPILL) + 1], "--keep", "ends", *through(case)[len(OVERSPILL) + 1 :])
    with_it = outcome(words, case.stdin, tmp_path / "through", one_pipe)
    assert (with_it.status, with_it.files) == (without.status, without.files)
    assert len(with_it.out) <= 9_000
    (row,) = json.loads(subprocess.run([*OVERSPILL, "ls", "--json"], capture_output=True, check=True).stdout)
    kept = subprocess.run([*OVERSPILL, "show", "--raw", row["handle"]], capture_output=True, check=True).stdout
    assert kept == without.out.removeprefix(b"first\n" if case.name == "a child that prints after it" else b"")


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_what_is_printed_is_complete_wherever_it_goes(place: Place, tmp_path: Path) -> None:
    """Three megabytes, more than any pipe or terminal holds, from what was kept and through `skip`."""
    data = b"".join(b"%d\n" % number for number in range(400_000))
    case = sh("much", "seq 0 399999")
    (tmp_path / "all.toml").write_text("skip = true\n")
    options = ("run", "--config", str(tmp_path / "all.toml"), "--")
    seen = outcome((*OVERSPILL, *options, *case.words), b"", tmp_path / "skip", place)
    assert (seen.status, seen.out.replace(b"\r\n", b"\n")) == (0, data)
    handle = json.loads(two_pipes((*OVERSPILL, "run", "--json", "--", *case.words), b"")[1])["handle"]
    seen = outcome((*OVERSPILL, "show", "--raw", handle), b"", tmp_path / "raw", place)
    assert (seen.status, seen.out.replace(b"\r\n", b"\n")) == (0, data)


EVERY_END = """
import signal, sys
from overspill.process import Running
ways = [f"exit {status}" for status in range(256)]
spared = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
ways += [f"kill -{number} $$" for number in range(1, signal.NSIG) if number not in spared and not 32 <= number < 34]
for way in ways:
    running = Running(("/bin/sh", "-c", way))
    print(way, running.serve(lambda stream, data: None).status)
    running.close()
"""


def test_every_exit_status_and_every_signal_is_passed_on() -> None:
    seen = subprocess.run([PYTHON, "-c", EVERY_END], capture_output=True, text=True, check=True).stdout.splitlines()
    ways = [line.rpartition(" ")[0] for line in seen]
    script = "\n".join(f"(sh -c '{way}') 2>/dev/null; echo $?" for way in ways)
    shell = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert seen == [f"{way} {status}" for way, status in zip(ways, shell, strict=True)]
    assert len(ways) > 256 + 50
