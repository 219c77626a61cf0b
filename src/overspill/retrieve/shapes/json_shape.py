"""JSON and JSON lines: the paths of a document with types, lengths, ranges, and rare values with their places.

One pass over tokens, without building the values: memory follows from the number of different paths.
Fragments are taken as they come, so that a range of lines of a document has a shape too; a line that is no JSON among
JSON lines is told, and left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from overspill.retrieve.content import content_of, json_lines, strays_in_words
from overspill.retrieve.shapes.model import Landmark, Shape, Stretch

MOST_BYTES = 24 << 20
MOST_PATHS = 1_500
MOST_VALUES = 64
_MANY_CONTAINERS = 24
_MANY_VALUES = 150
"""An object with so many objects and arrays, or so many plain values, under its keys is a map: its keys are data, and
what stands under them is told together, as ``.*``."""
_TEXT_BYTES = 60
_TOKEN = re.compile(
    rb'("(?:[^"\\]|\\.)*+")([ \t\r\n]*+:)?|"(?:[^"\\]|\\.)*+\\?|-?[0-9][0-9.eE+-]*|true|false|null|NaN|-?Infinity'
    rb"|[\[\]{}\n]",
    re.DOTALL,
)
"""A string that a colon follows is a key; one without its end goes on in the next chunk."""
_TOKENS = re.compile(_TOKEN.pattern.replace(b'|"', b'|("', 1) + b")", re.DOTALL)
"""The same, with what is neither a key nor a whole string in a group of its own."""
_RARE_SHARE = 0.1
_MOST_DEPTH = 200
_MARKED_DEPTH = 3
_MOST_MARKS = 20_000
_NAME_CHARS = 24
_FRACTION = re.compile(rb"[.eE]")
_EXACT = 1 << 53
"""Whole numbers below it are exact as floating point, too."""
_PLAIN_KEY = re.compile(rb'"([A-Za-z_][A-Za-z0-9_]*)"')
_KINDS = {b'"': "string", b"n": "null", b"t": "boolean", b"f": "boolean"}


Place = tuple[int, int]
"""A line, and the byte in it, from 1."""


@dataclass(slots=True)
class Path:
    """What stands at one path."""

    step: str
    """How it is reached from the path that it is in."""
    count: int = 0
    types: dict[str, int] = field(default_factory=dict)
    first_of: dict[str, Place] = field(default_factory=dict)
    """Where the first value of each type stands."""
    low: float | None = None
    high: float | None = None
    low_at: Place = (0, 0)
    high_at: Place = (0, 0)
    values: dict[bytes, int] | None = field(default_factory=dict)
    """How often each stands here; None when there are too many."""
    first: dict[bytes, Place] = field(default_factory=dict)
    fewest: int = 1 << 62
    most: int = 0
    """Members of the containers that stand here."""
    inner: dict[bytes, Path | None] = field(default_factory=dict)
    """By key; what an array holds is under no key. None: one path too many."""
    any: Path | None = None
    """Where everything under a key is, once it is a map."""

    def paths(self, name: str = "") -> Iterator[tuple[str, Path]]:
        """It and what is in it, by full names."""
        yield name, self
        for path in (self.any, *self.inner.values()):
            if path is not None:
                yield from path.paths(name + path.step)

    def take(self, later: Path) -> None:
        """Adds what stands at another path, all of it behind what stands here."""
        self.count += later.count
        for kind, count in later.types.items():
            self.types[kind] = self.types.get(kind, 0) + count
            self.first_of.setdefault(kind, later.first_of[kind])
        if later.low is not None and (self.low is None or later.low < self.low):
            self.low, self.low_at = later.low, later.low_at
        if later.high is not None and (self.high is None or later.high > self.high):
            self.high, self.high_at = later.high, later.high_at
        self.fewest, self.most = min(self.fewest, later.fewest), max(self.most, later.most)
        if self.values is not None:
            for value, count in (later.values or {}).items():
                self.first.setdefault(value, later.first[value])
                self.values[value] = self.values.get(value, 0) + count
            if later.values is None or len(self.values) > MOST_VALUES:
                self.values, self.first = None, {}
        if later.any is not None:
            self.gather()
            self.any = _joined(self.any, later.any)
        for key, path in later.inner.items():
            if path is not None and self.any is not None and key:
                self.any.take(path)
            elif path is not None:
                self.inner[key] = _joined(self.inner.get(key), path)

    def gather(self) -> None:
        """From now on it is a map."""
        for key in [key for key in self.inner if key]:
            path = self.inner.pop(key)
            if path is not None:
                path.step = ".*"
                self.any = _joined(self.any, path)


def _joined(path: Path | None, later: Path) -> Path:
    if path is None:
        return later
    path.take(later)
    return path


@dataclass(slots=True)
class _Open:
    """A container that has not ended."""

    path: Path | None
    is_object: bool
    key: bytes = b""
    members: int = 0


class _Walk:
    def __init__(self) -> None:
        self.root = Path("")
        self.count = 0
        self.left_out = 0
        """Paths, and those that were too many."""
        self.stack: list[_Open] = []
        self.deeper = 0
        """Open containers that are nested too deep to be followed."""
        self.landmarks: list[list[Any]] = []
        """Of each outer container: its line, name, level, byte, and whether its first value may name it."""

    def value(self, kind: str, token: bytes, place: Place) -> Path | None:
        path = self._path()
        if self.landmarks and self.landmarks[-1][4] and kind in ("string", "number"):
            self.landmarks[-1][1] += " " + token.decode("utf-8", "replace").strip('"')[:_NAME_CHARS]
            self.landmarks[-1][4] = False
        if path is None:
            return None
        path.count += 1
        if kind in path.types:
            path.types[kind] += 1
        else:
            path.types[kind], path.first_of[kind] = 1, place
        if kind == "number":
            self._measure(path, token, place)
        if path.values is not None and token:
            self._remember(path, path.values, token, place)
        return path

    def _path(self) -> Path | None:
        """Where the next value stands."""
        if not self.stack:
            outer, key = self.root, b""
        else:
            top = self.stack[-1]
            top.members += 1
            if top.path is None:
                return None
            outer, key = top.path, top.key
            if outer.any is not None and top.is_object:
                return outer.any
        try:
            return outer.inner[key]
        except KeyError:
            return self._new_path(outer, key)

    def _new_path(self, outer: Path, key: bytes) -> Path | None:
        if not key:
            step = "" if outer is self.root else "[]"
        elif _is_map(outer):
            before = sum(1 for _ in outer.paths())
            outer.gather()
            self.count -= before - sum(1 for _ in outer.paths())
            return outer.any
        else:
            plain = _PLAIN_KEY.fullmatch(key)
            step = "." + (plain.group(1).decode() if plain else _shortened(key))
        made = Path(step) if self.count < MOST_PATHS else None
        self.count += made is not None
        self.left_out += made is None
        if len(outer.inner) < MOST_PATHS:
            outer.inner[key] = made
        return made

    def _measure(self, path: Path, token: bytes, place: Place) -> None:
        try:
            number = float(token)
        except ValueError:
            return
        if number != number:  # NaN is no end of a range
            return
        if path.low is None or number < path.low:
            path.low, path.low_at = number, place
        if path.high is None or number > path.high:
            path.high, path.high_at = number, place

    def _remember(self, path: Path, values: dict[bytes, int], token: bytes, place: Place) -> None:
        if b"\\" in token or token[0] not in b'"tfn':
            token = _plain(token)
        if len(token) > _TEXT_BYTES:
            token = token[: _TEXT_BYTES + 1]
        if token in values:
            values[token] += 1
        elif len(values) < MOST_VALUES:
            values[token] = 1
            path.first[token] = place
        else:
            path.values, path.first = None, {}

    def open(self, kind: str, place: Place) -> None:
        path = self.value(kind, b"", place)
        depth = len(self.stack)
        if 0 < depth <= _MARKED_DEPTH and len(self.landmarks) < _MOST_MARKS:
            top = self.stack[-1]
            name = _shortened(top.key).strip('"') if top.is_object else f"[{top.members - 1}]"
            self.landmarks.append([place[0], name, depth, place[1], not top.is_object])
        if depth < _MOST_DEPTH:
            self.stack.append(_Open(path, kind == "object"))
        else:
            self.deeper += 1

    def close(self) -> None:
        if self.deeper:
            self.deeper -= 1
        elif self.stack:
            ended = self.stack.pop()
            if ended.path is not None:
                ended.path.fewest = min(ended.path.fewest, ended.members)
                ended.path.most = max(ended.path.most, ended.members)


def json_shape(stretch: Stretch) -> Shape:
    one_line = stretch.source.lines == 1
    walk = _Walk()
    if content_of(stretch.source) == "json lines":
        covered, strays = _read_lines(stretch, walk)
    else:
        covered, strays = _read(stretch, walk, one_line=one_line), []
    paths = [(name or "$", path) for inner in walk.root.inner.values() if inner for name, path in inner.paths()]
    lines = [strays_in_words(strays)] if strays else []
    lines += _described(paths, one_line=one_line)
    facts = {name: _facts(path, one_line=one_line) for name, path in paths}
    headline = f"{len(paths)}{'+' if walk.left_out else ''} paths"
    if covered < stretch.end - stretch.start:
        headline += f" in its first {covered} bytes"
    marks = [Landmark(line, name, level, byte if one_line else 0) for line, name, level, byte, _ in walk.landmarks]
    return Shape("JSON", headline, lines, marks, facts)


def _read_lines(stretch: Stretch, walk: _Walk) -> tuple[int, list[int]]:
    """Feeds JSON lines; the lines that are none come back."""
    end = min(stretch.end, stretch.start + MOST_BYTES)
    if end < stretch.end:  # a line cut here is not one that its writer cut
        end = max(stretch.source.line_start(stretch.source.line_at(end)), stretch.start)
    line = stretch.first_line
    strays: list[int] = []
    for data, no_json in json_lines(stretch.source, stretch.start, end):
        strays += [line + at for at in no_json]
        fed = data if data.endswith(b"\n") else data + b"\n"
        _feed_lines(walk, fed, line)
        line += fed.count(b"\n")
    return end - stretch.start, strays


def _read(stretch: Stretch, walk: _Walk, *, one_line: bool) -> int:
    """Feeds the tokens; a token cut by a chunk's end waits for the next."""
    end = min(stretch.end, stretch.start + MOST_BYTES)
    line, line_start = stretch.first_line, stretch.start
    rest, at, open_string = b"", stretch.start, False
    for chunk in stretch.source.chunks(stretch.start, end):
        data = rest + chunk
        last = at + len(data) >= end
        if open_string and not last and b'"' not in chunk:
            rest = data
            continue
        whole = 0 if one_line else data.rfind(b"\n") + 1
        if whole and (lines := _feed_lines(walk, data[:whole], line)):
            line += lines
            at += whole
            rest, line_start, data = b"", at, data[whole:]
        stop, open_string = 0, False
        for found in _TOKEN.finditer(data):
            string, colon = found.groups()
            token = string or found.group()
            first = token[:1]
            open_string = first == b'"' and string is None
            if open_string or (found.end() == len(data) and not last and first not in b"[]{}\n"):
                break
            stop = found.end()
            if first == b"\n":
                line, line_start = line + 1, at + stop
            elif first in b"]}":
                walk.close()
            elif colon is not None and walk.stack and walk.stack[-1].is_object:
                walk.stack[-1].key = _plain(token) if b"\\" in token else token
                if b"\n" in colon:
                    line, line_start = line + colon.count(b"\n"), at + found.start(2) + colon.rindex(b"\n") + 1
            else:
                place = (line, at + found.start() - line_start + 1)
                if first in b"{[":
                    walk.open("object" if first == b"{" else "array", place)
                else:
                    walk.value(_KINDS.get(first, "number"), token, place)
                if colon is not None and b"\n" in colon:
                    line, line_start = line + colon.count(b"\n"), at + found.start(2) + colon.rindex(b"\n") + 1
        rest = data[stop:]
        at += len(data) - len(rest)
    return end - stretch.start


def _feed_lines(walk: _Walk, data: bytes, line: int) -> int:
    """The tokens of whole lines, which is quicker where no byte of theirs is asked for: how many lines these are.

    None when a string is still open at their end.
    """
    tokens = _TOKENS.findall(data)
    if tokens[-1] != (b"", b"", b"\n"):
        return 0
    stack, first_line = walk.stack, line
    place = (line, 1)
    for string, colon, other in tokens:
        if string:
            if colon and stack and stack[-1].is_object:
                stack[-1].key = _plain(string) if b"\\" in string else string
            else:
                walk.value("string", string, place)
            if colon and b"\n" in colon:
                line += colon.count(b"\n")
                place = (line, 1)
        elif other == b"\n":
            line += 1
            place = (line, 1)
        elif other == b"{":
            walk.open("object", place)
        elif other == b"[":
            walk.open("array", place)
        elif other in b"]}":
            walk.close()
        else:
            walk.value(_KINDS.get(other[:1], "number"), other, place)
    return line - first_line


def _plain(token: bytes) -> bytes:
    """One spelling for equal values, whatever they are escaped or written like."""
    if token[:1] != b'"' and not _FRACTION.search(token):
        return token
    try:
        value = json.loads(token)
        if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
            value = int(value)
        return json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, OverflowError):  # a fragment, or half of a surrogate pair: as it is written
        return token


def _shortened(token: bytes) -> str:
    return token[:_TEXT_BYTES].decode("utf-8", "replace") + ("…" if len(token) > _TEXT_BYTES else "")


def _at(place: Place, *, one_line: bool) -> str:
    return f"{place[0]}.{place[1]}" if one_line else str(place[0])


def _is_map(path: Path) -> bool:
    if len(path.inner) not in (_MANY_CONTAINERS, _MANY_VALUES):
        return False
    kinds = {kind in ("object", "array") for inner in path.inner.values() if inner for kind in inner.types}
    return kinds == {True} or (kinds == {False} and len(path.inner) == _MANY_VALUES)


def _described(paths: list[tuple[str, Path]], *, one_line: bool) -> Iterator[str]:
    """Rare and extreme values first, then each path with what stands there."""
    telling, plain = [], []
    for shown, path in paths:
        values = path.values
        if values is not None and path.count >= 5 and len(values) > 1:
            usual, most = max(values.items(), key=lambda entry: entry[1])
            rare = [(value, count) for value, count in values.items() if count <= max(1, _RARE_SHARE * path.count)]
            if rare and most >= 0.3 * path.count and len(rare) <= 20:
                places = [_at(path.first[value], one_line=one_line) for value, _ in rare[:4]]
                odd = ", ".join(
                    f"{_shortened(value)} {f'×{count} ' if count > 1 else ''}at {place}"
                    for (value, count), place in zip(rare, places, strict=False)
                )
                telling.append((len(rare) / path.count, f"{shown}: {_shortened(usual)} ×{most}; rare: {odd}"))
                continue
        told = f"{shown}: {_words(path, one_line=one_line)}"
        few = [kind for kind, count in path.types.items() if count <= _RARE_SHARE * path.count]
        if few:
            telling.append((sum(path.types[kind] for kind in few) / path.count, told))
        else:
            plain.append(told)
    telling.sort(key=lambda entry: entry[0])
    yield from (line for _, line in telling)
    yield from plain


def _words(path: Path, *, one_line: bool) -> str:
    kinds = "/".join(sorted(path.types, key=lambda kind: -path.types[kind]))
    words = f"{kinds} ×{path.count}" if path.count > 1 else kinds
    for kind, count in path.types.items():
        if count <= _RARE_SHARE * path.count:
            words += f", {kind} {f'×{count} ' if count > 1 else ''}at {_at(path.first_of[kind], one_line=one_line)}"
    if path.fewest <= path.most:
        words += f" of {path.most}" if path.fewest == path.most else f" of {path.fewest}-{path.most}"
    if path.low is not None and path.high is not None and path.low != path.high:
        low, high = _at(path.low_at, one_line=one_line), _at(path.high_at, one_line=one_line)
        words += f", {path.low:g} (at {low}) to {path.high:g} (at {high})"
    elif (
        path.values
        and "object" not in path.types
        and "array" not in path.types
        and kinds != "null"
        and len(path.values) <= 5
    ):
        words += ": " + ", ".join(map(_shortened, path.values))
    return words


def _facts(path: Path, *, one_line: bool) -> dict[str, Any]:
    return {
        "count": path.count,
        "types": path.types,
        "min": path.low,
        "max": path.high,
        "values": None if path.values is None else {_shortened(value): n for value, n in path.values.items()},
        "first": {_shortened(value): _at(place, one_line=one_line) for value, place in path.first.items()},
        "lengths": (path.fewest, path.most) if path.fewest <= path.most else None,
    }
