"""Configuration files as layers: TOML, `[tool.overspill]` of a pyproject.toml, YAML; each mistake with its exact path.

The sections are those of the settings' names, `[tools.NAME]` and `[commands.PATTERN]` for narrower scopes,
and `tool_output_limits` as a sixth system has it.  A file that cannot be understood is refused whole.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from overspill.config.settings import ACCEPTED, BY_NAME, SETTINGS, TOOL_PARAMETERS
from overspill.errors import MissingExtra, PolicyError

_TYPES: dict[str, Any] = {
    "size": int,
    "text": str,
    "flag": bool,
    "patterns": dict[str, str],
    "duration": int | float | str,
    "bytes": int | str,
}


class Limits(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`tool_output_limits.default`."""

    max_chars: int | None = None
    max_lines: int | None = None
    truncation_strategy: str | None = None


class ToolLimits(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`tool_output_limits.tools.NAME`: sizes, and parameters that the tool itself reads."""

    max_chars: int | None = None
    max_lines: int | None = None
    truncation_strategy: str | None = None
    show_context: int | bool | None = None
    max_depth: int | None = None
    max_files: int | None = None


class Summarization(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`summarization`: what the summarising strategy is told."""

    enabled: bool = False
    model: str | None = None
    max_input_chars: int = 50_000
    trigger_threshold: int = 20_000
    base_url: str | None = None
    timeout_seconds: int | float = 30


KEEP_BY_STRATEGY = {"head_tail": "ends", "head_only": "head", "summarize": "summarize"}


class FileSettings(msgspec.Struct, frozen=True):
    """What one file says, by scope."""

    path: str
    everywhere: dict[str, Any]
    tools: dict[str, dict[str, Any]]
    commands: dict[str, dict[str, Any]]
    tool_parameters: dict[str, dict[str, Any]]
    summarization: Summarization | None


def read_file(path: str) -> FileSettings:
    """The settings of a file; a ``PolicyError`` names the setting by file and path."""
    data, prefix = _parsed(path)
    place = f"{os.path.basename(path)}: {prefix}"
    if not isinstance(data, dict):
        raise PolicyError(place.rstrip(": ") or path, data, "a table of settings")
    sections = dict(data)
    tools = _scopes(sections.pop("tools", {}), f"{place}tools")
    commands = _scopes(sections.pop("commands", {}), f"{place}commands")
    limits = sections.pop("tool_output_limits", None)
    summarization = sections.pop("summarization", None)
    everywhere = _settings(sections, place, narrow=False)
    if "store.place" in everywhere:
        everywhere["store.place"] = _beside(path, everywhere["store.place"])
    parameters: dict[str, dict[str, Any]] = {}
    if limits is not None:
        _add_limits(limits, f"{place}tool_output_limits", everywhere, tools, parameters)
        if isinstance(limits, dict) and "summarization" in limits:
            summarization = limits["summarization"]
    return FileSettings(
        path=path,
        everywhere=everywhere,
        tools=tools,
        commands=commands,
        tool_parameters=parameters,
        summarization=None if summarization is None else _summarization(summarization, f"{place}summarization"),
    )


def _beside(path: str, store: str) -> str:
    """A relative place is meant from the file's directory, wherever overspill is called."""
    if "://" in store or store.startswith("~"):
        return store
    return os.path.join(os.path.dirname(os.path.abspath(path)), store)


def _parsed(path: str) -> tuple[Any, str]:
    """The data, and the words that a setting's path begins with."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise PolicyError("config", path, f"a file that can be read ({error.strerror})") from error
    try:
        if path.endswith((".yaml", ".yml")):
            return _yaml(raw) or {}, ""
        import tomllib

        data = tomllib.loads(raw.decode())
    except RecursionError:
        raise PolicyError("config", path, "settings; this is nested too deep to be any") from None
    except (ValueError, UnicodeError) as error:
        raise PolicyError(
            "config", path, f"valid {'YAML' if 'yam' in path or 'yml' in path else 'TOML'}: {error}"
        ) from error
    if os.path.basename(path) == "pyproject.toml":
        return data.get("tool", {}).get("overspill", {}), "tool.overspill."
    return data, ""


def _yaml(raw: bytes) -> Any:
    try:
        import yaml
    except ImportError:
        raise MissingExtra("a YAML configuration file", "yaml") from None
    try:
        return yaml.safe_load(raw)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def _scopes(section: Any, place: str) -> dict[str, dict[str, Any]]:
    if not isinstance(section, dict):
        raise PolicyError(place, section, "a table with one table of settings for each name or pattern")
    return {str(name): _settings(values, f"{place}.{name}.", narrow=True) for name, values in section.items()}


def _settings(section: Any, place: str, *, narrow: bool) -> dict[str, Any]:
    """Checked values by the full names of their settings."""
    if not isinstance(section, dict):
        raise PolicyError(place.rstrip("."), section, "a table of settings")
    values: dict[str, Any] = {}
    for name, value in _flat(section):
        setting = BY_NAME.get(name)
        if setting is None or (narrow and not setting.per_tool):
            raise _unknown(place, name, value, narrow=narrow)
        try:
            values[name] = msgspec.convert(value, _TYPES[setting.kind])
        except msgspec.ValidationError:
            raise PolicyError(place + name, value, ACCEPTED[setting.kind]) from None
        if setting.kind == "size" and values[name] < 1:
            raise PolicyError(place + name, value, ACCEPTED["size"])
    return values


def _flat(section: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        if name in ("limit", "store") and isinstance(value, dict):
            for inner, inner_value in value.items():
                yield f"{name}.{inner}", inner_value
        else:
            yield str(name), value


def _unknown(place: str, name: str, value: Any, *, narrow: bool) -> PolicyError:
    known = [setting.name for setting in SETTINGS if setting.per_tool or not narrow]
    known += [] if narrow else ["tools", "commands", "tool_output_limits", "summarization"]
    near = difflib.get_close_matches(name, known, 1)
    return PolicyError(place + name, value, f"did you mean {near[0]}?" if near else "known are " + ", ".join(known))


def _add_limits(
    section: Any,
    place: str,
    everywhere: dict[str, Any],
    tools: dict[str, dict[str, Any]],
    parameters: dict[str, dict[str, Any]],
) -> None:
    if not isinstance(section, dict):
        raise PolicyError(place, section, "a table with default, tools and summarization")
    for name in section:
        if name not in ("default", "tools", "summarization"):
            raise PolicyError(f"{place}.{name}", section[name], "default, tools or summarization")
    default = _converted(section.get("default", {}), Limits, f"{place}.default")
    everywhere.update(_sizes(default, f"{place}.default"))
    named = section.get("tools") or {}
    if not isinstance(named, dict):
        raise PolicyError(f"{place}.tools", named, "a table with one table for each tool")
    for name, values in named.items():
        limits = _converted(values, ToolLimits, f"{place}.tools.{name}")
        tools.setdefault(str(name), {}).update(_sizes(limits, f"{place}.tools.{name}"))
        own = {key: getattr(limits, key) for key in TOOL_PARAMETERS if getattr(limits, key) is not None}
        for key, value in own.items():
            taken = TOOL_PARAMETERS[key]
            if not isinstance(value, bool) and value not in taken:
                accepted = f"a whole number, {taken[0]} to {taken[-1]:,}"
                raise PolicyError(f"{place}.tools.{name}.{key}", value, accepted)
        parameters[str(name)] = own


def _summarization(section: Any, place: str) -> Summarization:
    found: Summarization = _converted(section, Summarization, place)
    for name in ("max_input_chars", "trigger_threshold"):
        if getattr(found, name) < 1:
            raise PolicyError(f"{place}.{name}", getattr(found, name), ACCEPTED["size"])
    if not found.timeout_seconds > 0:
        raise PolicyError(f"{place}.timeout_seconds", found.timeout_seconds, "a number of seconds above 0")
    if found.enabled and not found.model:
        raise PolicyError(f"{place}.model", found.model, "the name of the model that is to write the summaries")
    return found


def _sizes(limits: Limits | ToolLimits, place: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in ("max_chars", "max_lines"):
        size = getattr(limits, name)
        if size is not None:
            if size < 1:
                raise PolicyError(f"{place}.{name}", size, ACCEPTED["size"])
            values[name] = size
    if limits.truncation_strategy is not None:
        keep = KEEP_BY_STRATEGY.get(limits.truncation_strategy)
        if keep is None:
            accepted = " or ".join(KEEP_BY_STRATEGY)
            raise PolicyError(f"{place}.truncation_strategy", limits.truncation_strategy, accepted)
        values["keep"] = keep
    return values


_PLACE = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_UNKNOWN_FIELD = re.compile(r"unknown field `(?P<name>[^`]*)`")


def _converted(value: Any, into: Any, place: str) -> Any:
    """Through msgspec, its message as ours: where, what, and what would be accepted."""
    try:
        return msgspec.convert({} if value is None else value, into)
    except msgspec.ValidationError as error:
        message = str(error)
        if unknown := _UNKNOWN_FIELD.search(message):
            name = unknown["name"]
            fields = ", ".join(into.__struct_fields__)
            raise PolicyError(f"{place}.{name}", value[name], f"one of {fields}") from None
        where = _PLACE.search(message)
        name = where["path"] if where else ""
        wrong = value.get(name) if name and isinstance(value, dict) else value
        accepted = _PLACE.sub("", message).replace("Expected", "expected").replace("`", "")
        raise PolicyError(f"{place}.{name}" if name else place, wrong, accepted) from None
