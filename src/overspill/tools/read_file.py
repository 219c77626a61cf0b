"""Reads a file by numbered pages: 200 lines and 5,000 characters of it at most, also when it is one line.

The last line of a page says exactly what is left and which call shows it.  Memory depends on the page,
never on the file.
"""

from __future__ import annotations

import json
import os
from typing import BinaryIO

from overspill.core.measure import cut_before, readable
from overspill.core.ports import Store
from overspill.errors import RequestError
from overspill.tools.base import Tool
from overspill.tools.root import Root, looks_binary

_CHUNK_BYTES = 1 << 20
_NOTICE_CHARS = 300
"""Kept free for the last line."""
_NUMBER_CHARS = 8
_LEAST_CHARS = 400
_LONG_NAME_CHARS = 400
"""A longer name is not repeated in the last line."""


class ReadFile(Tool):
    """Reads a text file by pages of numbered lines. For a line too long for a page, `column` goes on inside it."""

    name = "read_file"
    MAX_OUTPUT_CHARS = 5_000
    MAX_OUTPUT_LINES = 200

    def __init__(self, root: str | os.PathLike[str] = ".", *, store: Store | str | None = None) -> None:
        super().__init__(store=store)
        self._root = Root(root)

    def execute(self, path: str, offset: int = 1, limit: int = 200, column: int = 1) -> str:
        if offset < 1:
            raise RequestError("offset", offset, "the number of a line, 1 or more")
        if limit < 1:
            raise RequestError("limit", limit, "a number of lines, 1 or more")
        if column < 1:
            raise RequestError("column", column, "the number of a byte in the line, 1 or more")
        with self._root.open(self._root.file(path)) as source:
            name = json.dumps(path if len(path) <= _LONG_NAME_CHARS else "…", ensure_ascii=False)
            size = os.fstat(source.fileno()).st_size
            if looks_binary(source):
                return f"[{name} is no text: {size:,} bytes]"
            total = _line_count(source)
            if not total:
                return f"[{name} is empty]"
            if offset > total:
                raise RequestError("offset", offset, f"1 to {total}: the file has {_lines(total)}")
            _seek_line(source, offset)
            _skip_in_line(source, column - 1)
            return self._page(source, name, offset, limit, column, total)

    def _page(self, source: BinaryIO, name: str, offset: int, limit: int, column: int, total: int) -> str:
        whole = offset == 1 and total <= self.MAX_OUTPUT_LINES
        following = offset + min(limit, self.MAX_OUTPUT_LINES - (not whole))
        room = max(_LEAST_CHARS, self.MAX_OUTPUT_CHARS - _NOTICE_CHARS - len(name))
        shown: list[str] = []
        line = offset
        while line < following:
            # Four bytes a character, and enough beyond to see where to cut.
            data = source.readline(room * 4 + 8_192)
            if not data:
                break
            text = f"{line:>6}\t" + readable(data.rstrip(b"\r\n"))
            if len(text) > room and line > offset:
                break
            if len(text) > room:
                return _inside(data, name, line, column, room, total)
            shown.append(text)
            room -= len(text) + 1
            line += 1
        return "\n".join([*shown, *_notice(name, offset, line - 1, total, column)])


def _inside(data: bytes, name: str, line: int, column: int, room: int, total: int) -> str:
    """A part of a line that is longer than a page."""
    room -= _NUMBER_CHARS
    piece = data[: cut_before(data, room) or room]
    while len(readable(piece)) < room * 3 // 4 and len(piece) < len(data):
        grown = cut_before(data, len(piece) + room - len(readable(piece)))
        if grown <= len(piece):
            break
        piece = data[:grown]
    following = column + len(piece)
    notice = (
        f"[line {line} of {total}, bytes {column}-{following - 1}, is not over; "
        f'go on: read_file {{"path": {name}, "offset": {line}, "column": {following}}}]'
    )
    return "\n".join([f"{line:>6}\t{readable(piece)}", notice])


def _notice(name: str, first: int, last: int, total: int, column: int) -> list[str]:
    if last >= total:
        return [] if (first, column) == (1, 1) else [f"[lines {first}-{last} of {total}: the end]"]
    return [f'[lines {first}-{last} of {total}; go on: read_file {{"path": {name}, "offset": {last + 1}}}]']


def _lines(number: int) -> str:
    return f"{number} line{'' if number == 1 else 's'}"


def _line_count(source: BinaryIO) -> int:
    newlines, last = 0, b"\n"
    while chunk := source.read(_CHUNK_BYTES):
        newlines += chunk.count(b"\n")
        last = chunk[-1:]
    return newlines + (last != b"\n")


def _seek_line(source: BinaryIO, line: int) -> None:
    """To the first byte of a line, whatever the length of those before."""
    missing, at = line - 1, 0
    source.seek(0)
    while missing:
        chunk = source.read(_CHUNK_BYTES)
        if not chunk:
            return
        newlines = chunk.count(b"\n")
        if newlines < missing:
            missing, at = missing - newlines, at + len(chunk)
            continue
        place = -1
        for _ in range(missing):
            place = chunk.find(b"\n", place + 1)
        source.seek(at + place + 1)
        return


def _has_more(source: BinaryIO) -> bool:
    here = source.tell()
    found = source.read(1)
    source.seek(here)
    return bool(found)


def _skip_in_line(source: BinaryIO, size: int) -> None:
    """So many bytes further on in the line; refused beyond its end."""
    skipped = 0
    # The last line may end without a newline: then there is nothing behind its last byte.
    while skipped < size or not _has_more(source):
        chunk = source.readline(min(_CHUNK_BYTES, size - skipped))
        length = len(chunk.rstrip(b"\r\n"))
        if not chunk or chunk.endswith(b"\n"):
            skipped += length
            raise RequestError("column", size + 1, f"1 to {max(1, skipped)}: the line has {skipped} bytes")
        skipped += len(chunk)
