"""Two streams as one source, and a bounded text of it back as two.

Arrival order is kept line by line: an unfinished line of one stream waits for its end while the
other goes on, up to ``LINE_BYTES``.  Which stream each stretch of the source came from is noted
on the way, on disk when there is much of it, so that memory never depends on the output.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

    from overspill.core.model import Bounded, Gap, Span

LINE_BYTES = 64 * 1024
_NOTES_IN_MEMORY = 1 << 16
_NOTE_BYTES = 8


class TwoStreams:
    """Takes chunks of streams 1 and 2, hands on the one source they make."""

    def __init__(self, feed: Callable[[bytes], None]) -> None:
        self._feed = feed
        self._waiting = {1: b"", 2: b""}
        self._inside = 0
        """The stream whose unfinished line stands at the source's end."""
        self._at = 0
        self._turns = _Turns()
        self.bytes = {1: 0, 2: 0}

    def take(self, stream: int, chunk: bytes) -> None:
        if self._inside == 3 - stream:
            self._hold(stream, chunk)
            return
        whole = chunk.rfind(b"\n") + 1
        if self._waiting[stream]:
            chunk, whole = self._waiting[stream] + chunk, len(self._waiting[stream]) + whole if whole else 0
            self._waiting[stream] = b""
        if self._inside == stream and not whole:
            self._emit(stream, chunk)
            return
        self._emit(stream, chunk[:whole])
        self._inside = 0
        self._hold(stream, chunk[whole:])

    def finish(self) -> None:
        """The unfinished lines last."""
        for stream in (self._inside or 1, 3 - (self._inside or 1)):
            self._emit(stream, self._waiting[stream])
            self._waiting[stream] = b""

    def close(self) -> None:
        """When nobody will ask for pieces any more."""
        self._turns.close()

    def _hold(self, stream: int, rest: bytes) -> None:
        self._waiting[stream] += rest
        if len(self._waiting[stream]) > LINE_BYTES:
            # Too long to wait for: the source gets what there is, even inside the other's line.
            rest, self._waiting[stream] = self._waiting[stream], b""
            self._emit(stream, rest)
            self._inside = 0 if rest.endswith(b"\n") else stream

    def _emit(self, stream: int, data: bytes) -> None:
        if data:
            self._turns.note(self._at, stream)
            self._at += len(data)
            self.bytes[stream] += len(data)
            self._feed(data)

    def pieces(self, span: Span) -> Iterator[tuple[int, Span]]:
        """The span's stretches with the stream each came from."""
        for stream, start, end in self._turns.between(span.start, span.end):
            yield stream, span.part(start - span.start, end - span.start)

    def touched(self, gap: Gap) -> set[int]:
        """The streams of which a gap omits something."""
        found: set[int] = set()
        for stream, _, _ in self._turns.between(gap.start, gap.end):
            found.add(stream)
            if len(found) == 2:
                break
        return found


class _Turns:
    """Where in the source the stream changes: offset and stream in one number each."""

    def __init__(self) -> None:
        self._recent = array("Q")
        self._before = 0
        self._file: IO[bytes] | None = None
        self._last = 0

    def note(self, at: int, stream: int) -> None:
        if stream == self._last:
            return
        self._last = stream
        self._recent.append(at << 2 | stream)
        if len(self._recent) == _NOTES_IN_MEMORY:
            self._put_away()

    def between(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Stream, start and end of the stretches between two offsets."""
        index = bisect_right(self, start, key=lambda note: note >> 2) - 1
        while start < end and index < len(self):
            following = self[index + 1] >> 2 if index + 1 < len(self) else end
            stop = min(following, end)
            yield self[index] & 3, start, stop
            start, index = stop, index + 1

    def __len__(self) -> int:
        return self._before + len(self._recent)

    def __getitem__(self, index: int) -> int:
        if index >= self._before:
            return self._recent[index - self._before]
        assert self._file is not None
        self._file.seek(index * _NOTE_BYTES)
        return array("Q", self._file.read(_NOTE_BYTES))[0]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _put_away(self) -> None:
        if self._file is None:
            from tempfile import TemporaryFile

            self._file = TemporaryFile()  # noqa: SIM115 - it lives as long as this object
        self._file.seek(self._before * _NOTE_BYTES)
        self._file.write(self._recent.tobytes())
        self._before += len(self._recent)
        del self._recent[:]


def split(bounded: Bounded, streams: TwoStreams, *, fits: Callable[[str], bool]) -> dict[int, str]:
    """The text of a bounded source for each stream.

    The header stands where output came, on stream 1 if on both.  A mark stands on every stream of
    which its gap omits something, as long as all of it together ``fits``.
    """
    from overspill.core.measure import display

    main = 1 if streams.bytes[1] or not streams.bytes[2] else 2
    texts = {1: "", 2: ""}
    texts[main] = bounded.header
    room = bounded.text
    for part in bounded.parts:
        if part.span is not None:
            for stream, piece in streams.pieces(part.span):
                texts[stream] += display(piece.data)
            continue
        assert part.gap is not None
        where = sorted(streams.touched(part.gap))
        texts[where[0]] += part.text
        for stream in where[1:]:
            if fits(room + part.text):
                texts[stream] += part.text
                room += part.text
    return texts
