"""What a walk passes over is what git passes over: compared with ``git ls-files`` on generated repositories."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill.tools import ripgrep
from overspill.tools.gitignore import Rules
from overspill.tools.root import Root, Walk

NAMES = ["a", "b", "build", "x.log", "x.txt", "y.log", "[z]", "#c", "!d", "sp ace", "trail ", "é", "]", "node_modules"]
PATTERNS = [
    "*.log", "!x.log", "build/", "/build", "a/b", "**/b", "a/**", "a/**/x.txt", "b/*", "!b/", "[ab]", "[!a]", "x.*",
    "?", "\\#c", "#c", "\\!d", "!d", "sp ace", "trail\\ ", "trail ", "*", "!*/", "/*", "!/a", "node_modules", "**/",
    "\\[z\\]", "a/", "*/b", "**/a/**", "!**/x.txt", "", "   ", "x.log  ", "/**/b", "a*b", "***", "x.t[xy]t",
    "[[:alpha:]]", "[[:nope:]]", "[]-a]", "[a-", "[\\a-z]*", "[a-\\", "\\", "a\\*", "[^a-c]", "**b", "a**/b", "é",
    "?é", "!/", "[!-/]", "[[:x]",
]  # fmt: skip
REPOSITORIES = 40


def planted(root: Path, source: random.Random) -> None:
    directories = [root]
    for _ in range(6):
        made = source.choice(directories) / source.choice(NAMES)
        if not made.is_file():
            made.mkdir(exist_ok=True)
            directories.append(made)
    for _ in range(25):
        file = source.choice(directories) / source.choice(NAMES)
        if not file.exists():
            file.write_text("x\n")
    for directory in {root, *source.sample(directories, min(3, len(directories)))}:
        lines = source.choices(PATTERNS, k=source.randrange(1, 6))
        end = source.choice(["\n", "\n", "\r\n"])
        (directory / ".gitignore").write_bytes(end.join([*lines, ""]).encode())
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text("\n".join(source.choices(PATTERNS, k=1)) + "\n")


def seen_by_git(root: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, check=True, env={"HOME": str(root.parent), "PATH": os.environ["PATH"]},
    ).stdout  # fmt: skip
    return sorted(name for name in listed.decode().split("\0") if name)


@pytest.mark.needs("git")
def test_a_walk_sees_what_git_sees(tmp_path: Path) -> None:
    rg = ripgrep.program("rg")
    for seed in range(REPOSITORIES):
        root = tmp_path / f"r{seed}"
        root.mkdir()
        subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
        planted(root, random.Random(seed))
        place = Root(root)
        walk = Walk(place, root)
        seen = sorted(place.shown(path) for path in walk.files())
        rules = {place.shown(path): path.read_text() for path in root.rglob(".gitignore")}
        assert seen == seen_by_git(root), (seed, rules)
        assert seen == sorted(place.shown(path) for path in root.rglob("*") if path.is_file() and walk.reaches(path))
        if rg:
            found = ripgrep.files(rg, "^", root, ".")
            assert found is not None
            assert seen == sorted(name for name in found if walk.reaches(root / name)), "ripgrep never sees less"


def test_rules_of_any_size_and_kind_are_quick_and_raise_nothing() -> None:
    many = Rules(
        [b"a*" * 2_000 + b"b", b"x" * 9_000_000, *(b"dir%d/**/*.o" % number for number in range(5_000)), b"*.log"]
    )
    assert many.verdict("a" * 4_000, is_directory=False) is None
    assert many.verdict("dir77/x/y.o", is_directory=False) is True
    assert many.verdict("x.log", is_directory=False) is True
    assert not Rules([b"", b"#", b"!", b"/", b"!/", b"   ", b"\\", b"[", b"[z"])


@given(st.lists(st.binary(max_size=12), max_size=6), st.text(st.characters(exclude_characters="\0"), min_size=1))
def test_rules_of_any_bytes_raise_nothing(lines: list[bytes], name: str) -> None:
    assert Rules(lines).verdict(name.encode("utf-8", "replace").decode(), is_directory=True) in (True, False, None)
