"""What a JSON-RPC message says of itself in the headers of streamable HTTP: pure.

Until 2025-11-25 that is the session and the agreed version; from 2026-07-28 on each request repeats its
version, method and name, and the arguments that its tool's schema marks.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from overspill.mcp import wire
from overspill.mcp.messages import VERSION_KEY

SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
LAST_EVENT = "last-event-id"

_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PLAIN = re.compile(r"[\x20-\x7e]*")
_WRAPPED = re.compile(r"=\?base64\?.*\?=")

Marked = dict[tuple[str, ...], str]
"""By the place of an argument, the header that repeats it."""


def marked_arguments(schema: Any, place: tuple[str, ...] = ()) -> Marked:
    """The arguments that a tool wants in headers of their own."""
    found: Marked = {}
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    for name, about in properties.items() if isinstance(properties, Mapping) and len(place) < 16 else ():
        if isinstance(about, Mapping):
            header = about.get("x-mcp-header")
            if isinstance(header, str) and _TOKEN.fullmatch(header):
                found[*place, name] = header
            found |= marked_arguments(about, (*place, name))
    return found


def of_message(message: bytes, marked: Mapping[str, Marked]) -> dict[str, str]:
    """The headers that a request of 2026-07-28 or later wants; none for an older one."""
    if VERSION_KEY.encode() not in message:
        return {}
    found = wire.envelope(message)
    params = wire.decoded(found.params) if found and len(found.params) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    if found is None or not isinstance(params, dict) or not isinstance(version, str):
        return {}
    headers = {VERSION: version, "mcp-method": str(found.method)}
    name = params.get(_NAMED_BY.get(str(found.method), ""))
    if isinstance(name, str):
        headers["mcp-name"] = header_value(name)
    if found.method == "tools/call" and isinstance(name, str):
        for place, header in marked.get(name, {}).items():
            value = _at(params.get("arguments"), place)
            if value is not None:
                headers[f"mcp-param-{header}"] = header_value(value)
    return headers


def header_value(text: str) -> str:
    """As it is, or wrapped when a header could not carry it."""
    if _PLAIN.fullmatch(text) and text == text.strip() and not _WRAPPED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def _at(value: Any, place: tuple[str, ...]) -> str | None:
    for step in place:
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None
