"""get_repo_structure and repo_map: everything counted, nothing over the limits, whatever lies in the repository."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overspill import MemoryStore
from overspill.core.tokens import estimate_tokens
from overspill.tools import RepoMap, RepoStructure, Tool


def run(tool: Tool, **arguments: Any) -> str:
    result = asyncio.run(tool.run(arguments))
    assert not result.truncated, "it limits itself"
    return str(result.content)


def structure(root: Path, **arguments: Any) -> str:
    return run(RepoStructure(root, store=MemoryStore()), **arguments)


def repo_map(root: Path, **arguments: Any) -> str:
    return run(RepoMap(root, store=MemoryStore()), **arguments)


def planted(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_tree_with_its_ignored_and_its_deep_parts(tmp_path: Path) -> None:
    root = planted(
        tmp_path / "project",
        {
            ".gitignore": "*.log\nout/\n", "a.py": "", "b.log": "", "out/x": "", "src/m.py": "", "src/in/n.py": "",
            "src/in/deep/o.py": "", "src/in/deep/deeper/p.py": "", "docs/one.md": "", ".git/config": "",
        },
    )  # fmt: skip
    assert structure(root) == "\n".join(
        [
            "project/",
            "  docs/",
            "    one.md",
            "  src/",
            "    in/",
            "      deep/ (2 files below)",
            "      n.py",
            "    m.py",
            "  .gitignore",
            "  a.py",
            "[7 files in 5 directories; 5 shown, to depth 3; for more: a path further down]",
        ]
    )
    assert structure(root, path="src/in", max_depth=9).endswith("[3 files in 2 directories]")


def test_the_files_beyond_the_most_are_counted(tmp_path: Path) -> None:
    planted(tmp_path, {f"d{number // 40}/f{number:03}": "" for number in range(120)})
    content = structure(tmp_path, max_files=50)
    assert "    … 30 more files\n" in content
    assert "  d2/ (40 files below)" in content
    assert "[120 files in 3 directories; 50 shown, to depth 3" in content


TREES = st.dictionaries(
    st.lists(st.sampled_from(["a", "bb", "c c", "é", "-", "x" * 60]), min_size=1, max_size=6).map("/".join),
    st.just(""),
    max_size=40,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES, st.integers(1, 5), st.integers(1, 30), st.integers(300, 2_000), st.integers(5, 60))
def test_the_account_is_exact_and_the_limits_hold(
    tmp_path: Path, files: dict[str, str], depth: int, most: int, chars: int, lines: int
) -> None:
    import tempfile

    root = Path(tempfile.mkdtemp(dir=tmp_path))
    for name in files:
        if not any((root / above).is_file() for above in Path(name).parents) and not (root / name).is_dir():
            planted(root, {name: ""})
    tool = RepoStructure(root, store=MemoryStore())
    tool.MAX_OUTPUT_CHARS, tool.MAX_OUTPUT_LINES = chars, lines
    content = run(tool, max_depth=depth, max_files=most)
    found = [path for path in root.rglob("*") if path.is_file()]
    directories = sum(path.is_dir() for path in root.rglob("*"))
    last = content.rsplit("\n", 1)[1]
    assert last.startswith(f"[{len(found)} file{'' if len(found) == 1 else 's'} in {directories} director")
    assert len(content) <= chars
    assert content.count("\n") + 1 <= lines
    if "more lines]" not in content:
        below = sum(int(number) for number in re.findall(r"\((\d+) files? below\)$", content, re.MULTILINE))
        more = sum(int(number) for number in re.findall(r"… (\d+) more files?$", content, re.MULTILINE))
        shown = re.search(r"; (\d+) shown", last)
        assert below + more + (int(shown[1]) if shown else len(found)) == len(found)


@pytest.mark.skipif(sys.platform == "win32", reason="names that Windows refuses")
def test_odd_names_take_one_line_each_and_links_are_not_followed(tmp_path: Path) -> None:
    root = planted(tmp_path / "r", {"a\nb": "", "\x1b[31mred": "", "ok": ""})
    (root / "loop").symlink_to(".")
    (root / "out").symlink_to("/etc")
    os.mkfifo(root / "pipe")
    content = structure(root)
    assert content.split("\n")[1:-1] == ["  \\x1b[31mred", "  a\\nb", "  ok"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": ".."}, "a path inside"),
        ({"path": "f"}, "this is a file"),
        ({"path": "nowhere"}, "there is none"),
        ({"max_depth": 0}, "1 to 50"),
        ({"max_files": 10_001}, "1 to 10,000"),
        ({"max_tokens": 49}, "50 to 100,000"),
    ],
)
def test_a_mistake_is_a_sentence(tmp_path: Path, arguments: dict[str, Any], words: str) -> None:
    planted(tmp_path, {"f": ""})
    kind = RepoMap if "max_tokens" in arguments else RepoStructure
    result = asyncio.run(kind(tmp_path, store=MemoryStore()).run(arguments))
    assert result.is_error
    assert words in result.content


SOURCES = {
    "a.py": ("class Alpha:\n    def beta(self): ...\n", ["class Alpha:", "def beta(self)"]),
    "b.js": ("function gamma() {}\nclass Delta { epsilon() {} }\n", ["function gamma()", "class Delta", "epsilon()"]),
    "c.ts": ("interface Zeta { a: number }\ntype Eta = string\n", ["interface Zeta", "type Eta"]),
    "d.go": ("package d\nfunc Theta() {}\ntype Iota struct{}\n", ["func Theta()", "Iota struct"]),
    "e.rs": ("pub fn kappa() {}\nstruct Lambda;\n", ["pub fn kappa()", "struct Lambda"]),
    "F.java": ("class Mu { void nu() {} }\n", ["class Mu", "void nu()"]),
    "g.rb": ("module Xi\n  def omicron; end\nend\n", ["module Xi", "def omicron"]),
    "h.c": ("struct pi { int x; };\nint *rho(int a) { return 0; }\n", ["struct pi", "int *rho(int a)"]),
    "i.cpp": ("class Sigma { int tau() { return 1; } };\n", ["class Sigma", "int tau()"]),
    "j.tsx": ("export function Upsilon() { return <p/> }\n", ["function Upsilon()"]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_each_language_by_its_grammar(tmp_path: Path, name: str) -> None:
    text, expected = SOURCES[name]
    planted(tmp_path, {name: text})
    content = repo_map(tmp_path)
    assert content.startswith(f"{name}:\n")
    for signature in expected:
        assert signature in content


def test_what_other_files_use_comes_first(tmp_path: Path) -> None:
    planted(
        tmp_path,
        {
            "lib.py": "def used():\n    pass\n\ndef _hidden():\n    pass\n\ndef alone():\n    pass\n",
            **{f"user{n}.py": f"from lib import used\nused()\n\ndef only_{n}():\n    used()\n" for n in range(30)},
        },
    )
    content = repo_map(tmp_path, max_tokens=50)
    assert content.startswith("lib.py:\n     1: def used():")
    assert re.search(r"\[\d of 33 definitions, the most used first\]$", content)


DEFINITIONS = st.lists(
    st.tuples(st.sampled_from(["def", "class"]), st.text("abcdefgh_é漢", min_size=1, max_size=90)), max_size=60
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(DEFINITIONS, st.integers(50, 600), st.integers(200, 3_000), st.integers(5, 60))
def test_it_fits_whatever_is_defined(
    tmp_path: Path, definitions: list[tuple[str, str]], max_tokens: int, chars: int, lines: int
) -> None:
    text = "\n".join(f"{kind} {name}(): pass" for kind, name in definitions)
    (tmp_path / "many.py").write_text(text, "utf-8")
    tool = RepoMap(tmp_path, store=MemoryStore())
    tool.MAX_OUTPUT_CHARS, tool.MAX_OUTPUT_LINES = chars, lines
    content = run(tool, max_tokens=max_tokens)
    assert estimate_tokens(content) <= max_tokens
    assert len(content) <= chars
    assert content.count("\n") < lines
    assert content


def test_files_that_are_broken_or_huge_spoil_nothing(tmp_path: Path) -> None:
    planted(
        tmp_path,
        {"good.py": "def good():\n    pass\n", "broken.py": "def (((\nclass\n", "huge.py": "x = 1\n" * 200_000},
    )
    (tmp_path / "binary.py").write_bytes(b"\x00\xff\xfe" * 1_000)
    (tmp_path / "latin.py").write_bytes(b"def caf\xe9():\n    pass\n")
    (tmp_path / "nested.py").write_text("(" * 3_000)
    assert "def good():" in repo_map(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [("open.py", "(" * 300_000), ("nested.jsx", "function f(){" * 30_000), ("one_line.go", "func f(){};" * 20_000)],
)
def test_a_file_that_nobody_wrote_holds_nothing_up(tmp_path: Path, name: str, text: str) -> None:
    planted(tmp_path, {name: text, "good.py": "def good():\n    pass\n"})
    ticks = 0

    async def beside() -> int:
        nonlocal ticks
        answered = asyncio.ensure_future(RepoMap(tmp_path, store=MemoryStore()).run({"max_tokens": 100_000}))
        while not answered.done():
            await asyncio.sleep(0.001)
            ticks += 1
        assert not answered.result().is_error
        return ticks

    assert asyncio.run(asyncio.wait_for(beside(), 15)) > 5


def test_a_file_that_takes_too_long_is_counted_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(tmp_path, {"endless.cpp": "a<" * 100_000, "good.py": "def good():\n    pass\n"})
    monkeypatch.setattr("overspill.tools.repo_map.MOST_SECONDS", 0.05)
    content = repo_map(tmp_path)
    assert "def good():" in content
    assert content.endswith("this is all; 1 could not be read]")


def test_without_definitions_it_says_so(tmp_path: Path) -> None:
    assert repo_map(tmp_path).startswith("[no definitions found; languages: ")
