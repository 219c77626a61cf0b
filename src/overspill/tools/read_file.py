"""Reads a file by numbered pages: 200 lines and 5,000 characters of it at most, also when it is one line.

The last line of a page says exactly what is left and which call shows it.  Memory depends on the page,
never on the file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, ClassVar

from overspill.core.measure import cut_before, readable
from overspill.core.ports import Store
from overspill.errors import RequestError
from overspill.tools.base import Tool
from overspill.tools.root import Root, is_binary

_CHUNK_BYTES = 1 << 20
_NOTICE_CHARS = 300
"""Kept free for the last line."""
_NUMBER_CHARS = 8


class ReadFile(Tool):
    """Reads a text file by pages of numbered lines. For a line too long for a page, `column` goes on inside it."""

    name = "read_file"
    MAX_OUTPUT_CHARS: ClassVar[int] = 5_000
    MAX_OUTPUT_LINES: ClassVar[int] = 200

    def __init__(self, root: str | os.PathLike[str] = ".", *, store: Store | str | None = None) -> None:
        super().__init__(store=store)
        self._root = Root(root)

    def execute(self, path: str, offset: int = 1, limit: int = 199, column: int = 1) -> str:
        if offset < 1:
            raise RequestError("offset", offset, "the number of a line, 1 or more")
        if limit < 1:
            raise RequestError("limit", limit, "a number of lines, 1 or more")
        if column < 1:
            raise RequestError("column", column, "the number of a byte in the line, 1 or more")
        file = self._root.file(path)
        if is_binary(file):
            return f"[{path} is no text: {file.stat().st_size:,} bytes]"
        if not file.stat().st_size:
            return f"[{path} is empty]"
        return self._page(file, path, offset, min(limit, self.MAX_OUTPUT_LINES - 1), column)

    def _page(self, file: Path, path: str, offset: int, limit: int, column: int) -> str:
        total = _line_count(file)
        if offset > total:
            raise RequestError("offset", offset, f"1 to {total}: the file has {total} lines")
        room = self.MAX_OUTPUT_CHARS - _NOTICE_CHARS - len(path) * 2
        shown: list[str] = []
        line = offset
        with file.open("rb") as source:
            _seek_line(source, offset)
            source.seek(column - 1, os.SEEK_CUR)
            while line < offset + limit and room > _NUMBER_CHARS:
                # Four bytes a character, and enough beyond to see where to cut.
                data = source.readline(room * 4 + 8_192)
                if not data and line > offset:
                    break
                text = f"{line:>6}\t" + readable(data.rstrip(b"\r\n"))
                if len(text) > room and line > offset:
                    break
                if len(text) > room or (not data.endswith(b"\n") and source.read(1)):
                    return self._inside(shown, data, path, line, column, room, total)
                shown.append(text)
                room -= len(text) + 1
                line, column = line + 1, 1
        return "\n".join([*shown, *_notice(path, offset, line - 1, total)])

    def _inside(self, shown: list[str], data: bytes, path: str, line: int, column: int, room: int, total: int) -> str:
        """A part of a line that is longer than a page."""
        piece = data[: cut_before(data, room - _NUMBER_CHARS)]
        while len(readable(piece)) < (room - _NUMBER_CHARS) * 3 // 4 and len(piece) < len(data):
            grown = cut_before(data, len(piece) + room - len(readable(piece)))
            if grown <= len(piece):
                break
            piece = data[:grown]
        following = column + len(piece)
        next_call = f'read_file {{"path": "{path}", "offset": {line}, "column": {following}}}'
        notice = f"[line {line} of {total}, bytes {column}-{following - 1}, is not over; go on: {next_call}]"
        return "\n".join([*shown, f"{line:>6}\t{readable(piece)}", notice])


def _notice(path: str, first: int, last: int, total: int) -> list[str]:
    if last >= total:
        return [] if first == 1 else [f"[lines {first}-{last} of {total}: the end]"]
    return [f'[lines {first}-{last} of {total}; go on: read_file {{"path": "{path}", "offset": {last + 1}}}]']


def _line_count(file: Path) -> int:
    newlines, last = 0, b"\n"
    with file.open("rb") as source:
        while chunk := source.read(_CHUNK_BYTES):
            newlines += chunk.count(b"\n")
            last = chunk[-1:]
    return newlines + (last != b"\n")


def _seek_line(source: BinaryIO, line: int) -> None:
    """To the first byte of a line, whatever the length of those before."""
    missing, at = line - 1, 0
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
