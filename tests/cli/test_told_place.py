"""Where outputs are kept elsewhere than a command would look, the calls in notices and answers say where."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

OVERSPILL = (sys.executable, "-m", "overspill")


def printed(*words: str, cwd: Path, output: str = "") -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd)}
    done = subprocess.run(words, cwd=cwd, env=env, input=output, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def pasted(text: str, *, cwd: Path) -> str:
    """What the last call in a text gives."""
    calls = re.findall(r"overspill (read .*?)(?= or overspill|[\]\n])", text)
    return printed("sh", "-c", f"{sys.executable} -m overspill {calls[-1]}", cwd=cwd)


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (("--store", "else where"), ""),
        (("--preset", "unified"), ""),
        (("--tool", "search"), '[tools.search]\npreset = "unified"\n'),
        (("--config", "other.toml"), ""),
    ],
    ids=["flag", "preset", "tool", "file"],
)
def test_the_calls_find_what_they_name(words: tuple[str, ...], file: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "overspill.toml").write_text(file)
    (tmp_path / "other.toml").write_text('[store]\nplace = "named by a file"\n')
    shown = printed(*OVERSPILL, "bound", *words, cwd=tmp_path, output="".join(f"{n:06}\n" for n in range(9_000)))
    assert " --store " in shown
    assert pasted(shown, cwd=tmp_path)
    page = pasted(re.sub(r"--lines \S+", "--lines 1-", shown), cwd=tmp_path)
    assert pasted(page, cwd=tmp_path) != page, "an answer names its next page"


def test_where_a_command_looks_by_itself_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "overspill.toml").write_text('preset = "unified"\n')
    shown = printed(*OVERSPILL, "bound", cwd=tmp_path, output="line\n" * 9_000)
    assert " --store " not in shown
    assert pasted(shown, cwd=tmp_path)


def test_a_directory_with_an_overspill_toml_has_a_store_of_its_own(tmp_path: Path) -> None:
    """Outside of projects one store is for all; whoever wants another says so by a file or a variable."""
    for name in ("here", "there", "apart"):
        (tmp_path / name).mkdir()
    (tmp_path / "apart" / "overspill.toml").touch()

    def printed_in(name: str, *words: str, output: str = "") -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        done = subprocess.run(
            [*OVERSPILL, *words], cwd=tmp_path / name, env=env, input=output, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    handle = re.findall(r"ovs_\w+", printed_in("here", "bound", output="line\n" * 9_000))[0]
    assert handle in printed_in("there", "ls")
    assert "Nothing is kept here" in printed_in("apart", "ls")
    printed_in("apart", "bound", output="line\n" * 9_000)
    assert (tmp_path / "apart" / ".overspill" / f"{handle}.txt").exists()
