"""Bounds results on their way to the model, with or without a registry.

Configuration has three layers, each winning over the one before: everything, one tool, one call; all may
change at any time.  A result whose metadata already says ``truncated`` passes as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from overspill.core.events import Event, Listener
from overspill.core.measure import encode
from overspill.core.model import Bounded, Call
from overspill.core.strategies.summarise import Summarise
from overspill.errors import OverspillError, PolicyError
from overspill.summarise import summarised
from overspill.tools.result import ToolResult, metadata_of
from overspill.tools.running import in_own_thread, sentence_of
from overspill.tools.streams import bounded_stream, is_stream, whole_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from overspill.bounder import Bounder
    from overspill.config.configuration import Configuration, Settlement
    from overspill.core.access import Access
    from overspill.core.policy import Policy
    from overspill.core.ports import Store
    from overspill.core.redact import Secret

Verdict = bool | Mapping[str, Any] | None
"""No, yes, or yes with these options; None leaves it to the configuration."""
ShouldTruncate = Callable[[str, ToolResult], Verdict]


class Middleware:
    """``policy`` holds for everything, in place of ``preset``; settings are those of a configuration file."""

    def __init__(
        self,
        preset: str = "",
        *,
        policy: Policy | None = None,
        store: Store | str | None = None,
        access: Access | None = None,
        skip: Collection[str] = (),
        should_truncate: ShouldTruncate | None = None,
        on_event: Listener | Sequence[Listener] = (),
        configuration: Configuration | None = None,
        **settings: Any,
    ) -> None:
        from overspill.config.configuration import Configuration
        from overspill.config.settings import known

        known(settings)
        if isinstance(skip, str | bool):
            raise PolicyError("skip", skip, "a list of the names of tools; skip=True stands among a call's options")
        self._configuration = configuration or Configuration()
        self._everywhere: dict[str, Any] = ({"preset": preset} if preset else {}) | settings
        self._tools: dict[str, dict[str, Any]] = {}
        self._declared: dict[str, Policy] = {}
        self._policy = policy
        self._store = store
        self._opened: Store | None = None
        self._summarise: Summarise | None = None
        self._access = access
        self.skip = set(skip)
        self.should_truncate = should_truncate
        self.listeners: tuple[Listener, ...] = (on_event,) if callable(on_event) else tuple(on_event)
        for tool in ("", *(name for file in self._configuration.files for name in file.tools)):
            self._settle(tool, {}).policy(access=self._reach())  # a wrong setting is refused now

    def configure(self, tool: str = "", **settings: Any) -> None:
        """Changes settings for everything, or for one tool; None takes one back."""
        from overspill.config.settings import known

        known(settings)
        scope = self._tools.setdefault(tool, {}) if tool else self._everywhere
        before = dict(scope)
        scope.update(settings)
        for name in [name for name, value in scope.items() if value is None]:
            del scope[name]
        try:
            self._settle(tool, {}).policy(access=self._reach())
        except Exception:
            scope.clear()
            scope.update(before)
            raise

    def declare(self, tool: str, policy: Policy) -> None:
        """A policy that a tool brings with it; what is configured for the tool or the call still wins."""
        self._declared[tool] = policy

    def settlement(self, tool: str, options: Mapping[str, Any] | None = None) -> Settlement:
        """Every setting in force for a call, with its origin."""
        return self._settle(tool, options or {})

    def bounder(self, tool: str, options: Mapping[str, Any] | None = None) -> Bounder:
        """What bounds the results of a tool."""
        from overspill.bounder import Bounder

        return Bounder(self._policy_of(tool, options), self._open_store(), on_event=self.listeners)

    async def apply(
        self, result: Any, call: Call | str = "", *, options: Mapping[str, Any] | None = None
    ) -> ToolResult:
        """The result, within the limits, its metadata saying what was done. Never raises."""
        call = Call(tool=call) if isinstance(call, str) else call
        given = result if isinstance(result, ToolResult) else _wrapped(result, call)
        if "truncated" in given.metadata:
            return given
        try:
            verdict = self._verdict(call, given)
            chosen = {**(verdict if isinstance(verdict, dict) else {}), **(options or {})}
            if verdict is False or (verdict is not True and self._settle(call.tool, chosen).skip):
                return await self._let_through(given, call, self._secrets(call.tool, chosen))
            bounder = self.bounder(call.tool, chosen or None)
        except (Exception, SystemExit) as error:  # a callback of the user's, or options that make no sense
            self._say_fault(error, call)
            bounder = self._fallback(call.tool)
            if bounder.policy.when_failed == "original":
                return await self._as_it_came(given, call, bounder.policy.redact)
        try:
            return await self._bounded(bounder, given, call)
        except (
            Exception,
            SystemExit,
        ) as error:  # what a store or a strategy of the user's raised past all that expects it
            self._say_fault(error, call)
            if bounder.policy.when_failed == "original":
                return await self._as_it_came(given, call, bounder.policy.redact)
            from overspill.bounder import Bounder

            return await self._bounded(Bounder(bounder.policy, None, on_event=self.listeners), given, call)

    def _say_fault(self, error: BaseException, call: Call) -> None:
        reason = sentence_of(error)
        self.tell(Event(kind="error", call=call, bytes_before=0, bytes_after=0, reason=reason))
        logging.getLogger("overspill").warning("%s: %s", call.tool or "output", reason)

    async def _bounded(self, bounder: Bounder, given: ToolResult, call: Call) -> ToolResult:
        content = given.content
        if content is None or isinstance(content, bool | int | float):
            return given.with_metadata(truncated=False)
        if is_stream(content):
            streamed = await bounded_stream(bounder, content, call)
            return replace(
                given, content=streamed.content, is_error=given.is_error or streamed.is_error
            ).with_metadata(**streamed.metadata)  # fmt: skip
        from overspill.content import bound_parts, is_parts

        if is_parts(content):
            parts = await in_own_thread(lambda: bound_parts(bounder, content, call))
            return replace(given, content=parts).with_metadata(truncated=parts is not content)
        bounded = bounder.untouched(content, call)
        if bounded is None:
            bounded = await summarised(
                bounder, await in_own_thread(lambda: bounder.bound(content, call)), call, content
            )
        keeps = not bounded.truncated and not bounded.redactions and not isinstance(content, Bounded)
        shown = content if keeps else bounded.text
        return replace(given, content=shown).with_metadata(**metadata_of(bounded))

    async def _as_it_came(self, given: ToolResult, call: Call, secrets: tuple[Secret, ...]) -> ToolResult:
        """Uncut, but without the secrets."""
        if not secrets:
            return given
        from overspill.bounder import Bounder
        from overspill.core.policy import Policy

        return await self._bounded(Bounder(Policy(redact=secrets).uncut, on_event=self.listeners), given, call)

    def _secrets(self, tool: str, options: Mapping[str, Any]) -> tuple[Secret, ...]:
        configured = options or self._tools.get(tool)
        policy = None if configured else self._declared.get(tool, self._policy)
        return policy.redact if policy else self._settle(tool, options).redact

    async def _let_through(self, given: ToolResult, call: Call, secrets: tuple[Secret, ...]) -> ToolResult:
        if secrets:
            return await self._as_it_came(given, call, secrets)
        content = given.content
        if is_stream(content):
            try:
                content = await whole_stream(content)
            except (Exception, SystemExit) as error:
                given = replace(given, is_error=True)
                content = sentence_of(error)
            given = replace(given, content=content)
        size = len(encode(given.text)) if self.listeners else 0
        self.tell(Event(kind="skipped", call=call, bytes_before=size, bytes_after=size, reason="told to skip"))
        return given

    def _verdict(self, call: Call, given: ToolResult) -> bool | dict[str, Any]:
        if call.tool in self.skip:
            return False
        verdict = self.should_truncate(call.tool, given) if self.should_truncate else None
        if verdict is None:
            return {}
        return verdict if isinstance(verdict, bool) else dict(verdict)

    def _settle(self, tool: str, options: Mapping[str, Any]) -> Settlement:
        """The three layers over what files and environment say."""
        from overspill.config.files import FileSettings

        files = list(self._configuration.files)
        own = FileSettings(
            path="code", everywhere=self._everywhere, tools=self._tools, commands={}, tool_parameters={},
            summarization=None,
        )  # fmt: skip
        return replace(self._configuration, files=(own, *files)).settle(tool=tool, flags=options)

    def _policy_of(self, tool: str, options: Mapping[str, Any] | None = None) -> Policy:
        configured = options or self._tools.get(tool)
        if tool in self._declared and not configured:
            return self._declared[tool]
        if self._policy is not None and not configured:
            return self._policy
        return self._with_summaries(self._settle(tool, options or {}).policy(access=self._reach()))

    def _reach(self) -> Access:
        from overspill.core.access import FilePath

        return self._access or FilePath()

    def _open_store(self) -> Store:
        if self._opened is None:
            if self._store is not None and not isinstance(self._store, str):
                self._opened = self._store
            else:
                import os
                from pathlib import Path

                from overspill.store import default_root
                from overspill.surroundings import working_directory

                place = {"store.place": self._store} if self._store else {}
                default = str(default_root(Path(working_directory()), os.environ))
                self._opened = self._settle("", place).store(default=default)
        return self._opened

    def _with_summaries(self, policy: Policy) -> Policy:
        """The strategy that the file's ``summarization`` describes, where a policy asks for one by name."""
        settings = self._configuration.summarization
        if settings is None or not isinstance(policy.strategy, Summarise):
            return policy
        if self._summarise is None:
            import msgspec

            from overspill.summarise import configured

            try:
                self._summarise = configured(settings)
            except OverspillError as error:  # no key, or no client: the cut stands in, as for a model that fails
                self._say_fault(error, Call())
                self._summarise = configured(msgspec.structs.replace(settings, enabled=False))
        return replace(policy, strategy=self._summarise)

    def _fallback(self, tool: str) -> Bounder:
        """What holds without the call's own options; without a store where that is what failed."""
        from overspill.bounder import Bounder

        try:
            policy = self._policy_of(tool)
        except Exception:  # settings by several patterns, each in order but not together
            policy = self._policy or self._settle("", {}).policy(access=self._reach())
        try:
            store = self._open_store()
        except Exception:
            store = None
        return Bounder(policy, store, on_event=self.listeners)

    def tell(self, event: Event) -> None:
        """Hands an event to the listeners; one that fails is a line in the log."""
        for listener in self.listeners:
            try:
                listener(event)
            except (Exception, SystemExit) as fault:
                logging.getLogger("overspill").warning("a listener of overspill's events failed: %r", fault)


def _wrapped(result: Any, call: Call) -> ToolResult:
    if isinstance(result, Bounded):
        return ToolResult(content=result.text, metadata=metadata_of(result), tool=call.tool, call_id=call.id)
    return ToolResult(content=result, tool=call.tool, call_id=call.id)
