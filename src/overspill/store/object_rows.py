"""The row of one output in an object store: a small JSON object."""

from __future__ import annotations

import msgspec

from overspill.core.model import Call
from overspill.core.ports import Stored
from overspill.store.journal import decoded, encoded


class Row(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """What is known of an output, and the key that its bytes have."""

    digest: str
    handle: str
    blob: str
    bytes: int
    lines: int
    created: float
    read: float
    call: Call
    times: int = 1
    pinned: bool = False
    kind: str = ""
    cut: str = ""
    shown_bytes: int | None = None

    def stored(self) -> Stored:
        return Stored(
            handle=self.handle,
            digest=self.digest,
            bytes=self.bytes,
            lines=self.lines,
            created=self.created,
            read=self.read,
            call=self.call,
            pinned=self.pinned,
            shown_bytes=self.shown_bytes,
            kind=self.kind,
            cut=self.cut,
            times=self.times,
        )


def encoded_row(row: object) -> bytes:
    return encoded(row)


def decoded_row(data: bytes) -> Row | None:
    row = decoded(data, Row)
    return row if isinstance(row, Row) else None
