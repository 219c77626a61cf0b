"""Compressed outputs that can still be read from the middle: zstd in independent frames with a seek table.

The layout is zstd's published seekable format, so that ``zstd -d`` reads the files as well.
"""

from __future__ import annotations

import os
import struct
import sys
import threading
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from overspill.core.ports import Blob
from overspill.store.files import read_at, write_all

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SUFFIX = ".zst"
FRAME_BYTES = 256 * 1024
LEVEL = 9
_SKIPPABLE = 0x184D2A5E
_SEEKABLE = 0x8F92EAB1


def compress(source: Blob, target: int) -> int:
    """Writes the whole of ``source``, compressed, to the open file ``target``; the bytes written."""
    table = bytearray()
    total: int = 0
    for start in range(0, source.size, FRAME_BYTES):
        data = source.read(start, FRAME_BYTES)
        frame: bytes = zstd.compress(data, LEVEL)
        write_all(target, frame)
        table += struct.pack("<II", len(frame), len(data))
        total += len(frame)
    table += struct.pack("<IBI", len(table) // 8, 0, _SEEKABLE)
    write_all(target, struct.pack("<II", _SKIPPABLE, len(table)) + table)
    return total + 8 + len(table)


class ZstdBlob:
    """A compressed output, read by ranges of its plain bytes. Holds one frame at a time."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._lock = threading.Lock()
        end = os.fstat(handle).st_size
        count, _, magic = struct.unpack("<IBI", read_at(handle, end - 9, 9) if end >= 17 else bytes(9))
        if magic != _SEEKABLE:
            raise ValueError("the compressed file has no seek table at its end")
        pairs = list(struct.iter_unpack("<II", read_at(handle, end - 9 - 8 * count, 8 * count)))
        self._packed = [0, *accumulate(pair[0] for pair in pairs)]
        self._plain: list[int] = [0, *accumulate(pair[1] for pair in pairs)]
        self._cached: tuple[int, bytes] = (-1, b"")

    @property
    def size(self) -> int:
        return self._plain[-1]

    def read(self, start: int, length: int) -> bytes:
        if start < 0 or length <= 0 or start >= self.size:
            return b""
        return b"".join(self._pieces(start, min(start + length, self.size)))

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _pieces(self, start: int, end: int) -> Iterator[bytes]:
        while start < end:
            number = bisect_right(self._plain, start) - 1
            first = self._plain[number]
            piece = self._frame(number)[start - first : end - first]
            yield piece
            start += len(piece)

    def _frame(self, number: int) -> bytes:
        with self._lock:
            if self._cached[0] != number:
                packed = read_at(self._handle, self._packed[number], self._packed[number + 1] - self._packed[number])
                self._cached = (number, zstd.decompress(packed))
            return self._cached[1]
