"""The presets by name: other systems' rules, each a policy in the words of a configuration file.

The figures are theirs, the sentences ours.  A preset gives way to whatever else is set: a size, a
``keep`` or a place named nearer to the call wins, and the text stays in the system's form as long as
that form has a meaning (whole lines from one end cannot keep both).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from overspill.errors import PolicyError

KIB = 1024


@dataclass(frozen=True, slots=True)
class Preset:
    """Settings for everything, and for single tools."""

    settings: Mapping[str, Any]
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rule: str = ""
    """What the system does, in a sentence."""


def _lines(layout: str, direction: str, max_lines: int, max_bytes: int) -> dict[str, Any]:
    return {"layout": layout, "keep": direction, "max_lines": max_lines, "max_bytes": max_bytes}


def _chars(layout: str, keep: str, max_chars: int, limit_chars: int | None = None) -> dict[str, Any]:
    limit = {} if limit_chars is None else {"limit.max_chars": limit_chars}
    return {"layout": layout, "keep": keep, "max_chars": max_chars} | limit


def _tool(max_chars: int, max_lines: int) -> dict[str, Any]:
    return _chars("toollevel/tool", "ends", max_chars) | {"max_lines": max_lines}


_OPENCODE_STORE = {"store.naming": "tool_{ascending}", "store.retention_days": 7}
_TOOLLEVEL_TOOLS = {"repo_map": _tool(10_000, 1_000), "read_file": _tool(5_000, 200)}

PRESETS: dict[str, Preset] = {
    "toollevel": Preset(
        _chars("toollevel", "ends", 8_000),
        _TOOLLEVEL_TOOLS,
        "Over 8,000 characters: 200 reserved for a marker, 40 % of the rest kept at either end.",
    ),
    "toollevel/tool": Preset(
        _tool(8_000, 500),
        _TOOLLEVEL_TOOLS,
        "A tool's own: first by characters (100 reserved, 40/40), then by lines (2 reserved, half/half).",
    ),
    "unified": Preset(
        _lines("unified", "head", 2_000, 50 * KIB)
        | {
            "store.place": "{project}/tool-output",
            "store.naming": "tool_{timestamp}_{tool}.json",
            "store.retention_days": 7,
        },
        rule="One rule for all tools: the first 2,000 lines or 51,200 bytes, whichever comes first; 7 days.",
    ),
    "buffered": Preset(
        _chars("buffered", "ends", 20_000, limit_chars=40_000)
        | {"store.place": "{tmp}/overspill-{user}", "store.naming": "{tool}-{call_id}-{timestamp}.txt"},
        rule="Over 40,000 characters: the first and the last 10,000, the file named before them.",
    ),
    "registry": Preset(
        _lines("registry", "head", 2_000, 50 * KIB) | {"when_failed": "original", "store.retention_days": 7},
        {
            **dict.fromkeys(("shell", "bash"), _lines("registry", "tail", 500, 50 * KIB)),
            "grep": _lines("registry", "head", 3_000, 50 * KIB),
            "read": {"skip": True},
        },
        "Limits per tool: the shell keeps its last 500 lines, grep 3,000, read pages itself; a fault lets through.",
    ),
    "opencode": Preset(
        _lines("opencode", "head", 2_000, 50 * KIB) | _OPENCODE_STORE,
        rule="Whole lines, 2,000 or 51,200 bytes, line ends counted; files named by ascending identifiers, 7 days.",
    ),
    "opencode/code": Preset(
        _lines("opencode", "head", 2_000, 50 * KIB) | _OPENCODE_STORE, rule="Source code: the first 2,000 lines, 50 KB."
    ),
    "opencode/log": Preset(
        _lines("opencode", "tail", 500, 20 * KIB) | _OPENCODE_STORE, rule="Logs: the last 500 lines, 20 KB."
    ),
    "opencode/error": Preset(
        _lines("opencode", "tail", 100, 10 * KIB) | _OPENCODE_STORE, rule="Errors: the last 100 lines, 10 KB."
    ),
    "codex": Preset(
        {"layout": "codex", "keep": "ends", "max_bytes": 10_000},
        rule="10,000 bytes, half at either end, the number of lines said before.",
    ),
    "codex/tokens": Preset(
        {"layout": "codex", "keep": "ends", "max_bytes": 40_000},
        rule="10,000 tokens, taken as 4 bytes each, half at either end.",
    ),
    "gemini-cli": Preset(
        _chars("gemini-cli", "ends", 40_000), rule="Over 40,000 characters: the first 8,000 and the last 32,000."
    ),
    "claude-code": Preset(
        _chars("claude-code", "head", 2_000, limit_chars=30_000),
        rule="Over 30,000 characters: the first 2,000, the file named before them.",
    ),
}


def preset(name: str, *, setting: str = "preset") -> Preset:
    try:
        return PRESETS[name]
    except KeyError:
        raise PolicyError(setting, name, f"one of: {', '.join(sorted(PRESETS))}") from None


def placed(place: str, *, default: str) -> str:
    """The directory that a preset means by ``{project}``, ``{tmp}`` and ``{user}``.

    ``default`` is where outputs would lie when nobody said: in a project, just below its root.
    """
    if "{" not in place:
        return place
    import os
    import tempfile

    inside = os.path.basename(default) == ".overspill"
    values = {
        "{project}": os.path.dirname(default) if inside else default,
        "{tmp}": tempfile.gettempdir(),
        "{user}": str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user"),
    }
    for name, value in values.items():
        place = place.replace(name, value)
    return place
