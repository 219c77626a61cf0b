"""The sentences of the layouts, in both languages: where the whole output is, and what to do with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from overspill.core.access import FilePath, Rest, SubAgent, speaking
from overspill.core.measure import encode
from overspill.core.notice import WORDS

if TYPE_CHECKING:
    from overspill.core.access import Access
    from overspill.core.model import Gap, Totals
    from overspill.core.notice import Kept, Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the sentences are made from."""

    kept: Kept
    access: Access
    language: Language
    totals: Totals
    gap: Gap | None
    chars: int
    """Of the whole output."""
    head_chars: int = 0
    tail_chars: int = 0

    @property
    def omitted_chars(self) -> int:
        return self.chars - self.head_chars - self.tail_chars

    @property
    def omitted_bytes(self) -> int:
        return self.gap.omitted_bytes if self.gap else 0

    @property
    def omitted_lines(self) -> int:
        return self.gap.omitted_lines if self.gap else 0

    @property
    def shown_lines(self) -> int:
        return self.totals.lines - self.omitted_lines

    def say(self, en: str, zh: str) -> str:
        return zh if self.language == "zh" else en


WORDS_BYTES = 1_000
"""What the words around the source may take where a system has them on top of its figures."""
_ADVICE_BYTES = 600
"""A longer line, as a long path makes it, goes without advice."""


def where(facts: Facts) -> str:
    """One line in brackets: how much is shown, where the whole is, how to get at it."""
    line = f"[overspill{_opening(facts)}{facts.say('. ', '。')}{_advice(facts)}]"
    return line if len(encode(line)) <= _ADVICE_BYTES else where_briefly(facts)


def where_shortly(facts: Facts) -> str:
    """The same with the path alone, or the next call alone."""
    return f"[overspill{_opening(facts)}{facts.say('. ', '。')}{_pointer(facts)}]"


def where_briefly(facts: Facts) -> str:
    """The same without advice, for the places where little room is reserved."""
    return f"[overspill{_opening(facts)}]"


WORDINGS = (where, where_shortly, where_briefly)
"""Fullest first, for the places where little room is reserved."""


def _opening(facts: Facts) -> str:
    shown, total = facts.shown_lines, facts.totals.lines
    if facts.kept.handle:
        # Where every line is shown but not all of each, "1 of 1 lines shown" would be read as the whole.
        in_part = WORDS[facts.language].in_part if facts.gap and shown == total else ""
        counted = facts.say(f": {shown} of {total} lines shown", f"：共 {total} 行，显示 {shown} 行")
        return f" {facts.kept.handle}{counted}{in_part}"
    reason = " ".join(facts.kept.unsaved.split())[:80]
    return facts.say(
        f": {shown} of {total} lines shown; the rest could NOT be saved ({reason})",
        f": 共 {total} 行，显示 {shown} 行；其余未能保存（{reason}）",
    )


def _pointer(facts: Facts) -> str:
    if facts.kept.handle is None:
        return facts.say("Run it again with less output", "请缩小输出后重新运行")
    if facts.kept.path and isinstance(facts.access, SubAgent | FilePath):
        return facts.say("Whole: ", "全文：") + facts.kept.path
    return facts.say("Rest: ", "其余：") + speaking(facts.access, facts.language).read(_rest(facts, facts.kept.handle))


def _rest(facts: Facts, handle: str) -> Rest:
    gap = facts.gap
    first = gap.first_line if gap else 1
    last = min(gap.last_line, first + 199) if gap else 1
    return Rest(handle, facts.kept.path, first, last, gap.first_column if gap else 0)


def _advice(facts: Facts) -> str:
    if facts.kept.handle is None:
        return facts.say("Run it again with less output if you need the rest", "如需其余内容，请缩小输出后重新运行")
    place = facts.kept.path
    if place and isinstance(facts.access, SubAgent):
        tool = facts.access.tool
        return facts.say(
            f"The whole output is in {place}. Have a sub-agent (the {tool} tool) search that file and read it by "
            "pages; don't read it all yourself",
            f"完整输出在 {place}。请让子代理（{tool} 工具）搜索该文件并分页阅读；不要自己通读全文",
        )
    if place and isinstance(facts.access, FilePath):
        return facts.say(
            f"The whole output is in {place}. Search that file, or read it with offset and limit",
            f"完整输出在 {place}。请搜索该文件，或用 offset 与 limit 分段读取",
        )
    rest = _rest(facts, facts.kept.handle)
    access = speaking(facts.access, facts.language)
    read, grep = access.read(rest), access.grep(rest)
    return facts.say(f"For the rest: {read} or {grep}", f"查看其余：{read} 或 {grep}")
