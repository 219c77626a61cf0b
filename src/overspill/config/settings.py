"""Every setting, once: its name, its variable, what it accepts, what it is when nobody says anything.

The decoder of files, the environment, `config show` and the documentation are made from this table.
It loads nothing: the quick ways of the command line read it too.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Setting:
    """One setting. ``per_tool`` ones may also stand in a tool's or a command's own table."""

    __slots__ = ("default", "help", "kind", "name", "per_tool", "variables")

    def __init__(
        self,
        name: str,
        kind: str,
        help: str,
        *,
        default: Any = None,
        variables: str = "",
        per_tool: str = "yes",
    ) -> None:
        self.name = name
        self.kind = kind
        self.help = help
        self.default = default
        own = "OVERSPILL_" + name.removeprefix("store.").upper().replace(".", "_")
        self.variables = tuple(variables.split()) if "OVERSPILL_" in variables else (own, *variables.split())
        """Variables that set it, the nearest first."""
        self.per_tool = per_tool == "yes"


_SIZES = {"tokens": "", "bytes": "TOOL_OUTPUT_MAX_BYTES", "lines": "TOOL_OUTPUT_MAX_LINES", "chars": ""}
_BUILT_IN_SIZES = {"tokens": 2_000, "bytes": 9_000}

SETTINGS: tuple[Setting, ...] = (
    *(
        Setting(
            f"max_{unit}",
            "size",
            f"The most {unit} that are shown.",
            default=_BUILT_IN_SIZES.get(unit),
            variables=variable,
        )
        for unit, variable in _SIZES.items()
    ),
    *(
        Setting(f"limit.max_{unit}", "size", f"An output of more {unit} is cut; without it, one over the budget is.")
        for unit in _SIZES
    ),
    Setting(
        "keep",
        "text",
        "How what stays is chosen: auto, ends, head, tail.",
        default="auto",
        variables="TOOL_OUTPUT_TRUNCATE_DIRECTION",
    ),
    Setting("views", "text", "More forms that auto recognises: names of views that installed packages announce."),
    Setting("keep_lines", "patterns", "Lines that auto shows first: a table of names and RE2 patterns."),
    Setting("drop_lines", "patterns", "Lines that auto leaves out: a table of names and RE2 patterns."),
    Setting("block_starts", "patterns", "First lines of blocks that auto shows whole: names and RE2 patterns."),
    Setting("block_ends", "patterns", "Their last lines, by the same names; else a block ends at a blank line."),
    Setting("layout", "text", "The form of the bounded text: usual, or another system's by the name of its preset."),
    Setting("when_failed", "text", "What comes when cutting or storing fails: bounded or original.", default="bounded"),
    Setting("preset", "text", "A named policy from which everything not set here is taken."),
    Setting("language", "text", "The language of the notice: en or zh.", default="en"),
    Setting("redact", "flag", "Take secrets out before anything is written or shown.", default=False),
    Setting(
        "redact_patterns",
        "patterns",
        "More secrets: a table of names and RE2 patterns; in the variable NAME=PATTERN, one to a line.",
    ),
    Setting("skip", "flag", "Let the output through whole.", default=False),
    Setting(
        "store.place",
        "text",
        "Where whole outputs are kept: a directory or a URL; by default the project's .overspill.",
        variables="OVERSPILL_DIR OVERSPILL_STORE TOOL_OUTPUT_DIR",
        per_tool="no",
    ),
    Setting(
        "store.retention_days",
        "duration",
        'How long outputs are kept: 7, "12 hours", "30 days".',
        default=7,
        variables="TOOL_OUTPUT_RETENTION_DAYS",
        per_tool="no",
    ),
    Setting("store.max_total_bytes", "bytes", 'How much all of them may take: "2 GB".', default="2 GB", per_tool="no"),
    Setting("store.max_outputs", "size", "How many are kept.", per_tool="no"),
    Setting("store.max_per_session", "size", "How many are kept of one session.", per_tool="no"),
    Setting("store.naming", "text", "How their files are named.", per_tool="no"),
    Setting("store.compress_after", "duration", "Compress what was not read for so long.", per_tool="no"),
    Setting("store.durable", "text", "What a kept output survives: process or power.", per_tool="no"),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}


def known(settings: Mapping[str, Any]) -> None:
    """Refuses what is said in code and is no setting, or no yes or no; files say it with their own places."""
    for name, value in settings.items():
        if name not in BY_NAME:
            import difflib

            from overspill.errors import PolicyError

            near = difflib.get_close_matches(name, BY_NAME, 1)
            raise PolicyError("setting", name, f"did you mean {near[0]}?" if near else "one of " + ", ".join(BY_NAME))
        # A policy says of the others what it takes; of these a "no" would be taken for a yes.
        if BY_NAME[name].kind == "flag" and not isinstance(value, bool | None):
            from overspill.errors import PolicyError

            raise PolicyError(name, value, ACCEPTED["flag"])


BUDGET = tuple(f"max_{unit}" for unit in _SIZES)
LIMIT = tuple(f"limit.{name}" for name in BUDGET)
ACCEPTED = {
    "size": "a whole number, 1 or more",
    "text": "a text",
    "flag": "true or false",
    "patterns": "a table of names and patterns",
    "duration": 'a number of days, or a text with a unit such as "12 hours"',
    "bytes": 'a number of bytes, or a text with a unit such as "2 GB"',
}
TOOL_PARAMETERS = {"show_context": range(51), "max_depth": range(1, 51), "max_files": range(1, 10_001)}
"""What `tool_output_limits` may say to the tools themselves; each with what the tool takes."""
CONFIG_VARIABLE = "OVERSPILL_CONFIG"
SESSION_VARIABLE = "OVERSPILL_SESSION"
"""Noted with every output; not a setting of what is shown."""
VARIABLES = (CONFIG_VARIABLE, SESSION_VARIABLE, *(name for setting in SETTINGS for name in setting.variables))
