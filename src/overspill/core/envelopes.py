"""A cut response envelope as other layers meet it: recognised, so that the response itself is cut anew.

Only one that holds nothing which the stored response has not: a member of anybody else's stands in this
text alone, and would be lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from overspill.core.shown import pieces_in

TELLTALE = b'"full_output_path"'
_OURS = ("status", "data", "text")


class Claim(NamedTuple):
    """What a text would have to be to be a cut envelope and nothing besides."""

    place: str
    """Handle or path of the response."""
    shown: list[list[str]]
    """What has to stand in it, each of these in its order."""


def cut_earlier(envelope: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The data of an envelope that is cut already, and holds nothing else."""
    data = envelope.get("data")
    if type(data) is not dict or data.keys() != {"truncated", "truncation", "preview"}:
        return None
    known = data["truncated"] is True and type(data["truncation"]) is dict and isinstance(data["preview"], str)
    return data if known else None


def claim_of_cut(data: bytes) -> Claim | None:
    """None when the text is anything else."""
    import json  # late: small outputs never need it

    try:
        envelope = json.loads(data)
    except (ValueError, RecursionError):
        return None
    earlier = cut_earlier(envelope) if isinstance(envelope, dict) else None
    place = earlier and earlier["truncation"].get("full_output_path")
    if earlier is None or not isinstance(place, str):
        return None
    sides = [
        json.dumps({key: value}, ensure_ascii=False, indent=2) for key, value in envelope.items() if key not in _OURS
    ]
    return Claim(place, [pieces_in(earlier["preview"]), *map(pieces_in, sides)])
