"""The pages for those who move here: every row in them, every line of code and configuration in them works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from overspill import FilePath
from overspill.config import load

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted((ROOT / "docs" / "five-systems").glob("*.md"))
ROWS = {"toollevel": ("A", 8), "unified": ("B", 7), "buffered": ("C", 6), "registry": ("D", 11), "opencode": ("E", 5)}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| ([A-E]\d+) \| (?:.*?) \| (.*) \|$", re.MULTILINE)
pytestmark = pytest.mark.skipif(not PAGES, reason="only in a checkout")


def blocks(path: Path, *languages: str) -> list[str]:
    return [text for language, text in BLOCK.findall(path.read_text("utf-8")) if language in languages]


def test_each_system_has_a_page_with_all_its_rows() -> None:
    assert {path.stem for path in PAGES} == set(ROWS)
    for path in PAGES:
        letter, count = ROWS[path.stem]
        assert [row for row, _ in ROW.findall(path.read_text("utf-8"))] == [f"{letter}{n + 1}" for n in range(count)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_the_table_says_to_write_stands_in_an_example_that_runs(path: Path) -> None:
    examples = "\n".join(blocks(path, "python", "bash", "toml", "yaml"))
    for row, cell in ROW.findall(path.read_text("utf-8")):
        code = re.findall(r"`([^`]+)`", cell)
        assert code or "](" in cell, row
        for line in code:
            assert line in examples, f"{row}: {line}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_its_configuration_is_understood(path: Path, tmp_path: Path) -> None:
    for text in blocks(path, "toml", "yaml"):
        name = text.partition("\n")[0].removeprefix("# ")
        (tmp_path / name).write_text(text)
        configuration = load(str(tmp_path), {})
        assert configuration.files
        for tool in ("", *configuration.files[0].tools):
            configuration.settle(tool=tool).policy(access=FilePath())
        (tmp_path / name).unlink()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_its_commands_run_and_the_calls_they_name_too(path: Path, tmp_path: Path) -> None:
    """What is shown of the commands' output names a call; it is pasted as it stands."""
    (tmp_path / ".git").mkdir()
    env = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
    }

    def printed(script: str) -> str:
        words = ["bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for text in blocks(path, "bash"):
        call = re.search(r"overspill read [^\]]*?(?= or )", printed(text))
        assert call
        exports = "".join(line for line in text.splitlines(True) if line.startswith("export "))
        assert re.search(r"^ *\d+", printed(exports + call[0]), re.MULTILINE)


def test_the_list_of_rows_and_tests_is_up_to_date() -> None:
    """Whether each test passes is told by the test itself: here the page has to say of all that they do."""
    code = (
        "import sys; sys.path.insert(0, 'tools'); import five_systems as made;"
        "sys.exit(made.page(dict.fromkeys(made.tests(), 'passes')) != made.PAGE.read_text('utf-8'))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 0, "run `python tools/five_systems.py`"
