"""The examples in the documents run as they stand, and the documents link to what exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
TO_COPY = [path for path in DOCUMENTS if path.parent.name != "decisions" and PYTHON.search(path.read_text("utf-8"))]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


@pytest.mark.parametrize("path", TO_COPY, ids=lambda path: path.name)
def test_the_python_in_it_runs(path: Path, tmp_path: Path) -> None:
    code = "\n".join(PYTHON.findall(path.read_text("utf-8")))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_it_links_to_what_exists(path: Path) -> None:
    for target in LINK.findall(path.read_text("utf-8")):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"
