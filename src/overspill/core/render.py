"""Fits the excerpt, its marks and the header into the budget: the final text is measured, not hoped for.

The room that a selection fills is what the budget leaves beside the header.  The text is
then built and measured exactly; when the plan was off, the room is changed by the error and
filled again, a few times at most.  Whatever happens, some of the source is shown and the
text is within the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from overspill.core import notice
from overspill.core.capture import Cut
from overspill.core.excerpt import Costs, Excerpt, gaps_between
from overspill.core.measure import Measure, Size, cut_after, cut_before, display, encode, visible, well_formed, within
from overspill.core.model import UNITS, Bounded, Budget, Gap, Part, Span
from overspill.core.notice import Kept
from overspill.core.policy import Policy
from overspill.core.ports import Composed, Selection

_ROUNDS = 4
_SHORTENINGS = 12
"""Tries with less of the source before a layout's text is given up for the usual one."""
_SLACK = 0.03
"""Filling again for less room than this share of the budget isn't worth the time."""
_HEADER_SHARE = 0.4
"""A header that takes more of the budget than this is replaced by a shorter one."""
_TOLD_SHARE = 0.03
"""Of the budget, what may be said of the gaps' contents before the marks go without: the source's lines say more."""


def render(cut: Cut, kept: Kept, policy: Policy) -> Bounded:
    """The bounded text of an output that was cut, and its account."""
    draft = _Draft(cut, kept, policy)
    if isinstance(cut.selection, Composed):
        best = _laid_out(cut.selection, cut, kept, policy)
    else:
        best = draft.fill(cut.selection)
    return best or draft.fill(cut.edges) or draft.least()


def _laid_out(selection: Composed, cut: Cut, kept: Kept, policy: Policy) -> Bounded | None:
    """The text as a layout has it, with less of the source where it is too long; None when it can't be made to fit."""
    shorter: Composed | None = selection
    for _ in range(_SHORTENINGS):
        if shorter is None:
            break
        bounded = _composed(shorter, cut, kept, policy)
        shown = "".join(part.text for part in bounded.parts if part.span).removesuffix("\n")
        share = min(_share(shown, policy.budget, policy.measure), _share(bounded.text, policy.laid_out, policy.measure))
        if share >= 1:
            # What a layout shows is its own; what a strategy composes must leave no byte unaccounted for.
            if policy.layout or _is_accounted(bounded):
                return bounded
            raise ValueError("what the strategy composed leaves bytes unaccounted for")
        shorter = shorter.less(share)
    return None


def _share(text: str, budget: Budget, measure: Measure) -> float:
    """How much of a text the budget has room for, by its scarcest unit."""
    sizes = zip(measure.size(text, budget), budget.bounds, strict=True)
    return min((bound / used for used, bound in sizes if bound and used), default=1.0)


def _composed(selection: Composed, cut: Cut, kept: Kept, policy: Policy) -> Bounded:
    header, parts = selection.compose(kept, access=policy.access, language=policy.language)
    header = well_formed(header)
    parts = tuple(part._replace(text=well_formed(part.text)) if part.gap else part for part in parts)
    return Bounded(
        text=header + "".join(part.text for part in parts),
        truncated=True,
        handle=kept.handle,
        path=kept.path,
        unsaved=kept.unsaved,
        header=header,
        parts=parts,
        gaps=tuple(part.gap for part in parts if part.gap),
        totals=cut.totals,
        redactions=cut.redactions,
    )


def _is_accounted(bounded: Bounded) -> bool:
    """Do the parts make up the whole output?"""
    at = 0
    for part in bounded.parts:
        stretch = part.span or part.gap
        if stretch is None or stretch.start != at:
            return False
        at = stretch.end
    return at == bounded.total_bytes


class _Draft:
    def __init__(self, cut: Cut, kept: Kept, policy: Policy) -> None:
        self._cut, self._kept, self._policy = cut, kept, policy
        self._budget, self._measure = policy.budget, policy.measure
        self._costs = Costs(policy.measure, policy.budget)

    def fill(self, selection: Selection) -> Bounded | None:
        """The fullest text that fits, or None when nothing of the source could be shown."""
        header_size = self._measure.size(self._header(selection, self._cut.totals.lines, _WORST_GAP), self._budget)
        room: Budget | None = _less(self._budget, header_size)
        best: Bounded | None = None
        fitted: Budget | None = None
        too_much: Budget | None = None
        misses = 0
        for turn in range(2 * _ROUNDS):
            if room is None or (best is not None and turn >= _ROUNDS):
                break
            excerpt = Excerpt(room, self._cut.totals, self._costs)
            selection.fill(excerpt)
            spans = excerpt.spans()
            if not spans:
                if best is not None or too_much is None:
                    break
                room = _halfway(room, too_much)
                continue
            bounded, size = self._build(selection, spans)
            if within(size, self._budget):
                better = best is None or bounded.kept_bytes > best.kept_bytes
                if better:
                    best, fitted = bounded, room
                if not better or self._free_share(size) < _SLACK:
                    break
            else:
                too_much, misses = room, misses + 1
            room = self._corrected(room, size, 1 << max(0, misses - 1))
            if fitted and too_much:
                room = _halfway(fitted, too_much)
            elif room is None and best is None:
                # where the marks cost far more than planned, what a form is made of must still win over plain ends
                room = _halved(too_much) if too_much else None
        return best

    def least(self) -> Bounded:
        """The start and the end of the output, by as many characters as fit; the shortest header."""
        from overspill.core.strategies.ends import EndsSelector

        assert isinstance(self._cut.edges, EndsSelector)
        first, last = self._cut.edges.first_and_last()
        low, high = 1, 4096
        best: Bounded | None = None
        while low <= high:
            middle = (low + high) // 2
            spans = _pieces(first, last, middle)
            bounded, size = self._build(self._cut.edges, spans, short=True)
            if within(size, self._budget):
                best, low = bounded, middle + 1
            else:
                high = middle - 1
        return best or self._with_less_of_a_reason(_pieces(first, last, 1))

    def _with_less_of_a_reason(self, spans: Sequence[Span]) -> Bounded:
        """A reason is the store's words, which may cost more than a policy can know before."""
        for reason_chars in range(notice.REASON_CHARS, 1, -4):
            bounded, size = self._build(self._cut.edges, spans, short=True, reason_chars=reason_chars)
            if within(size, self._budget):
                break
        return bounded

    def _header(
        self, selection: Selection, shown_lines: int, gap: Gap | None, *, folded: bool = False, invisible_bytes: int = 0
    ) -> str:
        """The fullest header that leaves most of the budget to the excerpt."""
        for headline, gap_named in ((selection.headline, gap), ("", gap)):
            header = well_formed(
                notice.header(
                    self._kept,
                    totals=self._cut.totals,
                    shown_lines=shown_lines,
                    gap=gap_named,
                    headline=headline,
                    access=self._policy.access,
                    language=self._policy.language,
                    redactions=self._cut.redactions,
                    folded=folded,
                    invisible_bytes=invisible_bytes,
                )
            )
            if self._takes_little(self._measure.size(header, self._budget)):
                return header
        return self._short_header(shown_lines)

    def _short_header(self, shown_lines: int, reason_chars: int = notice.REASON_CHARS) -> str:
        return well_formed(
            notice.short_header(
                self._kept,
                totals=self._cut.totals,
                shown_lines=shown_lines,
                language=self._policy.language,
                reason_chars=reason_chars,
            )
        )

    def _build(
        self,
        selection: Selection,
        spans: Sequence[Span],
        *,
        short: bool = False,
        reason_chars: int = notice.REASON_CHARS,
    ) -> tuple[Bounded, Size]:
        gaps = gaps_between(spans, self._cut.totals)
        told = self._told(selection, gaps)
        parts = assemble(spans, gaps, lambda gap: self._mark(selection, gap, told.get(gap, "")))
        shown_lines = self._cut.totals.lines - sum(gap.omitted_lines for gap in gaps)
        first_gap = max(gaps, key=lambda gap: gap.omitted_bytes, default=None)
        if short:
            header = self._short_header(shown_lines, reason_chars)
        else:
            header = self._header(
                selection,
                shown_lines,
                first_gap,
                folded=not gaps and _is_folded(parts),
                invisible_bytes=_invisible_bytes(parts),
            )
        text = header + "".join(part.text for part in parts)
        bounded = Bounded(
            text=text,
            truncated=True,
            handle=self._kept.handle,
            path=self._kept.path,
            unsaved=self._kept.unsaved,
            header=header,
            parts=tuple(parts),
            gaps=tuple(gaps),
            totals=self._cut.totals,
            kind=selection.kind,
            headline=selection.headline,
            redactions=self._cut.redactions,
        )
        return bounded, self._measure.size(text, self._budget)

    def _told(self, selection: Selection, gaps: Sequence[Gap]) -> dict[Gap, str]:
        """What the marks say of the gaps: of the largest first, until that has had its share of the budget."""
        told: dict[Gap, str] = {}
        left = [bound * _TOLD_SHARE for bound in self._budget.bounds if bound]
        for gap in sorted(gaps, key=lambda gap: (-gap.omitted_bytes, gap.start)):
            told[gap] = well_formed(notice.shortened(selection.describe(gap), notice.DESCRIPTION_CHARS))
            used = self._measure.size(told[gap], self._budget)._replace(lines=0)
            bounded = zip(used, self._budget.bounds, strict=True)
            left = [room - size for room, size in zip(left, (size for size, bound in bounded if bound), strict=True)]
            if min(left) <= 0:
                break
        return told

    def _mark(self, selection: Selection, gap: Gap, description: str) -> str:
        words = notice.mark(gap, description, language=self._policy.language)
        own = selection.mark(gap, words)
        return well_formed(visible(own)) if own else words

    def _takes_little(self, size: Size) -> bool:
        return all(
            not bound or unit == "lines" or used <= bound * _HEADER_SHARE
            for unit, used, bound in zip(UNITS, size, self._budget.bounds, strict=True)
        )

    def _free_share(self, size: Size) -> float:
        return min(1 - used / bound for used, bound in zip(size, self._budget.bounds, strict=True) if bound)

    def _corrected(self, room: Budget, size: Size, times: int) -> Budget | None:
        """The room, changed by what the text was under the budget, or by ``times`` as much as it was over.

        What is over may stay over: with less room other spans fit, and other marks are called for.
        """
        changed: dict[str, int] = {}
        for unit, used, bound, before in zip(UNITS, size, self._budget.bounds, room.bounds, strict=True):
            if bound and before:
                free = bound - used
                changed[f"max_{unit}"] = before + (free * times if free < 0 else free * 4 // 5)
        return Budget(**changed) if min(changed.values()) > 0 else None


Marker = Callable[[Gap], str]


def assemble(spans: Sequence[Span], gaps: Sequence[Gap], marker: Marker) -> list[Part]:
    """Source text and marks in order: a mark stands on its own line, or inside the line it cuts."""
    parts: list[Part] = []
    waiting = list(gaps)
    for span in spans:
        if waiting and waiting[0].end == span.start:
            parts.append(_mark_part(waiting.pop(0), marker))
        parts.append(Part(display(span.data), span=span))
    if waiting:
        parts.append(_mark_part(waiting.pop(0), marker))
    return parts


def _is_folded(parts: Sequence[Part]) -> bool:
    """Does the text show source otherwise than it is?"""
    return any(part.span and encode(part.text) != part.span.data for part in parts)


def _invisible_bytes(parts: Sequence[Part]) -> int:
    """The bytes that are shown, where all that is to be seen of them is nothing."""
    if any(part.span and part.text and not part.text.isspace() for part in parts) or not _is_folded(parts):
        return 0
    return sum(len(part.span.data) for part in parts if part.span)


def _mark_part(gap: Gap, marker: Marker) -> Part:
    text = marker(gap)
    ends_line = gap.last_column is None
    return Part(text + "\n" if ends_line else text, gap=gap)


def _pieces(first: Span, last: Span, size: int) -> list[Span]:
    start = first.part(0, max(cut_before(first.data, size), min(cut_after(first.data, 1), len(first.data))))
    end = last.part(cut_after(last.data, len(last.data) - size), len(last.data))
    if end.start <= start.end:
        return [start]
    return [piece for piece in (start, end) if piece.data]


def _less(budget: Budget, size: Size) -> Budget | None:
    """What a budget leaves beside something of that size."""
    left = {f"max_{unit}": bound - used for unit, used, bound in zip(UNITS, size, budget.bounds, strict=True) if bound}
    return Budget(**left) if min(left.values()) > 0 else None


def _halfway(less: Budget, more: Budget) -> Budget:
    return Budget(
        **{f"max_{unit}": (a + b) // 2 for unit, a, b in zip(UNITS, less.bounds, more.bounds, strict=True) if a and b}
    )


def _halved(budget: Budget) -> Budget | None:
    half = {f"max_{unit}": bound // 2 for unit in UNITS if (bound := getattr(budget, f"max_{unit}"))}
    return Budget(**half) if min(half.values()) > 0 else None


_WORST_GAP = Gap(0, 10**9, 10**6, 10**9)
