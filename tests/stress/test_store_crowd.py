"""Two to eight processes on one directory for a minute: no fault, no lost row, one copy of equal outputs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))

import storms

pytestmark = pytest.mark.stress


@pytest.mark.parametrize("processes", [2, 8])
def test_a_minute_of_crowding(tmp_path: Path, processes: int) -> None:
    done = storms.crowd(tmp_path / "outputs", processes=processes, seconds=60)
    print(processes, "processes:", done)
    assert done["spilled"] > 1000
