"""At a terminal with a shell above: Ctrl-C, Ctrl-Z, `fg` and the background are as without overspill."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.shells import Typing
from cli.test_run import alive, wait_for

pytestmark = [pytest.mark.skipif(os.name == "nt", reason="POSIX terminals"), pytest.mark.needs("bash")]
RUN = "overspill run --live"


@pytest.fixture
def shell() -> Iterator[Typing]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "TERM": "dumb", "PS1": "READY> "}
    with Typing("bash", "--norc", "--noprofile", "-i", env=env) as typing:
        typing.until("READY> ")
        yield typing


def says_when_ready(then: str) -> str:
    """``R$((1))``, so that the line typed does not say it."""
    return f"'echo R$((1)); {then}'"


@pytest.mark.parametrize("options", ["", "--pty"])
def test_ctrl_z_stops_the_job_and_fg_goes_on(shell: Typing, options: str) -> None:
    shell.keys(f"{RUN} {options} -c {says_when_ready('read line; echo got $line')}\r")
    shell.until("R1")
    shell.keys("\x1a")
    shell.until("Stopped")
    shell.until("READY> ")
    shell.keys("fg\r")
    shell.until("overspill run")
    shell.keys("word\r")
    shell.until("got word")
    shell.until("READY> ")
    shell.keys("echo status $?; stty -a | grep -o -- '-*icanon'\r")
    shell.until("status 0")
    assert "-icanon" not in shell.until("READY> ")


@pytest.mark.parametrize("options", ["", "--pty", "--timeout 60"])
def test_ctrl_c_ends_the_loop_as_well(shell: Typing, options: str) -> None:
    shell.keys(f"for turn in 1 2 3; do TURN=$turn {RUN} {options} -c 'echo R$((TURN)); sleep 60'; done\r")
    shell.until("R1")
    shell.keys("\x03")
    assert "R2" not in shell.until("READY> ")
    shell.keys("echo status $?\r")
    shell.until("status 130")


def test_a_time_out_at_a_terminal_reaches_what_the_command_started(shell: Typing, tmp_path: Path) -> None:
    """There it shares the terminal's group, so its children have to be found; also where there is no `ps`."""
    mark = tmp_path / "pid"
    inner = f'sh -c "echo \\$\\$ > {mark}; exec sleep 60" & sleep 60'
    shell.keys(f"PATH=/none {shutil.which('overspill', path=str(Path(sys.executable).parent))} run --timeout 1 "
               f"--shell /bin/sh -c 'PATH=/bin:/usr/bin; {inner}'\r")  # fmt: skip
    shell.until("as --timeout asked")
    wait_for(lambda: not alive(int(mark.read_text())), "the child is gone")


TAKES_IT = """
import time
try:
    print("wait" + "ing", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("tak" + "en", flush=True)
print(int(input("how much? ")) * 6)
"""


def test_a_program_that_takes_ctrl_c_for_itself_goes_on(shell: Typing, tmp_path: Path) -> None:
    program = tmp_path / "takes_it.py"
    program.write_text(TAKES_IT)
    shell.keys(f"{RUN} --pty -- {sys.executable} {program}\r")
    shell.until("waiting")
    shell.keys("\x03")
    shell.until("taken")
    shell.until("how much? ")
    shell.keys("7\r")
    shell.until("42")
    shell.until("READY> ")
    shell.keys("echo status $?\r")
    shell.until("status 0")


def test_in_the_background_it_stops_when_it_wants_to_read(shell: Typing) -> None:
    shell.keys(f"{RUN} -- cat &\r")
    shell.until("READY> ")
    shell.keys("while ! jobs | grep Stop; do sleep 0.1; done\r")
    shell.until("Stopped")
    shell.until("READY> ")
    shell.keys("fg\r")
    shell.until("cat")
    shell.keys("typed\r\x04")
    shell.until("typed\r\n")
    shell.until("typed\r\n")


def test_two_in_a_pipeline_stop_and_go_on_together(shell: Typing) -> None:
    shell.keys(f"{RUN} -c {says_when_ready('cat')} | {RUN} -- cat\r")
    shell.until("R1")
    shell.keys("\x1a")
    shell.until("Stopped")
    shell.until("READY> ")
    shell.keys("fg\r")
    shell.until("cat\r\n")
    shell.keys("through both\r\x04")
    shell.until("through both\r\n")
    shell.until("through both\r\n")


EARLY = """
import os, signal
from overspill.process import Running

class Early(Running):
    def _handle_signals(self):
        super()._handle_signals()
        os.kill(os.getpid(), signal.SIGINT)

print("status", Early(["sleep", "60"]).serve(lambda stream, data: None).status)
"""


def test_a_key_typed_before_there_is_a_command_reaches_it(shell: Typing, tmp_path: Path) -> None:
    script = tmp_path / "early.py"
    script.write_text(EARLY)
    shell.keys(f"{sys.executable} {script}\r")
    shell.until("status 130")


def test_the_command_knows_the_size_of_the_window_and_when_it_changes(shell: Typing) -> None:
    shell.resize(33, 101)
    code = (
        "import os, signal; signal.signal(signal.SIGWINCH, lambda *_: print(os.get_terminal_size()));"
        "print(os.get_terminal_size(), flush=True); signal.pause()"
    )
    shell.keys(f"{RUN} --pty -- {sys.executable} -c '{code}'\r")
    shell.until("columns=101, lines=33")
    shell.resize(44, 99)
    shell.until("columns=99, lines=44")
