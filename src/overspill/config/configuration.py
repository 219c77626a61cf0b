"""All that is configured, and what of it holds for one call.

A ``Configuration`` is a value: read once, asked for every call.  A ``Settlement`` knows every setting in
force and where it came from, and builds the policy and the store from it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from overspill.config import sources
from overspill.config.layers import BUILT_IN, Layer, Scope, Settled, Source, settle
from overspill.config.presets import placed, preset
from overspill.config.settings import ACCEPTED, BUDGET, LIMIT, SETTINGS, Setting, known
from overspill.errors import PolicyError
from overspill.surroundings import absolute

if TYPE_CHECKING:
    from overspill.config.files import FileSettings, Summarization
    from overspill.core.access import Access
    from overspill.core.policy import Policy
    from overspill.core.ports import Store, Strategy
    from overspill.core.redact import Secret

_DIRECTIONS = {"head": "head", "tail": "tail"}


def load(start: str, env: Mapping[str, str], *, file: str | None = None) -> Configuration:
    """What the files around ``start`` and the environment say; ``file`` is read instead of the files found."""
    paths = [file] if file else sources.files(start, env)
    if not paths:
        return Configuration((), tuple(_environment(env)))
    from overspill.config.files import read_file

    return Configuration(tuple(read_file(path) for path in paths), tuple(_environment(env)))


@dataclass(frozen=True, slots=True)
class Configuration:
    files: tuple[FileSettings, ...] = ()
    """The nearest first."""
    environment: tuple[Layer, ...] = ()

    def settle(self, *, tool: str = "", command: str = "", flags: Mapping[str, Any] | None = None) -> Settlement:
        """What holds for one call: ``flags`` are what this very call says, by setting or option name."""
        known(flags or {})
        layers = [BUILT_IN, *self.environment, *self._of_files(tool, command)]
        layers += [
            Layer(Scope.CALL, Source.FLAG, _flag(name), {name: value})
            for name, value in (flags or {}).items()
            if value is not None
        ]
        layers += _of_presets(layers, tool)
        return Settlement(settle(layers))

    def tool_parameters(self, tool: str) -> dict[str, Any]:
        """What `tool_output_limits` says to the tool itself (depth, files, context)."""
        found: dict[str, Any] = {}
        for file in reversed(self.files):
            for pattern in _matching(file.tool_parameters, tool):
                found.update(file.tool_parameters[pattern])
        return found

    def of_tool(self, tool: str) -> dict[str, Any]:
        """What the files say of the tool itself, not of everything."""
        layers = [layer for layer in self._of_files(tool, "") if layer.scope is Scope.TOOL]
        return {name: settled.value for name, settled in settle(layers).items()}

    @property
    def summarization(self) -> Summarization | None:
        return next((file.summarization for file in self.files if file.summarization), None)

    def _of_files(self, tool: str, command: str) -> list[Layer]:
        layers = []
        for nearness, file in enumerate(reversed(self.files)):
            name = os.path.basename(file.path)
            layers.append(Layer(Scope.GLOBAL, Source.FILE, name, file.everywhere, nearness * 1000))
            for scope, section, tables, given in (
                (Scope.TOOL, "tools", file.tools, tool),
                (Scope.COMMAND, "commands", file.commands, command),
            ):
                patterns = _matching(tables, given)
                layers += [
                    Layer(scope, Source.FILE, f"{name} [{section}.{pattern}]", tables[pattern], nearness * 1000 + order)
                    for order, pattern in enumerate(patterns)
                ]
        return layers


@dataclass(frozen=True, slots=True)
class Settlement:
    """Every setting in force."""

    settled: Mapping[str, Settled]

    def get(self, name: str) -> Any:
        found = self.settled.get(name)
        return None if found is None else found.value

    @property
    def skip(self) -> bool:
        return bool(self.get("skip"))

    def sizes(self, group: tuple[str, ...] = BUDGET) -> dict[str, int]:
        return {name.removeprefix("limit."): self.get(name) for name in group if self.get(name) is not None}

    @property
    def above(self) -> dict[str, int]:
        """The sizes over which an output is cut."""
        return self.sizes(LIMIT) or self.sizes(BUDGET)

    @property
    def redact(self) -> tuple[Secret, ...]:
        """The kinds of secrets to take out; none when redaction is off."""
        if not self.get("redact"):
            return ()
        from overspill.core.redact import BUILT_IN, Secret

        return (*BUILT_IN, *(Secret(name, pattern) for name, pattern in (self.get("redact_patterns") or {}).items()))

    def _strategy(self) -> Strategy:
        """The strategy by its name; ``auto`` with the views and the rules that were set."""
        from overspill.core.strategies import Auto, named

        strategy = named(self.get("keep"), setting="keep")
        patterns = {name: self.get(name) or {} for name in ("keep_lines", "drop_lines", "block_starts", "block_ends")}
        views = (self.get("views") or "").replace(",", " ").split()
        if not isinstance(strategy, Auto) or not (views or any(patterns.values())):
            return strategy
        from overspill.core.strategies.extensions import view_named
        from overspill.core.strategies.rules import Rules

        return replace(
            strategy,
            views=tuple(map(view_named, views)),
            rules=Rules(
                keep=patterns["keep_lines"],
                drop=patterns["drop_lines"],
                block_starts=patterns["block_starts"],
                block_ends=patterns["block_ends"],
            ),
        )

    def policy(self, *, access: Access) -> Policy:
        """Validated: a wrong value is refused with its origin."""
        from overspill.core.layouts import named_layout
        from overspill.core.model import Budget
        from overspill.core.policy import Policy

        limit = self.sizes(LIMIT)
        try:
            return Policy(
                budget=Budget(**self.sizes()),
                limit=Budget(**limit) if limit else None,
                strategy=self._strategy(),
                access=access,
                language=self.get("language"),
                redact=self.redact,
                layout=named_layout(self.get("layout") or "usual"),
                when_failed=self.get("when_failed"),
            )
        except PolicyError as error:
            raise self._with_origin(error, error.setting) from None

    def store(self, *, default: str, **own: Any) -> Store:
        """The store in force; ``default`` is where it lies when nobody said, ``own`` what is no setting (a clock)."""
        from overspill.store import open_store

        settings = {
            name.removeprefix("store."): settled.value
            for name, settled in self.settled.items()
            if name.startswith("store.") and name != "store.place" and settled.origin != "built-in"
        }
        try:
            return open_store(self.place(default=default), **settings, **own)
        except PolicyError as error:
            raise self._with_origin(error, "store.place" if error.setting == "store" else error.setting) from None

    def lasting_store(self, *, default: str) -> Store:
        """The store in force, for a caller that ends: what it kept in its own memory nobody could ever read."""
        place = self.place(default=default)
        if place.lower().startswith("memory:"):
            error = PolicyError(
                "store.place", place, "a directory or the URL of a service, since memory ends with the command"
            )
            raise self._with_origin(error, "store.place")
        return self.store(default=default)

    def place(self, *, default: str) -> str:
        """Where outputs are kept: a directory or a URL."""
        return os.path.expanduser(placed(self.get("store.place") or default, default=default))

    def place_to_tell(self, usual: Settlement, *, default: str) -> str:
        """The place that a command has to be told, since it would settle on ``usual`` by itself; else empty."""
        place = self.place(default=default)
        if self.get("store.place") is None or place == usual.place(default=default):
            return ""
        return place if "://" in place else os.path.normpath(absolute(place))

    def _with_origin(self, error: PolicyError, name: str) -> PolicyError:
        """The same, and who said so: that is what has to be changed."""
        found = self.settled.get(name) or self.settled.get(name.partition(".")[0])
        if found is None or found.origin == "built-in":
            return error
        place = found.origin if found.origin.startswith("--") else f"{name} ({found.origin})"
        return PolicyError(place, error.value, error.accepted)


def _environment(env: Mapping[str, str]) -> list[Layer]:
    layers = []
    for setting in SETTINGS:
        variable = next((name for name in setting.variables if env.get(name)), None)
        if variable:
            value = _from_text(setting, variable, env[variable])
            layers.append(Layer(Scope.GLOBAL, Source.ENVIRONMENT, variable, {setting.name: value}))
    return layers


def _from_text(setting: Setting, variable: str, text: str) -> Any:
    if setting.kind == "size":
        if not (text.isascii() and text.isdecimal() and int(text) > 0):
            raise PolicyError(variable, text, ACCEPTED["size"])
        return int(text)
    if setting.kind == "patterns":
        pairs = [line.partition("=") for line in text.splitlines() if line.strip()]
        if not all(name.strip() and pattern for name, _, pattern in pairs):
            raise PolicyError(variable, text, "NAME=PATTERN, one to a line")
        return {name.strip(): pattern for name, _, pattern in pairs}
    if setting.kind == "flag":
        if text.lower() not in ("1", "true", "yes", "on", "0", "false", "no", "off"):
            raise PolicyError(variable, text, "1 or 0")
        return text.lower() in ("1", "true", "yes", "on")
    if variable == "TOOL_OUTPUT_TRUNCATE_DIRECTION" and text not in _DIRECTIONS:
        raise PolicyError(variable, text, "head or tail")
    if setting.kind in ("duration", "bytes"):
        return float(text) if text.replace(".", "", 1).isdecimal() and setting.kind == "duration" else text
    return text


def _flag(name: str) -> str:
    return "--" + {"store.place": "store"}.get(name, name).replace("_", "-").replace(".", "-")


def _of_presets(layers: list[Layer], tool: str) -> list[Layer]:
    """A preset counts in the scope that names it; what it says of single tools, in theirs."""
    found = []
    for scope in Scope:
        named = settle(layer for layer in layers if layer.scope == scope).get("preset")
        if named is None:
            continue
        chosen = preset(named.value, setting=named.origin if named.origin.startswith("--") else "preset")
        origin = f"preset {named.value}"
        found.append(Layer(scope, Source.PRESET, origin, chosen.settings))
        for order, pattern in enumerate(_matching(chosen.tools, tool)):
            narrow = max(scope, Scope.TOOL)
            found.append(Layer(narrow, Source.PRESET, f"{origin} [{pattern}]", chosen.tools[pattern], order + 1))
    return found


def _matching(tables: Mapping[str, Any], given: str) -> list[str]:
    """The patterns that fit, the most telling last: an exact one, else the one with most letters."""
    if not given:
        return []
    fitting = [pattern for pattern in tables if _fits(pattern, given)]
    return sorted(fitting, key=lambda pattern: (pattern == given, len(pattern) - pattern.count("*")))


def _fits(pattern: str, given: str) -> bool:
    """Wildcards as in a shell; without any, a command fits whose first words these are."""
    return fnmatchcase(given, pattern) or given.startswith(pattern + " ")
