"""`overspill bound`: the filter. Small input comes out byte for byte, and nothing else is loaded for it."""

from __future__ import annotations

from overspill.cli.policies import Chosen
from overspill.cli.streams import read_some, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def bound(options: dict[str, Any]) -> int:
    chosen = Chosen(options)
    if chosen.skip:
        while chunk := read_some(0):
            write_all(1, chunk)
        return 0
    held: list[bytes] = []
    while chosen.surely_fits(held):
        chunk = read_some(0)
        if not chunk:
            return _passed(b"".join(held), chosen)
        held.append(chunk)
    bounder = chosen.bounder()
    capturing = bounder.capture(chosen.call())
    for chunk in held:
        capturing.feed(chunk)
    while chunk := read_some(0):
        capturing.feed(chunk)
    bounded = capturing.bounded
    if not bounded.truncated:
        return _passed(bounded.output, chosen)
    chosen.remember(bounder, bounded)
    if chosen.as_json:
        from overspill.cli.as_json import result

        write_all(1, result(bounded))
    else:
        write_all(1, bounded.text.encode("utf-8", "replace"))
    return 0


def _passed(data: bytes, chosen: Chosen) -> int:
    if chosen.as_json:
        from overspill.cli.as_json import untouched

        data = untouched(data)
    write_all(1, data)
    return 0
