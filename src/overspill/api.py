"""``overspill.bound``: the whole library in one call; ``preset`` and ``configured``: a bounder in one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overspill.bounder import Bounder
from overspill.core.model import Bounded, Budget, Call
from overspill.core.policy import DEFAULT_BUDGET, Policy
from overspill.core.ports import Store, Strategy
from overspill.core.strategies import named
from overspill.surroundings import absolute, working_directory

if TYPE_CHECKING:
    from overspill.config import Configuration
    from overspill.core.access import Access
    from overspill.core.events import Listener


def bound(
    output: Any,
    *,
    max_tokens: int | None = None,
    max_bytes: int | None = None,
    max_lines: int | None = None,
    max_chars: int | None = None,
    strategy: str | Strategy = "auto",
    tool: str = "",
    command: str = "",
    exit_status: int | None = None,
    question: str = "",
    store: Store | str | os.PathLike[str] | None = None,
) -> Bounded:
    """The output, bounded: untouched when it fits, else what matters of it, the whole kept in the store.

    Without any ``max_…`` the default budget holds; with one or more, exactly those.
    ``store`` is a store, a path or a URL; by default the project's own directory.
    """
    policy = _policy(max_tokens, max_bytes, max_lines, max_chars, strategy)
    untouched = Bounder(policy).untouched(output)  # before a store is even opened
    if untouched is not None:
        return untouched
    call = Call(tool=tool, command=command, exit_status=exit_status, question=question)
    return Bounder(policy, _store(store)).bound(output, call)


def preset(
    name: str,
    *,
    tool: str = "",
    access: Access | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    on_event: Listener | Sequence[Listener] = (),
    clock: Callable[[], float] | None = None,
    **settings: Any,
) -> Bounder:
    """A bounder by a preset: another system's limits, cut, text, file names and retention.

    ``settings`` are those of a configuration file (``keep="tail"``, ``max_lines=500``, ``language="zh"``) and win
    over the preset's; ``tool`` takes what the preset says of that tool.  ``store`` is a store, or the directory or
    URL to keep outputs in, named as the preset names them; by default where the preset, else overspill, keeps them.
    """
    from overspill.config import Configuration

    call = Call(tool=tool)
    return _settled(Configuration(), call, {"preset": name, **settings}, access, store, on_event, clock, os.environ)


def configured(
    preset: str = "",
    *,
    tool: str = "",
    command: str = "",
    start: str | os.PathLike[str] = ".",
    environment: Mapping[str, str] | None = None,
    access: Access | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    on_event: Listener | Sequence[Listener] = (),
    clock: Callable[[], float] | None = None,
    **settings: Any,
) -> Bounder:
    """A bounder by what the files around ``start`` and the environment say, as the command line takes it.

    ``preset`` holds where they name none, and gives way to whatever they say; ``settings`` win over all of them.
    ``tool`` and ``command`` take what is said of these.
    """
    from overspill.config import Configuration, load

    env = os.environ if environment is None else environment
    configuration = load(os.fspath(start), env)
    if preset:
        from overspill.config.files import FileSettings

        here = FileSettings("code", {"preset": preset}, {}, {}, {}, None)
        configuration = Configuration((*configuration.files, here), configuration.environment)
    call = Call(tool=tool, command=command)
    return _settled(configuration, call, settings, access, store, on_event, clock, env)


def _settled(
    configuration: Configuration,
    call: Call,
    flags: Mapping[str, Any],
    access: Access | None,
    store: Store | str | os.PathLike[str] | None,
    on_event: Listener | Sequence[Listener],
    clock: Callable[[], float] | None,
    env: Mapping[str, str],
) -> Bounder:
    from overspill.core.access import FilePath
    from overspill.core.strategies.summarise import Summarise

    store = _as_text(store)
    place = {"store.place": store} if isinstance(store, str) else {}
    settled = configuration.settle(tool=call.tool, command=call.command, flags={**flags, **place})
    policy = settled.policy(access=access or FilePath())
    if isinstance(policy.strategy, Summarise) and configuration.summarization:
        from overspill import summarise

        policy = replace(policy, strategy=summarise.configured(configuration.summarization))
    if settled.skip:
        policy = policy.uncut
    if store is None or isinstance(store, str):
        from overspill.store import default_root

        default = str(default_root(Path(working_directory()), env))
        store = settled.store(default=default, **({"clock": clock} if clock else {}))
    return Bounder(policy, store, on_event=on_event)


def _policy(
    max_tokens: int | None,
    max_bytes: int | None,
    max_lines: int | None,
    max_chars: int | None,
    strategy: str | Strategy,
) -> Policy:
    if isinstance(strategy, str):
        return _named_policy(max_tokens, max_bytes, max_lines, max_chars, strategy)
    sizes = {"max_tokens": max_tokens, "max_bytes": max_bytes, "max_lines": max_lines, "max_chars": max_chars}
    named_sizes = {unit: size for unit, size in sizes.items() if size is not None}
    return Policy(budget=Budget(**named_sizes) if named_sizes else DEFAULT_BUDGET, strategy=strategy)


@lru_cache(maxsize=64)
def _named_policy(
    max_tokens: int | None, max_bytes: int | None, max_lines: int | None, max_chars: int | None, strategy: str
) -> Policy:
    return _policy(max_tokens, max_bytes, max_lines, max_chars, named(strategy))


def _as_text(store: Store | str | os.PathLike[str] | None) -> Store | str | None:
    return os.fspath(store) if isinstance(store, os.PathLike) else store


def _store(store: Store | str | os.PathLike[str] | None) -> Store:
    store = _as_text(store)
    if store is None or store == "":  # as a variable that is set to nothing
        from overspill.store import default_root

        store = str(default_root(Path(working_directory()), os.environ))
    if not isinstance(store, str):
        return store
    # A relative path is another place after a change of directory.
    return _opened(store if "://" in store else absolute(os.path.expanduser(store)))


@lru_cache(maxsize=8)
def _opened(place: str) -> Store:
    from overspill.store import open_store

    return open_store(place)
