"""The learned worth of a line: one table of weights for each feature, summed.

Guarantees that the same columns give the same scores, to the last bit, in whatever order they are summed: weights are
whole thousandths. The tables stand in ``weights.json`` beside this file and are made by ``bench/train_ranker.py``.
Leaves to others what to do with the scores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from struct import unpack

from overspill.core.strategies.salience.features import NAMES

_SCALE = 1000
_LANE = 0xFFFF


@dataclass(frozen=True, slots=True)
class Table:
    """The weights of one feature as two bytes each: thousandths above the least of them."""

    least: int
    span: int
    low: bytes
    high: bytes


Tables = Mapping[str, Table]


@lru_cache(maxsize=1)
def learned() -> Mapping[str, Tables]:
    """The tables by what is known of the call: ``plain`` without a question, ``hints`` with one."""
    text = files(__package__).joinpath("weights.json").read_text("utf-8")
    return parsed(json.loads(text))


def parsed(raw: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Mapping[str, Tables]:
    return {name: {feature: _table(weights) for feature, weights in tables.items()} for name, tables in raw.items()}


def _table(weights: Mapping[str, float]) -> Table:
    dense = [0] * 256
    for bin_, weight in weights.items():
        dense[int(bin_)] = round(weight * _SCALE)
    least, most = min(dense), max(dense)
    if most - least > _LANE:
        raise ValueError(f"weights of one feature are {_LANE // _SCALE} apart at most, not {(most - least) / _SCALE}")
    above = [weight - least for weight in dense]
    return Table(least, most - least, bytes(each & 0xFF for each in above), bytes(each >> 8 for each in above))


def scores(columns: Sequence[bytes], tables: Tables) -> list[float]:
    """One score per unit: higher matters more. What a column says of all units alike is left out."""
    size = len(columns[0]) if columns else 0
    if not size:
        return []
    least, total = 0, [0] * size
    held, lanes, pairs = 0, 0, bytearray(2 * size)
    for name, column in zip(NAMES, columns, strict=True):
        table = tables.get(name)
        if table is None or column.count(column[0]) == size:
            continue
        if held + table.span > _LANE:
            total = _added(total, lanes)
            held = lanes = 0
        # big integers add all units at once: two bytes for each, and no sum outgrows them
        pairs[::2], pairs[1::2] = column.translate(table.low), column.translate(table.high)
        lanes += int.from_bytes(pairs, "little")
        held += table.span
        least += table.least
    return [(each + least) / _SCALE for each in _added(total, lanes)]


def _added(total: Sequence[int], lanes: int) -> list[int]:
    size = len(total)
    return [a + b for a, b in zip(total, unpack(f"<{size}H", lanes.to_bytes(2 * size, "little")), strict=True)]
