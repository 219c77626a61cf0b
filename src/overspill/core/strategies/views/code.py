"""Source code: its outline with line numbers, then the definitions that speak to the question.

Languages are told by the beginnings of lines, without a parser; a definition it does not
know is a line like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from overspill.core.model import Block, Budget, Call, Gap, Span, Totals
from overspill.core.strategies.views.landmarks import Found, names_within
from overspill.core.strategies.views.offers import ASKED_SHARE, ViewSelection, interleave, room_bytes
from overspill.core.strategies.views.passages import LASTING_WITHIN, Passages
from overspill.core.strategies.views.query_terms import query_for

_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|virtual|override|async|unsafe|"
    r"extern|inline|sealed|partial|open|data|pub(?:\([a-z]+\))?|declare|const|synchronized|native)[ \t]+)*"
)
_TYPE = (
    r"(?:class|interface|struct|enum|trait|impl|module|namespace|object|protocol|extension|record|union|package|mod)"
)
_FUNCTION = r"(?:def|function\*?|func|fn|fun|sub|proc|macro_rules!)"
_DEFINITION = re.compile(
    rb"^(?P<indent>[ \t]*)(?:"
    + rb"(?P<type>" + (_MODIFIERS + _TYPE).encode() + rb"\b[ \t<(]*[\w:.$<>]+)"
    + rb"|(?P<function>" + (_MODIFIERS + _FUNCTION).encode() + rb"\b[ \t]*(?:\([^)\n]*\)[ \t]*)?[\w:.$?!]+)"
    + rb"|(?P<method>(?:(?:public|private|protected|static|final|abstract|override|async|get|set)[ \t]+)+"
    + rb"(?:[\w<>\[\],.?]+[ \t]+)*[\w$]+[ \t]*\()"
    + rb"|(?P<arrow>(?:export[ \t]+)?(?:const|let|var)[ \t]+[\w$]+[ \t]*=[ \t]*(?:async[ \t]*)?"
    + rb"(?:function\b|\([^)\n]*\)[ \t]*=>|\w+[ \t]*=>))"
    + rb"|(?P<alias>(?:export[ \t]+)?type[ \t]+\w+|typedef\b[^\n;]*|#[ \t]*define[ \t]+\w+|"
    + rb"CREATE[ \t]+(?:OR[ \t]+REPLACE[ \t]+)?"
    + rb"(?:TABLE|VIEW|FUNCTION|INDEX|TRIGGER|PROCEDURE)[ \t]+[\w.\"`]+)"
    + rb")",
    re.MULTILINE,
)  # fmt: skip
_C_FUNCTION = re.compile(
    rb"^(?!(?:if|else|for|while|switch|return|do|case|typedef|using|goto)\b)"
    rb"[A-Za-z_][\w \t*&:<>,~\[\]]*?[ \t*&:](?P<name>~?\w+)[ \t]*\([^;{}\n]*"
    rb"(?:\)[ \t]*(?:const[ \t]*)?\{?|,)[ \t]*\r?$",
    re.MULTILINE,
)
_NOTE = re.compile(rb"\b(?:TODO|FIXME|XXX|HACK)\b|^[ \t]*raise\b|\bpanic!?\(", re.MULTILINE)
_CODE_SUFFIX = re.compile(
    r"\.(?:py|pyi|js|jsx|mjs|cjs|ts|tsx|c|h|cc|cpp|cxx|hpp|hh|java|kt|kts|go|rs|rb|php|cs|swift|scala|m|mm|lua|pl|pm|sh|"
    r"bash|zsh|sql|r|jl|ex|exs|erl|hs|clj|dart|vue|svelte|zig|nim)\b",
    re.IGNORECASE,
)
_READERS = re.compile(r"^\s*(?:cat|sed|head|tail|less|bat|nl|type|gc|Get-Content|view|read)\b|\bread", re.IGNORECASE)
_CODE_LINE = re.compile(
    rb"^[ \t]*(?:"
    rb"(?:from|import|use|using|require|include|package)\b.*|#[ \t]*(?:include|define|ifdef|ifndef|endif)\b.*|"
    rb"(?:if|for|while|switch|elif|else|return|def|class|fn|func|function|try|except|catch|const|let|var|static|public|"
    rb"private|protected|struct|enum|with|raise|throw)\b.*[:;{}()]?|[})\]]+[;,)]*|//.*|/\*.*|\*[ /].*|@\w+.*|.*[;{]|"
    rb"[\w.\[\]'\"]+[ \t]*[-+*/|&]?=[ \t]*[^=\n].*)\r?$"
)


def sniff(sample: bytes, call: Call) -> float:
    """By the share of lines that look like code, and by the file's name in the command."""
    lines = [line for line in sample.split(b"\n")[:400] if line.strip()]
    if len(lines) < 5:
        return 0.0
    named = bool(_CODE_SUFFIX.search(call.command) and _READERS.search(call.command + " " + call.tool))
    most_others = (0.8 if named else 0.55) * len(lines)
    others = sum(1 for _ in islice((line for line in lines if not _is_code(line)), int(most_others) + 1))
    if others > most_others:
        return 0.0
    share = (len(lines) - others) / len(lines)
    sure = share * 0.9 if share > 0.45 and _has_definitions(sample) else share * 0.4
    if named:
        sure = max(sure, 0.55) + 0.3 if share > 0.2 else sure
    return min(1.0, sure)


def _is_code(line: bytes) -> bool:
    return len(line) < 400 and _CODE_LINE.match(line) is not None


def _has_definitions(sample: bytes) -> bool:
    return len(_DEFINITION.findall(sample)) + len(_C_FUNCTION.findall(sample)) >= 3


def definitions(block: Block) -> Iterator[Found]:
    """The definitions and notes of a block, in order."""
    data = block.data
    found: list[Found] = []
    for match in _DEFINITION.finditer(data):
        if match.start() == 0 and block.column:
            continue
        kind = match.lastgroup or "alias"
        end = data.find(b"\n", match.start())
        label = data[match.start() : end if end >= 0 else len(data)].strip()[:160].decode("utf-8", "replace")
        indent = len(match.group("indent").expandtabs(4))
        weight = {"type": 0.9, "function": 0.7, "method": 0.65, "arrow": 0.55, "alias": 0.35}[kind]
        weight -= min(0.3, 0.03 * indent)
        if kind == "alias" and label.startswith("#"):
            weight = 0.12
        level = 0 if kind == "alias" else 1 + indent
        found.append((match.start(), weight, level, label))
    for match in _C_FUNCTION.finditer(data):
        if match.start() == 0 and block.column:
            continue
        label = match.group().strip()[:160].decode("utf-8", "replace")
        if label.startswith(("def ", "class ", "async def", "func ", "fn ", "function ")):
            continue
        found.append((match.start(), 0.7, 1, label))
    for match in _NOTE.finditer(data):
        start = data.rfind(b"\n", 0, match.start()) + 1
        if start or not block.column:
            found.append((start, 0.3, 0, data[start : start + 160].split(b"\n")[0].strip().decode("utf-8", "replace")))
    found.sort(key=lambda one: (one[0], -one[1]))
    last = -1
    for one in found:
        if one[0] != last:
            yield one
        last = one[0]


_INTRODUCES = _MODIFIERS + rf"(?:{_TYPE}|{_FUNCTION}|const|let|var|type|#[ \t]*define)"
_DEFINED = re.compile(
    rb"[-+]?[ \t]*(?P<introduced>"
    + _INTRODUCES.encode()
    + rb"[ \t]+(?:\([^)\n]*\)[ \t]*)?)?(?P<name>[A-Za-z_$][\w$]*)(?P<sign>[ \t]*(?:=(?!=)|:(?!:)))?"
)


def defined_name(line: bytes) -> bytes:
    """The name that a line defines or assigns, in lower case; empty when it only uses names."""
    match = _DEFINED.match(line)
    if match is None:
        return b""
    return match.group("name").lower() if match.group("introduced") or match.group("sign") else b""


def name_of(label: str) -> str:
    """The name that a definition's line defines."""
    head = label.split("(")[0].split("{")[0].split("=")[0].strip(" :<")
    words = [word for word in re.split(r"[\s*&]+", head) if word]
    return words[-1][:48] if words else label[:48]


class CodeView:
    """One source file, or several printed one after the other."""

    def __init__(self, room: Budget, call: Call) -> None:
        self._room = room
        self._query = query_for(call.question)
        self._passages = Passages(
            room, self._query, landmarks=definitions, defines=defined_name, lasting=LASTING_WITHIN
        )

    def feed(self, block: Block) -> None:
        self._passages.feed(block)

    def finish(self, totals: Totals, call: Call) -> ViewSelection:
        passages = self._passages

        def ranked(room: Budget) -> Iterable[Span]:
            size = room_bytes(room)
            return interleave(
                (0.08, passages.edges(min(400, size // 12), 0)),
                (ASKED_SHARE if self._query else 0.0, passages.passages(totals)),
                (1 - ASKED_SHARE if self._query else 0.9, passages.outline()),
            )

        count = sum(1 for mark in passages.landmarks if mark.level)
        complete = passages.landmarks_seen == len(passages.landmarks)
        headline = f"{count} definitions in {totals.lines} lines" if count and complete else ""
        return ViewSelection("source code", headline, ranked, self._describe)

    def _describe(self, gap: Gap) -> str:
        inside = [mark for mark in names_within(self._passages.landmarks, gap, most=40) if mark.level]
        best = sorted(sorted(inside, key=lambda mark: -mark.weight)[:4], key=lambda mark: mark.start)
        words = ", ".join(f"{name_of(mark.label)} {mark.line}" for mark in best)
        return words + (", …" if len(inside) > len(best) else "")
