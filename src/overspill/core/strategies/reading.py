"""How ``auto`` reads an output: evidence is collected while it flows, then weighed line by line.

Guarantees one pass in memory that does not grow with the output; verbatim spans only; the same choice for the same
bytes and call. Leaves the fit to the renderer, and forms with a structure of their own to the views, beside which the
salience of single lines always has a say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from overspill.core.model import Block, Budget, Call, Gap, Span, Totals
from overspill.core.ports import Excerpt, Selection, Selector
from overspill.core.strategies import recognise
from overspill.core.strategies.auto import Auto
from overspill.core.strategies.salience import features, model, question, selection, severity, shapes, trouble, units
from overspill.core.strategies.salience.contents import Contents
from overspill.core.strategies.salience.pool import Pool
from overspill.core.strategies.views.offers import Replay

if TYPE_CHECKING:
    from overspill.core.strategies.rules import Judged

ROOM_BYTES_PER_TOKEN = 3.2
KEPT_LEAD = 4.0
"""By so much lines that a rule keeps are worth more than the best of the others, in the scores' own unit."""
KEPT_SHARE = 0.5
"""The share of the room that they may take before a view does."""
TORN = 8
"""Where what is shown comes in more runs than these, a gap is told of in the fewest words."""
_FEW = re.compile(
    rb"(?i)(?<![\d.,])[1-9] (?:\w+ )?(?:failed|failing|failures?|errors?)\b|\b(?:failures|errors)[=:] ?[1-9]\b"
)
NEAR = 3.0
"""A line that counts a few failures says less than one of them does, where one comes so near in score."""
PATIENCE = 40
"""Units in a row that don't fit, after which nobody else is asked."""


class AutoSelector:
    """Collects the evidence while the output flows."""

    def __init__(self, room: Budget, call: Call, strategy: Auto) -> None:
        self._room, self._call, self._strategy = room, call, strategy
        terms = question.terms(call.question) if "question" not in strategy.without else ()
        self._asked = question.Asked(terms) if terms else None
        self._rules = strategy.rules or None
        self._pool = Pool(self._asked, self._rules)
        self._form: recognise.Form | None = None
        self._view: Selector | None = None

    def feed(self, block: Block) -> None:
        if self._form is None:
            self._form = recognise.form(block.data, self._call, self._strategy.views)
            if self._form.view and "views" not in self._strategy.without:
                self._view = self._form.view(self._room, self._call)
        self._pool.feed(block)
        if self._view is not None:
            self._view.feed(block)

    def finish(self, totals: Totals, call: Call) -> AutoSelection:
        form = self._form or recognise.UNKNOWN
        if form.headlined_when_failed and call.exit_status:
            form = replace(form, headlined=True)
        view = self._view.finish(totals, call) if self._view is not None else None
        selection = AutoSelection(
            partial(self._weighed, totals, call),
            form=form,
            view=view,
            complete=self._pool.complete,
            repeat=1.0 if "repeats" in self._strategy.without else 0.6,
        )
        if view is None or not form.exclusive:
            selection.weigh()
        return selection

    def _weighed(self, totals: Totals, call: Call) -> Weighed:
        cut = units.cut(self._pool.stretches())
        counts = None if self._pool.complete else self._pool.counts
        evidence = features.gather(cut, counts, self._asked, call, totals)
        weights = self._strategy.weights or model.learned()
        tables = weights["hints" if self._asked else "plain"]
        scores = model.scores(evidence.columns, tables)
        judged = self._rules.judged(cut.texts) if self._rules else None
        if judged is not None:
            top = max(scores, default=0.0) + KEPT_LEAD
            for index in judged.keep:
                scores[index] = top
        return Weighed(evidence, scores, judged)


@dataclass(frozen=True, slots=True)
class Weighed:
    """What is known of every unit, and what it is worth."""

    evidence: features.Evidence
    scores: list[float]
    judged: Judged | None


class AutoSelection:
    """What was found: units in the order of their worth, and what a view made of the output's form."""

    def __init__(
        self,
        weigh: Callable[[], Weighed],
        *,
        form: recognise.Form,
        view: Selection | None,
        complete: bool,
        repeat: float,
    ) -> None:
        self._weigh, self._form, self._view = weigh, form, view
        self._complete, self._repeat = complete, repeat
        self._ordered = Replay[int](())
        self._ordered_for = 0.0
        self._stretches: int | None = 0

    def weigh(self) -> None:
        """Does now what is otherwise done when a unit's worth is first asked for, which some views never do."""
        assert self._weighed

    @cached_property
    def _weighed(self) -> Weighed:
        return self._weigh()

    @property
    def _evidence(self) -> features.Evidence:
        return self._weighed.evidence

    @property
    def _judged(self) -> Judged | None:
        return self._weighed.judged

    @cached_property
    def _contents(self) -> Contents:
        cut, levels = self._evidence.units, self._evidence.levels
        return Contents(
            [(cut.starts[unit], cut.lines[unit], severity.NAMES[levels[unit]]) for unit in trouble.told(levels)],
            complete=self._complete,
            units=cut,
            forms=self._evidence.coarse,
        )

    @property
    def kind(self) -> str:
        return (self._view.kind if self._view else "") or self._form.name

    @cached_property
    def headline(self) -> str:
        if not self._form.headlined:
            return self._view.headline if self._view else ""
        levels, scores = self._evidence.levels, self._weighed.scores
        severe = trouble.told(levels, severity.ERROR)
        if not severe:
            return self._view.headline if self._view else ""
        texts = self._evidence.units.texts
        ranked = sorted(severe, key=lambda unit: -scores[unit])
        near = (
            unit for unit in ranked if scores[unit] > scores[ranked[0]] - NEAR and levels[unit] >= levels[ranked[0]]
        )
        best = next((unit for unit in near if not _FEW.search(texts[unit])), ranked[0])
        lines = self._evidence.units.lines
        while best and levels[best] == levels[best - 1] == severity.FATAL and lines[best - 1] == lines[best] - 1:
            best -= 1  # how it died is said first, then by which signal
        return f"line {lines[best]}: {trouble.telling(texts[best])}"

    def fill(self, excerpt: Excerpt) -> None:
        if self._view is not None and self._form.exclusive:
            self._view.fill(excerpt)
            return
        chosen = self._chosen(excerpt)
        if self._view is None:
            self._fill_salient(excerpt, chosen)
            return
        if self._judged is not None and self._judged.keep:
            self._fill_salient(excerpt, _among(chosen, self._judged.keep), leave=1 - KEPT_SHARE)
        if self._form.errors_share:
            severe = _among(chosen, trouble.told(self._evidence.levels, severity.ERROR))
            self._fill_salient(excerpt, severe, leave=1 - self._form.errors_share)
        self._view.fill(_Shared(excerpt, 1 - self._form.view_share))
        self._fill_salient(excerpt, chosen)
        self._view.fill(excerpt)

    def _chosen(self, excerpt: Excerpt) -> Iterable[int]:
        """Units in the order of their worth, which is worked out as far as somebody asks."""
        room = excerpt.room
        tokens = room.max_tokens or room.bytes_ceiling / ROOM_BYTES_PER_TOKEN
        if room.max_bytes:
            tokens = min(tokens, room.max_bytes / ROOM_BYTES_PER_TOKEN)
        if tokens <= self._ordered_for:
            return self._ordered
        self._ordered_for = tokens * 1.2
        chosen = selection.order(
            self._weighed.scores,
            selection.token_costs(self._evidence.units.texts),
            self._evidence.units.joined,
            self._evidence.coarse,
            max_tokens=tokens * 1.5,
            heads=shapes.heads(self._evidence.units.texts),
            places=shapes.places(self._evidence.units.texts),
            repeat=self._repeat,
            news=self._evidence.news,
        )
        if self._judged is not None:
            drop = self._judged.drop
            chosen = (unit for unit in chosen if unit not in drop)
        self._ordered, self._stretches = Replay(chosen), None
        return self._ordered

    @property
    def _gaps(self) -> int:
        """In about how many runs of neighbours the best units come."""
        if self._stretches is None:
            self._stretches = selection.stretches([*self._ordered])
        return self._stretches

    def _fill_salient(self, excerpt: Excerpt, chosen: Iterable[int], *, leave: float = 0.0) -> None:
        cut = self._evidence.units
        misses = 0
        blocks: Mapping[int, range] = self._judged.blocks if self._judged else {}
        for index in chosen:
            block = blocks.get(index)
            whole = block is not None and excerpt.add(*map(cut.span, block), leave=leave)
            if whole or excerpt.add(cut.span(index), leave=leave):
                misses = 0
                continue
            misses += 1
            if misses > PATIENCE:
                break

    def describe(self, gap: Gap) -> str:
        if self._view is not None:
            told = self._view.describe(gap)
            if told:
                severe = self._contents.severe(gap) if self._form.errors_told else ""
                return f"{severe}; {told}" if severe else told
        if gap.last_line - gap.first_line < 3:
            return ""
        is_torn = self._gaps > TORN
        contents = self._contents.describe(gap, listed=1 if is_torn else 3)
        return contents.split("; ")[0] if is_torn else contents

    def mark(self, gap: Gap, words: str) -> str | None:
        return self._view.mark(gap, words) if self._view is not None else None


def _among(chosen: Iterable[int], wanted: Iterable[int]) -> Iterator[int]:
    """Those that are wanted, in the order of what is chosen, which is asked no further than they go."""
    left = {*wanted}
    for unit in chosen if left else ():
        if unit in left:
            left.remove(unit)
            yield unit
            if not left:
                return


class _Shared:
    """An excerpt of which a part stays free for others."""

    def __init__(self, excerpt: Excerpt, leave: float) -> None:
        self._excerpt, self._leave = excerpt, leave

    @property
    def room(self) -> Budget:
        return self._excerpt.room

    @property
    def left(self) -> float:
        return max(0.0, self._excerpt.left - self._leave)

    def add(self, *spans: Span, leave: float = 0.0) -> bool:
        return self._excerpt.add(*spans, leave=max(leave, self._leave))

    def add_ends(self, first: Span, last: Span | None = None, *, leave: float = 0.0) -> bool:
        return self._excerpt.add_ends(first, last, leave=max(leave, self._leave))

    def could_hold(self, *spans: Span, leave: float = 0.0) -> bool:
        return self._excerpt.could_hold(*spans, leave=max(leave, self._leave))
