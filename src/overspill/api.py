"""``overspill.bound``: the whole library in one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
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
    from overspill.core.access import FilePath

    store = _as_text(store)
    place = {"store.place": store} if isinstance(store, str) else {}
    settled = Configuration().settle(tool=tool, flags={"preset": name, **settings, **place})
    if store is None or isinstance(store, str):
        from overspill.store import default_root

        default = str(default_root(Path(working_directory()), os.environ))
        store = settled.store(default=default, **({"clock": clock} if clock else {}))
    return Bounder(settled.policy(access=access or FilePath()), store, on_event=on_event)


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
