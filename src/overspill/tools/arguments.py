"""A tool's arguments, read off its signature: the schema for the model, and the check of what the model sent."""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from overspill.errors import PolicyError, RequestError

_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_MISSING = re.compile(r"missing required field `([^`]*)`")
_PLACE = re.compile(r" - at `\$\.?([^`]*)`$")


class Arguments:
    """Of one function or method."""

    def __init__(self, tool: str, function: Callable[..., Any]) -> None:
        self._tool = tool
        fields: list[tuple[str, Any, Any]] = []
        self._open = False
        hints = _hints(function)
        for name, parameter in _parameters(tool, function).items():
            if name == "self" or parameter.kind is parameter.VAR_POSITIONAL:
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                self._open = True
                continue
            if parameter.kind is parameter.POSITIONAL_ONLY or name.startswith("__"):
                raise PolicyError(f"{tool}: parameter", name, "one that can be given by its name; wrap the function")
            kind = _known(hints.get(name, Any))
            default = parameter.default
            # Whether it was sent is all that matters: the function's own default holds otherwise.
            given = msgspec.NODEFAULT if default is parameter.empty else default
            if given is msgspec.NODEFAULT or isinstance(given, str | int | float | bool | None):
                fields.append((name, kind, given))
            else:
                fields.append((name, kind, msgspec.field(default_factory=partial(_same, given))))
        self._struct = msgspec.defstruct(
            "Arguments", [field[:2] if field[2] is msgspec.NODEFAULT else field for field in fields], kw_only=True,
            forbid_unknown_fields=not self._open,
        )  # fmt: skip
        self._names = {field[0] for field in fields}

    def schema(self) -> dict[str, Any]:
        """JSON Schema, as the chat protocols want a tool's parameters."""
        schema = msgspec.json.schema(self._struct)
        definitions = schema.get("$defs", {})
        top: dict[str, Any] = {**definitions.pop("Arguments"), **({"$defs": definitions} if definitions else {})}
        top.pop("title", None)
        top["additionalProperties"] = self._open
        return top

    def checked(self, given: Mapping[str, Any] | str) -> dict[str, Any]:
        """The arguments as the function takes them; a ``RequestError`` names the wrong one."""
        values = self._parsed(given)
        try:
            converted = msgspec.convert(values, self._struct)
        except msgspec.ValidationError as error:
            raise self._refusal(values, str(error)) from None
        known = {name: getattr(converted, name) for name in values if name in self._names}
        return {**{name: value for name, value in values.items() if name not in self._names}, **known}

    def _parsed(self, given: Mapping[str, Any] | str) -> dict[str, Any]:
        if isinstance(given, str):
            try:
                given = json.loads(given or "{}")
            except ValueError as error:
                raise RequestError(f"{self._tool}: arguments", _short(given), f"a JSON object ({error})") from None
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise RequestError(f"{self._tool}: arguments", _short(given), "a JSON object")
        return dict(given)

    def _refusal(self, values: Mapping[str, Any], message: str) -> RequestError:
        if unknown := _UNKNOWN.search(message):
            name = unknown[1]
            accepted = "one of " + ", ".join(sorted(self._names)) if self._names else "no arguments"
            return RequestError(f"{self._tool}: argument", name, accepted)
        if missing := _MISSING.search(message):
            return RequestError(f"{self._tool}: {missing[1]}", None, "it is required")
        place = _PLACE.search(message)
        name = place[1] if place else "arguments"
        accepted = _PLACE.sub("", message).replace("`", "")
        return RequestError(f"{self._tool}: {name}", _short(values.get(name, values)), accepted)


def description_of(function: Any) -> str:
    """The first paragraph of the documentation."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())


def _parameters(tool: str, function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except ValueError:  # some that are written in C have none
        raise PolicyError(f"{tool}: function", function, "one whose signature can be read; wrap it") from None


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:  # a name that exists for type checkers only
        return {}


def _known(kind: Any) -> Any:
    """The type itself where it can be said in JSON, else anything."""
    try:
        msgspec.json.schema(kind)
    except Exception:
        return Any
    return kind


def _same(value: Any) -> Any:
    return value


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
