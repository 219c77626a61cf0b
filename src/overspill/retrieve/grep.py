"""``grep``: the lines of a kept output that match, numbered, with windows into long lines.

Guarantees: linear time on any pattern; memory that does not depend on the output; an answer within the
budget; every window holds its match (the start of one that is longer than the window); every
place it names can be given to ``read``.  A line that matches counts once; in a line longer than
``LONG_LINE_BYTES`` every match counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from overspill.core.access import worded
from overspill.core.measure import cut_after, cut_before
from overspill.core.policy import Policy
from overspill.core.ports import Store
from overspill.retrieve.address import RangeLike, parse_range, whole_number
from overspill.retrieve.answer import Answer, Found, Page, closing, default_policy, fitted, opening, within
from overspill.retrieve.block import ONCE, Hit, Tally
from overspill.retrieve.content import whole_lines
from overspill.retrieve.pattern import Pattern, compiled
from overspill.retrieve.rows import Row
from overspill.retrieve.scan import tally
from overspill.retrieve.session import Session
from overspill.retrieve.source import Source

DEFAULT_MATCHES = 20
LONG_LINE_BYTES = 480
WINDOW_BYTES = 160
"""How much of a long line is shown on either side of a match."""
SECONDS = 20.0
_MOST_MATCHES = 1_000
_MOST_CONTEXT = 50
_OTHER_WAY_BYTES = 32 << 20
"""When nothing matches in an output up to this size, other ways to search it are tried for a hint."""


def grep(
    store: Store,
    handle: str,
    pattern: str,
    *,
    literal: bool = False,
    ignore_case: bool = False,
    invert: bool = False,
    count: bool = False,
    context: int | str = 0,
    max_matches: int | str = DEFAULT_MATCHES,
    lines: RangeLike = None,
    policy: Policy | None = None,
    session: Session | None = None,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> Answer:
    """The matches of a regular expression (RE2's syntax), or of the very text when ``literal``.

    ``lines`` limits it to a range, as an answer's ``rest`` does to go on; ``count`` only counts;
    ``exit_status`` is 1 when nothing matched.  After ``seconds`` it stops and says how far it came.
    """
    policy = policy or default_policy()
    with Source(store, handle) as source:
        if beyond := source.beyond(lines):
            text = within(opening("grep", source.handle, beyond), policy)
            return Answer(text=text, handle=source.handle, exit_status=1)
        asked = _Asked(
            pattern,
            literal,
            ignore_case,
            invert,
            count,
            min(whole_number("context", context, least=0), _MOST_CONTEXT),
            min(whole_number("max", max_matches), _MOST_MATCHES),
            *_stretch(source, lines),
        )
        search = _compiled(asked)
        tally = _tally(source, search, asked, seconds, clock)
        answer = _Answering(source, asked, tally, policy).answer()
        if session is not None:
            session.note(source.handle, [(page.start, page.end) for page in answer.pages])
        return answer


@dataclass(frozen=True, slots=True)
class _Asked:
    pattern: str
    literal: bool
    ignore_case: bool
    invert: bool
    count: bool
    context: int
    most: int
    start: int
    end: int
    last_line: int

    def options(self, **changed: object) -> dict[str, object]:
        """The call that this was, with some of it changed."""
        wanted: dict[str, object] = {"pattern": self.pattern}
        for name in ("literal", "ignore_case", "invert"):
            if getattr(self, name):
                wanted[name] = True
        if self.context:
            wanted["context"] = self.context
        return {**wanted, **changed}


def _stretch(source: Source, lines: RangeLike) -> tuple[int, int, int]:
    if lines is None:
        return 0, source.size, source.lines
    first, last = parse_range("lines", lines)
    start = source.line_start(first.line) + max(0, first.byte - 1)
    last_line = min(last.line, source.lines) if last else source.lines
    return start, source.line_start(last_line + 1), last_line


def _compiled(asked: _Asked, **changed: bool) -> Pattern:
    literal = changed.get("literal", asked.literal)
    ignore_case = changed.get("ignore_case", asked.ignore_case)
    return compiled(
        asked.pattern,
        syntax="literal" if literal else "regex",
        case="ignore" if ignore_case else "match",
    )


def _tally(
    source: Source, search: Pattern, asked: _Asked, seconds: float, clock: Callable[[], float] = time.monotonic
) -> Tally:
    return tally(
        source,
        search,
        asked.start,
        asked.end,
        most=asked.most,
        kind="others" if asked.invert else "matching",
        long_line=ONCE if asked.count else LONG_LINE_BYTES,
        seconds=seconds,
        clock=clock,
    )


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class _Answering:
    """Words and windows for what was found."""

    def __init__(self, source: Source, asked: _Asked, tally: Tally, policy: Policy) -> None:
        self._source, self._asked, self._tally, self._policy = source, asked, tally, policy

    def answer(self) -> Answer:
        asked, tally = self._asked, self._tally
        if not tally.total or asked.count:
            text = within(opening("grep", self._source.handle, self._outcome()), self._policy)
            return Answer(
                text=text,
                handle=self._source.handle,
                exit_status=int(not tally.total),
                total_matches=self._total(),
                rest=self._unsearched(),
            )
        context = asked.context
        for reach, around in (
            (WINDOW_BYTES, context),
            (WINDOW_BYTES // 4, context),
            (WINDOW_BYTES // 4, 0),
            (12, 0),
            (0, 0),
        ):
            answer = self._with_windows(reach, around)
            if answer.matches:
                break
        return answer

    def _with_windows(self, reach: int, context: int) -> Answer:
        groups = list(self._groups(reach, context))
        texts = [text for text, _, _ in groups]
        ends = [0]
        for _, _, found in groups:
            ends.append(ends[-1] + len(found))

        def foot(count: int) -> str:
            return closing(self._next(ends[count])[1])

        def head(count: int) -> str:
            return opening("grep", self._source.handle, self._summary(ends[count]))

        text, count = fitted(head, texts, foot, self._policy)
        found = [match for _, _, matches in groups[:count] for match in matches]
        rest, call = self._next(len(found))
        return Answer(
            text=text,
            handle=self._source.handle,
            pages=tuple(page for _, pages, _ in groups[:count] for page in pages),
            rest=rest,
            next=call,
            matches=tuple(found),
            total_matches=self._total(),
        )

    def _total(self) -> int | None:
        return self._tally.total if self._tally.stopped < 0 else None

    def _outcome(self) -> str:
        """For a count, and for nothing found."""
        asked, tally = self._asked, self._tally
        total = tally.total
        if total:
            verb = ("matches", "match") if not asked.invert else ("doesn't match", "don't match")
            return f"{self._amount()} {verb[total != 1]} {self._named()}{self._stopped()}"
        where = f"{self._source.lines} lines" if self._source.lines != 1 else f"1 line of {self._source.size} bytes"
        if asked.start or asked.end < self._source.size:
            where = f"lines {self._source.line_at(asked.start)}-{asked.last_line}"
        return f"no match for {self._named()} in {where}{self._stopped()}{self._other_ways()}"

    def _amount(self) -> str:
        total = self._tally.total
        more = "at least " if self._tally.stopped >= 0 else ""
        return f"{more}{total} line{'s' if total != 1 else ''}"

    def _summary(self, shown: int) -> str:
        tally = self._tally
        first = self._source.line_at(tally.shown[0].start)
        last = self._source.line_at(tally.last)
        noun, joined = ("line", "without") if self._asked.invert else ("match", "for")
        plural = "" if tally.total == 1 else "s" if self._asked.invert else "es"
        total = f"{'at least ' if tally.stopped >= 0 else ''}{tally.total} {noun}{plural}"
        amount = total if shown == tally.total and tally.stopped < 0 else f"{shown} of {total}"
        place = f"line {first}" if first == last else f"lines {first}-{last}"
        return f"{amount} {joined} {self._named()} in {place}{self._stopped()}"

    def _named(self) -> str:
        text = " ".join(self._asked.pattern.split()) or self._asked.pattern
        return "'" + (text if len(text) <= 60 else text[:59] + "…") + "'"

    def _stopped(self) -> str:
        stopped = self._tally.stopped
        return "" if stopped < 0 else f"; stopped for time at line {self._source.line_at(stopped)}"

    def _unsearched(self) -> str:
        stopped = self._tally.stopped
        if stopped < 0:
            return ""
        line = self._source.line_at(stopped)
        inside = stopped - self._source.line_start(line)
        return f"{line}{f'.{inside + 1}' if inside else ''}-{self._asked.last_line}"

    def _other_ways(self) -> str:
        """What would match, when nothing does: said only after it was tried."""
        asked, source = self._asked, self._source
        if asked.invert or asked.end - asked.start > _OTHER_WAY_BYTES or self._tally.stopped >= 0:
            return ""
        ways: list[dict[str, bool]] = []
        if not asked.ignore_case:
            ways.append({"ignore_case": True})
        if not asked.literal and any(char in asked.pattern for char in ".^$*+?()[]{}|\\"):
            ways.append({"literal": True})
        for way in ways:
            search = _compiled(asked, **way)
            found = tally(source, search, asked.start, asked.end, most=0, seconds=1.0)
            if found.stopped < 0 and (total := found.total):
                call = worded(self._policy.access, "grep", source.rest(), **asked.options(**way))
                return f"; {total} line{'s' if total != 1 else ''} with: {call}"
        return self._beside_utf8() if not (asked.literal and asked.pattern.isascii()) else ""

    def _beside_utf8(self) -> str:
        """The engine sees no character in bytes that are none, though something is shown for them."""
        pieces = whole_lines(self._source, self._asked.start, self._asked.end)
        if count := sum(not _is_utf8(line) for data in pieces if not _is_utf8(data) for line in data.split(b"\n")):
            return f"; {count} line{'s are' if count != 1 else ' is'} not UTF-8: such a byte is matched by \\C only"
        return ""

    def _next(self, shown: int) -> tuple[str, str]:
        """Where to go on: behind the last match shown."""
        tally, asked = self._tally, self._asked
        if shown >= tally.total:
            if tally.stopped < 0:
                return "", ""
            rest = self._unsearched()
        elif shown < len(tally.shown):
            rest = self._from(tally.shown[shown])
        else:
            last = tally.shown[-1]
            if self._is_long(last):
                line = self._source.line_at(last.start)
                rest = f"{line}.{max(last.end, last.start + 1) - self._source.line_start(line) + 1}-{asked.last_line}"
            else:
                rest = f"{self._source.line_at(last.start) + 1}-{asked.last_line}"
        options = asked.options(lines=rest)
        if asked.most != DEFAULT_MATCHES:
            options["max"] = asked.most
        return rest, worded(self._policy.access, "grep", self._source.rest(), **options)

    def _from(self, hit: Hit) -> str:
        line = self._source.line_at(hit.start)
        column = hit.start - self._source.line_start(line)
        inside = self._is_long(hit) and column
        return f"{line}{f'.{column + 1}' if inside else ''}-{self._asked.last_line}"

    def _is_long(self, hit: Hit) -> bool:
        return hit.line_end - hit.line_start > LONG_LINE_BYTES and not self._asked.invert

    def _groups(self, reach: int, context: int) -> Iterator[tuple[str, list[Page], list[Found]]]:
        """The text of each match with its context; what overlaps is shown once."""
        tally, source = self._tally, self._source
        shown_to = -1
        before_line = 0
        for index, hit in enumerate(tally.shown):
            line = source.line_at(hit.start)
            line_start = source.line_start(line)
            last = index + 1 == len(tally.shown)
            rows: list[tuple[Row, str]] = []
            if context and line != before_line:
                first = max(line - context, before_line + 1 if before_line else 1)
                rows += [(row, "-") for row in self._context(first, line, shown_to)]
            found = Found(line, hit.start - line_start + 1, hit.start, hit.end)
            if hit.end > shown_to or hit.start >= shown_to or not self._is_long(hit):
                row = self._match_row(hit, line, line_start, reach, shown_to)
                rows += [(part, ":") for part in row.showing(hit.start, min(hit.end, row.end))]
            if context:
                stop = line + context + 1
                if not last:
                    stop = min(stop, source.line_at(tally.shown[index + 1].start))
                rows += [(row, "-") for row in self._context(line + 1, stop, -1)]
                before_line = max(line, stop - 1)
            if not rows:  # it stands in the window before
                yield "", [], [found]
                continue
            parted = context and index and rows[0][0].start > shown_to >= 0
            shown_to = max(shown_to, rows[-1][0].end)
            text = ("--\n" if parted else "") + "".join(row.shown(mark) for row, mark in rows)
            yield text, [Page(row.start, row.end) for row, _ in rows], [found]

    def _context(self, first: int, stop: int, shown_to: int) -> Iterator[Row]:
        source = self._source
        for line in range(first, min(stop, source.lines + 1)):
            start = source.line_start(line)
            if start < shown_to:
                continue
            data = source.read(start, LONG_LINE_BYTES + 64)
            end = data.find(b"\n") + 1
            row = Row(start, data[: end or len(data)], line, 0, bool(end) or start + len(data) >= source.size)
            yield row if end or row.ends_line else row.first_part(WINDOW_BYTES * 2)

    def _match_row(self, hit: Hit, line: int, line_start: int, reach: int, shown_to: int) -> Row:
        """The line of a match, or the window around the match when the line is long: as much as wasn't shown before."""
        source = self._source
        long = hit.line_end - hit.line_start > LONG_LINE_BYTES
        if not long and reach == WINDOW_BYTES:
            return Row(hit.line_start, source.read(hit.line_start, hit.line_end - hit.line_start), line, 0, True)
        match_end = min(hit.end, hit.start + 2 * reach + 40)
        around = 64
        base = max(line_start, hit.start - reach - around)
        stop = min(hit.line_end, match_end + reach + around)
        data = source.read(base, stop - base)
        first = 0 if hit.start - reach <= line_start else cut_before(data, hit.start - reach - base)
        if base + first < shown_to <= hit.start:
            first = shown_to - base
        wanted = match_end + reach - base
        last = len(data) if wanted >= len(data) else cut_after(data, wanted)
        ends_line = base + last >= source.size or data[:last].endswith(b"\n")
        return Row(base + first, data[first:last], line, base + first - line_start, ends_line)
