"""`overspill show`: a kept output as a person looks at it, or its exact bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from overspill.cli import kept
from overspill.cli.policies import place_to_tell
from overspill.cli.streams import write_all
from overspill.cli.tables import dim, readable_size, strong
from overspill.surroundings import working_directory

if TYPE_CHECKING:
    from overspill.core.model import Bounded, Gap
    from overspill.core.ports import Blob, Store, Stored

_READ_BYTES = 1 << 20


@click.command(short_help="Look at a kept output.")
@kept.handle_argument
@click.option("--raw", is_flag=True, help="Write its exact bytes and nothing else.")
@click.option("--all", "whole", is_flag=True, help="Also what was not shown, dim.")
@click.option("--no-pager", is_flag=True, help="Straight to the terminal.")
@kept.store_option
def show(handle: str, raw: bool, whole: bool, no_pager: bool, store: str | None) -> int:  # noqa: FBT001
    """Look at a kept output: what was shown of it bright, the gaps dim with their sizes.

    \b
    Examples:
      overspill show ovs_7k2m9x4q
      overspill show --raw ovs_7k2m9x4q > output.txt
    """
    found = kept.store_for(handle, store)
    if raw:
        for chunk in _chunks(found.open(handle)):
            write_all(1, chunk)
        return 0
    row = found.stored(handle)
    text = _view(found, row, whole=whole, place=store)
    if sys.stdout.isatty() and not no_pager:
        click.echo_via_pager(text)
    else:
        for piece in text:
            write_all(1, piece.encode("utf-8", "replace"))
    return 0


def _view(store: Store, row: Stored, *, whole: bool, place: str | None) -> Iterator[str]:
    from overspill.core.measure import display

    yield strong(_title(row)) + "\n"
    bounded = _bounded_again(store, row, place=place)
    blob = store.open(row.handle)
    try:
        if bounded is None:
            for chunk in _chunks(blob):
                yield display(chunk)
            return
        for part in bounded.parts:
            if part.gap is None:
                yield part.text
            elif whole:
                yield from _dimmed(blob, part.gap)
            else:
                mark, newline = (part.text[:-1], "\n") if part.text.endswith("\n") else (part.text, "")
                yield dim(f"{mark} {readable_size(part.gap.omitted_bytes)}") + newline
    finally:
        blob.close()


def _title(row: Stored) -> str:
    from datetime import datetime

    made = datetime.fromtimestamp(row.created).strftime("%Y-%m-%d %H:%M:%S")
    status = "" if row.call.exit_status is None else f", exit status {row.call.exit_status}"
    lines = "1 line" if row.lines == 1 else f"{row.lines:,} lines"
    words = f"{row.handle}  {lines}, {readable_size(row.bytes)}, {made}{status}"
    return f"{words}\n{row.call.command}" if row.call.command else words


def _bounded_again(store: Store, row: Stored, *, place: str | None) -> Bounded | None:
    """What the policy in force shows of it: the same text as then, unless the policy has changed."""
    import os

    from overspill.config import load
    from overspill.core.access import Shell
    from overspill.core.capture import Capture, Whole
    from overspill.core.notice import Kept
    from overspill.core.render import render

    flags = {"store.place": place} if place else {}
    settlement = load(working_directory(), os.environ).settle(tool=row.call.tool, command=row.call.command, flags=flags)
    policy = settlement.policy(access=Shell(store=place_to_tell(settlement)))
    capture = Capture(policy, row.call)
    for chunk in _chunks(store.open(row.handle)):
        capture.feed(chunk)
    ended = capture.finish(row.call)
    return None if isinstance(ended, Whole) else render(ended, Kept(row.handle, row.path), policy)


def _dimmed(blob: Blob, gap: Gap) -> Iterator[str]:
    from overspill.core.measure import display

    for start in range(gap.start, gap.end, _READ_BYTES):
        text = display(blob.read(start, min(_READ_BYTES, gap.end - start)))
        # Line by line: pagers end a style at the line's end.
        yield "".join(dim(line.rstrip("\n")) + ("\n" if line.endswith("\n") else "") for line in text.splitlines(True))


def _chunks(blob: Blob) -> Iterator[bytes]:
    for start in range(0, blob.size, _READ_BYTES):
        yield blob.read(start, _READ_BYTES)
