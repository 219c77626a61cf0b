"""Short storms for every run; the long ones are in tests/stress."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import storms

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")


def test_ten_kills(tmp_path: Path) -> None:
    assert storms.kill_storm(tmp_path / "outputs", kills=10, seed=3) > 0


def test_a_crowd_of_four(tmp_path: Path) -> None:
    done = storms.crowd(tmp_path / "outputs", processes=4, seconds=4)
    assert done["spilled"] > 100
    assert done["gc"] > 0
