"""Sizes and durations as people write them: ``"2 GB"``, ``"7 days"``; refused with what would be accepted."""

from __future__ import annotations

import math
import re

from overspill.errors import PolicyError

_QUANTITY = re.compile(r"([0-9][0-9_,]*(?:\.[0-9]+)?)\s*([a-zµ]*)", re.IGNORECASE)
_BYTES: dict[str, int] = {"": 1, "b": 1, "byte": 1, "bytes": 1} | {
    spelling: factor
    for power, letter in enumerate("kmgt", 1)
    for spelling, factor in (
        (letter, 1000**power),
        (f"{letter}b", 1000**power),
        (f"{letter}i", 1024**power),
        (f"{letter}ib", 1024**power),
    )
}
_SECONDS = {
    "s": 1, "sec": 1, "second": 1, "seconds": 1,
    "m": 60, "min": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hour": 3600, "hours": 3600,
    "d": 86400, "day": 86400, "days": 86400,
    "w": 604800, "week": 604800, "weeks": 604800,
}  # fmt: skip


def size_bytes(value: int | str, *, setting: str = "size") -> int:
    """``2_000_000``, ``"2 GB"`` (decimal), ``"512 MiB"`` (binary) as a number of bytes."""
    accepted = 'a number of bytes, or one with a unit such as "500 MB" or "2 GB"'
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    number, unit = _parse(value, setting, accepted)
    if unit not in _BYTES:
        raise PolicyError(setting, value, accepted)
    return round(number * _BYTES[unit])


def duration_days(value: float | str, *, setting: str = "duration") -> float:
    """``7``, ``"7 days"``, ``"12 hours"`` as a number of days."""
    accepted = 'a number of days, or one with a unit such as "12 hours" or "7 days"'
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and math.isfinite(value):
        return float(value)
    number, unit = _parse(value, setting, accepted)
    if not unit:
        return number
    if unit not in _SECONDS:
        raise PolicyError(setting, value, accepted)
    return number * _SECONDS[unit] / 86400


def _parse(value: object, setting: str, accepted: str) -> tuple[float, str]:
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise PolicyError(setting, value, accepted)
    return float(match[1].replace("_", "").replace(",", "")), match[2].lower()
