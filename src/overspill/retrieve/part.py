"""Which stretch of an output is asked for, as offsets; or the sentence that says why there is none.

What contradicts itself is refused; what reaches behind the end is cut there, what begins behind it is answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from overspill.errors import RequestError
from overspill.retrieve.address import RangeLike, parse_range, whole_number
from overspill.retrieve.source import Source

AROUND_LINES = 30
"""On a side at most."""
AROUND_BYTES = 700
"""On each side of a byte in a long line."""


@dataclass(frozen=True, slots=True)
class Part:
    """The stretch asked for, and what of it to keep when it does not fit."""

    start: int
    end: int
    anchor: Literal["first", "last", "middle"] = "first"
    middle: int = 0
    inside_line: int = 0
    """The line when only bytes of that one line were asked for."""
    of: Literal["lines", "states"] = "lines"
    """Who asks for bytes gets them all, those that were overwritten too."""


class Asked(NamedTuple):
    """The addressing, as a model or a person gave it."""

    lines: RangeLike = None
    line: int | str | None = None
    bytes: RangeLike = None
    chars: RangeLike = None
    around: int | str | None = None
    context: int | str | None = None
    head: int | str | None = None
    tail: int | str | None = None

    def checked(self) -> Asked:
        """The same without what says one thing twice; one that says two things is refused."""
        asked = self
        if asked.bytes is not None or asked.chars is not None:
            asked = asked._replace(line=_line_named_as_range(asked.line, asked.lines), lines=None)
        given = asked._asdict()
        for names in (("lines", "around", "head", "tail", "line"), ("bytes", "chars", "around", "head", "tail")):
            _refuse_two({name: given[name] for name in names})
        if asked.context is not None and asked.around is None:
            raise RequestError("context", asked.context, "it goes with around: the line to show with its neighbours")
        return asked


def part_of(source: Source, asked: Asked) -> Part | str:
    """The stretch, or the sentence that says why there is none."""
    if asked.bytes is not None or asked.chars is not None:
        return _inside(source, asked.line, asked.bytes, asked.chars)
    if asked.around is not None:
        return _around(source, asked.around, asked.context)
    if asked.tail is not None:
        count = whole_number("tail", asked.tail)
        return Part(source.line_start(max(1, source.lines - count + 1)), source.size, "last")
    if asked.head is not None:
        return Part(0, source.line_start(whole_number("head", asked.head) + 1))
    if asked.line is not None:
        return _by_lines(source, whole_number("line", asked.line))
    return _by_lines(source, "1-" if asked.lines is None else asked.lines)


def _line_named_as_range(line: int | str | None, lines: RangeLike) -> int | str | None:
    """``lines="812"`` beside bytes names the line that they are in."""
    if lines is None:
        return line
    first, last = parse_range("lines", lines)
    if line is not None or last is None or last != first or first.byte:
        raise RequestError("lines", lines, "bytes and chars are counted inside one line: name it by line")
    return first.line


def _refuse_two(named: Mapping[str, object]) -> None:
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise RequestError(given[1], named[given[1]], f"it can't be combined with {given[0]}; use one of them")


def _around(source: Source, around: int | str, context: int | str | None) -> Part | str:
    place = parse_range("around", str(around) if isinstance(around, int | str) else around).first
    if place.line > source.lines:
        return source.beyond(place.line)
    start, end = source.line_start(place.line), source.line_end(source.line_start(place.line))
    if end - start > 2 * AROUND_BYTES and (place.byte or context is None):
        middle = min(start + max(place.byte, 1) - 1, end - 1)
        return Part(max(start, middle - AROUND_BYTES), min(end, middle + AROUND_BYTES), "middle", middle, of="states")
    reach = AROUND_LINES if context is None else whole_number("context", context, least=0)
    return Part(
        source.line_start(max(1, place.line - reach)), source.line_start(place.line + reach + 1), "middle", start
    )


def _by_lines(source: Source, lines: str | int | tuple[int, int]) -> Part | str:
    first, last = parse_range("lines", lines)
    if first.line > source.lines:
        return source.beyond(first.line)
    start = source.line_start(first.line)
    if first.byte:
        start = min(start + first.byte - 1, source.line_end(start))
    end = source.size if last is None else source.line_start(last.line + 1)
    if last is not None and last.byte:
        end = min(end, source.line_start(last.line) + last.byte)
    if start >= end:
        length = source.line_start(first.line + 1) - source.line_start(first.line)
        return f"line {first.line} has {length} bytes, line end included; byte {first.byte} is beyond its end"
    return Part(start, end)


def _inside(source: Source, line: int | str | None, bytes: RangeLike, chars: RangeLike) -> Part | str:
    unit = "bytes" if bytes is not None else "chars"
    first, last = parse_range(unit, bytes if bytes is not None else chars)  # type: ignore[arg-type]
    if unit == "chars" and line is None:
        line = 1
    number = None if line is None else whole_number("line", line)
    if number is not None and number > source.lines:
        return source.beyond(number)
    base = source.line_start(number) if number else 0
    stop = source.line_end(base) if number else source.size
    if unit == "chars":
        assert number is not None
        start = source.char_offset(number, first.line - 1)
        end = stop if last is None else source.char_offset(number, last.line)
    else:
        start = base + first.line - 1
        end = stop if last is None else min(base + last.line, stop)
    if start >= stop:
        length = source.char_count(base, stop) if unit == "chars" else stop - base
        what = f"line {number} has {length} {unit}" if number else f"the output has {length} {unit}"
        return f"{what}, line end included; {unit} {first.line} and on are beyond its end"
    return Part(start, end, inside_line=number or 0, of="states")
