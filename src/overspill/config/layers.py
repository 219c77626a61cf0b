"""Who said what, and who is right: pure.

Two axes.  The more specific scope wins: this call, over the tool or the command, over everything.
Within a scope the nearer source wins: a flag, over the environment, a file, a preset, what is built in.
The four sizes of a budget are one setting, and so are those of a limit: whoever names any of them
there names them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import groupby
from typing import Any, NamedTuple

from overspill.config.settings import BUDGET, LIMIT, SETTINGS


class Scope(IntEnum):
    GLOBAL = 0
    TOOL = 1
    COMMAND = 2
    """A command is more than a tool: it says with which words the tool was called."""
    CALL = 3


class Source(IntEnum):
    BUILT_IN = 0
    PRESET = 1
    FILE = 2
    ENVIRONMENT = 3
    FLAG = 4


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings by their names, and where they come from."""

    scope: Scope
    source: Source
    origin: str
    """For people: "overspill.toml", "OVERSPILL_KEEP", "--keep", "preset opencode"."""
    values: Mapping[str, Any] = field(default_factory=dict)
    nearness: int = 0
    """Among layers of one scope and source, the higher wins: the project's file over the user's."""


class Settled(NamedTuple):
    value: Any
    origin: str


def settle(layers: Iterable[Layer]) -> dict[str, Settled]:
    """The value in force of every setting that anybody named."""
    settled: dict[str, Settled] = {}
    for _, level in groupby(sorted(layers, key=_weight), key=_weight):
        named = {name: Settled(value, layer.origin) for layer in level for name, value in layer.values.items()}
        for group in (BUDGET, LIMIT):
            if any(name in named for name in group):
                for name in group:
                    settled.pop(name, None)
        settled |= named
    return settled


def _weight(layer: Layer) -> tuple[int, int, int]:
    return layer.scope, layer.source, layer.nearness


BUILT_IN = Layer(
    Scope.GLOBAL,
    Source.BUILT_IN,
    "built-in",
    {setting.name: setting.default for setting in SETTINGS if setting.default is not None},
)
