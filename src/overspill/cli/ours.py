"""A bounded text that comes in again from a command that called overspill, with the line on how that ended.

What it is, and how it is shown without being stored a second time, is the bounder's to decide: here the
line of `run` is taken off, since the outer `run` says how its own command ended.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from overspill.bounder import Bounder
    from overspill.core.model import Bounded, Call

_LAST_LINE = re.compile(rb"\n?\[overspill: [^\n]*exit status \d+ after [^\n]*\]\n\Z")


def cut_anew(bounder: Bounder, data: bytes, call: Call) -> Bounded | None:
    """The same within the bounder's budget; None when it fits, or is an output like any other."""
    from overspill.core.measure import readable

    if bounder.policy.measure.fits(readable(data), bounder.policy.above):
        return None
    return bounder.again(_LAST_LINE.sub(b"\n", data), call)
