"""`overspill run` where something goes away: readers, harnesses, time; and where overspill meets overspill."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.commands import OVERSPILL, overspill, shell, start
from cli.test_run import alive, handle_in, wait_for, watched
from overspill.cli.output import Output
from overspill.cli.policies import Chosen
from overspill.process import Ending

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX shells and signals")
PYTHON = sys.executable
NUMBERS = "".join(f"{number}\n" for number in range(1, 20_001)).encode()


def pid_in(mark: Path) -> int:
    wait_for(lambda: mark.exists() and mark.read_text().strip(), "the command runs")
    return int(mark.read_text())


# -- readers -------------------------------------------------------------------------------------------------


def test_a_reader_of_one_stream_that_goes_away_costs_only_that_stream() -> None:
    gone, there = os.pipe()
    with start(*shell("sleep 0.5; echo out; exit 3"), stdout=subprocess.PIPE, stderr=there) as running:
        os.close(there)
        os.close(gone)
        out, _ = running.communicate(timeout=30)
    assert (running.returncode, out) == (3, b"out\n")


def test_what_cannot_be_written_to_one_stream_does_not_keep_the_other_s_back() -> None:
    with Path("/dev/full").open("wb") as full:
        done = overspill(*shell("echo err >&2; echo out"), stdout=subprocess.PIPE, stderr=full)
    assert (done.returncode, done.stdout) == (1, b"out\n")


@pytest.mark.parametrize("how", ["closed", "shut down"])
def test_a_socket_whose_reader_goes_away_ends_the_command(how: str) -> None:
    """As some harnesses connect what they start."""
    ours, its = socket.socketpair()
    with start("run", "--", "yes", stdout=its, stderr=subprocess.DEVNULL) as running:
        its.close()
        time.sleep(0.3)
        ours.close() if how == "closed" else ours.shutdown(socket.SHUT_RDWR)
        try:
            assert running.wait(20) == 128 + signal.SIGPIPE
        finally:
            running.kill()
    ours.close()


def test_what_stays_in_the_background_ends_with_its_reader(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    script = f"sh -c 'echo $$ > {mark}; exec yes' & sleep 0.2; echo first"
    with start(*shell(script), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        assert running.stdout is not None
        pid = pid_in(mark)
        running.wait(30)
        assert alive(pid)
        running.stdout.close()
    try:
        wait_for(lambda: not alive(pid), "`yes` got its SIGPIPE")
    finally:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


def test_live_goes_on_without_onlookers() -> None:
    gone, there = os.pipe()
    os.close(gone)
    done = overspill("run", "--live", "--", "echo", "out", stdout=subprocess.PIPE, stderr=there)
    os.close(there)
    assert (done.returncode, done.stdout) == (0, b"out\n")


# -- harnesses -------------------------------------------------------------------------------------------------


def test_a_group_killed_outright_takes_a_command_with_a_time_out_along(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    script = f"sh -c 'echo $$ > {mark}; exec sleep 60' & wait"
    words = ("run", "--timeout", "60", *shell(script)[1:])
    with start(*words, stdin=subprocess.DEVNULL, start_new_session=True) as running:
        pid = pid_in(mark)
        wait_for(lambda: watched(running.pid), "it is watched")
        os.killpg(running.pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid), "the command's child is gone too")


# -- surroundings ------------------------------------------------------------------------------------------------

SURROUNDINGS = {
    "no environment": "env -i {}",
    "a home that is none": "HOME=/nonexistent {}",
    "a deleted directory": "mkdir gone; cd gone; rmdir ../gone; {}",
    "no locale": "LC_ALL=C LANG=C {}",
    "warnings as errors": "PYTHONWARNINGS=error PYTHONDEVMODE=1 {}",
    "few descriptors": "ulimit -n 16; {}",
    "many descriptors": 'for one in 3 4 5 6 7 8 9; do eval "exec $one>/dev/null"; done; {}',
    "nothing to read": "{} <&-",
}


@pytest.mark.parametrize("surroundings", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_in_strange_surroundings_it_runs_and_keeps(surroundings: str) -> None:
    script = surroundings.format(f"{' '.join(OVERSPILL)} run --store '{os.getcwd()}/kept' -- seq 20000")
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert overspill("show", "--raw", "--store", "kept", handle_in(done.stdout)).stdout == NUMBERS


@pytest.mark.parametrize("surroundings", ["no environment", "a deleted directory"])
def test_without_a_place_to_keep_it_says_so_or_finds_one(surroundings: str) -> None:
    words = f"env -u OVERSPILL_DIR {' '.join(OVERSPILL)} run -- seq 20000"
    done = subprocess.run(["/bin/sh", "-c", SURROUNDINGS[surroundings].format(words)], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"[overspill" in done.stdout


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc")
def test_every_descriptor_is_passed_on_and_none_of_ours() -> None:
    code = "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"
    given = [os.open(os.devnull, os.O_RDONLY) for _ in range(200)]
    without, through = (
        subprocess.run([*words, PYTHON, "-c", code], pass_fds=given, capture_output=True, timeout=60).stdout
        for words in ((), (*OVERSPILL, "run", "--"))
    )
    for descriptor in given:
        os.close(descriptor)
    assert through == without
    assert without.count(b",") > 200


# -- what is shown fits, and does not depend on the clock --------------------------------------------------------


def ending(seconds: float, *, exit_code: int = 3, timed_out: bool = False) -> Ending:
    return Ending(exit_code, seconds, timed_out=timed_out, by_terminal=False, lingering={})


def test_what_is_shown_does_not_depend_on_how_long_it_took(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    shown = []
    for seconds in (0.04, 9.9, 12.3, 89.0, 3_600.0, 400_000.0):
        output = Output(Chosen({"max_bytes": 1_000}, tool="shell", command="seq"), merged=True)
        output.take(1, NUMBERS)
        output.finish(ending(seconds))
        shown.append(capfdbinary.readouterr().out)
    assert all(len(one) <= 1_000 for one in shown)
    assert len(set(shown)) == len(shown)
    assert len({re.sub(rb"\[overspill: exit status 3 after [^\]]*\]\n\Z", b"", one) for one in shown}) == 1


@pytest.mark.parametrize("size", [10, 1_500, 8_960, 8_999, 9_000, 30_000])
def test_the_sentence_about_a_time_out_fits_too(size: int) -> None:
    script = f"head -c {size} /dev/zero | tr '\\0' ' '; echo end; sleep 60"
    done = overspill("run", "--max-bytes", "9000", "--timeout", "0.6", *shell(script)[1:],
                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    assert done.returncode == 124
    assert b"--timeout" in done.stdout.splitlines()[-1]
    assert len(done.stdout) <= 9_000


def test_the_last_line_of_a_cut_output_says_that_it_was_a_time_out() -> None:
    done = overspill("run", "--timeout", "1", *shell("seq 20000; sleep 60")[1:])
    assert re.fullmatch(
        rb"\[overspill: stopped by --timeout, exit status 124 after \d\.\d s\]", done.stdout.splitlines()[-1]
    )
    assert done.stderr == b""
    assert overspill("show", "--raw", handle_in(done.stdout)).stdout == NUMBERS


@pytest.mark.parametrize("first", ["echo first", "seq 100 900", "seq 20000"])
def test_what_comes_later_from_the_background_shares_the_budget(first: str) -> None:
    done = overspill("run", "--max-bytes", "4000", *shell(f"(sleep 0.8; seq 20000) & {first}")[1:])
    assert len(done.stdout) <= 4_000
    assert done.stdout.endswith(b"\n20000\n")


def test_json_is_one_object_also_with_something_in_the_background() -> None:
    done = overspill("run", "--json", "--shell", "/bin/sh", "-c", "sleep 0.8 & echo hi")
    facts = json.loads(done.stdout)
    assert (facts["text"], facts["timed_out"], facts["signal"]) == ("hi\n", False, None)
    done = overspill("run", "--json", "--timeout", "0.5", "--", "sleep", "60", stderr=subprocess.STDOUT,
                     stdout=subprocess.PIPE)  # fmt: skip
    assert json.loads(done.stdout)["timed_out"] is True


def test_json_of_an_output_that_is_let_through_is_json_too() -> None:
    Path("overspill.toml").write_text("skip = true")
    assert json.loads(overspill("run", "--json", "--", "seq", "20000").stdout)["text"].encode() == NUMBERS
    assert json.loads(overspill("bound", "--json", input=NUMBERS).stdout)["text"].encode() == NUMBERS


# -- overspill in overspill ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", ["", "; exit 3"])
def test_a_tighter_layer_cuts_anew_from_what_the_first_one_kept(last: str) -> None:
    inner = f"{' '.join(OVERSPILL)} run --shell /bin/sh -c 'seq 20000{last}'"
    done = overspill("run", "--max-bytes", "1000", "--shell", "/bin/sh", "-c", inner)
    assert len(done.stdout) <= 1_000
    assert done.stdout.count(b"[overspill ovs_") == 1
    assert overspill("show", "--raw", handle_in(done.stdout)).stdout == NUMBERS
    once = overspill("bound", input=NUMBERS).stdout
    again = overspill("bound", "--max-bytes", "1000", input=once).stdout
    assert handle_in(again) == handle_in(once)
    assert again.count(b"[overspill ovs_") == 1
    assert len(json.loads(overspill("ls", "--json").stdout)) == 1


@pytest.mark.parametrize("more", ["echo EXIT=$?", "seq 7 20000 | {}", "seq 300 900"])
def test_what_is_printed_beside_a_bounded_text_is_not_taken_for_it(more: str) -> None:
    filter_ = " ".join(OVERSPILL)
    script = f"seq 20000 | {filter_}; {more.format(filter_)}"
    done = overspill("run", "--max-bytes", "1000", "--shell", "/bin/sh", "-c", script)
    assert len(done.stdout) <= 1_000
    printed = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True).stdout
    assert overspill("show", "--raw", handle_in(done.stdout)).stdout == printed
