"""Drives one view as callers would: through the engine, in any chunks, with every fault visible."""

from __future__ import annotations

from core.accounts import assert_kept_promises
from overspill.core.capture import Capture, Cut
from overspill.core.model import Bounded, Budget, Call
from overspill.core.notice import Kept
from overspill.core.policy import Policy
from overspill.core.render import render
from overspill.core.strategies.views import Viewed

ROOM = Budget(max_tokens=400)
NOTHING_KNOWN = Call()


def cut_of(
    view: str, source: bytes, *, room: Budget = ROOM, call: Call = NOTHING_KNOWN, chunk: int = 1 << 30
) -> tuple[Cut, Policy]:
    policy = Policy(budget=room, strategy=Viewed(view))
    capture = Capture(policy, call)
    for at in range(0, len(source), chunk):
        capture.feed(source[at : at + chunk])
    cut = capture.finish()
    assert isinstance(cut, Cut), "the source must be larger than the room"
    if cut.fault is not None:
        raise cut.fault
    return cut, policy


def viewed(view: str, source: bytes, *, room: Budget = ROOM, question: str = "", chunk: int = 1 << 30) -> Bounded:
    """The bounded text of a source that one view was given, with the contract checked."""
    cut, policy = cut_of(view, source, room=room, call=Call(question=question), chunk=chunk)
    bounded = render(cut, Kept(handle="ovs_test", path=None), policy)
    assert_kept_promises(bounded, source, policy)
    return bounded


def gap_words(bounded: Bounded) -> list[tuple[int, int, str]]:
    """First line, last line and text of every mark."""
    return [(part.gap.first_line, part.gap.last_line, part.text) for part in bounded.parts if part.gap]
