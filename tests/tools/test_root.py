"""Nothing outside the root, whatever the names and however fast they change; what a walk passes over."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from overspill.errors import RequestError
from overspill.tools import GrepSearch
from overspill.tools.root import Root, Walk, printable

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes as POSIX has them")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    inside = tmp_path / "root"
    (inside / "sub" / "deep").mkdir(parents=True)
    (inside / "sub" / "file.txt").write_text("inside\n")
    (tmp_path / "secret.txt").write_text("outside\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file.txt").write_text("outside\n")
    return Root(inside)


@posix
@pytest.mark.parametrize(
    "name",
    ["..", "../secret.txt", "sub/../../secret.txt", "/etc/passwd", "link", "links/file.txt", "sub/up/secret.txt"],
)
def test_nothing_outside_is_named(root: Root, name: str) -> None:
    (root.path / "link").symlink_to(root.path.parent / "secret.txt")
    (root.path / "links").symlink_to(root.path.parent / "other")
    (root.path / "sub" / "up").symlink_to("../..")
    for look in (root.inside, root.file, root.directory):
        with pytest.raises(RequestError, match="path"):
            look(name)


@posix
def test_a_link_inside_is_what_it_leads_to(root: Root) -> None:
    (root.path / "link").symlink_to("sub/file.txt")
    assert root.shown(root.file("link")) == "sub/file.txt"
    with root.open(root.file("link")) as file:
        assert file.read() == b"inside\n"


@posix
def test_a_directory_that_became_a_link_after_the_check_leads_nowhere(root: Root) -> None:
    path = root.file("sub/file.txt")
    (root.path / "sub").rename(root.path / "was")
    (root.path / "sub").symlink_to(root.path.parent / "other")
    with pytest.raises(RequestError, match="can be read"):
        root.open(path)
    with pytest.raises(RequestError, match="can be read"):
        root.entries(root.path / "sub")


@posix
def test_whoever_swaps_directories_for_links_while_it_is_read_gets_nothing_from_outside(root: Root) -> None:
    """Checked names, walks and searches, against a process that swaps as fast as it can."""
    (root.path.parent / "other" / "only-outside.txt").write_text("outside\n")
    swap = """
import os
while True:
    os.rename("sub", "was")
    os.symlink("../other", "sub")
    os.unlink("sub")
    os.rename("was", "sub")
"""
    seen: set[str] = set()
    with subprocess.Popen([sys.executable, "-c", swap], cwd=root.path) as swapping:
        try:
            start = time.monotonic()
            while time.monotonic() < start + (1.5 if "inside\n" in seen else 60):
                with suppress(RequestError), root.open(root.file("sub/file.txt")) as file:
                    seen.add(file.read().decode())
                seen.update(path.name for path in Walk(root, root.path).files())
                seen.add(GrepSearch(root.path, rg=None).execute("side"))
        finally:
            swapping.kill()
    assert "inside\n" in seen
    assert not [text for text in seen if "outside" in text]


@posix
def test_a_file_that_became_a_link_or_a_pipe_is_not_opened(root: Root) -> None:
    path = root.file("sub/file.txt")
    path.unlink()
    path.symlink_to(root.path.parent / "secret.txt")
    with pytest.raises(RequestError):
        root.open(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(RequestError, match="regular"):
        root.open(path)  # and does not hang


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a\0b", "without NUL"),
        ("sub", "this is a directory"),
        ("sub/fil.txt", "did you mean sub/file.txt"),
        ("x" * 5_000, "path"),
        ("\ud800", "path"),
        ("", "this is a directory"),
    ],
)
def test_a_name_that_is_no_file_is_one_sentence(root: Root, name: str, words: str) -> None:
    with pytest.raises(RequestError, match=words) as raised:
        root.file(name)
    assert len(str(raised.value)) < 1_000


def test_no_descriptor_stays_open(root: Root) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        root.open(root.file("sub/file.txt")).close()
        root.entries(root.path / "sub")
        with pytest.raises(RequestError):
            root.open(root.path / "sub" / "deep")
        with pytest.raises(RequestError):
            root.open(root.path / "sub" / "none" / "x")
    assert len(os.listdir("/proc/self/fd")) == before


def tree(root: Root, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def walked(root: Root, start: str = ".") -> list[str]:
    return [root.shown(path) for path in Walk(root, root.inside(start)).files()]


def test_a_walk_honours_gitignore_at_every_level(tmp_path: Path) -> None:
    root = Root(tmp_path)
    tree(
        root,
        {
            ".gitignore": "*.log\nbuild/\n/only-here\n",
            "a.log": "", "a.txt": "", "build/x": "", "only-here": "", "sub/only-here": "", "sub/b.log": "",
            "sub/.gitignore": "!b.log\nown\n", "sub/own": "", "own": "", ".git/config": "", ".hidden": "",
            ".git/info/exclude": "private\n", "private": "", "sub/private": "",
        },
    )  # fmt: skip
    assert walked(root) == [
        ".gitignore", ".hidden", "a.txt", "own", "sub/.gitignore", "sub/b.log", "sub/only-here",
    ]  # fmt: skip
    assert walked(root, "sub") == ["sub/.gitignore", "sub/b.log", "sub/only-here"]


def test_whoever_names_an_ignored_directory_means_it(tmp_path: Path) -> None:
    root = Root(tmp_path)
    tree(
        root, {".gitignore": "vendor/\n*.log\n", "vendor/lib/x.py": "", "vendor/.gitignore": "*.o\n", "vendor/y.o": ""}
    )
    assert "vendor/lib/x.py" not in walked(root)
    assert walked(root, "vendor") == ["vendor/.gitignore", "vendor/lib/x.py"]
    assert walked(root, "vendor/lib") == ["vendor/lib/x.py"]


def test_a_line_that_is_no_pattern_spoils_nothing(tmp_path: Path) -> None:
    root = Root(tmp_path)
    tree(root, {".gitignore": "!\n*.log\n[z-a]\n\\\n", "a.log": "", "a.txt": ""})
    assert walked(root) == [".gitignore", "a.txt"]


@posix
def test_a_walk_follows_no_link(tmp_path: Path) -> None:
    root = Root(tmp_path / "root")
    tree(root, {"a": ""})
    (root.path / "loop").symlink_to(".")
    (root.path / "out").symlink_to("/etc")
    assert walked(root) == ["a"]


def test_a_name_stays_on_one_line() -> None:
    assert printable("a\nb\x1b[1m") == "a\\nb\\x1b[1m"
    assert printable("naïve 漢字.py") == "naïve 漢字.py"
    assert printable("\udcff") == "?"


_ASKED = """
import asyncio, os, sys
from overspill import MemoryStore
from overspill.tools import ToolCall, ToolRegistry, repository_tools

async def main():
    registry = ToolRegistry(repository_tools(sys.argv[1], store=MemoryStore()))
    calls = [ToolCall("grep_search", {"pattern": "needle"}), ToolCall("grep_search", {"pattern": "nothing"}),
             ToolCall("grep_search", {"pattern": "needle", "path": "locked.py"}), ToolCall("get_repo_structure"),
             ToolCall("get_repo_structure", {"path": "shut"}), ToolCall("repo_map")]
    await registry.run(calls)  # whatever is imported on the way is there before the rights go
    if os.getuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
    for result in await registry.run(calls):
        print(result.is_error, result.content.replace("\\n", "|"))

asyncio.run(main())
"""


@posix
def test_what_could_not_be_read_is_said_and_not_taken_for_nothing() -> None:
    with tempfile.TemporaryDirectory() as name:  # not pytest's own, which nobody else may enter
        top = Path(name)
        top.chmod(0o755)
        (top / "shut").mkdir()
        for file in ("open.py", "locked.py", "shut/inner.py"):
            (top / file).write_text("def needle(): pass\n")
        (top / "locked.py").chmod(0)
        (top / "shut").chmod(0)
        done = subprocess.run([sys.executable, "-c", _ASKED, name], capture_output=True, text=True, check=True)
        (top / "shut").chmod(0o700)
    lines = done.stdout.splitlines()
    assert lines[0] == "False [1 match in 1 file; 2 could not be read]|open.py:1: def needle(): pass"
    assert lines[1] == "False no match for 'nothing'; 2 could not be read"
    assert lines[2].startswith("True path 'locked.py' is not understood: a file that can be read (Permission denied)")
    assert lines[3].endswith("|[2 files in 1 directory; 1 could not be read]")
    assert lines[4].startswith("True path 'shut' is not understood: a directory that can be read (Permission denied)")
    assert lines[5].endswith("this is all; 2 could not be read]")
