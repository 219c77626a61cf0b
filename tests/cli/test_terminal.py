"""How it looks in a real terminal: nothing is wider than the terminal is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
pytestmark = [pytest.mark.skipif(not (ROOT / "tools").is_dir(), reason="only in a checkout"), pytest.mark.needs("tmux")]


@pytest.mark.parametrize("columns", [80, 200])
def test_tables_and_figures_stay_within_the_terminal(columns: int, tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from terminal_looks import looks
    finally:
        sys.path.remove(str(ROOT / "tools"))
    seen = dict(looks(columns, tmp_path))
    for command, screen in seen.items():
        assert screen, command
        for line in screen.splitlines():
            # The notice and sentences are prose, paths are to be copied: the terminal wraps them.
            assert (
                len(line) <= columns or "overspill" in line or ". " in line or "tokens became" in line or "/" in line
            ), command
    assert any("█" in screen for screen in seen.values())
