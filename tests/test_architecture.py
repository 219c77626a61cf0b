"""What import-linter cannot see: the core does no I/O, and importing overspill loads nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import overspill

SOURCE = Path(overspill.__file__).parent
FORBIDDEN_IN_CORE = {"os", "io", "time", "datetime", "random", "secrets", "pathlib", "socket", "subprocess", "tempfile"}
READS_ITS_OWN_DATA = {"core/strategies/salience/model.py"}
"""A table that ships in the package is part of the code."""


def imported(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("path", sorted((SOURCE / "core").rglob("*.py")), ids=lambda path: path.name)
def test_the_core_decides_and_does_nothing_else(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    allowed = {"pathlib"} if path.relative_to(SOURCE).as_posix() in READS_ITS_OWN_DATA else set()
    assert not imported(tree) & FORBIDDEN_IN_CORE - allowed
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not calls & {"open", "print", "input", "hash"}


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


HEAVY = {
    "sqlite3",
    "asyncio",
    "re2",
    "backports.zstd",
    "compression.zstd",
    "click",
    "rich",
    "msgspec",
    "logging",
    "json",
    "hashlib",
}


def test_importing_overspill_loads_nothing_heavy() -> None:
    assert not modules_after("import overspill") & (HEAVY | {"re", "dataclasses"})


def test_a_small_output_loads_nothing_heavy() -> None:
    code = "import overspill; assert overspill.bound('small').text == 'small'"
    assert not modules_after(code) & HEAVY


def test_the_source_says_what_each_file_is() -> None:
    for path in SOURCE.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), path


POSIX_ONLY = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
"""Modules that Windows lacks."""
FOR_POSIX = {"terminal.py"}
"""Files that only a POSIX command line imports, when it needs them."""


def test_no_file_needs_posix_when_it_is_imported() -> None:
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).as_posix() in FOR_POSIX:
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert not imported(node) & POSIX_ONLY, path
                assert "overspill.terminal" not in ast.unparse(node), path


def test_a_server_that_lists_its_tools_loads_no_views() -> None:
    loaded = modules_after("import overspill.mcp.assembly, overspill.mcp.serve, overspill.mcp.stdio")
    assert not {name for name in loaded if ".views." in name or name.startswith("overspill.retrieve.shapes.logs")}
