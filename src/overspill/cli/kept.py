"""What the commands about kept outputs share: their store, their bound, how an answer is printed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from overspill.cli.options import SIZES
from overspill.cli.policies import store_of
from overspill.cli.streams import write_all
from overspill.core.measure import well_formed
from overspill.errors import OverspillError
from overspill.surroundings import working_directory

if TYPE_CHECKING:
    from overspill.config import Settlement
    from overspill.core.policy import Policy
    from overspill.core.ports import Store
    from overspill.retrieve import Answer

Command = Callable[..., Any]
_MOST_COMPLETED = 50

store_option = click.option("--store", metavar="PLACE", help="Look here: a directory or a URL.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _handles(ctx: click.Context, param: click.Parameter, beginning: str) -> list[CompletionItem]:
    """What a shell may complete a handle to: the newest, with their commands."""
    from itertools import islice

    try:
        rows = (row for row in store(ctx.params.get("store")).outputs() if row.handle.startswith(beginning))
        return [
            CompletionItem(row.handle, help=well_formed(row.call.command or row.kind))
            for row in islice(rows, _MOST_COMPLETED)
        ]
    except OverspillError:
        return []


def handles(name: str, metavar: str, *, count: int = 1) -> Callable[[Command], Command]:
    """An argument that is a handle, or as many as are given with ``count=-1``."""
    return click.argument(name, metavar=metavar, nargs=count, required=True, shell_complete=_handles)


handle_argument = handles("handle", "HANDLE")


def size_options(command: Command) -> Command:
    """`--max-tokens` and its like, for answers."""
    from overspill.cli.app import table_option

    for option in reversed(SIZES):
        command = table_option(option)(command)
    return command


def settlement(**flags: Any) -> Settlement:
    from overspill.config import load

    named = {"store.place" if name == "store" else name: value for name, value in flags.items()}
    return load(working_directory(), os.environ).settle(flags=named)


def store(place: str | None = None) -> Store:
    return store_of(settlement(store=place))


def look(found: Store) -> None:
    """Nothing is there to show: because there is nothing, or because the store can't be used? That is raised."""
    next(iter(found.outputs()), None)


def store_for(handle: str, place: str | None) -> Store:
    """The store, or the output of a running command in the form of one."""
    found = store(place)
    if handle.startswith("run-"):
        from overspill.store.running import RunningStore

        return RunningStore(found, handle)
    return found


def policy(sizes: dict[str, int | None]) -> Policy:
    """The bound of an answer: as configured, or as these flags say."""
    from overspill.core.access import Shell

    told = click.get_current_context().params.get("store") or ""
    return replace(settlement(**sizes).policy(access=Shell(store=told)), limit=None)


def taken_sizes(values: dict[str, Any]) -> dict[str, int | None]:
    """Takes the size flags out of a command's values."""
    return {option.name: values.pop(option.name) for option in SIZES}


def answered(answer: Answer, found: Store, *, verb: str, as_json: bool) -> int:
    """Prints an answer and notes what it cost."""
    text = answer.text
    if as_json:
        import json

        write_all(1, json.dumps(_plain(answer)).encode() + b"\n")
    else:
        write_all(1, text.encode("utf-8", "replace"))
        if text and not text.endswith("\n"):
            write_all(1, b"\n")
    from overspill.stats import note_read_back

    note_read_back(found, handle=answer.handle, verb=verb, text=text)
    return answer.exit_status


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {key: _plain(item) for key, item in asdict(value).items()}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
