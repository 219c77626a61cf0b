"""What the parts of a result are: each kept as it came, or a text to be bounded and what carries it.

Guarantees: parts keep their order and kind; images, audio and blobs above their size are in the store
and stand there as words with the handle, or the words say that they could not be saved.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from overspill.core.measure import Measure
from overspill.core.model import Budget
from overspill.mcp import wire
from overspill.mcp.long import LONG_BYTES, Long, is_text
from overspill.mcp.room import fraction
from overspill.mcp.rules import Setting
from overspill.mcp.twice import LONG_CHARS
from overspill.mcp.wire import Raw
from overspill.source import json_text

_EXTRA_BYTES = 1_000
"""Annotations of a part that take more are no annotations."""


@dataclass(slots=True)
class Slot:
    """A part on its way out: kept as it came, or a text to be bounded and what carries it."""

    raw: Raw | None = None
    text: str | Long | None = None
    carry: Callable[[str], Any] = lambda text: {"type": "text", "text": text}
    uncounted_bytes: int = 0


@dataclass(slots=True)
class Parts:
    """The parts of one result; ``member`` is where it has them."""

    setting: Setting
    member: str
    budget: Budget
    slots: list[Slot] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    handles: list[str] = field(default_factory=list)
    said: set[str] = field(default_factory=set)
    """Long texts and data that the parts hold."""

    def sort(self, parts: Sequence[Raw]) -> None:
        for raw in parts:
            self.slots.append(self._slot(raw, self._value(raw)))

    def _value(self, raw: Raw) -> dict[str, Any]:
        """The part, its text not decoded when that is long."""
        if len(raw) <= self._long_bytes:
            value = wire.decoded(raw)
            return value if isinstance(value, dict) else {}
        return {name: self._member(name, item) for name, item in (wire.members(raw) or {}).items()}

    def _member(self, name: str, raw: Raw) -> Any:
        if name == "resource":
            return self._value(raw)
        if name == "text" and len(raw) > self._long_bytes and is_text(raw):
            return Long(raw)
        return wire.decoded(raw)

    @property
    def _long_bytes(self) -> int:
        """What is longer fits in no budget, however it is escaped."""
        return max(LONG_BYTES, 8 * self.budget.bytes_ceiling)

    def _slot(self, raw: Raw, value: dict[str, Any]) -> Slot:
        kind = value.get("type")
        resource = value if self.member == "contents" else value.get("resource")
        for holder in (value, resource if isinstance(resource, dict) else {}):
            words = (holder.get(name) for name in ("text", "data", "blob"))
            self.said.update(word for word in words if isinstance(word, str) and len(word) > LONG_CHARS)
        if kind == "text" and isinstance(value.get("text"), str | Long):
            return self._text(raw, value, value["text"], lambda text: {**value, "text": text})
        if kind in ("image", "audio") and isinstance(value.get("data"), str):
            return self._media(raw, value)
        if kind == "resource_link":
            self.links.append(value)
            return Slot(raw)
        if isinstance(resource, dict) and isinstance(resource.get("text"), str | Long):
            return self._text(raw, resource, resource["text"], lambda text: _nested(value, {**resource, "text": text}))
        if isinstance(resource, dict) and isinstance(resource.get("blob"), str):
            return Slot(raw) if self._is_little(raw) else self._blob(value, resource)
        return self._other(raw, value)

    def _text(self, raw: Raw, value: dict[str, Any], text: str | Long, carry: Callable[[str], Any]) -> Slot:
        if len(raw) - len(text) > _EXTRA_BYTES and len(wire.encoded({**value, "text": ""})) > _EXTRA_BYTES:
            return self._other(raw, value)
        return Slot(raw, text, carry)

    def _other(self, raw: Raw, value: Any) -> Slot:
        if len(raw) <= _EXTRA_BYTES:
            return Slot(raw)
        return Slot(raw, json_text(wire.decoded(raw)), carried_in(self.member, value))

    def _is_little(self, part: Raw) -> bool:
        if len(part) > self.budget.bytes_ceiling // 4:
            return False
        measure = Measure(self.setting.bounder.policy.counter)
        return measure.fits(bytes(part).decode("utf-8", "replace"), fraction(self.budget, 0.25))

    def _media(self, raw: Raw, value: dict[str, Any]) -> Slot:
        rules, size = self.setting.rules, len(value["data"])
        if rules.media == "keep" or size <= rules.media_bytes:
            return Slot(raw, uncounted_bytes=size)
        return Slot(text=self._spilled(value["data"], str(value.get("mimeType") or value["type"]), ""))

    def _blob(self, value: dict[str, Any], resource: dict[str, Any]) -> Slot:
        words = self._spilled(resource["blob"], str(resource.get("mimeType") or "blob"), str(resource.get("uri", "")))
        return Slot(text=words, carry=carried_in(self.member, value))

    def _spilled(self, data: str, kind: str, uri: str) -> str:
        try:
            content = base64.b64decode("".join(data.split()), validate=True)
        except ValueError:  # another alphabet, an address: whatever is left out would be lost
            content = data.encode("utf-8", "surrogatepass")
        what = f"{kind[:100]}, {len(content)} bytes, not shown" + (f", {uri[:300]}" if uri else "")
        store = self.setting.bounder.store
        try:
            if store is None:
                raise OSError("no store is configured")
            spill = store.spill(self.setting.call)
            spill.write(content)
            stored = spill.commit(self.setting.call)
        except Exception as fault:  # a user's store may raise anything
            reason = " ".join(str(getattr(fault, "reason", fault)).split())[:80]
            return f"[overspill: {what}; it could NOT be saved ({reason})]"
        self.handles.append(stored.handle)
        place = f"it is the file {stored.path}" if stored.path else f"`overspill show --raw {stored.handle}` writes it"
        return f"[overspill {stored.handle}: {what}; {place}]"


def _nested(value: dict[str, Any], resource: dict[str, Any]) -> dict[str, Any]:
    return {**value, "resource": resource} if "resource" in value else resource


def carried_in(member: str, value: Any) -> Callable[[str], Any]:
    """What carries words of overspill's: a text part, or the contents of a resource."""
    if member == "content":
        return lambda text: {"type": "text", "text": text}
    uri = str(value.get("uri", ""))[:2_000] if isinstance(value, dict) else ""
    return lambda text: {"uri": uri, "mimeType": "text/plain", "text": text}


def blank(slot: Slot) -> Any:
    """The part without the data that does not count."""
    return without_data(slot.raw) if slot.uncounted_bytes and slot.raw is not None else slot.raw


def without_data(part: Raw) -> Any:
    found = wire.members(part)
    return {**found, "data": ""} if found and "data" in found else part
