"""What all tests share: deterministic hypothesis profiles and loud skips for outside programs."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("default", deadline=None, derandomize=bool(os.environ.get("OVERSPILL_CI")))
settings.load_profile("default")

if hasattr(signal, "SIGHUP"):
    # Started by nohup or without a terminal, it may be ignored here, and so in every command that a test starts.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes into the developer's own store."""
    monkeypatch.setenv("OVERSPILL_DIR", str(tmp_path / "overspill-store"))


@pytest.fixture(autouse=True)
def _needed_programs(request: pytest.FixtureRequest) -> None:
    """``needs("tmux")``: skipped with the reason on a user's machine, a failure where CI set OVERSPILL_CI."""
    for marker in request.node.iter_markers("needs"):
        for program in marker.args:
            if shutil.which(program) is None:
                reason = f"{program} is not installed"
                if os.environ.get("OVERSPILL_CI"):
                    pytest.fail(reason)
                pytest.skip(reason)
