"""From options, files and the environment to what stands between one host and one server."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from overspill.bounder import Bounder
from overspill.config import Configuration, Settlement, load
from overspill.core.access import Access, Calls, Shell
from overspill.core.policy import Policy
from overspill.core.ports import Store
from overspill.errors import PolicyError
from overspill.mcp.messages import Conversation
from overspill.mcp.options import keywords
from overspill.mcp.readback import ALL, PREFIX, USUAL, Answering, own_tools, store_id
from overspill.mcp.rules import MEDIA_BYTES, Rules
from overspill.mcp.toolbook import NamedTools, ToolBook
from overspill.retrieve.session import Session
from overspill.store import default_root

_FLAGS = ("max_tokens", "max_bytes", "max_lines", "max_chars", "keep", "preset")
_MOST_TOOLS = 10_000
_PREFIX = re.compile(r"[A-Za-z0-9_-]{0,48}")


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts of a connection, for those that drive several."""

    rules: Rules
    verbs: tuple[str, ...]
    prefix: str
    store: Store
    place: str
    policy: Policy
    access: _Late

    def conversation(self) -> Conversation:
        """A connection of its own."""
        return self.connections()()

    def connections(self) -> Callable[[], Conversation]:
        """Connections to one server: they share what is known of its tools."""
        book = ToolBook(self.rules, own_tools(self.verbs, prefix=self.prefix), store=store_id(self.place))
        if not self.verbs:
            return lambda: Conversation(self.rules, book)
        named = NamedTools(book)
        self.access.follow(named)

        def connect() -> Conversation:
            session = Session()
            answering = Answering(self.store, self.policy, access=named, session=session)
            return Conversation(self.rules, book, answering, shown=session.note_bounded)

        return connect


class _Late:
    """An access that is known once the connection is there; until then a shell's."""

    def __init__(self, *, store: str) -> None:
        self._access: Access = Shell(store=store)

    def follow(self, access: Access) -> None:
        self._access = access

    def read(self, rest: Any) -> str:
        return self._access.read(rest)

    def grep(self, rest: Any) -> str:
        return self._access.grep(rest)

    def call(self, verb: str, handle: str, options: Mapping[str, object]) -> str:
        return self._access.call(verb, handle, options) if isinstance(self._access, Calls) else ""


def assembled(
    options: Mapping[str, Any], *, start: str, env: Mapping[str, str], verbs: Literal["usual", "all"] = "usual"
) -> Assembly:
    """A wrong option or setting is refused here."""
    prefix = options.get("tool_prefix", PREFIX)
    if not _PREFIX.fullmatch(prefix):
        raise PolicyError(
            "--tool-prefix", prefix, "48 letters, digits, - and _ at most: models call tools by no others"
        )
    configuration = load(start, env, file=options.get("config"))
    flags = {name: options[name] for name in _FLAGS if name in options}
    if "store" in options:
        flags["store.place"] = options["store"]
    everywhere = configuration.settle(flags=flags)
    default = str(default_root(Path(start), env))
    store = everywhere.store(default=default)
    access = _Late(store=everywhere.place_to_tell(load(start, env).settle(), default=default))
    policy = _policy(everywhere, access)
    settled = _Settled(configuration, flags, options.get("name", ""), tuple(options.get("skip", ())))
    return Assembly(
        Rules(
            bounder=_Bounders(settled, store, access),
            structured=options.get("structured", "trim"),
            media="keep" if options.get("keep_images") else "spill",
            media_bytes=options.get("max_image_bytes", MEDIA_BYTES),
            resources="bound" if options.get("resources") else "pass",
        ),
        _verbs(options.get("tools"), ALL if verbs == "all" else USUAL),
        prefix,
        store,
        str(everywhere.get("store.place") or default),
        policy,
        access,
    )


def assembled_in_python(given: Mapping[str, Any], *, start: str, env: Mapping[str, str]) -> Assembly:
    """The same from keywords, whose names are those of the options; a refusal names them so too."""
    try:
        return assembled(keywords(given), start=start, env=env)
    except PolicyError as fault:
        name = fault.setting
        said = name.removeprefix("--").replace("-", "_") if name.startswith("--") else name
        raise PolicyError(said, fault.value, fault.accepted) from None


@dataclass(frozen=True, slots=True)
class _Settled:
    """The policy of a tool, by its own name or by its server's and its own."""

    configuration: Configuration
    flags: Mapping[str, Any]
    server: str
    skipped: tuple[str, ...]

    def policy(self, tool: str, access: Access) -> Policy | None:
        if any(fnmatchcase(tool, pattern) for pattern in self.skipped):
            return None
        found = self.configuration.settle(tool=tool, flags=self.flags)
        if self.server:
            named = self.configuration.settle(tool=f"{self.server}/{tool}", flags=self.flags)
            found = named if named != self.configuration.settle(flags=self.flags) else found
        return None if found.skip else _policy(found, access)


class _Bounders:
    """By tool, each made once."""

    def __init__(self, settled: _Settled, store: Store, access: Access) -> None:
        self._settled = settled
        self._store = store
        self._access = access
        self._known: dict[str, Bounder | None] = {}

    def __call__(self, tool: str) -> Bounder | None:
        if tool not in self._known:
            if len(self._known) >= _MOST_TOOLS:
                self._known.clear()
            policy = self._settled.policy(tool, self._access)
            self._known[tool] = None if policy is None else Bounder(policy, self._store)
        return self._known[tool]


def _policy(settlement: Settlement, access: Access) -> Policy:
    return replace(settlement.policy(access=access), carrier="json")


def _verbs(named: str | None, usual: tuple[str, ...]) -> tuple[str, ...]:
    if named is None:
        return usual
    wanted = tuple(word.strip() for word in named.split(",") if word.strip())
    if wanted in ((), ("none",)):
        return ()
    for word in wanted:
        if word not in ALL:
            raise PolicyError("--tools", word, ", ".join((*ALL, "none")))
    return wanted
