"""From options to a policy, a call and a store: decided at the start, built when an output might be too much.

Where no file and no variable says anything, nothing is loaded to know it.
"""

from __future__ import annotations

import os

from overspill.cli.held import Held
from overspill.config import sources
from overspill.config.settings import SESSION_VARIABLE, SETTINGS
from overspill.surroundings import working_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from overspill.bounder import Bounder
    from overspill.config import Settlement
    from overspill.core.model import Bounded, Call
    from overspill.core.policy import Policy
    from overspill.core.ports import Store
    from overspill.core.redact import Redactor

_BUILT_IN_SIZES = {"max_tokens": 2_000, "max_bytes": 9_000}
_SIZES = ("max_tokens", "max_bytes", "max_lines", "max_chars")
_ENOUGH = {"max_tokens": 1_000, "max_bytes": 1_000, "max_lines": 20, "max_chars": 1_000}
"""A notice surely fits into so much; whether into less, the policy knows."""
_SETTINGS = {**{unit: unit for unit in _SIZES}, "keep": "keep", "preset": "preset", "store": "store.place"}
"""The options that are settings."""
_QUESTION_CHARS = 2_000
"""More is no question: every word of it is looked for in all of the output."""
_PLACE = next(setting for setting in SETTINGS if setting.name == "store.place")


class Chosen:
    """What holds for one `bound` or `run`: its flags over everything that is configured."""

    def __init__(self, options: dict[str, Any], *, tool: str = "", command: str = "") -> None:
        self._options = options
        self._tool: str = options.get("tool", tool)
        self._command: str = options.get("command", command)
        self._settlement: Settlement | None = None
        self._policy: Policy | None = None
        self.as_json: bool = options.get("json", False)
        self.skip = False
        self.redacts = False
        self._above: dict[str, int] = {unit: options[unit] for unit in _SIZES if unit in options} or _BUILT_IN_SIZES
        if self._is_configured() or self._is_doubtful():
            # A mistake has to be known before a command runs whose output could then not be shown.
            settlement = self.settlement()
            self._above, self.skip, self.redacts = settlement.above, settlement.skip, bool(settlement.get("redact"))
            if not self.skip:
                self.policy()
                self.store()

    def held(self) -> Held:
        """For what comes while it may still fit."""
        return Held(self._above, redacts=self.redacts)

    def settlement(self) -> Settlement:
        if self._settlement is None:
            from overspill.config import load

            flags = {setting: self._options[name] for name, setting in _SETTINGS.items() if name in self._options}
            configuration = load(working_directory(), os.environ, file=self._options.get("config"))
            self._settlement = configuration.settle(tool=self._tool, command=self._command, flags=flags)
        return self._settlement

    def redactor(self) -> Redactor | None:
        """For one stream, where secrets are to be taken out."""
        if not self.redacts:
            return None
        from overspill.core.redact import Redactor

        return Redactor(self.settlement().redact)

    def policy(self) -> Policy:
        if self._policy is None:
            from overspill.core.access import Shell

            self._policy = self.settlement().policy(access=Shell(store=place_to_tell(self.settlement())))
        return self._policy

    def by(self, policy: Policy) -> Chosen:
        """The same by another policy."""
        from copy import copy

        other = copy(self)
        other._policy = policy
        other._above = {unit: most for unit in _SIZES if (most := getattr(policy.above, unit)) is not None}
        return other

    def call(self, *, exit_status: int | None = None) -> Call:
        from overspill.core.model import Call

        return Call(
            tool=self._tool,
            command=self._command,
            exit_status=self._options.get("exit_status", exit_status),
            question=self._options.get("for", "")[:_QUESTION_CHARS],
            session=os.environ.get(SESSION_VARIABLE, ""),
        )

    def store(self) -> Store:
        return store_of(self.settlement())

    def bounder(self, policy: Policy | None = None) -> Bounder:
        import logging

        from overspill.bounder import Bounder
        from overspill.store.write_behind import WriteBehind

        # What failed stands in the notice already; a second voice on stderr would be the command's to the reader.
        logging.getLogger("overspill").addHandler(logging.NullHandler())
        return Bounder(policy or self.policy(), WriteBehind(self.store()))

    def internals(self) -> Path | None:
        """The local store's own directory, made if need be; None for a store elsewhere."""
        store = self.store()
        make = getattr(store, "prepare", None)
        if make is None:
            return None
        make()
        internals: Path = store.internals  # type: ignore[attr-defined]
        return internals

    def remember(self, bounder: Bounder, bounded: Bounded, *, exit_status: int | None = None) -> None:
        """For `stats`: what was cut and how. Its faults are nobody's business here."""
        from contextlib import suppress

        from overspill.errors import StoreError
        from overspill.stats import note_cut

        store = bounder.store
        if bounded.handle is None or store is None:
            return
        with suppress(StoreError):
            note_cut(store, bounded, self.call(exit_status=exit_status))

    def _is_configured(self) -> bool:
        return bool(
            {"config", "preset", "keep"} & self._options.keys()
            or sources.variables(os.environ)
            or sources.files(working_directory(), os.environ)
        )

    def _is_doubtful(self) -> bool:
        """Could the policy or the store refuse what nothing but flags and the store's variables say?"""
        places = [self._options.get("store", ""), *(os.environ.get(name, "") for name in _PLACE.variables)]
        return any("://" in place for place in places) or any(
            self._options.get(unit, enough) < enough for unit, enough in _ENOUGH.items()
        )


def store_of(settlement: Settlement) -> Store:
    """The store in force, by default the one around the working directory."""
    return settlement.lasting_store(default=_default_place())


def place_to_tell(settlement: Settlement) -> str:
    """The store's place where a read-back command has to be told it; empty where it looks there by itself."""
    if settlement.get("store.place") is None:
        return ""
    from overspill.config import load

    return settlement.place_to_tell(load(working_directory(), os.environ).settle(), default=_default_place())


def _default_place() -> str:
    from pathlib import Path

    from overspill.store import default_root

    return str(default_root(Path(working_directory()), os.environ))
