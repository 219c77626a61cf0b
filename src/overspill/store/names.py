"""File names of outputs: templates, and tool names made harmless without ever making two of them one.

A template holds ``{handle}``, ``{tool}``, ``{call_id}``, ``{session}``, ``{timestamp}`` (UTC, as in
``20260131_235959``), ``{millis}`` or ``{ascending}`` (an identifier that sorts by its time and carries it).
Whatever the call says, the result is one plain name of at most 255 bytes that every common file system takes.
"""

from __future__ import annotations

import datetime
import hashlib
import re
import string

from overspill.core.model import Call
from overspill.errors import PolicyError

DEFAULT = "{handle}.txt"
FIELDS = ("handle", "tool", "call_id", "session", "timestamp", "millis", "ascending")
MOST_BYTES = 255
_ROOM_FOR_SUFFIX = 16
"""Kept free for what a second file of the same name and a compressed one add."""

_PART_BYTES = 72
_STILL_SECONDS = 1.0
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
_PLAIN = frozenset(string.ascii_letters + string.digits + "-_.")
_FIELD_PATTERNS = {
    "handle": r"ovs_[0-9a-z]{8,52}",
    "timestamp": r"(?P<timestamp>[0-9]{8}_[0-9]{6})",
    "millis": r"(?P<millis>[0-9]{13,})",
    "ascending": r"(?P<ascending>[0-9a-f]{12}[0-9a-z]{14})",
}


def sanitised(name: str, *, most_bytes: int = _PART_BYTES) -> str:
    """``name`` as a part of a file name; different names give different parts.

    Letters of any script, digits and ``-_.`` stand for themselves, everything else as ``%`` and the
    hexadecimal bytes.  What is too long ends in ``%~`` and a part of its digest.
    """
    if not name:
        return "%empty"
    safe = "".join(character if _stands(character) else _escaped(character) for character in name)
    if safe[0] == "." or _RESERVED.fullmatch(name):
        safe = _escaped(name[0]) + safe[1:]
    if safe[-1] == ".":
        safe = safe[:-1] + _escaped(".")
    if len(safe.encode()) <= most_bytes:
        return safe
    ending = "%~" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    start = safe.encode()[: most_bytes - len(ending)].decode("utf-8", "ignore")
    return start + ending


def checked_template(template: str) -> str:
    """The template, refused where it could name anything but one file in the store's directory."""
    accepted = "a file name without directories, with {" + "}, {".join(FIELDS) + "}"
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise PolicyError("store.naming", template, f"{accepted} ({error})") from None
    fields = [field for _, field, _, _ in parts if field is not None]
    plain = all(not spec and not conversion for _, _, spec, conversion in parts)
    literal = "".join(text for text, _, _, _ in parts)
    bare = set(literal) <= _PLAIN and not template.startswith(".") and not template.endswith(".")
    telling = {"handle", "timestamp", "millis", "ascending"} & set(fields)
    if not (plain and bare and telling and set(fields) <= set(FIELDS) and len(literal) <= 64):
        raise PolicyError("store.naming", template, accepted + "; at least one of handle, timestamp, millis, ascending")
    return template


def file_name(template: str, *, handle: str, call: Call, now: float, ordinal: int = 0) -> str:
    """The name of an output's file. ``ordinal`` counts further files that would have the same name."""
    if template == DEFAULT:
        return handle + ".txt"
    moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
    values = {
        "handle": handle,
        "tool": sanitised(call.tool),
        "call_id": sanitised(call.id),
        "session": sanitised(call.session),
        "timestamp": f"{moment:%Y%m%d_%H%M%S}",
        "millis": str(int(now * 1000)),
        "ascending": ascending(now, handle),
    }
    whole = template.format(**values)
    stem, dot, ending = whole.rpartition(".")
    if not dot:
        stem, ending = whole, ""
    if ordinal:
        stem += f"-{ordinal + 1}"
    most = MOST_BYTES - _ROOM_FOR_SUFFIX - len((dot + ending).encode())
    if len(stem.encode()) > most:
        stem = sanitised(stem, most_bytes=most)
    return stem + dot + ending


def ascending(now: float, handle: str) -> str:
    """An identifier that sorts by time: 12 hexadecimal digits of milliseconds, 3 of microseconds, 11 of the content."""
    millis, micros = divmod(int(now * 1_000_000), 1000)
    rest = hashlib.sha256(handle.encode()).hexdigest()[:11]
    return f"{millis & 0xFFFF_FFFF_FFFF:012x}{micros:03x}{rest}"


def later(now: float, last: float) -> float:
    """The time for the next name: behind the last one's where the clock stood still, or went back by little."""
    if 0 <= last - now < _STILL_SECONDS or int(now * 1_000_000) == int(last * 1_000_000):
        return (int(last * 1_000_000) + 1.5) / 1_000_000
    return now


def template_pattern(template: str) -> re.Pattern[str]:
    """What the names of a template look like."""
    seen: set[str] = set()
    pattern = ""
    for text, field, _, _ in string.Formatter().parse(template):
        pattern += re.escape(text)
        if field is not None:
            found = _FIELD_PATTERNS.get(field, r"[^/\\]+?")
            pattern += found if field not in seen else re.sub(r"\?P<\w+>", "?:", found)
            seen.add(field)
    stem, dot, ending = pattern.rpartition(r"\.")
    return re.compile(f"{stem}(?:-[0-9]+)?{dot}{ending}(?:\\.zst)?" if dot else f"{pattern}(?:-[0-9]+)?(?:\\.zst)?")


def time_in_name(template: str, name: str) -> float | None:
    """The time that a name carries, in seconds; None when it carries none."""
    match = template_pattern(template).fullmatch(name)
    found = match.groupdict() if match else {}
    if stamp := found.get("timestamp"):
        try:
            moment = datetime.datetime.strptime(stamp, "%Y%m%d_%H%M%S")
        except ValueError:
            return None
        return moment.replace(tzinfo=datetime.UTC).timestamp()
    if millis := found.get("millis"):
        return int(millis) / 1000
    if identifier := found.get("ascending"):
        return int(identifier[:12], 16) / 1000
    return None


def _stands(character: str) -> bool:
    return character in _PLAIN or (ord(character) > 127 and character.isalnum())


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
