"""What every test of the stores may ask for."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from places import clock, place, s3_url, small_disk

__all__ = ["clock", "place", "s3_url", "small_disk"]
