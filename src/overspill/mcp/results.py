"""One result in, one result out: within the budget as it is serialised, and still what MCP says it is.

Guarantees: a result within the limit is not touched; the text of one above it is in the store, or said
not to be; parts keep their order and kind where they fit; ``isError`` and ``_meta`` stay; structured
content is kept valid or dropped as was decided before the first call.  Data of images that are kept on
purpose and ``_meta`` are no text for the model and do not count.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from overspill.bounder import Bounder
from overspill.core.measure import Measure, Size, within
from overspill.core.model import UNITS, Bounded, Budget, Call
from overspill.core.share import fair_shares
from overspill.errors import PolicyError
from overspill.mcp import wire
from overspill.mcp.rules import Rules
from overspill.mcp.schema import Trimming
from overspill.mcp.structured import Cutting
from overspill.mcp.twice import LONG_CHARS, left_of, twin_of
from overspill.mcp.wire import Raw
from overspill.source import json_text

Plan = Trimming | Literal["text", "keep"]
"""What was promised of a tool's structured content: cut it so, drop it when it is large, leave it."""

_ROUNDS = 4
_EXTRA_BYTES = 1_000
"""Annotations of a part that take more are no annotations."""
_HUGE = 10**12


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a result is bounded by."""

    bounder: Bounder
    rules: Rules
    call: Call
    plan: Plan = "text"
    max_result_chars: int | None = None
    """The size that the tool declares for its results: up to it they pass."""
    shown: Callable[[Bounded], None] = lambda bounded: None


def bound_message(message: bytes, setting: Setting, *, member: str = "content") -> bytes:
    """A response with its result bounded; the very same object when that is within the limit."""
    if _is_within_limit(message, setting):
        return message
    outer = wire.members(message)
    result = wire.members(outer["result"]) if outer and "result" in outer else None
    parts = wire.elements(result[member]) if result and member in result else None
    if outer is None or result is None or (parts is None and "structuredContent" not in result):
        return message  # no result of a tool: a task that was begun, a question back

    def serialised(changed: dict[str, Any]) -> bytes:
        return wire.encoded({**outer, "result": changed})

    return _Bounding(result, parts or [], setting, member, serialised, message).message()


def _is_within_limit(message: bytes, setting: Setting) -> bool:
    policy = setting.bounder.policy
    if setting.max_result_chars is not None:
        return len(message) <= min(setting.max_result_chars, policy.above.bytes_ceiling)
    return len(message) <= policy.above.bytes_ceiling and _text_fits(message, policy.above, policy.counter)


def _text_fits(message: bytes, budget: Budget, counter: Callable[[str], int]) -> bool:
    measure = Measure(counter)
    text = message.rstrip(b"\r\n").decode("utf-8", "replace")
    return measure.surely_fits(text, budget) or measure.fits(text, budget)


@dataclass(slots=True)
class _Slot:
    """A part on its way out: kept as it came, or a text to be bounded and what carries it."""

    raw: Raw | None = None
    text: str | None = None
    carry: Callable[[str], Any] = lambda text: {"type": "text", "text": text}
    uncounted_bytes: int = 0


@dataclass(slots=True)
class _Bounding:
    """One result; its methods in the order in which they are used."""

    result: dict[str, Raw]
    parts: Sequence[Raw]
    setting: Setting
    member: str
    serialised: Callable[[dict[str, Any]], bytes]
    original: bytes
    slots: list[_Slot] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    handles: list[str] = field(default_factory=list)
    structured: Any = None
    memory: dict[str, dict[Budget, Bounded]] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)
    """Long texts and data that the parts hold."""

    def message(self) -> bytes:
        self._sort()
        if self._passes():
            return self.original
        self._decide_structured()
        self._name_links()
        return self._fitted()

    @property
    def bounder(self) -> Bounder:
        return self.setting.bounder

    @property
    def budget(self) -> Budget:
        budget, declared = self.bounder.policy.budget, self.setting.max_result_chars
        if declared is None or declared >= (budget.max_chars or _HUGE):
            return budget
        try:
            return replace(self.bounder.policy, budget=replace(budget, max_chars=declared), limit=None).budget
        except PolicyError:
            return budget

    # What there is

    def _sort(self) -> None:
        for raw in self.parts:
            value = wire.decoded(raw)
            self.slots.append(self._slot(raw, value if isinstance(value, dict) else {}))

    def _slot(self, raw: Raw, value: dict[str, Any]) -> _Slot:
        kind = value.get("type")
        resource = value if self.member == "contents" else value.get("resource")
        for holder in (value, resource if isinstance(resource, dict) else {}):
            words = (holder.get(name) for name in ("text", "data", "blob"))
            self.said.update(word for word in words if isinstance(word, str) and len(word) > LONG_CHARS)
        if kind == "text" and isinstance(value.get("text"), str):
            return self._text(raw, value, value["text"], lambda text: {**value, "text": text})
        if kind in ("image", "audio") and isinstance(value.get("data"), str):
            return self._media(raw, value)
        if kind == "resource_link":
            self.links.append(value)
            return _Slot(raw)
        if isinstance(resource, dict) and isinstance(resource.get("text"), str):
            return self._text(raw, resource, resource["text"], lambda text: _nested(value, {**resource, "text": text}))
        if isinstance(resource, dict) and isinstance(resource.get("blob"), str):
            return _Slot(raw) if self._is_little(raw) else self._blob(value, resource)
        return self._other(raw, value)

    def _text(self, raw: Raw, value: dict[str, Any], text: str, carry: Callable[[str], Any]) -> _Slot:
        if len(bytes(raw)) - len(text) > _EXTRA_BYTES and len(wire.encoded({**value, "text": ""})) > _EXTRA_BYTES:
            return self._other(raw, value)
        return _Slot(raw, text, carry)

    def _other(self, raw: Raw, value: Any) -> _Slot:
        if len(bytes(raw)) <= _EXTRA_BYTES:
            return _Slot(raw)
        return _Slot(raw, json_text(value), _carried_in(self.member, value))

    def _is_little(self, part: Raw) -> bool:
        data = bytes(part)
        if len(data) > self._quarter_bytes:
            return False
        return self._measure.fits(data.decode("utf-8", "replace"), _fraction(self.budget, 0.25))

    def _media(self, raw: Raw, value: dict[str, Any]) -> _Slot:
        rules, size = self.setting.rules, len(value["data"])
        if rules.media == "keep" or size <= rules.media_bytes:
            return _Slot(raw, uncounted_bytes=size)
        return _Slot(text=self._spilled(value["data"], str(value.get("mimeType") or value["type"]), ""))

    def _blob(self, value: dict[str, Any], resource: dict[str, Any]) -> _Slot:
        words = self._spilled(resource["blob"], str(resource.get("mimeType") or "blob"), str(resource.get("uri", "")))
        return _Slot(text=words, carry=_carried_in(self.member, value))

    def _spilled(self, data: str, kind: str, uri: str) -> str:
        try:
            content = base64.b64decode(data)
        except ValueError:
            content = data.encode("utf-8", "surrogatepass")
        what = f"{kind[:100]}, {len(content)} bytes, not shown" + (f", {uri[:300]}" if uri else "")
        store = self.bounder.store
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

    def _passes(self) -> bool:
        """Is it within the limit without what does not count?"""
        if any(slot.raw is None for slot in self.slots):
            return False
        declared = self.setting.max_result_chars
        if declared is not None:
            shown = sum(len(slot.text) for slot in self.slots if slot.text is not None)
            return max(shown, len(bytes(self.result.get("structuredContent", Raw())))) <= declared
        blank = sum(slot.uncounted_bytes for slot in self.slots)
        if not blank:
            return False
        above = self.bounder.policy.above
        rest = len(self.original) - blank
        return rest <= above.bytes_ceiling and _text_fits(self._blanked(), above, self.bounder.policy.counter)

    def _blanked(self) -> bytes:
        """The message without the data that does not count."""
        return self.serialised({**self.result, self.member: [_blank(slot) for slot in self.slots]})

    # What becomes of it

    def _decide_structured(self) -> None:
        raw = self.result.get("structuredContent")
        if raw is None or self.setting.plan == "keep":
            return
        promised = isinstance(self.setting.plan, Trimming) and bytes(self.result.get("isError", b"false")) != b"true"
        if len(bytes(raw)) <= self._quarter_bytes and not promised:
            return
        value = wire.decoded(raw)
        twin = twin_of(value, [slot.text for slot in self.slots if slot.text is not None])
        if promised:
            self.structured = Cutting(self.setting.plan, value, twin)  # type: ignore[arg-type]
            return
        self.result = {name: item for name, item in self.result.items() if name != "structuredContent"}
        if twin is None:
            self.slots.append(_Slot(text=json_text(left_of(value, self.said))))

    def _name_links(self) -> None:
        """Many hosts drop links: their addresses stand in the text too, and no more of them than fit."""
        if not self.links:
            return
        lines = [" ".join(_words_of(link)) for link in self.links]
        self.slots.append(_Slot(text="Links:\n" + "\n".join(lines)))
        room, kept = self._quarter_bytes, []
        for slot in self.slots:
            size = len(bytes(slot.raw)) if slot.raw is not None and slot.text is None else 0
            is_link = bool(size) and not slot.uncounted_bytes and b'"resource_link"' in bytes(slot.raw or b"")
            room -= size if is_link else 0
            if not is_link or room >= 0:
                kept.append(slot)
        self.slots = kept

    @property
    def _quarter_bytes(self) -> int:
        return self.budget.bytes_ceiling // 4

    # How it is made to fit

    def _fitted(self) -> bytes:
        if self._frame_is_heavy():
            self._join()
        shrink = Size(0, 0, 0, 0)
        message = b""
        for _ in range(_ROUNDS):
            attempt = self._attempt(shrink)
            if attempt is None:
                self._join()
                attempt = self._attempt(shrink)
            if attempt is None:
                break
            message, over = attempt
            if not any(over):
                return message
            shrink = Size(*(before + more + more // 8 + (more > 0) for before, more in zip(shrink, over, strict=True)))
        return self._least()

    def _frame_is_heavy(self) -> bool:
        texts = [slot for slot in self.slots if slot.text is not None]
        return len(texts) > 1 and not within(self._frame_size(), _fraction(self.budget, 0.5))

    def _join(self) -> None:
        """One text in the place of the first; what else there is is kept while it is little."""
        texts = [slot.text for slot in self.slots if slot.text is not None]
        joined, placed = [], False
        room = self._quarter_bytes
        for slot in self.slots:
            if slot.text is None:
                room -= len(bytes(slot.raw or b"")) - slot.uncounted_bytes
                if room >= 0:
                    joined.append(slot)
                else:
                    texts.append(bytes(slot.raw or b"").decode("utf-8", "replace"))
            elif not placed:
                placed = True
                joined.append(slot)
        if not placed:
            joined.append(_Slot())
        whole = "\n".join(texts)
        first = next(slot for slot in joined if slot.text is not None or slot.raw is None)
        first.text, first.raw, first.carry = (
            whole,
            None,
            _carried_in(self.member, wire.decoded(self.parts[0]) if self.parts else {}),
        )
        self.slots = joined

    def _attempt(self, shrink: Size) -> tuple[bytes, Size] | None:
        """A message, and by how much it is over the budget; None when there is no room for notices."""
        room = _less(self.budget, self._frame_size(), shrink)
        if room is None:
            return None
        texts = [slot.text for slot in self.slots if slot.text is not None]
        wanted = [self._wanted(text, room) for text in texts]
        cutting = self.structured
        if cutting is not None:
            size = self._measure.size(cutting.serialised, room) if cutting.is_small(room) else Size(*[_HUGE] * 4)
            wanted.append(size)
        shares = _shares(wanted, room)
        try:
            # First: the same text beside it can then stand there as it was cut.
            trimmed = None if cutting is None else self._trim(cutting, _fraction(room, shares[-1]))
            bounded = [self._bounded(text, room, share) for text, share in zip(texts, shares, strict=False)]
        except PolicyError:
            return None
        if cutting is not None and trimmed is None:
            return None
        message = self.serialised(self._assembled(bounded, trimmed))
        return message, self._over(message)

    def _wanted(self, text: str, room: Budget) -> Size:
        if len(text) > 4 * room.bytes_ceiling:
            return Size(*[_HUGE] * 4)
        return self.bounder.policy.measure.size(text, room)

    def _bounded(self, text: str, room: Budget, share: float) -> str:
        budget = _fraction(room, share)
        measure = self.bounder.policy.measure
        if len(text) <= budget.bytes_ceiling and measure.fits(text, budget):
            return text
        return self._cut(text, budget).text

    def _cut(self, text: str, budget: Budget) -> Bounded:
        """Cut once: a text that stands in two places, or is tried again, is not read twice."""
        for size, known in self.memory.get(text, {}).items():
            if _is_nearly(size, budget):
                return known
        bounded = self.bounder.within(budget).bound(text, self.setting.call)
        if bounded.handle and bounded.handle not in self.handles:
            self.handles.append(bounded.handle)
        self.setting.shown(bounded)
        self.memory.setdefault(text, {})[budget] = bounded
        return bounded

    def _trim(self, cutting: Cutting, budget: Budget) -> Any:
        return cutting.within(budget, self.bounder, self._cut)

    def _assembled(self, bounded: list[str], structured: Any) -> dict[str, Any]:
        fitted = iter(bounded)
        content = [slot.raw if slot.text is None else _carried(slot, next(fitted)) for slot in self.slots]
        changed: dict[str, Any] = {**self.result, self.member: content}
        if self.structured is not None:
            changed["structuredContent"] = structured
        if self.handles:
            meta = wire.members(self.result["_meta"]) if "_meta" in self.result else None
            changed["_meta"] = {**(meta or {}), "overspill": {"handles": self.handles[:8]}}
        return changed

    @property
    def _measure(self) -> Measure:
        return Measure(self.bounder.policy.counter)

    def _counted(self, message: bytes) -> Size:
        return self._measure.size(message.decode("utf-8", "replace"), self.budget)

    def _frame_size(self) -> Size:
        """Of the message without its texts: what is left is theirs."""
        blank = [_blank(slot) if slot.text is None else slot.carry("") for slot in self.slots]
        frame: dict[str, Any] = {**self.result, self.member: blank, "_meta": {"overspill": {"handles": ["x" * 16] * 2}}}
        if self.structured is not None or self.setting.plan == "keep":
            frame.pop("structuredContent", None)
        size = self._counted(self.serialised(frame))
        return Size(size.tokens + 4 * len(self.slots), *size[1:])

    def _over(self, message: bytes) -> Size:
        counted = wire.members(message) or {}
        result = wire.members(counted["result"]) or {}
        if any(slot.uncounted_bytes for slot in self.slots):
            parts = wire.elements(result[self.member]) or []
            result[self.member] = Raw(wire.encoded([_without_data(part) for part in parts]))
        if self.setting.plan == "keep":
            result.pop("structuredContent", None)
        if "_meta" in self.result:
            result["_meta"] = Raw(b"{}")
        size = self._counted(wire.encoded({**counted, "result": result}))
        bounds = [getattr(self.budget, f"max_{unit}") for unit in UNITS]
        return Size(*(max(0, used - bound) if bound else 0 for used, bound in zip(size, bounds, strict=True)))

    def _least(self) -> bytes:
        """Nothing fits: the handles alone, which the store was given before."""
        self._join()
        whole = next(slot.text for slot in self.slots if slot.text is not None)
        stored = self.bounder.bound(whole, self.setting.call)
        if stored.handle:
            words = f"[overspill {stored.handle}: nothing of {stored.total_bytes} bytes shown]"
        else:
            words = (
                f"[overspill: nothing of {stored.total_bytes} bytes shown; they could NOT be saved ({stored.unsaved})]"
            )
        result: dict[str, Any] = {
            name: self.result[name] for name in ("resultType", "isError", "_meta") if name in self.result
        }
        result[self.member] = [_carried_in(self.member, wire.decoded(self.parts[0]) if self.parts else {})(words)]
        cutting = self.structured
        if cutting is not None:
            result["structuredContent"] = cutting.least()
        return self.serialised(result)


def _nested(value: dict[str, Any], resource: dict[str, Any]) -> dict[str, Any]:
    return {**value, "resource": resource} if "resource" in value else resource


def _carried_in(member: str, value: Any) -> Callable[[str], Any]:
    """What carries words of overspill's: a text part, or the contents of a resource."""
    if member == "content":
        return lambda text: {"type": "text", "text": text}
    uri = str(value.get("uri", ""))[:2_000] if isinstance(value, dict) else ""
    return lambda text: {"uri": uri, "mimeType": "text/plain", "text": text}


def _carried(slot: _Slot, text: str) -> Any:
    return slot.raw if text is slot.text and slot.raw is not None else slot.carry(text)


def _blank(slot: _Slot) -> Any:
    return _without_data(slot.raw) if slot.uncounted_bytes and slot.raw is not None else slot.raw


def _without_data(part: Raw) -> Any:
    found = wire.members(part)
    return {**found, "data": ""} if found and "data" in found else part


def _words_of(link: dict[str, Any]) -> list[str]:
    words = [str(link.get("uri", "")), str(link.get("title") or link.get("name") or "")]
    return [" ".join(word.split()) for word in words if word]


def _shares(wanted: Sequence[Size], room: Budget) -> list[float]:
    """Of the room, by the unit that is the scarcest."""
    named = [index for index, unit in enumerate(UNITS) if getattr(room, f"max_{unit}")]
    bound = {unit: getattr(room, f"max_{UNITS[unit]}") for unit in named}
    unit = max(named, key=lambda index: sum(size[index] for size in wanted) / bound[index], default=named[0])
    total = bound[unit]
    # What is small in this unit may be large in another.
    needs = [max(int(total * size[index] / bound[index]) + 1 for index in named) for size in wanted]
    return [share / total for share in fair_shares(needs, total)]


def _fraction(budget: Budget, fraction: float) -> Budget:
    named = {f"max_{unit}": getattr(budget, f"max_{unit}") for unit in UNITS}
    return Budget(**{name: max(1, int(bound * fraction)) for name, bound in named.items() if bound})


def _is_nearly(size: Budget, budget: Budget) -> bool:
    """Within the other and little less."""
    pairs = [(getattr(size, f"max_{unit}"), getattr(budget, f"max_{unit}")) for unit in UNITS]
    return all(bound is None or (used is not None and 0.8 * bound <= used <= bound) for used, bound in pairs)


def _less(budget: Budget, *sizes: Size) -> Budget | None:
    left = {}
    for index, unit in enumerate(UNITS):
        bound = getattr(budget, f"max_{unit}")
        if bound:
            left[f"max_{unit}"] = bound - sum(size[index] for size in sizes)
    return Budget(**left) if min(left.values()) > 0 else None
