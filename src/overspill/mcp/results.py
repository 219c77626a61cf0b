"""One result in, one result out: within the budget as it is serialised, and still what MCP says it is.

Guarantees: a result within the limit is not touched; the text of one above it is in the store, or said
not to be; parts keep their order and kind where they fit; ``isError`` and ``_meta`` stay; structured
content is kept valid or dropped as was decided before the first call.  Data of images that are kept on
purpose and ``_meta`` are no text for the model and do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from overspill.bounder import Bounder
from overspill.core.measure import Measure, Size, within
from overspill.core.model import UNITS, Bounded, Budget
from overspill.errors import PolicyError
from overspill.mcp import wire
from overspill.mcp.long import LONG_BYTES, Long, chars_of, slices_of, whole
from overspill.mcp.parts import Parts, Slot, blank, carried_in, without_data
from overspill.mcp.room import fraction, is_nearly, less, shares_of
from overspill.mcp.rules import Setting
from overspill.mcp.schema import Trimming
from overspill.mcp.shapes import error_and_words, large_among, result_in
from overspill.mcp.structured import Cutting
from overspill.mcp.twice import left_of, twin_of
from overspill.mcp.wire import Raw
from overspill.source import json_text

_ROUNDS = 4
_KNOWN = ("_meta", "isError", "resultType", "structuredContent")
_HUGE = 10**12


def bound_message(message: bytes, setting: Setting, *, member: str = "content") -> bytes:
    """A response with its result bounded; the very same object when that is within the limit."""
    if _is_within_limit(message, setting):
        return message
    outer = wire.members(message)
    found = result_in(outer, member) if outer else None
    if outer is None or found is None:
        return message
    result, parts = found

    def serialised(changed: dict[str, Any]) -> bytes:
        return wire.encoded({**outer, "result": changed})

    return _Bounding(result, parts, setting, member, serialised, message).message()


def bound_refusal(message: bytes, setting: Setting) -> bytes:
    """A response that is an error, within the limit: its words cut as a text is, its data with them when large."""
    if _is_within_limit(message, setting):
        return message
    outer = wire.members(message) or {}
    policy = setting.bounder.policy
    rest, text = error_and_words(outer["error"], policy.budget, policy.counter)
    frame: dict[str, Any] = {**outer, "result": {**rest, "content": [{"type": "text", "text": text}]}}
    frame.pop("error")
    bounded = wire.decoded(bound_message(wire.encoded(frame), replace(setting, max_result_chars=None)))
    return wire.encoded({**outer, "error": {**rest, "message": bounded["result"]["content"][0]["text"]}})


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
class _Bounding:
    """One result; its methods in the order in which they are used."""

    result: dict[str, Raw]
    parts: Sequence[Raw]
    setting: Setting
    member: str
    serialised: Callable[[dict[str, Any]], bytes]
    original: bytes
    slots: list[Slot] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    handles: list[str] = field(default_factory=list)
    structured: Any = None
    memory: dict[str | Long, dict[Budget, Bounded]] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)
    """Long texts and data that the parts hold."""

    def message(self) -> bytes:
        self._take_in()
        if self._passes():
            return self.original
        self._tell_the_unknown()
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

    def _take_in(self) -> None:
        found = Parts(self.setting, self.member, self.budget)
        found.sort(self.parts)
        self.slots, self.links, self.handles, self.said = found.slots, found.links, found.handles, found.said

    def _passes(self) -> bool:
        """Is it within the limit without what does not count?"""
        if any(slot.raw is None for slot in self.slots):
            return False
        declared = self.setting.max_result_chars
        if declared is not None:
            shown = sum(chars_of(slot.text) for slot in self.slots if slot.text is not None)
            return max(shown, len(self.result.get("structuredContent", Raw()))) <= declared
        blank = sum(slot.uncounted_bytes for slot in self.slots)
        if not blank:
            return False
        above = self.bounder.policy.above
        rest = len(self.original) - blank
        return rest <= above.bytes_ceiling and _text_fits(self._blanked(), above, self.bounder.policy.counter)

    def _blanked(self) -> bytes:
        """The message without the data that does not count."""
        return self.serialised({**self.result, self.member: [blank(slot) for slot in self.slots]})

    # What becomes of it

    def _tell_the_unknown(self) -> None:
        """Members of which no version of the protocol is known to speak become text when they are large."""
        unknown = {name: raw for name, raw in self.result.items() if name not in (*_KNOWN, self.member)}
        told = large_among(unknown, self.budget, self.bounder.policy.counter)
        if told:
            self.result = {name: raw for name, raw in self.result.items() if name not in told}
            self.slots.append(Slot(text=json_text({name: wire.decoded(raw) for name, raw in told.items()})))

    def _decide_structured(self) -> None:
        raw = self.result.get("structuredContent")
        if raw is None or self.setting.plan == "keep":
            return
        promised = isinstance(self.setting.plan, Trimming) and bytes(self.result.get("isError", b"false")) != b"true"
        if len(raw) <= self._quarter_bytes and not promised:
            return
        without = {name: item for name, item in self.result.items() if name != "structuredContent"}
        member, spoken = self._said_at_length(raw)
        if spoken is not None and not promised:
            self.result = without
            return
        texts = self._whole_texts()
        value = wire.decoded(raw) if spoken is None else {member: spoken.text}
        twin = twin_of(value, texts)
        if promised:
            self.structured = Cutting(self.setting.plan, value, twin, len(raw))  # type: ignore[arg-type]
            return
        self.result = without
        if twin is None:
            self.slots.append(Slot(text=json_text(left_of(value, self.said))))

    def _said_at_length(self, structured: Raw) -> tuple[str, Slot | None]:
        """Its one member, and the part whose long text is the same in the very same bytes."""
        members = wire.members(structured) or {}
        if len(members) != 1:
            return "", None
        ((member, inner),) = members.items()
        said = (slot for slot in self.slots if isinstance(slot.text, Long) and slot.text.is_the_same_json_as(inner))
        return member, next(said, None)

    def _whole_texts(self) -> list[str]:
        """To be compared with what the structured content says."""
        texts = []
        for slot in self.slots:
            if isinstance(slot.text, Long):
                slot.text = slot.text.whole()
                self.said.add(slot.text)
            if slot.text is not None:
                texts.append(slot.text)
        return texts

    def _name_links(self) -> None:
        """Many hosts drop links: their addresses stand in the text too, and no more of them than fit."""
        if not self.links:
            return
        lines = [" ".join(_words_of(link)) for link in self.links]
        self.slots.append(Slot(text="Links:\n" + "\n".join(lines)))
        room, kept = self._quarter_bytes, []
        for slot in self.slots:
            size = len(slot.raw) if slot.raw is not None and slot.text is None else 0
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
                self._join(room=0)
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
        return len(texts) > 1 and not within(self._frame_size(), fraction(self.budget, 0.5))

    def _join(self, room: int | None = None) -> None:
        """One text in the place of the first; what else there is is kept while it is little."""
        texts = self._whole_texts()
        joined, placed = [], False
        room = self._quarter_bytes if room is None else room
        for slot in self.slots:
            if slot.text is None:
                room -= len(slot.raw or b"") - slot.uncounted_bytes
                if room >= 0:
                    joined.append(slot)
                else:
                    texts.append(bytes(slot.raw or b"").decode("utf-8", "replace"))
            elif not placed:
                placed = True
                joined.append(slot)
        if not placed:
            joined.append(Slot())
        first = next(slot for slot in joined if slot.text is not None or slot.raw is None)
        first.text, first.raw, first.carry = (
            "\n".join(texts),
            None,
            carried_in(self.member, wire.decoded(self.parts[0]) if self.parts else {}),
        )
        self.slots = joined

    def _attempt(self, shrink: Size) -> tuple[bytes, Size] | None:
        """A message, and by how much it is over the budget; None when there is no room for notices."""
        room = less(self.budget, self._frame_size(), shrink)
        if room is None:
            return None
        texts = [slot.text for slot in self.slots if slot.text is not None]
        wanted = [self._wanted(text, room) for text in texts]
        cutting = self.structured
        if cutting is not None:
            size = self._measure.size(cutting.serialised, room) if cutting.is_small(room) else Size(*[_HUGE] * 4)
            wanted.append(size)
        shares = shares_of(wanted, room)
        try:
            # First: the same text beside it can then stand there as it was cut.
            trimmed = None if cutting is None else self._trim(cutting, fraction(room, shares[-1]))
            bounded = [self._bounded(text, room, share) for text, share in zip(texts, shares, strict=False)]
        except PolicyError:
            return None
        if cutting is not None and trimmed is None:
            return None
        message = self.serialised(self._assembled(bounded, trimmed))
        return message, self._over(message)

    def _wanted(self, text: str | Long, room: Budget) -> Size:
        if isinstance(text, Long) or len(text) > 4 * room.bytes_ceiling:
            return Size(*[_HUGE] * 4)
        return self.bounder.policy.measure.size(text, room)

    def _bounded(self, text: str | Long, room: Budget, share: float) -> str:
        budget = fraction(room, share)
        measure = self.bounder.policy.measure
        if isinstance(text, str) and len(text) <= budget.bytes_ceiling and measure.fits(text, budget):
            return text
        return self._cut(text, budget).text

    def _cut(self, text: str | Long, budget: Budget) -> Bounded:
        """Cut once: a text that stands in two places, or is tried again, is not read twice."""
        for size, known in self.memory.get(text, {}).items():
            if is_nearly(size, budget):
                return known
        is_sliced = len(text) > LONG_BYTES and self.bounder.policy.when_failed != "original"
        output = slices_of(text) if is_sliced else whole(text)
        bounded = self.bounder.within(budget).bound(output, self.setting.call)
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
        parts = [blank(slot) if slot.text is None else slot.carry("") for slot in self.slots]
        frame: dict[str, Any] = {**self.result, self.member: parts, "_meta": {"overspill": {"handles": ["x" * 16] * 2}}}
        if self.structured is not None or self.setting.plan == "keep":
            frame.pop("structuredContent", None)
        size = self._counted(self.serialised(frame))
        return Size(size.tokens + 4 * len(self.slots), *size[1:])

    def _over(self, message: bytes) -> Size:
        counted = wire.members(message) or {}
        result = wire.members(counted["result"]) or {}
        if any(slot.uncounted_bytes for slot in self.slots):
            parts = wire.elements(result[self.member]) or []
            result[self.member] = Raw(wire.encoded([without_data(part) for part in parts]))
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
        text = next(whole(slot.text) for slot in self.slots if slot.text is not None)
        unknown = {name: wire.decoded(raw) for name, raw in self.result.items() if name not in (*_KNOWN, self.member)}
        text += f"\n{json_text(unknown)}" if unknown else ""
        stored = self.bounder.bound(text, self.setting.call)
        if stored.handle:
            words = f"[overspill {stored.handle}: nothing of {stored.total_bytes} bytes shown]"
        else:
            words = (
                f"[overspill: nothing of {stored.total_bytes} bytes shown; they could NOT be saved ({stored.unsaved})]"
            )
        result: dict[str, Any] = {
            name: self.result[name] for name in ("resultType", "isError", "_meta") if name in self.result
        }
        result[self.member] = [carried_in(self.member, wire.decoded(self.parts[0]) if self.parts else {})(words)]
        cutting = self.structured
        if cutting is not None:
            result["structuredContent"] = cutting.least()
        if stored.handle:
            meta = wire.members(self.result["_meta"]) if "_meta" in self.result else None
            named = {**result, "_meta": {**(meta or {}), "overspill": {"handles": [stored.handle]}}}
            message = self.serialised(named)
            if not any(self._over(message)):
                return message
        return self.serialised(result)


def _carried(slot: Slot, text: str) -> Any:
    return slot.raw if text is slot.text and slot.raw is not None else slot.carry(text)


def _words_of(link: dict[str, Any]) -> list[str]:
    words = [str(link.get("uri", "")), str(link.get("title") or link.get("name") or "")]
    return [" ".join(word.split()) for word in words if word]
