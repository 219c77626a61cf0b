"""Two hundred writers killed at random moments: nothing half is listed, nothing promised is lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))

import storms

pytestmark = [pytest.mark.stress, pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")]


def test_two_hundred_kills(tmp_path: Path) -> None:
    acknowledged = storms.kill_storm(tmp_path / "outputs", kills=200, seed=1)
    print("200 kills,", acknowledged, "outputs acknowledged before them")
    assert acknowledged > 200
