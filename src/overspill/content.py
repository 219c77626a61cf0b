"""Bounds what a tool returned in the form in which it came: text, bytes, JSON, or a list of content parts.

Within the limit the very same object comes back.  Text parts share one budget fairly; other
parts (images, links) pass as they are.  What is neither text nor JSON-able passes too.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from overspill.core.measure import Size, well_formed
from overspill.core.model import UNITS, Budget, Call
from overspill.core.policy import Policy
from overspill.core.share import fair_shares
from overspill.errors import PolicyError

if TYPE_CHECKING:
    from overspill.bounder import Bounder

P = ParamSpec("P")
R = TypeVar("R")

TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
_CARRIED_BY = {
    "image": ("data", "source"),
    "audio": ("data",),
    "resource": ("resource",),
    "resource_link": ("uri",),
    "document": ("source",),
    "file": ("file",),
    "image_url": ("image_url",),
    "input_image": ("image_url", "file_id"),
    "input_audio": ("input_audio",),
    "input_file": ("file_id", "file_data", "file_url"),
}
"""What other parts have by their type: a list of records that merely have a ``type`` is JSON."""


def bound_value(bounder: Bounder, value: Any, call: Call) -> Any:
    """The value itself when it is small, else its bounded form: text for text and JSON, parts for parts."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if is_parts(value):
        return bound_parts(bounder, value, call)
    bounded = bounder.bound(value, call)
    if isinstance(value, Iterator):
        return bounded.text  # what was a stream is read to its end by now
    if isinstance(value, str):
        return bounded.text
    if bounded is value or not (bounded.truncated or bounded.redactions):
        return value
    return bounded.text.encode() if isinstance(value, bytes | bytearray) else bounded.text


def is_parts(value: Any) -> bool:
    """Is it a list of content parts, as the chat protocols and MCP have them?"""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in value)
        and (any(_is_text(part) for part in value) or all(_is_carrier(part) for part in value))
    )


def bound_parts(bounder: Bounder, parts: list[dict[str, Any]], call: Call) -> list[dict[str, Any]]:
    """The same list when all its text fits together, else one whose text parts do."""
    texts = [well_formed(part["text"]) for part in parts if _is_text(part)]
    policy = bounder.policy
    if not policy.redact and policy.measure.fits("\n".join(texts), policy.above):
        return _with_texts(parts, texts)
    shared = _bounded_apart(bounder, texts, call)
    if shared is None:
        return _joined(parts, bounder.bound("\n".join(texts), call).text)
    return _with_texts(parts, shared)


def bounded_tool(bounder: Bounder, function: Callable[P, R]) -> Callable[P, R]:
    """What ``Bounder.tool`` returns. A tool that yields its output piece by piece returns it as one text."""
    call = Call(tool=getattr(function, "__name__", ""))

    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def asynchronous(*args: P.args, **kwargs: P.kwargs) -> Any:
            returned: Any = function(*args, **kwargs)
            return await _awaited(bounder, returned, call)

        return cast("Callable[P, R]", asynchronous)

    @functools.wraps(function)
    def synchronous(*args: P.args, **kwargs: P.kwargs) -> R:
        returned = function(*args, **kwargs)
        if inspect.isawaitable(returned) or isinstance(returned, AsyncIterator):
            return cast("R", _awaited(bounder, returned, call))
        return cast("R", bound_value(bounder, returned, call))

    return synchronous


async def _awaited(bounder: Bounder, returned: Any, call: Call) -> Any:
    value = await returned if inspect.isawaitable(returned) else returned
    if isinstance(value, AsyncIterator):
        return (await bounder.abound(value, call)).text
    from overspill.concurrency import in_thread

    small = bounder.untouched(value, call) is not None
    return value if small else await in_thread(bound_value, bounder, value, call)


def _bounded_apart(bounder: Bounder, texts: Sequence[str], call: Call) -> list[str] | None:
    """Each text within its fair share of the budget; None when the shares are too small for notices."""
    policy = bounder.policy
    if policy.cuts_nothing:
        return [bounder.bound(text, call).text for text in texts]
    sizes = [policy.measure.size(text, policy.budget) for text in texts]
    unit = _scarcest(policy, sizes)
    total = (policy.budget.bounds[unit] or 0) - len(texts)  # a line end between two parts
    shares = fair_shares([size[unit] for size in sizes], total)
    fitted = []
    for text, size, share in zip(texts, sizes, shares, strict=True):
        if not policy.redact and share >= size[unit] and _is_within_fraction(size, policy, share / total):
            fitted.append(text)
            continue
        try:
            narrow = bounder.within(_fraction(policy.budget, share / total))
        except PolicyError:
            return None
        fitted.append(narrow.bound(text, call).text)
    return fitted


def _scarcest(policy: Policy, sizes: Sequence[Size]) -> int:
    """The unit of the budget that the texts together exceed the most."""
    bounds = policy.budget.bounds
    named = [unit for unit, bound in enumerate(bounds) if bound]
    return max(named, key=lambda unit: sum(size[unit] for size in sizes) / (bounds[unit] or 1))


def _is_within_fraction(size: Size, policy: Policy, fraction: float) -> bool:
    return all(used <= bound * fraction for used, bound in zip(size, policy.budget.bounds, strict=True) if bound)


def _fraction(budget: Budget, fraction: float) -> Budget:
    named = zip(UNITS, budget.bounds, strict=True)
    return Budget(**{f"max_{unit}": max(1, int(bound * fraction)) for unit, bound in named if bound})


def _is_text(part: dict[str, Any]) -> bool:
    return part["type"] in TEXT_TYPES and isinstance(part.get("text"), str)


def _is_carrier(part: dict[str, Any]) -> bool:
    return any(part.get(name) for name in _CARRIED_BY.get(part["type"], ()))


def _with_texts(parts: list[dict[str, Any]], texts: Sequence[str]) -> list[dict[str, Any]]:
    """The parts with these texts; the very same list, and the very same parts, where nothing changes."""
    following = iter(texts)
    changed = [_with_text(part, next(following)) if _is_text(part) else part for part in parts]
    return parts if all(map(is_, parts, changed)) else changed


def _with_text(part: dict[str, Any], text: str) -> dict[str, Any]:
    return part if part["text"] is text else {**part, "text": text}


def _joined(parts: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """One text part in the place of the first, the other parts as they are."""
    joined: list[dict[str, Any]] = []
    placed = False
    for part in parts:
        if not _is_text(part):
            joined.append(part)
        elif not placed:
            joined.append({**part, "text": text})
            placed = True
    return joined
