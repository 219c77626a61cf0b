"""`overspill bound`: the filter. Small input comes out byte for byte, and nothing else is loaded for it."""

from __future__ import annotations

from overspill.cli.policies import Chosen
from overspill.cli.streams import read_some, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from overspill.bounder import Bounder
    from overspill.cli.held import Held
    from overspill.core.model import Bounded


def bound(options: dict[str, Any]) -> int:
    chosen = Chosen(options)
    if chosen.skip and not chosen.as_json:
        clean = chosen.redactor()
        while chunk := read_some(0):
            write_all(1, clean.feed(chunk) if clean else chunk)
        if clean:
            write_all(1, clean.finish())
        return 0
    held = chosen.held()
    while held.surely_fits() or held.may_be_ours or chosen.skip:
        chunk = read_some(0)
        if not chunk:
            break
        held.add(1, chunk)
    if held.surely_fits() or chosen.skip:
        clean = chosen.redactor()
        return _passed(clean.feed(held.data) + clean.finish() if clean else held.data, chosen)
    bounder = chosen.bounder()
    bounded = _bounded(bounder, held, chosen)
    if not bounded.truncated:
        return _passed(bounded.output, chosen)
    chosen.remember(bounder, bounded)
    if chosen.as_json:
        from overspill.cli.as_json import result

        write_all(1, result(bounded))
    else:
        write_all(1, bounded.text.encode("utf-8", "replace"))
    return 0


def _bounded(bounder: Bounder, held: Held, chosen: Chosen) -> Bounded:
    if held.may_be_ours:
        from overspill.cli.ours import cut_anew

        if anew := cut_anew(bounder, held.data, chosen.call()):
            return anew
    capturing = bounder.capture(chosen.call())
    for _, chunk in held.chunks:
        capturing.feed(chunk)
    held.clear()
    while chunk := read_some(0):
        capturing.feed(chunk)
    return capturing.bounded


def _passed(data: bytes, chosen: Chosen) -> int:
    if chosen.as_json:
        from overspill.cli.as_json import untouched

        data = untouched(data)
    write_all(1, data)
    return 0
