"""What the values of a JSON document are like, field by field, and what that makes each run and member worth.

Counts while the document flows; of a long one, what was learned from its beginning serves for the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, cycle, repeat
from operator import itemgetter
from typing import Any

from overspill.core.strategies.views.json_fields import CONTAINERS, FAILURE_KEYS, SURE_FAILURE_KEYS, Field, Look
from overspill.core.strategies.views.json_scan import BYTE_ORDER_MARK, Run, document_end

FIELDS_KEPT = 4_000
KNOWN_KEPT = 20_000
WATCHED = 24
BATCH_BYTES = 1 << 15
"""Of an array, as much is counted at once."""
KEPT_BYTES = 1 << 20
"""Of so much of a document, its values stay in memory until they are weighed."""
WEIGHED_BYTES = 8_000
"""A run that is longer is not looked at closely."""

IDENTITY_KEYS = re.compile(
    r"(?:^|_|\b)(?:id|name|key|title|version|type|kind|path|file|target|uid|sha|code|label|url|created|date|count|total|size)s?$|Id$|ID$|Name$",
    re.IGNORECASE,
)
_GLANCED_FAILURE = re.compile(
    rb'"(?:error|exception|failure|failed|fault|fatal|denied|yanked|deprecated)[A-Za-z_]*"\s*:\s*(?:"[^"]|[1-9{t]|\[\s*[^\]\s])'
)


_LENIENT = re.compile(rb"NaN|Infinity|\\u[dD][89a-fA-F]")


@dataclass(slots=True)
class _Batch:
    """Runs of one container that are counted together."""

    name: str
    runs: list[Run] = field(default_factory=list)
    bytes: int = 0
    is_counted: bool = False
    parsed: list[tuple[list[Run], Any]] | None = None


def _columns_of(held: Sequence[Any]) -> Mapping[str, Sequence[Any]] | None:
    """The values of containers by key, when all are objects of the same keys."""
    if {*map(type, held)} != {dict}:
        return None
    keys = [*held[0]]
    if not keys or {*map(len, held)} != {len(keys)}:
        return None
    try:
        if len(keys) == 1:
            return {keys[0]: [*map(itemgetter(keys[0]), held)]}
        return dict(zip(keys, zip(*map(itemgetter(*keys), held), strict=True), strict=True))
    except KeyError:
        return None


def _elements_of(names: Sequence[str], held: Sequence[Any]) -> Mapping[str, Sequence[Any]] | None:
    """The elements of containers, when all are arrays of one name."""
    return {names[0]: [*chain.from_iterable(held)]} if {*map(type, held)} == {list} and len({*names}) == 1 else None


def _unlike(names: Sequence[str], held: Sequence[Any]) -> tuple[Mapping[str, list[Any]], list[str], list[Any]]:
    """The values of containers that are not alike, by key, and the containers among them in order, with their names."""
    columns: dict[str, list[Any]] = {}
    names_below: list[str] = []
    below: list[Any] = []
    for name, container in zip(names, held, strict=True):
        for key, item in container.items() if container.__class__ is dict else zip(repeat(name), container):
            column = columns.get(key)
            if column is None:
                columns[key] = [item]
            else:
                column.append(item)
            if item.__class__ in CONTAINERS and item:
                names_below.append(key)
                below.append(item)
    return columns, names_below, below


def _documents(row: bytes) -> Iterator[bytes]:
    """The documents of a row, one by one."""
    at = 0
    while at < len(row):
        end = document_end(row, at)
        yield row[at:end]
        at = end


class Facts:
    """Gathers while the document flows."""

    def __init__(self) -> None:
        import msgspec

        self._decode = msgspec.json.Decoder().decode
        self._undecodable = (msgspec.DecodeError, ValueError, RecursionError)
        self.fields: dict[tuple[int, str], Field] = {}
        self._looks: dict[tuple[int, str], Look] = {}
        self._batches: list[_Batch] = []
        self._kept_bytes = 0
        self._glance: Callable[[bytes], list[tuple[bytes, bytes]]] | None = None
        self._glanced: dict[tuple[bytes, bytes], float] = {}

    def parsed(self, run: Run) -> Any:
        """The members of a run as Python values, or None when they are not valid JSON."""
        body = run.data.strip().removesuffix(b",")
        if run.frame.kind == "{":
            return self.value(b"{" + body + b"}")
        if run.frame.kind == "[":
            return self.value(b"[" + body + b"]")
        try:
            return [self._decoded(one) for one in _documents(body.removeprefix(BYTE_ORDER_MARK))]
        except self._undecodable:
            return None

    def value(self, raw: bytes) -> Any:
        """One value, or None when it is not valid JSON."""
        try:
            return self._decoded(raw)
        except self._undecodable:
            return None

    def _decoded(self, raw: bytes) -> Any:
        try:
            return self._decode(raw)
        except self._undecodable:
            # what Python and JavaScript write all the same
            if not _LENIENT.search(raw):
                raise
            return json.loads(raw)

    def see(self, run: Run, field_name: str) -> None:
        """Takes a run whose values are to be counted."""
        last = self._batches[-1] if self._batches else None
        if last is None or last.is_counted or last.runs[0].frame is not run.frame or last.bytes > BATCH_BYTES:
            self._settle()
            last = _Batch(field_name)
            self._batches.append(last)
        last.runs.append(run)
        last.bytes += len(run.data)

    def _settle(self) -> None:
        """Counts the values of what came last."""
        batch = self._batches[-1] if self._batches else None
        if batch is None or batch.is_counted:
            return
        batch.is_counted = True
        parsed = self._parsed_of(batch.runs)
        for _, members in parsed:
            self._looks.clear()
            self._count(members, batch.runs[0].frame.depth, batch.name)
        if self._kept_bytes + batch.bytes <= KEPT_BYTES:
            self._kept_bytes += batch.bytes
            batch.parsed = parsed

    def _parsed_of(self, runs: list[Run]) -> list[tuple[list[Run], Any]]:
        """The members of runs of one container: those of an array at once, since a step is paid by the column."""
        if len(runs) > 1 and runs[0].frame.kind == "[":
            together = self.value(b"[" + b",".join([run.data.strip().removesuffix(b",") for run in runs]) + b"]")
            if together is not None and len(together) == sum([run.count for run in runs]):
                return [(runs, together)]
        return [([run], parsed) for run in runs if (parsed := self.parsed(run)) is not None]

    def _count(self, parsed: Any, depth: int, name: str) -> None:
        """Counts the values of members, level by level, each level by its columns in the order of the source."""
        names: list[str] = [name]
        held: list[Any] = [parsed]
        while held:
            columns = _columns_of(held)
            if columns is None:
                columns = _elements_of(names, held)
            if columns is not None:
                nesting = [key for key, column in columns.items() if self._see(depth, key, column)]
                rows = zip(*[columns[key] for key in nesting], strict=True)
                items = columns[nesting[0]] if len(nesting) == 1 else [*chain.from_iterable(rows)]
                holds = [item.__class__ in CONTAINERS and bool(item) for item in items]
                names, held = [*compress(cycle(nesting), holds)], [*compress(items, holds)]
            else:
                columns, names, held = _unlike(names, held)
                for key, column in columns.items():
                    self._see(depth, key, column)
            depth += 1

    def _see(self, depth: int, key: str, column: Sequence[Any]) -> bool:
        """Counts the next values of a field; returns whether some of them hold others."""
        field = self.fields.get((depth, key))
        if field is None:
            if len(self.fields) >= FIELDS_KEPT:
                return not CONTAINERS.isdisjoint(map(type, column))
            field = self.fields[(depth, key)] = Field()
        field.see(column)
        return field.nests

    def worth(self, depth: int, key: str, value: Any) -> float:
        """How much one value is worth showing to someone who asked nothing."""
        look = self._looks.get((depth, key)) or self._look(depth, key)
        return 0.0 if look.silent else look.worth(value)

    def _look(self, depth: int, key: str) -> Look:
        here = self.fields.get((depth, key))
        counts = here.few_values if here is not None else None
        failure = FAILURE_KEYS.search(key) is not None
        look = Look(
            rare_in=here if counts else None,
            top=max(counts.values()) if counts else 0,
            usual=here is not None and here.seen > 20 and here.values is not None and len(here.values) <= 4,
            numbers=here if here is not None and here.has_extremes else None,
            failure=failure,
            sure_failure=failure and SURE_FAILURE_KEYS.search(key) is not None,
        )
        if len(self._looks) < KNOWN_KEPT:
            self._looks[(depth, key)] = look
        return look

    def best_worth(self, value: Any, depth: int, name: str) -> float:
        """The worth of the best value anywhere inside."""
        return self.best_worths([(name, value)], depth)[0]

    def best_worths(self, named: Sequence[tuple[str, Any]], depth: int) -> list[float]:
        """The same of each of several, whose members are at that depth; 0 of one that has none."""
        best = [0.0] * len(named)
        level = [(at, name, one) for at, (name, one) in enumerate(named) if one.__class__ in CONTAINERS and one]
        while level:
            below: list[tuple[int, str, Any]] = []
            owners = [at for at, _, _ in level]
            columns = _columns_of([held for _, _, held in level])
            if columns is None:
                columns = _elements_of([name for _, name, _ in level], [held for _, _, held in level])
                owners = [at for at, _, held in level for _ in held]
            if columns is None:
                for at, name, held in level:
                    for key, item in held.items() if held.__class__ is dict else zip(repeat(name), held, strict=False):
                        look = self._looks.get((depth, key)) or self._look(depth, key)
                        if not look.silent and (worth := look.worth(item)) > best[at]:
                            best[at] = worth
                        if item.__class__ in CONTAINERS and item:
                            below.append((at, key, item))
            for key, column in columns.items() if columns is not None else ():
                look = self._looks.get((depth, key)) or self._look(depth, key)
                if not look.silent and max(worths := look.worths(column)) > 0:
                    for at, worth in zip(owners, worths, strict=True):
                        if worth > best[at]:
                            best[at] = worth
                field = self.fields.get((depth, key))
                if (field is None or field.nests) and not CONTAINERS.isdisjoint(map(type, column)):
                    held_by = zip(owners, column, strict=True)
                    below += [(at, key, item) for at, item in held_by if item.__class__ in CONTAINERS and item]
            level, depth = below, depth + 1
        return best

    def study_is_over(self) -> None:
        """From now on a glance must do: at the fields that have few values, and at numbers."""
        self._settle()
        self._batches.clear()
        ranked = sorted(self.fields.items(), key=lambda entry: (-entry[1].seen, entry[0]))
        watched: dict[bytes, Look] = {}
        for (depth, key), here in ranked:
            few = here.values is not None and len(here.values) <= 8
            if len(watched) < WATCHED and here.seen >= 20 and (few or here.numbers > 0.9 * here.seen):
                watched.setdefault(key.encode("utf-8", "replace"), self._look(depth, key))
        self._watched = watched
        names = b"|".join(re.escape(key) for key, look in watched.items() if not look.silent) or b"(?!)"
        self._glance = re.compile(
            rb'"(' + names + rb')"\s*:\s*("[^"\\]{0,48}"|-?\d[\d.eE+-]*|true|false|null|\{\}|\[\]|[\[{])'
        ).findall

    def weigh(self) -> None:
        """Notes what the oddest value of each run is worth, and of each member; of all that was counted."""
        self._settle()
        for batch in self._batches:
            for runs, members in self._parsed_of(batch.runs) if batch.parsed is None else batch.parsed:
                named = [*members.items()] if members.__class__ is dict else [(batch.name, one) for one in members]
                self._weigh_members(runs, named)
            for run in batch.runs:
                if run.oddness is None or len(run.data) > WEIGHED_BYTES:
                    run.oddness, run.inside = 0.2, None
        self._batches.clear()

    def _weigh_members(self, runs: Sequence[Run], named: Sequence[tuple[str, Any]]) -> None:
        depth = runs[0].frame.depth
        inside = self.best_worths(named, depth + 1)
        if len({*map(itemgetter(0), named)}) == 1:
            look = self._look(depth, named[0][0])
            own = [0.0] if look.silent else look.worths([one for _, one in named])
            worths = [*map(max, inside, cycle(own))]
        else:
            worths = [max(worth, self.worth(depth, *one)) for worth, one in zip(inside, named, strict=True)]
        at = 0
        for run in runs:
            end = at + run.count if len(runs) > 1 else len(named)
            run.inside = inside[at:end]
            run.oddness = max(worths[at:end], default=0.0)
            at = end

    def glanced(self, run: Run) -> float:
        """What the oddest value of a run is worth, by a glance; once the study is over."""
        assert self._glance is not None
        best = 0.6 if _GLANCED_FAILURE.search(run.data) else 0.0
        known = self._glanced
        for pair in {*self._glance(run.data)}:
            worth = known.get(pair)
            if worth is None:
                worth = self._watched[pair[0]].worth(self._value_of(pair[1]))
                if len(known) < KNOWN_KEPT:
                    known[pair] = worth
            if worth > best:
                best = worth
        return best

    def _value_of(self, raw: bytes) -> Any:
        if raw in (b"[", b"{"):
            return [0] if raw == b"[" else {"": 0}
        return self.value(raw)
