"""What a person sees of a bounded output: a line when it was small, else a panel with a strip of what was kept.

For ``rich``, which calls ``__rich_console__``; without a terminal the same facts stand as plain text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from overspill.core.model import Bounded

KEPT, OMITTED = "█", "░"
_IN_ASCII = {ord(KEPT): "#", ord(OMITTED): "."}
_LEAST_WIDTH = 20


class Picture:
    """``bounded.__rich__()`` answers one."""

    def __init__(self, bounded: Bounded) -> None:
        self._bounded = bounded

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.panel import Panel
        from rich.text import Text

        bounded = self._bounded
        if not bounded.truncated:
            taken = f" but for {_counted(bounded.redactions, 'secret')}" if bounded.redactions else ""
            yield Text(f"{summary(bounded)}, shown whole{taken}")
            return
        facts = [summary(bounded), shown(bounded), place(bounded)]
        if not console.is_terminal:
            yield Text("\n".join(facts))
            return
        cells = strip(bounded, max(_LEAST_WIDTH, options.max_width - 4))
        if options.ascii_only:
            cells = cells.translate(_IN_ASCII)
        body = Text("\n".join([cells, *facts]), overflow="fold")
        yield Panel(body, title=Text(bounded.kind or "output"), title_align="left")


def summary(bounded: Bounded) -> str:
    return f"{_counted(bounded.total_lines, 'line')}, {_counted(bounded.total_bytes, 'byte')}"


def shown(bounded: Bounded) -> str:
    size = len(bounded.text.encode("utf-8", "replace"))
    return f"shown to the model: {_counted(bounded.kept_lines, 'line')} in {_counted(size, 'byte')}"


def place(bounded: Bounded) -> str:
    if bounded.handle is None:
        # Whatever raised the error wrote its words: they must not steer the terminal.
        said = (char if char.isprintable() else ascii(char)[1:-1] for char in bounded.unsaved)
        return f"not saved: {''.join(said)}"
    return f"whole: {bounded.handle}" + (f"  {bounded.path}" if bounded.path else "")


def strip(bounded: Bounded, width: int) -> str:
    """One cell for each equal part of the output: filled where anything of it was kept."""
    total = max(1, bounded.total_bytes)
    cells = [OMITTED] * width
    for part in bounded.parts:
        if part.span and part.span.data:
            first = part.span.start * width // total
            last = (part.span.end - 1) * width // total
            cells[first : last + 1] = [KEPT] * (last + 1 - first)
    return "".join(cells)


def _counted(number: int, one: str) -> str:
    return f"{number:,} {one}{'' if number == 1 else 's'}"
