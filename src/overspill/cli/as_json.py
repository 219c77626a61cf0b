"""Results as one JSON object, for programs that call the command line."""

from __future__ import annotations

import json

from overspill.core.model import Bounded, totals_of


def result(bounded: Bounded, **more: object) -> bytes:
    """A bounded output: its text, its handle, its exact account."""
    gaps = [
        {
            "first_line": gap.first_line,
            "last_line": gap.last_line,
            "first_column": gap.first_column,
            "last_column": gap.last_column,
            "start": gap.start,
            "end": gap.end,
            "omitted_lines": gap.omitted_lines,
            "omitted_bytes": gap.omitted_bytes,
        }
        for gap in bounded.gaps
    ]
    return _line(
        {
            "text": bounded.text,
            "truncated": bounded.truncated,
            "handle": bounded.handle,
            "path": bounded.path,
            "unsaved": bounded.unsaved or None,
            "kind": bounded.kind,
            "headline": bounded.headline,
            "gaps": gaps,
            "omitted_lines": bounded.omitted_lines,
            "omitted_bytes": bounded.omitted_bytes,
            "total_lines": bounded.total_lines,
            "total_bytes": bounded.total_bytes,
            **more,
        }
    )


def untouched(data: bytes, **more: object) -> bytes:
    """An output within the limit, as text."""
    return result(Bounded(text=data.decode("utf-8", "replace"), totals=totals_of(data)), **more)


def _line(value: object) -> bytes:
    # Escaped to ASCII: what a program reads must survive every terminal and encoding.
    return json.dumps(value).encode() + b"\n"
