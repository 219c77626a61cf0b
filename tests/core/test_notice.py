"""The words the model reads: short, within the first 500 characters, and every call in them works as it stands."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from overspill import Bounder, FilePath, LocalStore, MemoryStore, Policy, Shell, SubAgent, Tools
from overspill.core.access import Access
from overspill.core.model import Bounded, Budget
from overspill.core.notice import Language
from overspill.core.strategies import Ends
from overspill.core.tokens import exact
from overspill.retrieve.tools import Toolset

with warnings.catch_warnings():
    # bpe-openai 0.1.3 opens its data by `importlib.resources.open_binary`; goes when it uses `files()`.
    warnings.simplefilter("ignore", DeprecationWarning)
    import bpe_openai

LINES = "".join(f"line {number} of an ordinary log\n" for number in range(1, 9_001))
ONE_LINE = "".join(f"{number} " for number in range(90_000))


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("git: error: unknown option 'exit-code'.", "line 900: git: error: unknown option 'exit-code'. "),
        ("FATAL: it stopped after these errors:", "line 900: FATAL: it stopped after these errors. "),
    ],
)
def test_a_finding_ends_in_one_full_stop(line: str, key: str) -> None:
    text = "".join(f"ordinary line {number} of the thing\n" for number in range(1, 900)) + line + "\n"
    bounded = Bounder(Policy(budget=Budget(max_tokens=500)), MemoryStore()).bound(text)
    assert f"Key: {key}Don't" in bounded.header


@pytest.fixture
def shown(tmp_path: Path) -> Callable[..., Bounded]:
    def bound(text: str, access: Access, language: Language = "en") -> Bounded:
        policy = Policy(access=access, language=language, strategy=Ends())
        return Bounder(policy, LocalStore(tmp_path)).bound(text)

    return bound


@pytest.mark.parametrize(
    ("access", "language", "expected"),
    [
        (
            Shell(),
            "en",
            "[overspill H: N of N lines shown. "
            "Don't rerun; for the rest: overspill read H --lines N-N or overspill grep H PATTERN]\n",
        ),
        (
            Tools(),
            "en",
            "[overspill H: N of N lines shown. Don't rerun; for the rest: "
            'overspill_read {"handle":"H","lines":"N-N"} or overspill_grep {"handle":"H","pattern":"PATTERN"}]\n',
        ),
        (
            FilePath(),
            "en",
            "[overspill H: N of N lines shown. "
            "Don't rerun; for the rest: read D/H.txt lines N-N or search it for PATTERN]\n",
        ),
        (
            SubAgent("Task"),
            "en",
            "[overspill H: N of N lines shown. Don't rerun; for the rest: "
            "Task: find what you need in D/H.txt, lines N-N or search it for PATTERN]\n",
        ),
        (
            FilePath(),
            "zh",
            "[overspill H：共 N 行，显示 N 行。不要重新运行；查看其余：读取 D/H.txt 第 N-N 行 或 在其中搜索 PATTERN]\n",
        ),
        (
            SubAgent("Task"),
            "zh",
            "[overspill H：共 N 行，显示 N 行。"
            "不要重新运行；查看其余：Task：在 D/H.txt 第 N-N 行中查找所需内容 或 在其中搜索 PATTERN]\n",
        ),
        (
            Shell(),
            "zh",
            "[overspill H：共 N 行，显示 N 行。"
            "不要重新运行；查看其余：overspill read H --lines N-N 或 overspill grep H PATTERN]\n",
        ),
    ],
    ids=["shell", "tools", "file", "sub-agent", "file, Chinese", "sub-agent, Chinese", "shell, Chinese"],
)
def test_the_usual_notice(
    shown: Callable[..., Bounded], tmp_path: Path, access: Access, language: Language, expected: str
) -> None:
    bounded = shown(LINES, access, language)
    assert bounded.handle is not None
    header = bounded.header.replace(str(tmp_path), "D").replace(bounded.handle, "H")
    assert re.sub(r"\d+", "N", header) == expected


@pytest.mark.parametrize(("access", "most"), [(Shell(), 60), (FilePath(), 60), (SubAgent(), 65), (Tools(), 75)])
def test_the_usual_notice_is_short(shown: Callable[..., Bounded], tmp_path: Path, access: Access, most: int) -> None:
    """What finds are quoted comes on top: it is the output's own most telling line."""
    header = shown(LINES, access).header.replace(str(tmp_path), "/home/user/project/.overspill")
    assert exact(bpe_openai.get_encoding("o200k_base"))(header) <= most


@pytest.mark.parametrize("access", [Shell(), Tools(), FilePath(), SubAgent()])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_handle_and_finding_stand_within_500_characters(tmp_path: Path, access: Access, language: Language) -> None:
    text = LINES + "ERROR: could not open " + "a/very/long/name/" * 200 + "\n" + LINES
    bounded = Bounder(Policy(access=access, language=language), LocalStore(tmp_path)).bound(text)
    assert bounded.handle is not None
    assert bounded.handle in bounded.text[:500]
    assert "ERROR: could not open" in bounded.text[:500]
    assert "9001" in bounded.text[:500]


@pytest.mark.parametrize("text", [LINES, ONE_LINE], ids=["lines", "one line"])
def test_the_commands_of_a_shell_run_as_they_stand(
    shown: Callable[..., Bounded], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("OVERSPILL_DIR", str(tmp_path))
    bounded = shown(text, Shell())
    reading, searching = re.findall(r"overspill (?:read|grep) [^\]]*?(?= or |\]\n)", bounded.header)
    first_missing = text.encode()[bounded.gaps[0].start :][:20].decode()
    for command in (reading, searching.replace("PATTERN", shlex.quote(first_missing))):
        words = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        assert first_missing in done.stdout


@pytest.mark.parametrize("text", [LINES, ONE_LINE], ids=["lines", "one line"])
def test_the_calls_of_tools_run_as_they_stand(shown: Callable[..., Bounded], tmp_path: Path, text: str) -> None:
    bounded = shown(text, Tools())
    toolset = Toolset(LocalStore(tmp_path))
    first_missing = text.encode()[bounded.gaps[0].start :][:20].decode()
    calls = re.findall(r"(overspill_\w+) (\{[^}]*\})", bounded.header)
    assert [name for name, _ in calls] == ["overspill_read", "overspill_grep"]
    for name, arguments in calls:
        answer = toolset.call(name, json.loads(arguments.replace("PATTERN", first_missing)))
        assert answer.exit_status == 0
        assert first_missing in answer.text


def test_the_path_of_a_file_tool_holds_the_whole_output(shown: Callable[..., Bounded], tmp_path: Path) -> None:
    bounded = shown(LINES, FilePath())
    found = re.search(r"read (\S+) lines", bounded.header)
    assert found is not None
    assert Path(found[1]).read_text() == LINES


@pytest.mark.parametrize(("language", "words"), [("en", "1 of 1 lines shown in part"), ("zh", "显示 1 行的一部分")])
def test_a_line_of_which_some_is_shown_is_not_said_to_be_shown(
    shown: Callable[..., Bounded], language: Language, words: str
) -> None:
    assert words in shown(ONE_LINE, Shell(), language).header
    assert "in part" not in shown(LINES, Shell()).header
