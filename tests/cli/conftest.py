"""Every test of the command line has a directory of its own, outside any project, and nobody's settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in list(os.environ):
        if name.startswith(("OVERSPILL_", "TOOL_OUTPUT_", "XDG_")) and name != "OVERSPILL_DIR":
            monkeypatch.delenv(name)
