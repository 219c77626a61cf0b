"""Writes docs/five-systems.md: every row of the five designs, the tests that hold it, and whether they pass.

The rows come from the tables of the pages in docs/five-systems, the tests from their names in tests/five
and tests/tools; they are run for their state.  A test compares the page with what this writes.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from overspill.config.presets import PRESETS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "five-systems.md"
PAGES = ROOT / "docs" / "five-systems"
SYSTEMS = {"A": "toollevel", "B": "unified", "C": "buffered", "D": "registry", "E": "opencode"}
_TESTS = ("tests/five", "tests/tools")
_ROW = re.compile(r"^\| ([A-E]\d+) \| (.*?) \| (.*?) \|$", re.MULTILINE)
_NAME = re.compile(r"test_([a-e]\d+)_(.*)")
_HEAD = """# The five designs, and the field

Written by `python tools/five_systems.py` from the tests' names; it runs them for their state.

overspill grew out of five designs for the same need. Whoever uses one of them finds every row here: by a preset where
it is one system's exact behaviour, by the general feature where it is a general need. Figures, layout and order are the
other system's, sentences are ours, in English and by `language="zh"` in Chinese.

```python
from overspill import preset

bounded = preset("opencode").bound("a line\\n" * 3_000)
assert "...1001 lines truncated..." in bounded.text
```

On the command line it is `--preset opencode`, in a file `preset = "opencode"`. Whatever else is set wins over a preset.

The figures of `toollevel` hold the whole text. Those of the others count the output alone, as their systems do: the
words come on top, at most 1,000 bytes or characters and 8 lines. A budget under 269 characters, 367 bytes or 4 lines is
refused.
"""


class Row(NamedTuple):
    name: str
    rule: str
    lines: str
    """What the user writes."""


class Test(NamedTuple):
    file: str
    name: str

    @property
    def row(self) -> str:
        found = _NAME.match(self.name)
        assert found
        return found[1].upper()

    @property
    def sentence(self) -> str:
        found = _NAME.match(self.name)
        assert found
        return found[2].replace("_", " ")


def rows(system: str) -> list[Row]:
    """As the system's own page has them."""
    return [Row(*found) for found in _ROW.findall((PAGES / f"{system}.md").read_text("utf-8"))]


def tests() -> list[Test]:
    """All that are named by a row, in the order of the files."""
    paths = sorted(path for folder in _TESTS for path in (ROOT / folder).glob("test_*.py"))
    return [
        Test(path.relative_to(ROOT).as_posix(), node.name)
        for path in paths
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and _NAME.match(node.name)
    ]


def states(known: list[Test]) -> dict[Test, str]:
    """``passes`` or ``FAILS``, by running them."""
    import pytest

    class Outcomes:
        def __init__(self) -> None:
            self.failed: set[Test] = set()
            self.passed: set[Test] = set()

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            file, _, name = report.nodeid.partition("::")
            test = Test(file, name.partition("[")[0])
            if report.failed:
                self.failed.add(test)
            elif report.passed and report.when == "call":
                self.passed.add(test)

    outcomes = Outcomes()
    pytest.main(["-p", "no:cacheprovider", *(f"{test.file}::{test.name}" for test in known)], plugins=[outcomes])
    return {test: "passes" if test in outcomes.passed - outcomes.failed else "FAILS" for test in known}


def page(states: Mapping[Test, str]) -> str:
    parts = [_HEAD]
    for letter, system in SYSTEMS.items():
        title = (PAGES / f"{system}.md").read_text("utf-8").partition("\n")[0].removeprefix("# From ")
        parts.append(f"## {letter}. {title[0].upper()}{title[1:]}: `{system}`\n")
        parts.append(f"[How to move](five-systems/{system}.md), with the line that gives each row.\n")
        parts.append("| row | what it is | held by | state |\n|---|---|---|---|")
        for row in rows(system):
            held = [test for test in states if test.row == row.name]
            names = "<br>".join(f"{test.sentence} ([{Path(test.file).stem}](../{test.file}))" for test in held)
            state = ", ".join(sorted({states[test] for test in held})) or "no test"
            parts.append(f"| {row.name} | {row.rule} | {names} | {state} |")
        parts.append("")
    parts.append("## All presets\n\n| preset | rule |\n|---|---|")
    parts += [f"| `{name}` | {preset.rule} |" for name, preset in PRESETS.items()]
    return "\n".join(parts) + "\n"


def main() -> int:
    found = states(tests())
    PAGE.write_text(page(found), "utf-8")
    return any(state != "passes" for state in found.values())


if __name__ == "__main__":
    sys.exit(main())
