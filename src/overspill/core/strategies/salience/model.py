"""The learned worth of a line: one table of weights for each feature, summed.

Guarantees that the same columns give the same scores; the tables stand in ``weights.json`` beside this file and are
made by ``bench/train_ranker.py``. Leaves to others what to do with the scores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from operator import add

from overspill.core.strategies.salience.features import NAMES

Tables = Mapping[str, Sequence[float]]


@lru_cache(maxsize=1)
def learned() -> Mapping[str, Tables]:
    """The tables by what is known of the call: ``plain`` without a question, ``hints`` with one."""
    text = files(__package__).joinpath("weights.json").read_text("utf-8")
    return parsed(json.loads(text))


def parsed(raw: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Mapping[str, Tables]:
    return {name: {feature: _dense(table) for feature, table in tables.items()} for name, tables in raw.items()}


def _dense(table: Mapping[str, float]) -> list[float]:
    dense = [0.0] * 256
    for bin_, weight in table.items():
        dense[int(bin_)] = weight
    return dense


def scores(columns: Sequence[bytearray], tables: Tables) -> list[float]:
    """One score per unit: higher matters more. What a column says of all units alike is left out."""
    if not columns or not columns[0]:
        return []
    total = [0.0] * len(columns[0])
    for name, column in zip(NAMES, columns, strict=True):
        table = tables.get(name)
        if table and column.count(column[0]) < len(column):
            total = list(map(add, total, map(table.__getitem__, column)))
    return total
