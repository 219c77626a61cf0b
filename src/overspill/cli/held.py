"""What has come of an output while nobody knows whether it is too much: held, counted, and nothing loaded for it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_OURS = b"[overspill "
_MOST_OURS = 200_000
"""A text that begins as overspill's is held up to here: it may be one that another layer has bounded."""


class Held:
    """Chunks with their streams, and two questions that cost no second look at them."""

    def __init__(self, above: Mapping[str, int], *, redacts: bool) -> None:
        self.chunks: list[tuple[int, bytes]] = []
        self._most_lines = above.get("max_lines")
        self._most_bytes = min((most for unit, most in above.items() if unit != "max_lines"), default=None)
        self._redacts = redacts
        self._bytes = 0
        self._shown_bytes = 0
        self._lines = 0

    def add(self, stream: int, data: bytes) -> None:
        self.chunks.append((stream, data))
        self._bytes += len(data)
        self._shown_bytes += len(data) if data.isascii() else 3 * len(data)
        self._lines += data.count(b"\n")

    def surely_fits(self, more: bytes = b"") -> bool:
        """Does it fit whatever it is? A token has a byte or more, a byte shows as three at most."""
        if self._redacts:
            return not self.chunks
        return (self._most_bytes is None or self._shown_bytes + len(more) <= self._most_bytes) and (
            self._most_lines is None or self._lines + more.count(b"\n") < self._most_lines
        )

    @property
    def may_be_ours(self) -> bool:
        """Is it worth waiting for the end, since another layer may have bounded it?"""
        return (
            self._bytes <= _MOST_OURS
            and bool(self.chunks)
            and self.chunks[0][1].startswith(_OURS)
            and len({stream for stream, _ in self.chunks}) == 1
        )

    @property
    def data(self) -> bytes:
        return b"".join(data for _, data in self.chunks)

    def clear(self) -> None:
        self.chunks.clear()
