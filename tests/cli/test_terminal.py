"""How it looks in a real terminal: nothing is wider than the terminal is."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from cli.commands import OVERSPILL, overspill
from cli.test_run import at_terminal, handle_in

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
    assert any(re.fullmatch(r"5,000 lines · 23\.9 kB · \d+ s", screen) for screen in seen.values())


@pytest.mark.parametrize(("setting", "dim"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_a_person_sees_the_gaps_dim_with_their_sizes(
    setting: dict[str, str], *, dim: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = handle_in(overspill("bound", "--max-lines", "20", input=b"line\n" * 9_000).stdout)
    for name, value in {"TERM": "xterm", **setting}.items():
        monkeypatch.setenv(name, value)
    _, seen = at_terminal(*OVERSPILL, "show", "--no-pager", handle)
    assert re.search(rb"omitted\] [\d.]+ kB", seen)
    assert (b"\x1b[2m[\xe2\x80\xa6 lines " in seen) is dim
    assert (b"\x1b" in seen) is dim
