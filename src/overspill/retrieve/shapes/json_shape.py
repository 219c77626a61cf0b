"""JSON and JSON lines: the paths of a document with types, lengths, ranges, and rare values with their places.

One pass over tokens, without building the values: memory follows from the number of different paths.
Fragments are taken as they come, so that a range of lines of a document has a shape too.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from overspill.retrieve.shapes.model import Landmark, Shape, Stretch

MOST_BYTES = 24 << 20
MOST_PATHS = 1_500
MOST_VALUES = 64
_TEXT_BYTES = 60
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|-?[0-9][0-9.eE+-]*|true|false|null|[\[\]{},:]|\n', re.DOTALL)
_RARE_SHARE = 0.1
_MOST_DEPTH = 200
_MARKED_DEPTH = 3
_MOST_MARKS = 20_000
_NAME_CHARS = 24
_PLAIN_KEY = re.compile(r'"([A-Za-z_][A-Za-z0-9_]*)"')


@dataclass(slots=True)
class Path:
    """What stands at one path."""

    count: int = 0
    types: Counter[str] = field(default_factory=Counter)
    low: float | None = None
    high: float | None = None
    low_at: str = ""
    high_at: str = ""
    values: Counter[str] | None = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=lambda: [1 << 62, 0])


class _Walk:
    def __init__(self, one_line: bool) -> None:  # noqa: FBT001
        self.paths: dict[str, Path] = {}
        self.stack: list[list[Any]] = []
        """Of each open container: its path, is it an object, its number of members, the key at hand."""
        self.one_line = one_line
        self.landmarks: list[list[Any]] = []
        """Of each outer container: its line, name, level and byte."""

    def here(self) -> str:
        if not self.stack:
            return ""
        path, is_object, _, key = self.stack[-1]
        return f"{path}.{key}" if is_object else f"{path}[]"

    def value(self, kind: str, text: str, place: str) -> None:
        self._member()
        name = self.here()
        path = self.paths.get(name)
        if path is None:
            if len(self.paths) >= MOST_PATHS:
                return
            path = self.paths[name] = Path()
        path.count += 1
        path.types[kind] += 1
        if self.landmarks and self.landmarks[-1][4] and kind in ("string", "number"):
            self.landmarks[-1][1] += " " + text.strip('"')[:_NAME_CHARS]
            self.landmarks[-1][4] = False
        if kind in ("object", "array"):
            return
        if kind == "number":
            self._measure(path, text, place)
        if path.values is not None:
            path.values[text] += 1
            path.first.setdefault(text, place)
            if len(path.values) > MOST_VALUES:
                path.values, path.first = None, {}

    def _measure(self, path: Path, text: str, place: str) -> None:
        try:
            number = float(text)
        except ValueError:
            return
        if path.low is None or number < path.low:
            path.low, path.low_at = number, place
        if path.high is None or number > path.high:
            path.high, path.high_at = number, place

    def _member(self) -> None:
        if self.stack:
            self.stack[-1][2] += 1

    def open(self, kind: str, place: str) -> None:
        self.value(kind, "", place)
        self._mark(place)
        if len(self.stack) < _MOST_DEPTH:
            self.stack.append([self.here(), kind == "object", 0, ""])

    def _mark(self, place: str) -> None:
        depth = len(self.stack)
        if 0 < depth <= _MARKED_DEPTH and len(self.landmarks) < _MOST_MARKS:
            _, is_object, members, key = self.stack[-1]
            line, _, byte = place.partition(".")
            name = key if is_object else f"[{members - 1}]"
            self.landmarks.append([int(line), name, depth, int(byte or 0), not is_object])

    def close(self) -> None:
        if not self.stack:
            return
        name, _, members, _ = self.stack.pop()
        path = self.paths.get(name)
        if path is not None:
            path.lengths[0] = min(path.lengths[0], members)
            path.lengths[1] = max(path.lengths[1], members)


def json_shape(stretch: Stretch) -> Shape:
    walk = _Walk(stretch.source.lines == 1)
    covered = _read(stretch, walk)
    lines = list(_described(walk.paths))
    facts = {name or "$": _facts(path) for name, path in walk.paths.items()}
    headline = f"{len(walk.paths)}{'+' if len(walk.paths) >= MOST_PATHS else ''} paths"
    if covered < stretch.end - stretch.start:
        headline += f" in its first {covered} bytes"
    marks = [Landmark(line, name, level, byte) for line, name, level, byte, _ in walk.landmarks]
    return Shape("JSON", headline, lines, marks, facts)


def _read(stretch: Stretch, walk: _Walk) -> int:
    """Feeds the tokens; a token cut by a chunk's end waits for the next."""
    end = min(stretch.end, stretch.start + MOST_BYTES)
    line, line_start = stretch.first_line, stretch.start
    rest, at = b"", stretch.start
    pending, place = "", ""
    for chunk in stretch.source.chunks(stretch.start, end):
        data = rest + chunk
        last = at + len(data) >= end
        stop = 0
        for found in _TOKEN.finditer(data):
            token = found.group()
            if found.end() == len(data) and not last and token not in b"[]{},:\n":
                break
            stop = found.end()
            first = token[:1]
            if first == b"\n":
                line, line_start = line + 1, at + stop
                continue
            if first in b",:":
                if first == b":" and walk.stack and walk.stack[-1][1]:
                    plain = _PLAIN_KEY.fullmatch(pending)
                    walk.stack[-1][3] = plain.group(1) if plain else pending
                    pending = ""
                elif pending:
                    walk.value("string", pending, place)
                    pending = ""
                continue
            if pending and first in b"]}":
                walk.value("string", pending, place)
            pending = ""
            place = f"{line}.{at + found.start() - line_start + 1}" if walk.one_line else str(line)
            if first == b'"':
                pending = token[:_TEXT_BYTES].decode("utf-8", "replace") + ("…" if len(token) > _TEXT_BYTES else "")
            elif first in b"{[":
                walk.open("object" if first == b"{" else "array", place)
            elif first in b"}]":
                walk.close()
            else:
                kind = "null" if first == b"n" else "boolean" if first in b"tf" else "number"
                walk.value(kind, token.decode(), place)
        rest = data[stop:] if len(data) - stop < 1 << 20 else b""
        at += len(data) - len(rest)
    if pending:
        walk.value("string", pending, place)
    return end - stretch.start


def _described(paths: dict[str, Path]) -> list[str]:
    """Rare and extreme values first, then each path with what stands there."""
    telling, plain = [], []
    for name, path in paths.items():
        shown = name or "$"
        values = path.values
        if values is not None and path.count >= 5 and len(values) > 1:
            usual, most = values.most_common(1)[0]
            rare = [(value, count) for value, count in values.items() if count <= max(1, _RARE_SHARE * path.count)]
            if rare and most >= 0.3 * path.count and len(rare) <= 20:
                odd = ", ".join(
                    f"{value} {f'×{count} ' if count > 1 else ''}at {path.first[value]}" for value, count in rare[:4]
                )
                telling.append((len(rare) / path.count, f"{shown}: {usual} ×{most}; rare: {odd}"))
                continue
        plain.append(f"{shown}: {_words(path)}")
    telling.sort(key=lambda entry: entry[0])
    return [line for _, line in telling] + plain


def _words(path: Path) -> str:
    kinds = "/".join(kind for kind, _ in path.types.most_common())
    words = f"{kinds} ×{path.count}" if path.count > 1 else kinds
    if path.lengths[1] or "array" in path.types or "object" in path.types:
        low, high = path.lengths
        if low <= high:
            words += f" of {low}" if low == high else f" of {low}-{high}"
    if path.low is not None and path.high is not None and path.low != path.high:
        words += f", {path.low:g} (at {path.low_at}) to {path.high:g} (at {path.high_at})"
    elif path.values and "object" not in path.types and "array" not in path.types and len(path.values) <= 5:
        words += ": " + ", ".join(path.values)
    return words


def _facts(path: Path) -> dict[str, Any]:
    return {
        "count": path.count,
        "types": dict(path.types),
        "min": path.low,
        "max": path.high,
        "values": None if path.values is None else dict(path.values),
        "first": dict(path.first),
    }
