"""Bounds a tool response in the common envelope ``status / data / text / stats / context / error``.

Within the limit, or with ``context.truncation_skip``, the very same object comes back.  What is cut is a
valid JSON object again: ``partial`` unless it was an error, ``data`` a preview with the exact account, the
complete raw response in the store as JSON.  One that is cut already passes where its preview fits, else it
is cut anew from the stored response.  Whatever comes in: nothing is raised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from overspill.core.access import SubAgent
from overspill.core.envelopes import cut_earlier
from overspill.core.measure import encode, readable
from overspill.core.model import Bounded, Call
from overspill.core.notice import WORDS
from overspill.core.redact import redacted
from overspill.source import plain, said

if TYPE_CHECKING:
    from overspill.bounder import Bounder
    from overspill.core.policy import Policy

KEYS = ("status", "data", "text", "stats", "context", "error")
SIDE_BYTES = 8_192
"""``stats``, ``context`` and ``error`` stay as they are up to this size of each, all other keys up to it together."""
_MOST_KEYS = 100
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def bound_envelope(response: Any, *, tool: str = "", bounder: Bounder | None = None, call: Call | None = None) -> Any:
    """The response, bounded; a mapping, or the JSON text of one, gives one, anything else is taken as its data.

    Without a bounder, by the ``unified`` preset: 2,000 lines or 51,200 bytes of the raw JSON.  What comes piece by
    piece, as a whole or as ``data``, becomes a list, and an error as well when it breaks off.
    Nothing is awaited here: asynchronous pieces have to be gathered before.
    """
    envelope = _envelope(response)
    if isinstance(envelope.get("data"), Iterator):
        response = envelope = _gathered(envelope)
    bounder = bounder or _unified()
    if _skips(envelope):
        if not bounder.policy.redact:
            return response
        from overspill.bounder import Bounder

        bounder = Bounder(bounder.policy.uncut, on_event=bounder.listeners)
    call = call or Call(tool=tool)
    if (earlier := cut_earlier(envelope)) is not None:
        if not bounder.policy.redact and _fits(envelope, earlier["preview"], bounder.policy):
            return response
        place = earlier["truncation"].get("full_output_path")
        anew = bounder.anew(place, earlier["preview"], call) if isinstance(place, str) else None
        if anew is not None:
            return _cut(envelope, anew, bounder.policy)
    raw = raw_json(envelope)
    if bounder.policy.lets_through(raw) and not bounder.policy.redact:
        return response
    bounded = bounder.bound(raw, call)
    if bounded.truncated:
        return _cut(envelope, bounded, bounder.policy)
    if not bounded.redactions:
        return response
    clean = _without_secrets(envelope, bounder.policy)
    return clean if isinstance(clean, dict) else {"status": "partial", "data": clean, "text": ""}


def envelope_text(response: Any, *, tool: str = "", bounder: Bounder | None = None) -> str:
    """What belongs in the message history: the bounded envelope as JSON."""
    return raw_json(bound_envelope(response, tool=tool, bounder=bounder))


def raw_json(value: Any) -> str:
    """Valid JSON and valid Unicode of anything, a member to a line: what JSON can't say is said as text."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    except (Exception, SystemExit):  # what a value's own methods raise is no concern of the caller's
        text = json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False)
    return _HALF_CHARACTER.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _cut(envelope: Mapping[str, Any], bounded: Bounded, policy: Policy) -> dict[str, Any]:
    status = envelope.get("status")
    cut: dict[str, Any] = {
        "status": "error" if isinstance(status, str) and status == "error" else "partial",
        "data": {"truncated": True, "truncation": _account(bounded, policy), "preview": _preview(bounded)},
        "text": _sentence(bounded, policy),
    }
    for key in ("stats", "context", "error"):
        if key in envelope:
            cut[key] = _small(_without_secrets(envelope[key], policy))
    return cut | _own(envelope, policy)


def _own(envelope: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """The keys that are the tool's own, as many as fit; what is too much of one is said of it."""
    own: dict[str, Any] = {}
    room_bytes = SIDE_BYTES
    for key in [key for key in envelope if isinstance(key, str) and key not in KEYS][:_MOST_KEYS]:
        clean = _without_secrets(plain({key: envelope[key]}), policy)
        member = {name: _small(value) for name, value in clean.items()} if isinstance(clean, dict) else {}
        size = len(_side(member))
        if size <= room_bytes:
            own |= member
            room_bytes -= size
    return own


def _fits(envelope: Mapping[str, Any], preview: str, policy: Policy) -> bool:
    """Is it no more than what this policy would have made of it?"""
    sides = [value for key, value in envelope.items() if key != "data"]
    small = len(sides) <= _MOST_KEYS and all(len(_side(value)) <= SIDE_BYTES for value in sides)
    return small and policy.measure.fits(preview, policy.laid_out)


def _account(bounded: Bounded, policy: Policy) -> dict[str, Any]:
    above = policy.above
    others = {"max_chars": above.max_chars, "max_tokens": above.max_tokens}
    return {
        "direction": policy.strategy.name,
        "max_lines": above.max_lines,
        "max_bytes": above.max_bytes,
        **{name: most for name, most in others.items() if most},
        "original_lines": bounded.total_lines,
        "original_bytes": bounded.total_bytes,
        "kept_lines": bounded.kept_lines,
        "kept_bytes": bounded.kept_bytes,
        "full_output_path": bounded.path or bounded.handle,
    }


def _preview(bounded: Bounded) -> str:
    """What is shown of the raw JSON; the words around it are said in ``text``."""
    spans = [part.text for part in bounded.parts if part.span]
    return spans[0] if len(spans) == 1 else bounded.excerpt


def _sentence(bounded: Bounded, policy: Policy) -> str:
    zh = policy.language == "zh"
    kept, total = bounded.kept_lines, bounded.total_lines
    shown = f"显示 {kept}/{total} 行" if zh else f"{kept}/{total} lines shown"
    if kept == total:  # which would be read as the whole
        shown += WORDS[policy.language].in_part
    size = f"{bounded.kept_bytes}/{bounded.total_bytes}"
    place = bounded.path or bounded.handle
    if place is None:
        reason = " ".join(bounded.unsaved.split())[:80]
        return (
            f"输出已截断：{shown}（{size} 字节），其余未能保存（{reason}）"
            if zh
            else f"Cut: {shown} ({size} bytes); the rest could NOT be saved ({reason})"
        )
    if isinstance(policy.access, SubAgent):
        next_step = (
            f"请用 {policy.access.tool} 工具让子代理处理该文件，不要自己通读全文"
            if zh
            else f"hand that file to a sub-agent with the {policy.access.tool} tool, don't read it all yourself"
        )
    else:
        next_step = "请用 Read 分页读取，或用 Grep 搜索" if zh else "read it by pages with Read, or search it with Grep"
    return (
        f"输出已截断：{shown}（{size} 字节）。完整输出：{place}；{next_step}"
        if zh
        else f"Cut: {shown} ({size} bytes). The whole is in {place}; {next_step}"
    )


def _without_secrets(value: Any, policy: Policy) -> Any:
    """The value as the store has it; its text where a pattern of the user's own took more than a value."""
    if not policy.redact:
        return value
    text = readable(redacted(encode(raw_json(value)), policy.redact))
    try:
        return json.loads(text)
    except ValueError:
        return text


def _small(value: Any) -> Any:
    """The value, or what can be said of it when it is itself too much."""
    raw = _side(value)
    if len(raw) <= SIDE_BYTES:
        return json.loads(raw)
    start = readable(raw[: SIDE_BYTES // 4])
    return {"truncated": True, "original_bytes": len(raw), "preview": start}


def _side(value: Any) -> bytes:
    return readable(encode(json.dumps(plain(value), ensure_ascii=False))).encode()


def _envelope(response: Any) -> Mapping[str, Any]:
    if isinstance(response, str | bytes):
        try:
            parsed = json.loads(response)
        except (ValueError, RecursionError):
            parsed = None
        response = parsed if isinstance(parsed, dict) and parsed.keys() & set(KEYS) else response
    try:
        if isinstance(response, Mapping) and response.keys() & set(KEYS):
            return dict(response)
    except (Exception, SystemExit):  # a mapping whose own methods raise is data like any other
        pass
    return {"status": "success", "data": response, "text": ""}


def _gathered(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """With a list where pieces came; what broke off is an error that keeps what had come."""
    items: list[Any] = []
    try:
        for item in envelope["data"]:
            items.append(item)  # noqa: PERF402 - what came before it broke off is kept
    except (Exception, SystemExit) as error:
        fault = {"message": f"{type(error).__name__}: {said(error)}"}
        return {**envelope, "status": "error", "data": items, "error": fault}
    return {**envelope, "data": items}


def _skips(envelope: Mapping[str, Any]) -> bool:
    context = envelope.get("context")
    try:
        return isinstance(context, Mapping) and context.get("truncation_skip") is True
    except (Exception, SystemExit):
        return False


def _unified() -> Bounder:
    from overspill.api import preset

    return preset("unified")
