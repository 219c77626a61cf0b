"""``read``: any part of a kept output, verbatim and numbered, one page at a time.

Guarantees: an answer within the budget, on any bytes; pages that follow one another until
nothing is left are the asked stretch, exactly; every page makes progress.  A line longer than a page is
cut inside, at a safe place, and goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overspill.core.access import worded
from overspill.core.policy import Policy
from overspill.core.ports import Store
from overspill.retrieve.address import RangeLike, whole_number
from overspill.retrieve.answer import Answer, Page, at_most, closing, default_policy, largest, opening, within
from overspill.retrieve.part import Asked, Part, part_of
from overspill.retrieve.rows import Row, place_of, rows
from overspill.retrieve.session import Session
from overspill.retrieve.source import Source

AROUND_TOKENS = 450
"""Around a place, without a context asked for: as many lines as this holds."""
WINDOW_SHARE = 0.05
_LONG_ROW_BYTES = 400
_LEAST_PART_BYTES = 160
_SKIPPED_RUN = 3
"""Shorter runs of lines shown before are shown again: the mark would cost as much."""


def read(
    store: Store,
    handle: str,
    *,
    lines: RangeLike = None,
    line: int | str | None = None,
    bytes: RangeLike = None,
    chars: RangeLike = None,
    around: int | str | None = None,
    context: int | str | None = None,
    head: int | str | None = None,
    tail: int | str | None = None,
    policy: Policy | None = None,
    window_tokens: int | None = None,
    session: Session | None = None,
    again: bool = False,
) -> Answer:
    """A part of an output: by ``lines`` (a range, or what an answer gave as ``rest``), ``around`` a line (or a
    place in a long one, 812.2001), ``head`` or ``tail``, or inside one ``line`` by ``bytes`` or ``chars``;
    ``bytes`` alone are those of the output.  All numbers count from 1 and ranges include their ends.

    ``window_tokens`` is the size of the model's window: pages are then at most a twentieth of it.
    ``session`` leaves out what it has shown before, unless ``again``.
    """
    policy = _for_window(policy or default_policy(), window_tokens)
    if around is not None and context is None:
        policy = at_most(policy, AROUND_TOKENS)
    with Source(store, handle) as source:
        asked = Asked(lines, line, bytes, chars, around, context, head, tail).checked()
        if not source.size:
            words = opening("read", source.handle, "the output is empty (0 bytes)")
            return Answer(text=within(words, policy), handle=source.handle)
        found = part_of(source, asked)
        if isinstance(found, str):
            return Answer(
                text=within(opening("read", source.handle, found), policy), handle=source.handle, exit_status=1
            )
        return _Reading(source, found, policy, None if again else session, session).answer()


def pages(store: Store, handle: str, *, policy: Policy | None = None, lines: str = "1-") -> Iterator[Answer]:
    """The answers that read an output from its start to its end, one after the other."""
    while lines:
        answer = read(store, handle, lines=lines, policy=policy)
        yield answer
        lines = answer.rest


def _for_window(policy: Policy, window_tokens: int | None) -> Policy:
    if window_tokens is None:
        return policy
    return at_most(policy, max(64, int(whole_number("window_tokens", window_tokens) * WINDOW_SHARE)))


class _Reading:
    """One page."""

    def __init__(
        self, source: Source, part: Part, policy: Policy, skipping: Session | None, noting: Session | None
    ) -> None:
        self._source, self._part, self._policy = source, part, policy
        self._skipping, self._noting = skipping, noting
        self._most = policy.budget.bytes_ceiling

    def answer(self) -> Answer:
        candidates = self._candidates()
        if any(row.data.endswith(b"\r") for row in candidates):
            self._skipping = None  # of what is overwritten, only the last state was shown before
        first, last = self._choose(candidates)
        shown = candidates[first:last] or [self._least(candidates)]
        shown = self._extended(shown, candidates, last)
        text = self._text(shown)
        if self._noting is not None and self._policy.measure.fits(text, self._policy.budget):
            self._noting.note(self._source.handle, [(shown[0].start, shown[-1].end)])
        rest, call = self._rest(shown)
        return Answer(
            text=within(text, self._policy),
            handle=self._source.handle,
            pages=(Page(shown[0].start, shown[-1].end),),
            rest=rest,
            next=call,
        )

    def _candidates(self) -> list[Row]:
        """The rows that could be on the page: no more of the source than could fit."""
        part, source = self._part, self._source
        start, end = part.start, part.end
        if part.anchor == "last":
            start = max(start, end - self._most)
        elif part.anchor == "middle":
            start, end = max(start, part.middle - self._most), min(end, part.middle + self._most)
        else:
            end = min(end, start + self._most)
        start, end = self._safe(start, end)
        line = source.line_at(start)
        column = start - source.line_start(line)
        return list(rows(source, start, end, line=line, column=column, of=part.of))

    def _safe(self, start: int, end: int) -> tuple[int, int]:
        """A stretch that was asked for by bytes begins and ends where whole clusters do."""
        from overspill.core.measure import cut_after, cut_before

        around = 4_200
        if start > 0:
            base = max(0, start - around)
            start = base + cut_before(self._source.read(base, start - base + around), start - base)
        if end < self._source.size:
            base = max(start, end - around)
            end = base + cut_after(self._source.read(base, end - base + around), end - base)
        return start, end

    def _choose(self, candidates: Sequence[Row]) -> tuple[int, int]:
        """The run of whole candidates that fits, as indexes."""
        usable = len(candidates)
        lowest = 0
        if usable > 1 and candidates[-1].end < self._part.end and not candidates[-1].ends_line:
            usable -= 1
        if usable > 1 and candidates[0].start > self._part.start and candidates[0].column:
            lowest = 1
        middle = self._middle(candidates)

        def run(count: int) -> tuple[int, int]:
            if self._part.anchor == "last":
                return usable - count, usable
            if self._part.anchor == "middle":
                first = max(lowest, min(middle - (count - 1) // 2, usable - count))
                return first, min(usable, first + count)
            return lowest, lowest + count

        if self._part.anchor == "middle" and not lowest <= middle < usable:
            return 0, 0  # of the named line itself only a part can be shown

        def fits(count: int) -> bool:
            first, last = run(count)
            return self._fits(candidates[first:last])

        count = largest(fits, usable - lowest)
        if count == 0:
            return 0, 0
        return run(count)

    def _middle(self, candidates: Sequence[Row]) -> int:
        return next((index for index, row in enumerate(candidates) if row.end > self._part.middle), 0)

    def _least(self, candidates: Sequence[Row]) -> Row:
        """The part of the first row (or last, or middle one) that fits when no whole one does."""
        if self._part.anchor == "last":
            row = candidates[-1]
            size = largest(lambda size: self._fits([row.last_part(size)]), len(row.data))
            return row.last_part(max(1, size))
        if self._part.anchor == "middle":
            row = candidates[self._middle(candidates)]
            place = max(0, self._part.middle - row.start)
            size = largest(lambda size: self._fits([row.part_around(place, size)]), len(row.data))
            return row.part_around(place, max(1, size))
        row = candidates[0]
        size = largest(lambda size: self._fits([row.first_part(size)]), len(row.data))
        return row.first_part(max(1, size))

    def _extended(self, shown: list[Row], candidates: Sequence[Row], last: int) -> list[Row]:
        """With the start of a long row that follows, rather than leaving much of the page empty."""
        if self._part.anchor != "first" or not 0 < last < len(candidates) or not shown[-1].ends_line:
            return shown
        row = candidates[last]
        if len(row.data) < _LONG_ROW_BYTES:
            return shown
        size = largest(lambda size: self._fits([*shown, row.first_part(size)]), len(row.data))
        return [*shown, row.first_part(size)] if size >= _LEAST_PART_BYTES else shown

    def _fits(self, shown: Sequence[Row]) -> bool:
        return not shown or self._policy.measure.fits(self._text(shown), self._policy.budget)

    def _text(self, shown: Sequence[Row]) -> str:
        body = "".join(self._body(shown))
        return self._head(shown) + body + closing(self._rest(shown)[1])

    def _body(self, shown: Sequence[Row]) -> Iterator[str]:
        at = 0
        while at < len(shown):
            stop = at
            while self._skipping and stop < len(shown) and self._was_shown(shown[stop]):
                stop += 1
            if stop - at >= _SKIPPED_RUN or (stop - at == len(shown) and stop):
                yield f"[{place_of(shown[at], shown[stop - 1])} already shown]\n"
                at = stop
            else:
                yield shown[at].shown()
                at += 1

    def _was_shown(self, row: Row) -> bool:
        return self._skipping is not None and self._skipping.has_shown(self._source.handle, row.start, row.end)

    def _head(self, shown: Sequence[Row]) -> str:
        source = self._source
        place = place_of(shown[0], shown[-1])
        count = "1 line" if source.lines == 1 else f"{source.lines} lines"
        words = f"{place} of {source.lines}" if place.startswith("lines") else f"{place}; {count}, {source.size} bytes"
        if self._skipping and all(map(self._was_shown, shown)):
            call = worded(
                self._policy.access,
                "read",
                source.rest(shown[0].line, shown[-1].line),
                lines=f"{shown[0].line}-{shown[-1].line}",
                again=True,
            )
            words += f". You have this above. Not shown yet: {self._not_shown()}. To see it again: {call}"
        return opening("read", source.handle, words)

    def _not_shown(self) -> str:
        assert self._skipping is not None
        missing = self._skipping.not_shown(self._source.handle, self._source.size)
        if not missing:
            return "nothing"
        places = []
        for start, end in missing[:3]:
            first, last = self._source.line_at(start), self._source.line_at(end - 1)
            places.append(f"line {first}" if first == last else f"lines {first}-{last}")
        return ", ".join(places) + (f" and {len(missing) - 3} more stretches" if len(missing) > 3 else "")

    def _rest(self, shown: Sequence[Row]) -> tuple[str, str]:
        """What is left of the part, as ``lines`` and as the next call."""
        part, first, last = self._part, shown[0], shown[-1]
        if part.anchor != "first":
            return self._rest_before(first)
        if last.end >= part.end and (not part.inside_line or last.ends_line):
            return "", ""
        line, column = (last.line + 1, 0) if last.ends_line else (last.line, last.column + len(last.data))
        rest, last_line = "", line
        if last.end < part.end:
            last_line, stop = self._end_of_part()
            rest = f"{line}{f'.{column + 1}' if column else ''}-{stop}"
        if column and line == last_line:
            # A walk through one line goes on beyond what was asked, by pages of one size.
            length = self._source.line_end(last.start) - last.start + last.column
            page = last.end - max(first.start, last.start - last.column)
            stop_at = min(length, column + max(_LEAST_PART_BYTES, page))
            options: dict[str, object] = {"line": line, "bytes": f"{column + 1}-{stop_at}"}
        else:
            options = {"lines": rest}
        return rest, worded(self._policy.access, "read", self._source.rest(line, last_line, column), **options)

    def _end_of_part(self) -> tuple[int, str]:
        """The last line of the part, and how a range ends there."""
        end = self._part.end
        line = self._source.line_at(end - 1)
        start = self._source.line_start(line)
        whole = end >= self._source.line_end(start)
        return line, str(line) if whole else f"{line}.{end - start}"

    def _rest_before(self, first: Row) -> tuple[str, str]:
        part = self._part
        if part.anchor == "middle" or first.start <= part.start:
            return "", ""
        start_line = self._source.line_at(part.start)
        stop = str(first.line - 1) if not first.column else f"{first.line}.{first.column}"
        rest = f"{start_line}-{stop}"
        rest_of = self._source.rest(start_line, first.line)
        return rest, worded(self._policy.access, "read", rest_of, lines=rest)
