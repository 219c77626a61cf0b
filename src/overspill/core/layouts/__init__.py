"""The layouts by name: whole texts to the figure of other systems, for the presets that imitate these.

A layout decides what is cut, where, and in which order source text and words stand; the sentences are
ours.  Its figures come from the policy's budget.  Where a system counts the output alone and puts its
notice on top, so does the layout: there the budget holds what is shown of the output, and the words
take no more than ``WORDS_BYTES`` and ``LINES_ON_TOP`` beside it.  Elsewhere it holds the whole text.
"""

from __future__ import annotations

from overspill.core.layouts.custom import Custom, Truncator
from overspill.core.layouts.ends import BUFFERED, CLAUDE_CODE, CODEX, GEMINI_CLI, TOOLLEVEL, CharEnds
from overspill.core.layouts.lines import OPENCODE, REGISTRY, UNIFIED, WholeLines
from overspill.core.layouts.steps import TOOLLEVEL_TOOL, TwoSteps
from overspill.core.ports import Layout
from overspill.errors import PolicyError

__all__ = ["LAYOUTS", "CharEnds", "Custom", "Truncator", "TwoSteps", "WholeLines", "named_layout"]

LAYOUTS: dict[str, Layout] = {
    layout.name: layout
    for layout in (
        *(TOOLLEVEL, TOOLLEVEL_TOOL, UNIFIED, BUFFERED, REGISTRY, OPENCODE),
        *(CODEX, GEMINI_CLI, CLAUDE_CODE),
    )
}


def named_layout(name: str, *, setting: str = "layout") -> Layout | None:
    """The layout of a name as in a configuration file; None for ``usual``, which is our own."""
    if name == "usual":
        return None
    try:
        return LAYOUTS[name]
    except KeyError:
        raise PolicyError(setting, name, "one of " + ", ".join(sorted([*LAYOUTS, "usual"]))) from None
