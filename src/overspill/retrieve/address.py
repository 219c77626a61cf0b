"""Which part of an output is asked for, in the words of a model or a person, as numbers.

Ranges are 1-based and include their ends: ``800-900``, ``800-`` (to the end), ``-900`` (from the
start), ``812`` (one).  A line may carry a byte, ``812.2001``: that is how a page which ended inside a
line is continued.  Nothing here looks at an output: what is beyond its end is its reader's business.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from overspill.errors import RequestError

RangeLike = str | int | tuple[int, int] | None
_RANGE = re.compile(r"\s*(\d+(?:\.\d+)?)?\s*(-|–|:|\.\.|,|to)?\s*(\d+(?:\.\d+)?)?\s*", re.ASCII)
_ACCEPTED = "a number or a range from 1, such as 800-900, 800- or -900"
_MOST_DIGITS = 18


class Place(NamedTuple):
    """A line, and a byte in it when a line is entered or left in its middle; 0 stands for not named."""

    line: int
    byte: int = 0


class Range(NamedTuple):
    first: Place
    last: Place | None
    """None: to the end."""


def parse_range(parameter: str, value: str | int | tuple[int, int]) -> Range:
    """A range of lines; bytes and characters use the ``line`` parts as their numbers."""
    if isinstance(value, tuple | list):
        if len(value) != 2:
            raise RequestError(parameter, value, _ACCEPTED)
        value = "-".join(str(whole_number(parameter, part)) for part in value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise RequestError(parameter, value, _ACCEPTED)
    text = re.sub(r"[Ll](?=\d)", "", str(value).strip().strip("[]()"))
    found = _RANGE.fullmatch(text)
    if not found or not any(found.groups()) or len(text) > 4 * _MOST_DIGITS:
        raise RequestError(parameter, value, _ACCEPTED)
    first_text, dash, last_text = found.groups()
    if not first_text and not last_text:
        raise RequestError(parameter, value, _ACCEPTED)
    first = _place(parameter, value, first_text) if first_text else Place(1)
    last = _place(parameter, value, last_text) if last_text else None if dash else first
    if last is not None and not dash:
        last = first
    if last is not None and (last.line, last.byte or 1 << 62) < (first.line, first.byte):
        raise RequestError(parameter, value, "the end of the range is before its start; write it the other way round")
    return Range(first, last)


def whole_number(parameter: str, value: object, *, least: int = 1) -> int:
    """A number as models write them: 20, "20" or 20.0."""
    if isinstance(value, str):
        value = value.strip().strip("\"'").replace(",", "").replace("_", "")
        value = int(value) if re.fullmatch(r"\d{1,18}", value, re.ASCII) else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise RequestError(parameter, value, f"a whole number, {least} or more")
    return value


def _place(parameter: str, value: object, text: str) -> Place:
    line, _, byte = text.partition(".")
    if len(line) > _MOST_DIGITS or len(byte) > _MOST_DIGITS or int(line) < 1 or (byte and int(byte) < 1):
        raise RequestError(parameter, value, _ACCEPTED)
    return Place(int(line), int(byte or 0))
