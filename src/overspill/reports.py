"""What is said of an output beside its text: an event to each listener, one line in the log.

Nothing here raises: listeners and the log's handlers are the application's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Literal

from overspill.core.events import Event, EventKind, Listener
from overspill.core.measure import display, encode
from overspill.core.model import Bounded, Call
from overspill.core.notice import one_line
from overspill.source import said

_LOGGED_CHARS = 200


def tell(listeners: Iterable[Listener], event: Event) -> None:
    """Hands an event to the listeners; one that fails is a line in the log."""
    for listener in listeners:
        try:
            listener(event)
        except (Exception, SystemExit) as fault:
            _log("warning", "a listener of overspill's events failed: %s", _in_log(_words_of(fault)))


def report_fault(listeners: Iterable[Listener], fault: BaseException, call: Call) -> None:
    reason = _words_of(fault)
    tell(listeners, Event(kind="error", call=call, bytes_before=0, bytes_after=0, reason=reason))
    _log("warning", "%s: %s", _name_of(call), _in_log(reason))


def report(
    listeners: Iterable[Listener],
    kind: EventKind,
    bounded: Bounded,
    call: Call,
    *,
    seconds: float = 0.0,
    reason: str = "",
) -> None:
    event = Event(
        kind=kind,
        call=call,
        bytes_before=bounded.total_bytes,
        bytes_after=len(bounded.text.encode("utf-8", "replace")),
        handle=bounded.handle,
        path=bounded.path,
        seconds=seconds,
        reason=reason or bounded.unsaved,
    )
    tell(listeners, event)
    if kind == "truncated":
        sizes = (event.bytes_before, event.bytes_after, event.percent_less)
        message = "%s: %d bytes cut to %d (%.1f %% less), %s"
        _log("info", message, _name_of(call), *sizes, bounded.handle or "not kept")


def _words_of(fault: BaseException) -> str:
    return f"{type(fault).__name__}: {said(fault)}"


def _name_of(call: Call) -> str:
    return _in_log(call.tool or call.command or "output")


def _in_log(text: str) -> str:
    """One line of valid Unicode: tools, commands and faults may hold anything."""
    return one_line(display(encode(text[: 4 * _LOGGED_CHARS])), _LOGGED_CHARS)


def _log(level: Literal["info", "warning"], message: str, *values: object) -> None:
    import logging  # late: an output that passes untouched logs nothing

    with suppress(Exception, SystemExit):
        getattr(logging.getLogger("overspill"), level)(message, *values)
