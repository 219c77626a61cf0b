"""What an output is, from its first bytes and what is known of its call: what to call it, and which view serves it.

Guarantees an answer for any bytes in bounded time. A view's own opinion counts for less where the lines speak of
something else: logs, test runs and diagnostics are read line by line whatever they resemble.
Leaves what to keep to the views and to salience.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from overspill.core.model import Budget, Call
from overspill.core.ports import Selector
from overspill.core.strategies.salience.scanner import Scanner

if TYPE_CHECKING:
    from overspill.core.strategies.views import View

SAMPLE_BYTES = 64 * 1024
LINES_BYTES = 6 * 1024
"""Lines are read at the start and in the middle of the sample, as many bytes of each."""
ENOUGH = 0.2
"""The share of lines that must speak for a kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One answer: a name for people, the view that knows the form, and how the room is shared with salience."""

    name: str = ""
    view: Callable[[Budget, Call], Selector] | None = None
    errors_share: float = 0.0
    """The share of the room that error lines may take before the view."""
    view_share: float = 1.0
    """The share of the room that the view may take before other lines do."""
    headlined: bool = True
    """Whether a line of trouble is the key finding: in code, documents and data such words are but vocabulary."""
    headlined_when_failed: bool = False
    """Whether it is where the command failed."""
    errors_told: bool = False
    """Whether the errors in a gap are told before what the view says of it."""
    exclusive: bool = False
    """Whether the view's form would break if anything else were shown."""


UNKNOWN = Form()

_STAMP = (
    rb"\W{0,3}(?:\d{4}[-/.]\d\d[-/.]\d\d[ T,]+\d\d:|\d{4}-\d\d-\d\d-\d\d\.|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|"
    rb"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d|\d\d:\d\d:\d\d\b|\d{2}/\d\d/\d\d \d\d:|\d{6} \d{6} |\d{10,16}[ .]|"
    rb"\d+:[A-Z] \d\d [A-Z][a-z]{2} | *\d+\.\d{6}\] )"
)
_KINDS = (
    ("test run", rb"^(?:=+ (?:test session|FAILURES|ERRORS)|=== RUN|\s*--- (?:PASS|FAIL|SKIP)|(?:PASS|FAIL|"
        rb"XFAIL|SKIP)(?:ED)?\b|"
     rb"(?:not )?ok \d+|\s+\xe2\x9c\x93|Tests run:|test \S+ \.\.\. |\S+ \(\S+\)(?: \.\.\.|$)|\S+::\S+ (?:PASSED|"
     rb"FAILED)|E   )"),
    ("diagnostics", rb"^(?:\S[^\n:(]{0,200}[:(]\d+(?:[:,]\d+)?\)?:? *(?:(?:fatal )?error|warning|note|hint|"
        rb"style|information|portability|"
     rb"performance|[A-Z]{1,4}\d{2,5})\b| *\d* \| |\s+\d+:\d+ +(?:error|warning) |(?:error|"
     rb"warning)(?:\[\w+\])?: | *--> )"),
    ("stack trace", rb"^(?:\s+at [\w$.<]|\s+File \"|Traceback|Caused by|==\d+==|#\d+ +0x|\s*#\d+ |goroutine \d|"
        rb"\s+- (?:locked|waiting)|0x[0-9a-f]{8}|\s+\d+: +\S+::|\t\S+:\d+ \+0x|thread '|panic: )"),
    ("build log", rb"^(?:\[ *\d+(?:/\d+\]|%\]) \S|g?make(?:\[\d+\])?: | *(?:CC|CXX|LD|AR|GEN|HOSTCC) +\S+$|"
        rb" +(?:Compiling|Downloaded|Checking|Building|Finished) \S|Collecting \S|(?:Get|Hit|Ign):\d+ |"
        rb"(?:Setting up|Unpacking|Preparing to unpack|Selecting previously|Processing triggers for|Installing|"
        rb"Downloading|Successfully|Requirement already satisfied:) \S|> Task :|\[INFO\] |npm (?:WARN|ERR|notice|info)|"
        rb"(?:\S*/)?(?:g?cc|[cg]\+\+|clang(?:\+\+)?|rustc|javac|libtool:?) .*-[a-zA-Z]|#\d+ (?:\d+\.\d+|DONE|CACHED|"
        rb"\[)|Step \d+/\d+ : |(?:yarn|pnpm|bundle|go): )"),
    ("progress", rb"^(?:.{0,200}\r.{0,200}\r|.{0,120}\b\d{1,3}(?:\.\d+)?%.{0,80}"
        rb"(?:\bETA\b|[KMG]i?B?/s|\d[KMG]=|\|)|"
        rb" *\d+[KM] (?:\.{10} ?){3}|frame= *\d+ )"),
    ("log", rb"^(?:\S{1,24} )?(?:\S{1,40} )?(?:" + _STAMP + rb"|[^\s\"{}<,][^,\n]{0,60}?\d\d:\d\d:\d\d|(?:ts|"
        rb"time|level|lvl)=|\{\"(?:level|ts|time|"
        rb"msg)\"|\[?(?:INFO|WARN|ERROR|DEBUG)\b)"),
)  # fmt: skip
_LABELLED = re.compile(rb'[\[{][^\[\]{}"]*[\]}][ \t:]*[^\s:,\[\]{}"]')
"""A line that begins with something in brackets and goes on in words: `[   12.345678] usb`, `[7/300] Building`."""
_NUMBER = re.compile(rb"\s*-?\d[\d.eE+-]*,?\s*")
LOG_LINES = 4
"""Of fewer lines none can tell whether they are a log."""
_READ_BY_LINE = ("search", "listing", "markup", "code", "settings")
"""Views whose forms other outputs resemble by accident."""
_SHARES = {
    "json": Form(exclusive=True, headlined=False),
    "blob": Form(errors_share=0.4, view_share=0.6),
    "table": Form(errors_share=0.15, errors_told=True),
    "diff": Form(view_share=0.8, headlined=False),
    "search": Form(view_share=0.5, headlined=False),
    "listing": Form(errors_share=0.15, view_share=0.5, headlined=False, headlined_when_failed=True),
    "markup": Form(view_share=0.8, headlined=False),
    "code": Form(view_share=0.6, headlined=False),
    "settings": Form(view_share=0.9, headlined=False),
}


def form(sample: bytes, call: Call, own: Sequence[View] = ()) -> Form:
    """The form of an output, by its first block. ``own`` views are believed before all others."""
    from overspill.core.strategies.views import SURE, VIEWS, best_view

    sample = sample[:SAMPLE_BYTES]
    sure, view = max(((view.sniff(sample, call), view) for view in own), key=lambda one: one[0], default=(0.0, None))
    if view is not None and sure >= SURE:
        return Form(name=view.name, view=view.selector)
    kind = line_kind(sample)
    name = best_view(sample, call)
    by_line = kind and (name in _READ_BY_LINE or (name == "json" and kind == "log" and _is_log(sample)))
    if name is None or by_line or (name == "json" and not _mostly_json(sample)):
        return Form(name=kind)
    return replace(_SHARES.get(name, UNKNOWN), name=name, view=VIEWS[name].selector)


def _is_log(sample: bytes) -> bool:
    """Whether many lines of what may be JSON are those of a log: one document's key or numbers don't make it one."""
    lines = [line for line in sample.split(b"\n") if line.strip() and not _NUMBER.fullmatch(line)]
    return len(lines) >= LOG_LINES and line_kind(b"\n".join(lines)) == "log"


def _mostly_json(sample: bytes) -> bool:
    """Whether the lines begin as lines of JSON do: an output can start with a document and go on as something else."""
    lines = [line.lstrip() for line in sample.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    lines = [line for line in lines if line]
    begun = sum(line[0] in b'{}[]"-0123456789tfn' and not _LABELLED.match(line) for line in lines)
    return begun > 0.8 * len(lines)


@lru_cache(maxsize=len(_KINDS))
def _compiled(pattern: bytes) -> Scanner:
    """By the linear-time engine, imported only once an output is over the limit."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.one_line = False
    scanner: Scanner = re2.compile(b"(?m)" + pattern, options)
    return scanner


def line_kind(sample: bytes) -> str:
    """What the lines speak of, when enough of them say the same; empty when they don't."""
    middle = len(sample) // 2
    sample = sample[:LINES_BYTES] + sample[max(LINES_BYTES, middle) : max(LINES_BYTES, middle) + LINES_BYTES]
    lines = sum(1 for line in sample.split(b"\n") if line.strip())
    if not lines:
        return ""
    best, name = 0.0, ""
    for kind, pattern in _KINDS:
        share = sum(1 for _ in _compiled(pattern).finditer(sample)) / lines
        if share > best:
            best, name = share, kind
    return name if best >= ENOUGH else ""
