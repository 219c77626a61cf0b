"""Every command: what it is for, what it says when used wrongly, and its exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cli.commands import OVERSPILL, overspill, start, text
from overspill import bound
from overspill.cli import DELEGATED
from overspill.cli.app import COMMANDS, command_of
from overspill.core.model import Call
from overspill.stats import Cut, ReadBack, notes, sums
from overspill.store import files, open_store

NUMBERS = "".join(f"{number}\n" for number in range(1, 20_001)).encode()


def kept(data: bytes = NUMBERS, *options: str) -> str:
    done = overspill("bound", "--json", *options, input=data)
    handle = json.loads(done.stdout)["handle"]
    assert handle
    return str(handle)


def store() -> str:
    return os.environ["OVERSPILL_DIR"]


# -- the filter --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"x", b"a\r\nb", bytes(range(256)), "漢字".encode()])
@pytest.mark.parametrize("words", [("bound",), ()])
def test_small_input_comes_out_byte_for_byte(data: bytes, words: tuple[str, ...]) -> None:
    done = overspill(*words, input=data)
    assert (done.stdout, done.returncode) == (data, 0)
    assert not Path(store()).exists()


def test_what_is_too_much_is_cut_to_the_sizes_named() -> None:
    out = overspill("--max-lines", "30", "--keep", "tail", input=NUMBERS).stdout
    assert out.count(b"\n") <= 30
    assert out.endswith(b"\n20000\n")
    assert len(overspill("bound", "--max-bytes", "1500", input=NUMBERS).stdout) <= 1500


def test_hints_are_kept_with_it() -> None:
    handle = kept(NUMBERS, "--tool", "search", "--command", "rg x", "--exit-status", "2")
    (row,) = json.loads(text("ls", "--json"))
    assert (row["handle"], row["tool"], row["command"], row["exit_status"]) == (handle, "search", "rg x", 2)
    assert (row["bytes"], row["lines"]) == (len(NUMBERS), 20_000)
    assert "created" in row


def test_a_setting_to_skip_lets_everything_through() -> None:
    Path("overspill.toml").write_text("[tools.read]\nskip = true\n")
    assert overspill("bound", "--tool", "read", input=NUMBERS).stdout == NUMBERS
    assert len(overspill("bound", input=NUMBERS).stdout) < 9_001


def test_secrets_are_taken_out_of_small_outputs_too() -> None:
    Path("overspill.toml").write_text('redact = true\n[redact_patterns]\nours = "K-[0-9]{6}"\n')
    done = overspill("run", "--", "echo", "K-123456 and ghp_" + "a" * 36)
    assert done.stdout == b"[redacted: ours] and [redacted: github token]\n"


def test_bounded_text_passes_a_second_time_untouched() -> None:
    once = overspill("bound", input=NUMBERS).stdout
    assert overspill("bound", input=once).stdout == once


# -- kept outputs --------------------------------------------------------------------------------------------


def test_raw_writes_the_exact_bytes() -> None:
    data = bytes(range(256)) * 200
    assert overspill("show", "--raw", kept(data)).stdout == data


def test_read_grep_outline_query_and_search_answer() -> None:
    handle = kept()
    assert "\n812:812\n" in text("read", handle, "--around", "812")
    assert "\n777:777\n" in text("grep", handle, "^777$")
    assert text("outline", handle)
    assert "20000" in text("tail", handle)
    assert "12345" in text("search", "12345")
    rows = b"".join(b'{"id": %d, "state": "ok"}\n' % number for number in range(2_000))
    assert '"id":1234' in text("query", kept(rows), "[?id==`1234`]").replace(" ", "")
    facts = json.loads(text("grep", handle, "777", "--json"))
    assert facts["total_matches"] == 38
    assert facts["handle"] == handle


def test_an_answer_fits_what_was_asked_for() -> None:
    assert len(text("read", kept(), "--max-bytes", "700")) <= 700


def test_grep_answers_1_when_nothing_matches() -> None:
    assert overspill("grep", kept(), "no such thing").returncode == 1


def test_show_marks_what_was_omitted_and_all_shows_it() -> None:
    handle = kept()
    shown = text("show", handle)
    assert re.search(r"^\[… lines \d+-\d+ omitted.*\] [\d.]+ kB$", shown, re.MULTILINE)
    assert "\n10000\n" in text("show", "--all", handle)


def test_diff_names_what_is_new_and_what_went() -> None:
    stamp = "2026-01-01 10:00:0{} started in {} ms\n"
    before = kept(stamp.format(1, 5).encode() + NUMBERS)
    after = kept(stamp.format(2, 6).encode() + NUMBERS.replace(b"\n500\n", b"\nfive hundred\n"))
    done = overspill("diff", before, after)
    assert done.returncode == 1
    assert done.stdout.splitlines()[1:] == [b"+ 501: five hundred", b"- 501: 500"]
    assert b"2 new, 2 went" in overspill("diff", "--exact", before, after).stdout
    assert overspill("diff", before, before).returncode == 0


def test_pins_removals_and_gc() -> None:
    handle = kept()
    assert text("pin", handle) == f"{handle} pinned\n"
    assert f"{handle}*" in text("ls")
    assert text("unpin", handle) == f"{handle} unpinned\n"
    assert "0 outputs would go" in text("gc", "--dry-run")
    Path("overspill.toml").write_text("[store]\nmax_outputs = 1\n")
    other = kept(NUMBERS + b"more\n")
    gone = json.loads(text("gc", "--json"))
    assert [row["handle"] for row in gone] in ([handle], [])
    assert text("rm", other) == f"{other} removed\n"
    assert json.loads(text("ls", "--json")) == []
    expired = overspill("read", other)
    assert expired.returncode == 1
    assert b"removed by hand" in expired.stderr


def test_gc_counts_what_crashes_left_and_what_was_deleted_from_outside() -> None:
    handle = kept()
    with start("run", "-c", "seq 200000; sleep 60", start_new_session=True) as running:
        until = time.monotonic() + 20
        while not (begun := [path for path in Path(store(), ".store", "tmp").iterdir() if path.stat().st_size]):
            assert time.monotonic() < until
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGKILL)
    (size,) = [path.stat().st_size for path in begun]
    for did, options in (("would go", ("--dry-run",)), ("removed", ())):
        if not options:
            Path(next(row["path"] for row in json.loads(text("ls", "--json")))).unlink()
        said = text("gc", *options).splitlines()
        assert said[-1].startswith(f"1 unfinished output of processes that died {did}, ")
    assert said[-2].startswith("1 output removed, ")
    assert re.search(rf"^{handle} .*deleted from outside", "\n".join(said), re.MULTILINE)
    assert size
    assert text("gc") == "0 outputs removed, 0 B.\n"


def test_rm_goes_on_after_a_wrong_handle() -> None:
    handle = kept()
    done = overspill("rm", "ovs_zzzzzzzz", handle)
    assert done.returncode == 1
    assert f"{handle} removed" in done.stdout.decode()


@pytest.mark.skipif(os.name == "nt", reason="no SIGPIPE")
@pytest.mark.parametrize(
    "words", [("show", "HANDLE"), ("show", "--raw", "HANDLE"), ("read", "HANDLE"), ("--help",), ("ls",)]
)
def test_a_reader_that_has_gone_is_told_nothing(words: tuple[str, ...]) -> None:
    named = [kept() if word == "HANDLE" else word for word in words]
    gone, there = os.pipe()
    os.close(gone)
    done = overspill(*named, stdout=there, stderr=subprocess.PIPE)
    os.close(there)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", [("ls",), ("show", "HANDLE"), ("config", "show"), ("--help",)])
def test_what_cannot_be_printed_is_said_in_one_sentence(words: tuple[str, ...]) -> None:
    named = [kept() if word == "HANDLE" else word for word in words]
    with Path("/dev/full").open("wb") as full:
        done = overspill(*named, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert re.fullmatch(rb"overspill: standard output: No space left on device; [^\n]*\n", done.stderr)


@pytest.mark.skipif(os.name == "nt", reason="arguments are Unicode there")
@pytest.mark.parametrize(
    "words", [("search", "WORD"), ("grep", "HANDLE", "WORD"), ("read", "WORD"), ("ls", "--tool", "WORD")]
)
def test_words_that_are_no_unicode_are_no_fault(words: tuple[str, ...]) -> None:
    swapped = {"HANDLE": kept(), "WORD": os.fsdecode(b"\xff\xfe")}
    done = overspill(*(swapped.get(word, word) for word in words))
    assert done.returncode in (0, 1)
    assert b"Error" not in done.stderr


def test_calls_with_words_that_are_no_unicode_are_listed_and_summed() -> None:
    for _ in range(4):  # as often as makes `stats` speak of it
        bound(NUMBERS, tool="t\ud800", command="a\ud800b")
    for words in (("ls",), ("ls", "--json"), ("doctor",), ("stats",), ("stats", "--by", "command")):
        assert text(*words)
    assert "t\ufffd" in text("ls")


def test_doctor_says_that_a_store_cannot_be_made() -> None:
    read_only = next(
        (path for path in ("/sys", "/proc/sys") if os.path.isdir(path) and files.is_read_only(Path(path))), ""
    )
    place = f"{read_only}/none" if read_only else "closed/none"
    if not read_only:
        if not hasattr(os, "geteuid") or os.geteuid() == 0:
            pytest.skip("no place that can't be written")
        Path("closed").mkdir(mode=0o500)
    done = overspill("doctor", "--store", place)
    assert done.returncode == 1
    assert f"{place} can't be made" in done.stdout.decode()


def test_doctor_names_the_fault_and_what_to_type() -> None:
    handle = kept()
    assert "Nothing is wrong." in text("doctor")
    Path(next(row["path"] for row in json.loads(text("ls", "--json")))).unlink()
    done = overspill("doctor")
    assert done.returncode == 1
    assert handle.encode() in done.stdout
    assert json.loads(overspill("doctor", "--json").stdout)["findings"]


# -- stats -------------------------------------------------------------------------------------------------


def test_stats_sums_what_was_cut_and_read_back() -> None:
    for _ in range(2):
        handle = kept(NUMBERS, "--tool", "shell", "--command", "seq 20000")
    text("read", handle, "--lines", "1-50")
    facts = json.loads(text("stats", "--json"))
    (row,) = facts["rows"]
    assert (row["name"], row["cuts"], row["followed"], row["again"]) == ("shell", 2, 1, 1)
    assert row["shown"] < 4_000 < row["plain"] < row["raw"]
    assert row["saved"] == row["raw"] - row["shown"] - row["read_back"]
    assert row["saved_over_plain"] == row["plain"] - row["shown"] - row["read_back"]
    assert "shell" in text("stats")
    assert "seq" in text("stats", "--by", "command")


def test_a_plain_cut_is_one_of_characters() -> None:
    kept("漢字\n".encode() * 30_000, "--tool", "cjk")
    (row,) = json.loads(text("stats", "--json"))["rows"]
    assert row["plain"] == pytest.approx(row["raw"] * 30_000 / (3 * 30_000), rel=0.05)


def test_a_read_back_belongs_to_the_latest_cut_before_it() -> None:
    def cut(time: float, handle: str, command: str = "make") -> Cut:
        return Cut(time=time, handle=handle, tool="shell", command=command, raw=1000, plain=500, shown=100)

    def read(time: float, handle: str) -> ReadBack:
        return ReadBack(time=time, handle=handle, verb="read", shown=10)

    (one,) = sums(
        [cut(0, "a"), read(5, "a"), read(6, "b"), cut(100, "a"), read(101, "a"), cut(5000, "c"), read(9000, "c")]
    )
    assert (one.cuts, one.read_back, one.followed, one.again) == (3, 30, 2, 1)
    assert one.saved == 3000 - 300 - 30
    assert not one.too_tight
    (tight,) = sums([cut(at * 1000, f"h{at}") for at in range(4)] + [read(at * 1000 + 1, f"h{at}") for at in range(2)])
    assert tight.too_tight


def test_notes_of_others_that_make_no_sense_are_left_out() -> None:
    kept()
    path = Path(store()) / ".store" / "stats.jsonl"
    with path.open("ab") as file:
        file.write(b'\xff{"kind": "cut"}\nnonsense\n{"kind":"read"}\n')
    assert len(list(notes(open_store(store())))) == 1


# -- configuration ---------------------------------------------------------------------------------------------


def test_config_show_gives_the_origin_of_each_value() -> None:
    Path("overspill.toml").write_text("[tools.shell]\nmax_lines = 500\n")
    facts = json.loads(text("config", "show", "--tool", "shell", "--json"))
    assert facts["max_lines"] == {"value": 500, "origin": "overspill.toml [tools.shell]"}
    assert facts["keep"]["origin"] == "built-in"
    assert "overspill.toml [tools.shell]" in text("config", "show", "--tool", "shell")


def test_config_init_writes_what_config_check_takes() -> None:
    text("config", "init")
    assert text("config", "check", "overspill.toml") == "overspill.toml: right\n"
    again = overspill("config", "init")
    assert again.returncode == 1
    everything = re.sub(r"^# (?=[\[a-z_]+( = |\]|\.))", "", Path("overspill.toml").read_text(), flags=re.MULTILINE)
    Path("all.toml").write_text(everything)
    assert "max_tokens = 2000\n" in everything
    text("config", "check", "all.toml")


def test_a_variable_that_is_none_of_ours_is_named_where_people_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERSPILL_MAX_TOKEN", "50")
    monkeypatch.setenv("OVERSPILL_WEATHER", "fine")
    said = "overspill: OVERSPILL_MAX_TOKEN is no variable of overspill's; did you mean OVERSPILL_MAX_TOKENS?\n"
    Path("overspill.toml").write_text("max_tokens = 900\n")
    for words in (("show",), ("show", "--json"), ("check", "overspill.toml")):
        done = overspill("config", *words)
        assert done.returncode == 0
        assert done.stderr.decode() == said + "overspill: OVERSPILL_WEATHER is no variable of overspill's\n"
    done = overspill("doctor")
    assert done.returncode == 1
    assert b"unset OVERSPILL_MAX_TOKEN\n" in done.stdout
    assert overspill("run", "--", "seq", "20000").stderr == b"", "the stderr of a command is the command's"


def test_nothing_is_kept_in_a_memory_that_ends_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERSPILL_DIR", "memory://")
    for words in (("run", "--", "touch", "made"), ("ls",), ("doctor",)):
        done = overspill(*words)
        assert done.returncode == 2
        assert done.stderr.startswith(
            b"overspill: store.place (OVERSPILL_DIR) = 'memory://' is not accepted: a directory"
        )
    assert not Path("made").exists()


def test_a_wrong_configuration_stops_a_command_before_it_starts() -> None:
    Path("overspill.toml").write_text("max_byte = 5")
    done = overspill("run", "--", "touch", "made")
    assert done.returncode == 2
    assert not Path("made").exists()


# -- used wrongly --------------------------------------------------------------------------------------------------

WRONG = [
    (("nonsense",), 2),
    (("grpe", "x", "y"), 2),
    (("run",), 2),
    (("run", "-c", "x", "y"), 2),
    (("run", "--nonsense", "--", "true"), 2),
    (("run", "--timeout", "soon", "--", "true"), 2),
    (("run", "--max-bytes", "0", "--", "true"), 2),
    (("run", "--max-bytes", "5", "--config", "none.toml", "--", "true"), 2),
    (("run", "--keep", "middle", "--", "true"), 2),
    (("run", "--preset", "none", "--", "true"), 2),
    (("bound", "word"), 2),
    (("bound", "--max-lines", "many"), 2),
    (("--max-lines",), 2),
    (("read",), 2),
    (("read", "ovs_zzzzzzzz"), 1),
    (("read", "../../etc/passwd"), 1),
    (("read", "HANDLE", "--lines", "9-1"), 2),
    (("read", "HANDLE", "--lines", "all"), 2),
    (("read", "HANDLE", "--lines", "1", "--around", "2"), 2),
    (("read", "run-1"), 1),
    (("grep", "HANDLE", "("), 2),
    (("grep", "HANDLE"), 2),
    (("outline", "ovs_zzzzzzzz"), 1),
    (("query", "HANDLE"), 2),
    (("search", " "), 2),
    (("show", "ovs_zzzzzzzz"), 1),
    (("show", "--raw", "ovs_zzzzzzzz"), 1),
    (("diff", "HANDLE", "ovs_zzzzzzzz"), 1),
    (("tail", "ovs_zzzzzzzz"), 1),
    (("pin", "ovs_zzzzzzzz"), 1),
    (("rm", "ovs_zzzzzzzz"), 1),
    (("ls", "--max", "0"), 2),
    (("ls", "--store", "ftp://x"), 2),
    (("gc", "now"), 2),
    (("doctor", "--fix"), 2),
    (("stats", "--by", "weather"), 2),
    (("config", "check", "none.toml"), 2),
    (("config",), 2),
    (("config", "nonsense"), 2),
    (("config", "show", "--max-lines", "0"), 2),
    (("config", "init", "--force"), 2),
    (("unpin", "ovs_zzzzzzzz"), 1),
    (("pin",), 2),
    (("stats", "--store", "a-file"), 1),
    (("ps", "--store", "a-file"), 1),
    (("ls", "--store", "a-file"), 1),
    (("gc", "--store", "a-file"), 1),
    (("stats", "--store", "memory://"), 2),
    (("run", "--shell", "/no/such/shell", "-c", "true"), 127),
    (("run", "--", "no-such-command-here"), 127),
    (("mcp",), 2),
    (("mcp", "--nonsense"), 2),
    (("serve", "--nonsense"), 2),
    (("completion", "tcsh"), 2),
    (("ps", "x"), 2),
]


@pytest.mark.parametrize(
    ("words", "status"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_a_mistake_is_one_sentence_with_the_next_step(words: tuple[str, ...], status: int) -> None:
    Path("a-file").touch()
    handle = kept() if "HANDLE" in words else ""
    done = overspill(*(handle if word == "HANDLE" else word for word in words))
    said = done.stderr.decode()
    assert done.returncode == status, said
    assert done.stdout == b""
    assert said.count("\n") == 1
    assert said.startswith("overspill: ")
    assert "Traceback" not in said
    assert len(said) < 500
    assert any(step in said for step in NEXT_STEPS), said


NEXT_STEPS = (
    "write the words",
    *("`", " is not accepted: ", " is not understood: ", "at least ", "search literally", "say which server: "),
    *("is not a directory", "no such file", "is it installed", "a local one"),
)
"""A call, what would be accepted, or the very thing to look at."""


def test_every_command_is_used_wrongly_here() -> None:
    assert {words[0] for words, _ in WRONG} >= {*COMMANDS, *DELEGATED}


def test_debug_shows_where_an_error_arose() -> None:
    assert b"Traceback" in overspill("--debug", "read", "ovs_zzzzzzzz").stderr
    assert overspill("run", "--", "echo", "--debug").stdout == b"--debug\n"


@pytest.mark.parametrize("words", [("ls",), ("bound",), ("--help",), ("stats", "--json"), ("show", "--raw", "HANDLE")])
def test_a_closed_output_is_said_and_nothing_else_is_written_in_its_place(words: tuple[str, ...]) -> None:
    handle = kept()
    before = {path: path.read_bytes() for path in Path(store()).rglob("ovs_*")}
    line = " ".join((*OVERSPILL, *(handle if word == "HANDLE" else word for word in words)))
    done = subprocess.run(["/bin/sh", "-c", f"{line} >&-"], input=NUMBERS, capture_output=True, timeout=30)
    assert (done.returncode, done.stdout) == (1, b"")
    assert (
        done.stderr
        == b"overspill: standard output: Bad file descriptor; `overspill --debug \xe2\x80\xa6` shows where\n"
    )
    assert {path: path.read_bytes() for path in Path(store()).rglob("ovs_*")} == before


def test_a_fault_without_an_error_stream_is_not_told_on_another() -> None:
    line = " ".join((*OVERSPILL, "read", "ovs_zzzzzzzz"))
    done = subprocess.run(["/bin/sh", "-c", f"{line} 2>&-"], capture_output=True, timeout=30)
    assert (done.returncode, done.stdout) == (1, b"")


def test_a_reader_that_closes_early_is_told_nothing() -> None:
    handle = kept()
    for words in (("ls",), ("read", handle), ("show", "--raw", handle), ("--help",), ("bound",)):
        with start(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            assert running.stdin is not None
            assert running.stdout is not None
            assert running.stderr is not None
            running.stdout.close()
            with suppress(BrokenPipeError):
                running.stdin.write(NUMBERS)
                running.stdin.close()
            said = running.stderr.read()
        assert said == b"", words


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_store_that_cannot_be_written_costs_the_output_nothing() -> None:
    Path(store()).mkdir(mode=0o500)
    done = overspill("bound", input=NUMBERS)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"NOT be saved" in done.stdout


def test_a_store_in_an_impossible_place_costs_the_output_nothing() -> None:
    Path("file").write_text("")
    done = overspill("bound", "--store", "file/store", input=NUMBERS)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"NOT be saved" in done.stdout
    assert overspill("run", "--store", "file/store", "--", "sh", "-c", "sleep 1.2; seq 20000; exit 3").returncode == 3


# -- help -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_that_names_it(name: str) -> None:
    said = text(name, "--help")
    assert "Example" in said
    assert f"overspill {name}" in said
    command = command_of(name)
    assert command is not None
    for parameter in command.params:
        if parameter.param_type_name == "option":
            assert getattr(parameter, "help", None), f"{name} {parameter.name}"


def test_the_top_names_every_command() -> None:
    said = text("--help")
    assert all(re.search(rf"^  {name} ", said, re.MULTILINE) for name in (*COMMANDS, *DELEGATED))
    assert re.fullmatch(r"overspill \d+\.\d+\.\d+\n", text("--version"))


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_scripts_call_back(name: str) -> None:
    assert "_OVERSPILL_COMPLETE" in text("completion", name)


def test_completion_completes() -> None:
    env = {**os.environ, "_OVERSPILL_COMPLETE": "bash_complete", "COMP_WORDS": "overspill sea", "COMP_CWORD": "1"}
    done = subprocess.run(OVERSPILL, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20)
    assert done.stdout == "plain,search\n"
    env["COMP_WORDS"] = "overspill run --max-to"
    env["COMP_CWORD"] = "2"
    done = subprocess.run(OVERSPILL, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20)
    assert done.stdout == "plain,--max-tokens\n"


def test_time_passes() -> None:
    kept()
    time.sleep(1.1)
    assert re.search(r" +[1-9]\d*s ", text("ls"))


def test_a_list_for_eyes_ends_and_says_how_to_go_on() -> None:
    found = open_store(store())
    for number in range(52):
        spill = found.spill(Call())
        spill.write(b"%d\n" % number)
        spill.commit(Call())
    lines = text("ls").splitlines()
    assert len(lines) == 52
    assert lines[-1] == "[more: overspill ls --max 500]"
    assert len(text("ls", "--max", "52").splitlines()) == 53
    assert len(json.loads(text("ls", "--json"))) == 52


def test_bytes_that_show_wider_than_they_are_are_counted_as_shown() -> None:
    done = overspill("bound", "--max-bytes", "3000", input=b"\xff" * 1_900)
    assert len(done.stdout.decode("utf-8", "replace").encode()) <= 3_000


def test_show_draws_what_was_shown_from_a_store_elsewhere(tmp_path: Path) -> None:
    place = str(tmp_path / ("elsewhere-" * 10))
    sizes = {"OVERSPILL_MAX_TOKENS": "400"}
    bounded = overspill("bound", "--json", "--store", place, input=NUMBERS, env={**os.environ, **sizes})
    found = json.loads(bounded.stdout)
    shown = overspill("show", found["handle"], "--store", place, env={**os.environ, **sizes}).stdout.decode()
    for gap in found["gaps"]:
        assert f"lines {gap['first_line']}-{gap['last_line']} omitted" in shown


def test_an_answer_in_another_overspill_is_shortened_and_not_stored_again() -> None:
    handle = kept()
    read = (*OVERSPILL, "read", handle, "--lines", "1-400", "--max-tokens", "4000")
    tighter = overspill("run", "--max-tokens", "500", "--", *read)
    whole = subprocess.run(read, capture_output=True, check=True).stdout
    piped = overspill("bound", "--max-tokens", "500", input=whole)
    alone = overspill("bound", "--max-tokens", "5000", "--max-bytes", "50000", input=whole)
    assert alone.stdout == whole
    for done in (tighter, piped):
        assert done.stdout.splitlines()[:2] == whole.splitlines()[:2]
        assert done.stdout.endswith(b"lines of this answer don't fit here: ask for fewer]\n")
    assert [row["handle"] for row in json.loads(text("ls", "--json"))] == [handle]


def test_what_a_reader_of_grep_types_first_is_taken() -> None:
    handle = kept()
    assert overspill("grep", "-n", "-E", handle, "^77$").stdout == overspill("grep", handle, "^77$").stdout


def test_an_answer_of_the_same_budget_passes_through_run_whole() -> None:
    handle = kept("".join(f"{n:05d} request of {n % 16} handled\n" for n in range(20_000)).encode())
    for asked in (("read", handle, "--lines", "800-"), ("grep", handle, "handled", "--max", "500")):
        whole = subprocess.run((*OVERSPILL, *asked), capture_output=True, check=True).stdout
        assert b"\n[more: " in whole
        assert overspill("run", "--", *OVERSPILL, *asked).stdout == whole


@pytest.mark.parametrize(
    "words", [("HUGE",), ("read", "HUGE"), ("run", "--keep", "HUGE", "--", "true"), ("ls", "--HUGE")]
)
def test_a_fault_that_quotes_much_stays_a_sentence(words: tuple[str, ...]) -> None:
    done = overspill(*(word.replace("HUGE", "x" * 100_000) for word in words))
    assert done.returncode in (1, 2)
    assert len(done.stderr) < 1_200


def test_a_question_as_long_as_a_book_is_a_question() -> None:
    done = overspill("run", "--for", "x" * 100_000, "--", "seq", "20000")
    assert (done.returncode, done.stderr) == (0, b"")
