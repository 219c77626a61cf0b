"""The words the model reads about what it does not see: one header, one mark for each gap.

Short, imperative, exact; no clock, no randomness, so that the same output under the same
policy reads the same.  Numbers stand as digits only: they are made to be pasted.  Which
call comes next is worded by the policy's ``access``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from overspill.core.access import Access, Rest, speaking
from overspill.core.measure import CLUSTER_CHARS, visible
from overspill.core.model import Gap, Totals

Language = Literal["en", "zh"]

HEADLINE_CHARS = 160
DESCRIPTION_CHARS = 160
REASON_CHARS = 80
READ_LINES = 200
"""The next call names no more lines than an answer can show."""
_LARGEST = 10**15
_STOPS = ".:;, 。：；，"
"""A finding that ends in one is a sentence of the header's without it."""

HANDLE = re.compile(r"ovs_[a-z0-9]{1,52}")
"""What every layer and every call of read-back takes for a handle."""

BOUNDED = re.compile(
    r"\[overspill (?P<handle>ovs_[a-z0-9]+): [0-9]+ of (?P<lines>[0-9]{1,18}) |"
    r"\[overspill (?P<handle_zh>ovs_[a-z0-9]+)：共 (?P<lines_zh>[0-9]{1,18}) 行"
)
"""How a header begins: by this one layer recognises what another has bounded."""
MOST_BYTES = 1 << 20
"""A longer text is not taken for bounded: no model is shown as much."""
_TELLTALE = b"[overspill ovs_"


class Recognised(NamedTuple):
    """What a notice says of the output that it stands for."""

    handle: str
    lines: int


def recognised(data: bytes) -> Recognised | None:
    """The notice in a text that a layer has bounded: at its start, or where a layout puts it."""
    if _TELLTALE not in data:
        return None
    found = BOUNDED.search(data.decode("utf-8", "replace"))
    return found and Recognised(found["handle"] or found["handle_zh"], int(found["lines"] or found["lines_zh"]))


@dataclass(frozen=True, slots=True)
class Words:
    """The sentences of one language."""

    header: str
    unsaved: str
    finding: str
    next_step: str
    rerun: str
    in_part: str
    folded: str
    invisible: str
    redacted: str
    lines: str
    line: str
    inside: str
    across: str
    stop: str
    colon: str


WORDS: dict[Language, Words] = {
    "en": Words(
        header="{handle}: {shown} of {total} lines shown",
        unsaved="{shown} of {total} lines shown; the rest could NOT be saved ({reason})",
        finding="Key: {headline}",
        next_step="Don't rerun; for the rest: {read} or {grep}",
        rerun="Run it again with less output if you need the rest",
        in_part=" in part",
        folded="As a terminal shows them, redraws and colours folded",
        invisible="Nothing visible in the {count} bytes shown",
        redacted="{count} secrets redacted",
        lines="lines {first}-{last} omitted",
        line="line {first} omitted",
        inside="bytes {first_byte}-{last_byte} of line {first} omitted",
        across="line {first} byte {first_byte} to line {last} byte {last_byte} omitted",
        stop=". ",
        colon=": ",
    ),
    "zh": Words(
        header="{handle}：共 {total} 行，显示 {shown} 行",
        unsaved="共 {total} 行，显示 {shown} 行；其余未能保存（{reason}）",
        finding="要点：{headline}",
        next_step="不要重新运行；查看其余：{read} 或 {grep}",
        rerun="如需其余内容，请缩小输出后重新运行",
        in_part="的一部分",
        folded="如终端所示，已折叠重绘与颜色",
        invisible="所示 {count} 字节中没有可见内容",
        redacted="已隐去 {count} 处机密",
        lines="省略第 {first}-{last} 行",
        line="省略第 {first} 行",
        inside="省略第 {first} 行的第 {first_byte}-{last_byte} 字节",
        across="省略第 {first} 行第 {first_byte} 字节至第 {last} 行第 {last_byte} 字节",
        stop="。",
        colon="：",
    ),
}


@dataclass(frozen=True, slots=True)
class Kept:
    """Where the whole output is: under a handle, or nowhere and why."""

    handle: str | None
    path: str | None = None
    unsaved: str = ""


def header(
    kept: Kept,
    *,
    totals: Totals,
    shown_lines: int,
    gap: Gap | None,
    headline: str,
    access: Access,
    language: Language,
    redactions: int = 0,
    folded: bool = False,
    invisible_bytes: int = 0,
) -> str:
    """The first line of a bounded text: what this is, the key finding, the next call."""
    words = WORDS[language]
    # Where every line is shown but not all of each, "1 of 1 lines shown" would be read as the whole.
    in_part = words.in_part if gap is not None and kept.handle and shown_lines == totals.lines else ""
    sentences = [_opening(kept, totals, shown_lines, words) + in_part]
    if headline:
        said = one_line(headline, HEADLINE_CHARS)
        sentences.append(words.finding.format(headline=said.rstrip(_STOPS) or said))
    if redactions:
        sentences.append(words.redacted.format(count=redactions))
    if invisible_bytes:
        sentences.append(words.invisible.format(count=invisible_bytes))
        gap = gap or Gap(0, totals.bytes, 1, totals.lines)
    if gap is None:
        sentences += [words.folded] if folded else []
    elif kept.handle is None:
        sentences.append(words.rerun)
    else:
        last_line = min(gap.last_line, gap.first_line + READ_LINES - 1)
        rest = Rest(kept.handle, kept.path, gap.first_line, last_line, gap.first_column)
        access = speaking(access, language)
        sentences.append(words.next_step.format(read=access.read(rest), grep=access.grep(rest)))
    return (
        f"[overspill {words.stop.join(sentences)}]\n" if kept.handle else f"[overspill: {words.stop.join(sentences)}]\n"
    )


def short_header(
    kept: Kept, *, totals: Totals, shown_lines: int, language: Language, reason_chars: int = REASON_CHARS
) -> str:
    """The least a header can say: for budgets that leave no room for the rest of it."""
    opening = _opening(kept, totals, shown_lines, WORDS[language], reason_chars)
    return f"[overspill {opening}]\n" if kept.handle else f"[overspill: {opening}]\n"


def _opening(kept: Kept, totals: Totals, shown_lines: int, words: Words, reason_chars: int = REASON_CHARS) -> str:
    if kept.handle:
        return words.header.format(handle=kept.handle, shown=shown_lines, total=totals.lines)
    reason = one_line(kept.unsaved, reason_chars)
    return words.unsaved.format(shown=shown_lines, total=totals.lines, reason=reason)


def mark(gap: Gap, description: str, *, language: Language) -> str:
    """What stands in the text for a gap."""
    words = WORDS[language]
    place = place_of(gap, language=language)
    return f"[… {place}{words.colon}{description}]" if description else f"[… {place}]"


def place_of(gap: Gap, *, language: Language) -> str:
    """The exact range of a gap, in words: whole lines, or bytes of the lines that were cut in two."""
    words = WORDS[language]
    first, last = gap.first_line, gap.last_line
    if gap.first_column == 0 and gap.last_column is None:
        return (words.line if first == last else words.lines).format(first=first, last=last)
    first_byte = gap.first_column + 1
    if first == last:
        return words.inside.format(first=first, first_byte=first_byte, last_byte=gap.first_column + gap.omitted_bytes)
    if gap.last_column is None:
        return words.across.format(first=first, first_byte=first_byte, last=last, last_byte="end")
    return words.across.format(first=first, first_byte=first_byte, last=last, last_byte=gap.last_column)


def shortened(description: str, room_chars: int) -> str:
    """As many of the items (parted by "; ") as fit: a true list stays true when it ends earlier."""
    description = visible(" ".join(description.split()))
    if len(description) <= room_chars:
        return description
    whole = description.rfind("; ", 0, room_chars + 1)
    return description[:whole] if whole > 0 else ""


def one_line(text: str, room_chars: int) -> str:
    text = visible(" ".join(text.split()))
    if len(text) <= room_chars:
        return text
    start = text[: room_chars - 1]
    if text[room_chars - 1].isdigit():  # half a number would be another number
        start = start.rstrip("0123456789") or start
    return start.rstrip() + "…"


def floor_text(language: Language) -> str:
    """The longest that a bounded text can be which shows next to nothing: no budget may be smaller."""
    totals = Totals(_LARGEST, _LARGEST)
    unsaved = Kept(None, unsaved="x" * REASON_CHARS)
    gap = Gap(1, _LARGEST, _LARGEST, _LARGEST, first_column=1, last_column=_LARGEST)
    opening = short_header(unsaved, totals=totals, shown_lines=_LARGEST, language=language)
    piece = "\U0001f469" * CLUSTER_CHARS
    return f"{opening}{piece}\n{mark(gap, '', language=language)}\n{piece}"
