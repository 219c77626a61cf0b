"""`overspill run` beyond the table: what is too much, two streams, signals, stops, time-outs, terminals."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands import OVERSPILL, overspill, shell, start, text
from overspill.surroundings import _parents, descendants

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX shells and signals")
PYTHON = sys.executable
NUMBERS = "".join(f"{number}\n" for number in range(1, 20_001)).encode()


def wait_for(condition: Callable[[], object], what: str, seconds: float = 10) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"still not: {what}"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"


def watched(pid: int) -> bool:
    """A command that ends within the first moments of `run` never is."""
    return list(_parents().values()).count(pid) == 2


def handle_in(output: bytes | str) -> str:
    found = re.search(r"ovs_[0-9a-z]+", output if isinstance(output, str) else output.decode())
    assert found, output
    return found[0]


# -- what is too much ------------------------------------------------------------------------------------


def test_what_is_too_much_is_bounded_and_kept_whole() -> None:
    done = overspill(*shell("seq 20000"))
    assert len(done.stdout) <= 9_000
    assert overspill("show", "--raw", handle_in(done.stdout)).stdout == NUMBERS


def test_output_arrives_in_one_order_when_both_streams_go_to_one_place() -> None:
    script = "for i in $(seq 300); do echo out $i; echo err $i >&2; done"
    words = ("run", "--max-lines", "40", *shell(script)[1:])
    done = overspill(*words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    raw = overspill("show", "--raw", handle_in(done.stdout)).stdout.decode()
    assert raw == "".join(f"out {i}\nerr {i}\n" for i in range(1, 301))
    assert done.stdout.count(b"\n") <= 40


def test_the_last_line_says_the_status_and_how_long_when_it_is_not_0() -> None:
    done = overspill(*shell("seq 20000; exit 3"))
    assert re.fullmatch(rb"\[overspill: exit status 3 after \d+\.\d s\]", done.stdout.splitlines()[-1])
    assert len(done.stdout) <= 9_000
    assert b"exit status" not in overspill(*shell("seq 20000")).stdout
    assert overspill(*shell("exit 3")).stdout == b""


def test_json_is_one_object_with_gaps_and_handle() -> None:
    done = overspill("run", "--json", "--shell", "/bin/sh", "-c", "seq 20000; exit 3")
    facts = json.loads(done.stdout)
    assert facts["exit_status"] == done.returncode == 3
    assert facts["truncated"] is True
    assert facts["total_lines"] == 20_000
    assert facts["omitted_lines"] == sum(gap["omitted_lines"] for gap in facts["gaps"])
    assert overspill("show", "--raw", facts["handle"]).stdout == NUMBERS
    small = json.loads(overspill("run", "--json", "--", "echo", "hi").stdout)
    assert (small["text"], small["truncated"], small["handle"]) == ("hi\n", False, None)


@pytest.mark.parametrize("lines", [3, 4_000])
def test_json_says_what_came_on_which_stream(lines: int) -> None:
    script = f"for i in $(seq {lines}); do echo out $i; echo err $i >&2; done"
    facts = json.loads(overspill("run", "--json", *shell(script)[1:]).stdout)
    assert "out 1\n" in facts["stdout"]
    assert f"err {lines}\n" in facts["stderr"]
    assert "err" not in re.sub(r"\[.*?\]", "", facts["stdout"])
    assert "out" not in re.sub(r"\[.*?\]", "", facts["stderr"])
    together = overspill("run", "--json", "--", "echo", "hi", stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    assert "stdout" not in json.loads(together)


def test_what_failed_is_found_by_its_question() -> None:
    script = "seq 9000; echo 'the teapot is on fire'; seq 9000"
    done = overspill("run", "--for", "what about the teapot", "--shell", "/bin/sh", "-c", script)
    assert b"the teapot is on fire" in done.stdout


# -- two streams -----------------------------------------------------------------------------------------


def test_each_stream_is_bounded_to_its_own_descriptor_by_one_budget_under_one_handle() -> None:
    script = "for i in $(seq 4000); do echo out $i; echo err $i >&2; done"
    done = overspill(*shell(script))
    out, err = done.stdout.decode(), done.stderr.decode()
    assert len(done.stdout) + len(done.stderr) <= 9_000
    assert "err" not in re.sub(r"\[.*?\]", "", out)
    assert "out" not in re.sub(r"\[.*?\]", "", err)
    assert "out 1\n" in out
    assert "err 4000\n" in err
    raw = overspill("show", "--raw", handle_in(out)).stdout.decode().splitlines()
    assert [line for line in raw if line.startswith("out")] == [f"out {i}" for i in range(1, 4001)]
    assert [line for line in raw if line.startswith("err")] == [f"err {i}" for i in range(1, 4001)]


def test_an_error_beside_a_long_output_stays_alone_on_its_stream() -> None:
    done = overspill(*shell("seq 20000; echo broken >&2"))
    assert done.stderr == b"broken\n"
    assert b"broken" not in done.stdout


def test_a_stream_thrown_away_is_thrown_away(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as file:
        overspill(*shell("echo out; seq 20000 >&2"), stdout=file, stderr=subprocess.DEVNULL)
    assert (tmp_path / "out").read_bytes().endswith(b"out\n")


@pytest.mark.parametrize("closed", ["1", "2", "0", "1 2", "0 1 2"])
def test_a_closed_stream_is_closed_for_the_command_too(closed: str) -> None:
    closing = " ".join(f"{stream}>&-" if stream != "0" else "0<&-" for stream in closed.split())
    script = "{ echo out; echo err >&2; cat; } 2>/dev/null; echo $? > status"
    outcomes = []
    for words in (f"sh -c '{script}' {closing}", f"{' '.join(OVERSPILL)} run -- sh -c '{script}' {closing}"):
        done = subprocess.run(["/bin/sh", "-c", words], capture_output=True, stdin=subprocess.DEVNULL, timeout=30)
        outcomes.append((done.returncode, done.stdout, Path("status").read_text()))
        Path("status").unlink()
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("most", [420, 700, 2_000, 8_999])
@pytest.mark.parametrize("together", [True, False])
def test_all_that_is_shown_fits_last_line_and_both_streams_included(most: int, *, together: bool) -> None:
    script = "for i in $(seq 3000); do echo out $i; [ $((i % 7)) = 0 ] && echo err $i >&2; done; exit 3"
    words = ("run", "--max-bytes", str(most), "--keep", "ends", *shell(script)[1:])
    done = overspill(*words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT if together else subprocess.PIPE)
    assert most // 2 < len(done.stdout) + len(done.stderr or b"") <= most
    assert most < 700 or b"exit status 3" in done.stdout


# -- signals ---------------------------------------------------------------------------------------------

COUNTS = """
import signal, sys, time
got = []
for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"):
    signal.signal(getattr(signal, name), lambda number, frame: got.append(number))
print("ready", flush=True)
until = time.monotonic() + 30
while not got and time.monotonic() < until:
    time.sleep(0.01)
time.sleep(0.4)
print(got, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
@pytest.mark.parametrize("to", ["process", "group"])
@pytest.mark.parametrize("options", [(), ("--timeout", "60")], ids=["", "own group"])
def test_a_signal_reaches_the_command_once(
    number: signal.Signals, to: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    code = COUNTS.replace('print("ready", flush=True)', f"open({str(ready)!r}, 'w')")
    with start("run", *options, "--", PYTHON, "-c", code, stdout=subprocess.PIPE, start_new_session=True,
               stdin=subprocess.DEVNULL) as running:  # fmt: skip
        wait_for(ready.exists, "the command is ready")
        wait_for(lambda: watched(running.pid), "it is watched")
        (os.kill if to == "process" else os.killpg)(running.pid, number)
        out, _ = running.communicate(timeout=30)
    assert out.decode() == f"[{int(number)}]\n"
    assert running.returncode == 0


def test_on_a_busy_machine_a_signal_to_the_group_reaches_it_once_as_well(tmp_path: Path) -> None:
    """What tells overspill that the group had it may come late: here it is stopped meanwhile."""
    ready = tmp_path / "ready"
    code = COUNTS.replace('print("ready", flush=True)', f"open({str(ready)!r}, 'w')")
    with start("run", "--", PYTHON, "-c", code, stdout=subprocess.PIPE, start_new_session=True,
               stdin=subprocess.DEVNULL) as running:  # fmt: skip
        wait_for(ready.exists, "the command is ready")
        wait_for(lambda: watched(running.pid), "it is watched")
        watcher = max(descendants(running.pid))
        os.kill(watcher, signal.SIGSTOP)
        os.killpg(running.pid, signal.SIGUSR1)
        time.sleep(0.3)
        os.kill(watcher, signal.SIGCONT)
        out, _ = running.communicate(timeout=30)
    assert out.decode() == f"[{int(signal.SIGUSR1)}]\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_command_ended_by_a_signal_gives_128_and_its_number(number: signal.Signals, tmp_path: Path) -> None:
    mark = tmp_path / "runs"
    with start(*shell(f"touch {mark}; exec sleep 30"), start_new_session=True) as running:
        wait_for(mark.exists, "the command runs")
        running.send_signal(number)
        assert running.wait(10) == 128 + number


def test_a_signal_to_the_group_reaches_the_children_of_the_command(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    with start(*shell(f"sh -c 'echo $$ > {mark}; sleep 60' & wait"), start_new_session=True) as running:
        wait_for(lambda: mark.exists() and mark.read_text().strip(), "the grandchild runs")
        os.killpg(running.pid, signal.SIGTERM)
        running.wait(10)
    wait_for(lambda: not alive(int(mark.read_text())), "the grandchild is gone")


def test_killed_outright_it_takes_the_command_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    with start("run", "--", "/bin/sh", "-c", f"echo $$ > {mark}; exec sleep 60", start_new_session=True) as running:
        wait_for(lambda: mark.exists() and mark.read_text().strip(), "the command runs")
        wait_for(lambda: watched(running.pid), "it is watched")
        running.kill()
    wait_for(lambda: not alive(int(mark.read_text())), "the command is gone")


def test_a_stopped_command_is_a_stopped_overspill(tmp_path: Path) -> None:
    with start(*shell("kill -STOP $$; echo again"), stdout=subprocess.PIPE, start_new_session=True) as running:
        pid, status = os.waitpid(running.pid, os.WUNTRACED)
        assert pid == running.pid
        assert os.WIFSTOPPED(status)
        os.kill(running.pid, signal.SIGCONT)
        out, _ = running.communicate(timeout=20)
    assert out == b"again\n"


def test_what_was_ignored_stays_ignored() -> None:
    asks = "grep SigIgn /proc/self/status"
    script = f"trap '' HUP; {' '.join(OVERSPILL)} run -- {asks}; trap '' HUP; {asks}"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, timeout=30)
    through, without = (int(line.split()[1], 16) for line in done.stdout.splitlines())
    assert through & 1 == without & 1 == 1


def test_a_name_that_is_not_utf_8_is_a_command_that_is_not_found() -> None:
    done = overspill("run", "--", os.fsdecode(b"\xff"))
    assert (done.returncode, done.stdout) == (127, b"")
    assert done.stderr.startswith(b"overspill: \xff: command not found")


@pytest.mark.parametrize("options", [(), ("--pty",)])
def test_with_its_signals_blocked_it_ends_and_the_command_has_them_blocked(options: tuple[str, ...]) -> None:
    blocked = {signal.SIGCHLD, signal.SIGUSR1}
    code = "import signal; print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    try:
        done = overspill("run", *options, "--", sys.executable, "-c", code, timeout=20)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)
    assert done.stdout.decode().strip() == str(sorted(usual | blocked))


def test_a_reader_that_goes_away_ends_the_command() -> None:
    with start("run", "--", "yes", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        time.sleep(0.3)
        assert running.stdout is not None
        running.stdout.close()
        assert running.wait(20) == 128 + signal.SIGPIPE


# -- time --------------------------------------------------------------------------------------------------


def test_a_time_out_ends_it_and_keeps_what_came() -> None:
    done = overspill("run", "--timeout", "1", "--shell", "/bin/sh", "-c", "echo before; sleep 60 & sleep 60")
    assert done.stdout == b"before\n"
    assert done.returncode == 124
    assert b"--timeout" in done.stderr


def test_after_the_grace_it_is_killed() -> None:
    script = "trap '' TERM; echo deaf; while :; do sleep 0.1; done"
    done = overspill("run", "--timeout", "1", "--grace", "0.3", "--shell", "/bin/sh", "-c", script)
    assert (done.returncode, done.stdout) == (124, b"deaf\n")


def test_it_does_not_wait_for_what_stays_in_the_background(tmp_path: Path) -> None:
    script = "(until test -e go; do sleep 0.1; done; echo late; echo $? > mark) & echo first"
    with (tmp_path / "out").open("wb") as out:
        done = overspill(*shell(script), stdout=out, stderr=out)
    assert done.returncode == 0
    assert (tmp_path / "out").read_bytes() == b"first\n"
    Path("go").touch()
    wait_for(lambda: (tmp_path / "out").read_bytes() == b"first\nlate\n", "the late line is there")
    wait_for(lambda: Path("mark").exists() and Path("mark").read_text() == "0\n", "the writer was not killed")


# -- live --------------------------------------------------------------------------------------------------


def test_live_shows_everything_on_stderr_while_it_comes() -> None:
    done = overspill("run", "--live", "--shell", "/bin/sh", "-c", "seq 20000")
    assert done.stderr == NUMBERS
    assert len(done.stdout) <= 9_000


@pytest.mark.parametrize("lines", [3, 20_000], ids=["little", "much"])
def test_a_running_command_can_be_read(lines: int, tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = f"seq {lines}; echo needle; while ! test -e {go}; do sleep 0.05; done; echo end"
    with start(*shell(script), stdout=subprocess.PIPE) as running:
        wait_for(lambda: json.loads(text("ps", "--json")), "it is listed")
        (one,) = json.loads(text("ps", "--json"))
        assert one["pid"] == running.pid
        wait_for(lambda: "needle" in overspill("tail", one["name"]).stdout.decode(), "its end is shown")
        assert "needle" in text("grep", one["name"], "needle")
        assert "1:1" in text("read", one["name"], "--lines", "1-2")
        go.touch()
        running.communicate(timeout=20)
    assert json.loads(text("ps", "--json")) == []
    gone = overspill("tail", one["name"])
    assert gone.returncode == 1
    assert b"overspill ls" in gone.stderr


def test_a_record_of_a_dead_process_is_swept() -> None:
    with start("run", "--", "sleep", "60") as running:
        wait_for(lambda: json.loads(text("ps", "--json")), "it is listed")
        running.kill()
    wait_for(lambda: json.loads(text("ps", "--json")) == [], "it is gone")


# -- terminals ---------------------------------------------------------------------------------------------


def at_terminal(*words: str, keys: bytes = b"", after: bytes = b"") -> tuple[int, bytes]:
    """Runs at a pseudo-terminal of its own; types ``keys`` when ``after`` was seen."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(words[0], words)
    seen, typed = b"", not keys
    while True:
        if not typed and after in seen:
            time.sleep(0.4)
            os.write(terminal, keys)
            typed = True
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return status, seen


def test_ctrl_c_reaches_the_command_once_and_ends_the_shell_s_loop() -> None:
    code = COUNTS.replace("SIGTERM", "SIGQUIT")
    _, seen = at_terminal(*OVERSPILL, "run", "--live", "--", PYTHON, "-c", code, keys=b"\x03", after=b"ready")
    assert b"[2]\r\n" in seen
    status, _ = at_terminal(
        *OVERSPILL, "run", "--live", "--", "/bin/sh", "-c", "echo ready; sleep 30", keys=b"\x03", after=b"ready"
    )
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGINT


def test_a_long_command_shows_its_progress_and_takes_it_away() -> None:
    _, seen = at_terminal(*OVERSPILL, "run", "--", "/bin/sh", "-c", "sleep 2; echo done")
    assert b"0 lines" in seen
    assert seen.endswith(b"\r\x1b[Kdone\r\n")
    _, quiet = at_terminal(*OVERSPILL, "run", "--quiet", "--", "/bin/sh", "-c", "sleep 2; echo done")
    assert quiet == b"done\r\n"


def test_a_prompt_can_be_read_before_it_is_answered() -> None:
    code = "print('first'); print('got', input('\\033[1mname?\\033[0m '))"
    _, seen = at_terminal(*OVERSPILL, "run", "--", PYTHON, "-c", code, keys=b"Zoe\r", after=b"\r\x1b[Kname? ")
    assert seen.endswith(b"\r\x1b[Kfirst\r\n\x1b[1mname?\x1b[0m got Zoe\r\n")
    assert seen.count(b"\x1b[Kname? ") == 1, "drawn again it would wipe out what is being typed"


def test_a_terminal_for_those_who_need_one() -> None:
    code = "import os, sys; print(os.isatty(1), os.isatty(2), sys.stdin.read(), end='')"
    done = overspill("run", "--pty", "--", PYTHON, "-c", code, input=b"from a pipe")
    assert done.stdout == b"True True from a pipe"
    assert overspill("run", "--pty", "--", "/bin/sh", "-c", "kill -9 $$").returncode == 137
    assert overspill("run", "--pty", "--", "no-such-command").returncode == 127


def test_keys_go_to_a_command_with_a_terminal_of_its_own() -> None:
    code = "print('ready', flush=True); print('got', input())"
    _, seen = at_terminal(
        *OVERSPILL, "run", "--pty", "--live", "--", PYTHON, "-c", code, keys=b"hello\r", after=b"ready"
    )
    assert b"got hello" in seen
