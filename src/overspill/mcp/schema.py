"""Structured content cut by elements so that it still satisfies its tool's schema: pure.

Guarantees: ``Trimming`` answers only for schemas of which it is known beforehand that every valid value
has a valid form within the room; what it cuts then is shorter arrays, maps and free strings, nothing
that a schema forbids.  Members under a rule that is not understood here are kept whole or dropped whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from overspill.mcp.wire import encoded

NOTICE_MEMBER = "overspill"
"""The member that tells the model what was left out, where the schema lets one in."""

LEAST_STRING_BYTES = 24
_NUMBER_BYTES = 40
_NOTICE_BYTES = 400
_EXCERPT_BYTES = 600
_MOST_DEPTH = 24
_SHORT_FORMATS = {"date-time": 40, "date": 12, "time": 32, "duration": 64, "uuid": 38, "ipv4": 17, "ipv6": 48}
# fmt: off
_NOT_UNDERSTOOD = frozenset((
    "not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies", "unevaluatedProperties",
    "unevaluatedItems", "contains", "minContains", "maxContains", "$dynamicRef", "$recursiveRef", "propertyNames",
    "additionalItems",
))
_RULES = _NOT_UNDERSTOOD | frozenset((
    "type", "enum", "const", "properties", "patternProperties", "additionalProperties", "required", "minProperties",
    "maxProperties", "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "minLength", "maxLength",
    "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "anyOf",
    "oneOf", "allOf",
))
# fmt: on
_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")

Schema = Mapping[str, Any]


class _Unclear(Exception):
    """A rule under which nothing may be changed."""


@dataclass(frozen=True, slots=True)
class Trimming:
    """How values of one schema are cut."""

    root: Any

    def is_sure(self, room_bytes: int) -> bool:
        """Has every valid value a valid form of so many bytes, with a place for the notice?"""
        try:
            rules = self._rules([self.root])
            place = self.takes_notice or self._most(rules, 0) <= 2 * room_bytes
            return place and self._least(rules, 0) + _NOTICE_BYTES <= room_bytes
        except _Unclear:
            return False

    @property
    def takes_notice(self) -> bool:
        """May the object carry one more member, a text?"""
        try:
            return all(self._lets_in(rule) for rule in self._rules([self.root]))
        except _Unclear:
            return False

    def _lets_in(self, rule: Schema) -> bool:
        closed = {"patternProperties", "maxProperties", "const", "enum", "anyOf", "oneOf"} & rule.keys()
        if closed or NOTICE_MEMBER in rule.get("properties", {}):
            return False
        extra = rule.get("additionalProperties", True)
        return extra is True or all(
            not (_RULES - {"type"}) & part.keys() and "string" in _types(part) for part in self._rules([extra])
        )

    def trimmed(self, value: Any, limits: Limits) -> Any:
        """The value with arrays and maps of so many elements, and strings as ``limits`` cuts them."""
        return self._trimmed(value, [self.root], limits, ())

    def _trimmed(self, value: Any, schemas: Sequence[Any], limits: Limits, path: tuple[str, ...]) -> Any:
        if not isinstance(value, str | list | dict) or len(path) > _MOST_DEPTH * 4:
            return value
        try:
            rules = self._chosen(value, self._rules(schemas))
        except _Unclear:
            return value
        if any("const" in rule or "enum" in rule for rule in rules):
            return value
        if isinstance(value, str):
            least = max((rule.get("minLength", 0) for rule in rules), default=0)
            free = not any("pattern" in rule or "format" in rule for rule in rules)
            return (
                limits.cut(value, least, min((rule.get("maxLength", math.inf) for rule in rules), default=math.inf))
                if free
                else value
            )
        if isinstance(value, list):
            return self._array(value, rules, limits, path)
        return self._object(value, rules, limits, path)

    def _array(self, value: list[Any], rules: Sequence[Schema], limits: Limits, path: tuple[str, ...]) -> list[Any]:
        least = max((rule.get("minItems", 0) for rule in rules), default=0)
        kept = value[: max(least, limits.elements)]
        limits.note(path, len(kept), len(value))
        if any(rule.get("uniqueItems") for rule in rules):
            return kept
        return [self._trimmed(item, _of_item(rules, index), limits, (*path, "")) for index, item in enumerate(kept)]

    def _object(
        self, value: dict[str, Any], rules: Sequence[Schema], limits: Limits, path: tuple[str, ...]
    ) -> dict[str, Any]:
        required = {name for rule in rules for name in rule.get("required", ())}
        named = {name for rule in rules for name in rule.get("properties", {})} if limits.keeps_optional else set()
        least = max((rule.get("minProperties", 0) for rule in rules), default=0)
        loose = [name for name in value if name not in required and name not in named]
        room = max(limits.elements, least - (len(value) - len(loose)))
        dropped = set(loose[room:])
        if not path and not required and not named:
            limits.note(path, len(value) - len(dropped), len(value))
        elif dropped:
            limits.note((*path, "…"), len(loose) - len(dropped), len(loose))
        return {
            name: self._trimmed(item, _of_member(rules, name), limits, (*path, name))
            for name, item in value.items()
            if name not in dropped
        }

    def _rules(self, schemas: Sequence[Any]) -> list[Schema]:
        """The schemas with references followed and ``allOf`` opened: all of them hold together."""
        found: list[Schema] = []
        waiting, steps = list(schemas), 0
        while waiting:
            schema = waiting.pop(0)
            steps += 1
            if schema is True or schema == {}:
                continue
            if not isinstance(schema, Mapping) or steps > 200 or _NOT_UNDERSTOOD & schema.keys():
                raise _Unclear
            if "$ref" in schema:
                if _RULES & schema.keys():
                    raise _Unclear  # drafts differ in what holds beside a reference
                waiting.append(self._referred(schema["$ref"]))
                continue
            waiting += schema.get("allOf", ())
            found.append(schema)
        return found

    def _referred(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise _Unclear
        place = self.root
        for step in reference[2:].split("/") if reference != "#" else ():
            step = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(place, Mapping) or step not in place:
                raise _Unclear
            place = place[step]
        return place

    def _chosen(self, value: Any, rules: Sequence[Schema]) -> list[Schema]:
        """The rules that hold for a value: of alternatives the one that it is made by."""
        chosen: list[Schema] = []
        for rule in rules:
            chosen.append(rule)
            for branches in self._alternatives(rule):
                fitting = [branch for branch in branches if _is_made_by(value, branch)]
                if len(fitting) != 1:
                    raise _Unclear
                chosen += self._chosen(value, fitting[0])
        return chosen

    def _alternatives(self, rule: Schema) -> Iterator[list[list[Schema]]]:
        for keyword in ("anyOf", "oneOf"):
            if keyword in rule:
                branches = [self._rules([branch]) for branch in rule[keyword]]
                if not _apart(branches):
                    raise _Unclear
                yield branches

    def _least(self, rules: Sequence[Schema], depth: int) -> float:
        """No valid value needs more bytes than this when it is cut as far as possible."""
        if depth > _MOST_DEPTH:
            return math.inf
        fixed = [_fixed_bytes(rule) for rule in rules if "const" in rule or "enum" in rule]
        if fixed:
            return min(fixed)
        alternatives = [branches for rule in rules for branches in self._alternatives(rule)]
        if alternatives:
            if len(alternatives) > 1:
                return math.inf
            plain = [{name: rule[name] for name in rule if name not in ("anyOf", "oneOf")} for rule in rules]
            return max((self._least([*plain, *branch], depth + 1) for branch in alternatives[0]), default=math.inf)
        kinds = set(_TYPES).intersection(*(_types(rule) for rule in rules))
        return max((self._least_of(kind, rules, depth) for kind in kinds), default=0)

    def _least_of(self, kind: str, rules: Sequence[Schema], depth: int) -> float:
        if kind == "string":
            return _least_string(rules)
        if kind == "array":
            least = max((rule.get("minItems", 0) for rule in rules), default=0)
            if least and (least > 1000 or any(rule.get("uniqueItems") for rule in rules)):
                return math.inf
            items = (self._least(self._rules(_of_item(rules, index)), depth + 1) + 1 for index in range(least))
            return 2 + sum(items)
        if kind == "object":
            required = {name for rule in rules for name in rule.get("required", ())}
            if max((rule.get("minProperties", 0) for rule in rules), default=0) > len(required):
                return math.inf
            return 2 + sum(
                len(encoded(name)) + 2 + self._least(self._rules(_of_member(rules, name)), depth + 1)
                for name in required
            )
        return _NUMBER_BYTES

    def _most(self, rules: Sequence[Schema], depth: int) -> float:
        """Bytes of the largest valid value with excerpts for its free strings: infinite when elements can grow.

        What is larger has a long string then, and the excerpt that stands for it names the handle.
        """
        if depth > _MOST_DEPTH:
            return math.inf
        if any("const" in rule or "enum" in rule for rule in rules):
            return min(_fixed_bytes(rule) for rule in rules if "const" in rule or "enum" in rule)
        if any({"anyOf", "oneOf"} & rule.keys() for rule in rules):
            return math.inf
        kinds = set(_TYPES).intersection(*(_types(rule) for rule in rules))
        if "array" in kinds:
            return math.inf
        if "object" not in kinds:
            return max(_least_string(rules), _EXCERPT_BYTES) if "string" in kinds else _NUMBER_BYTES
        if not any(rule.get("additionalProperties") is False and "patternProperties" not in rule for rule in rules):
            return math.inf
        names = {name for rule in rules for name in rule.get("properties", {})}
        return 2 + sum(
            len(encoded(name)) + 2 + self._most(self._rules(_of_member(rules, name)), depth + 1) for name in names
        )


@dataclass(slots=True)
class Limits:
    """How far one attempt cuts, and what it left out."""

    elements: int
    cut: Callable[[str, int, float], str]
    """From a text, the least and the most characters that it may have, to what stands for it."""
    keeps_optional: bool = True
    left_out: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By path: elements kept, of how many."""

    def note(self, path: tuple[str, ...], kept: int, total: int) -> None:
        if kept < total:
            name = ".".join(step for step in path if step) or "members at the top"
            before = self.left_out.get(name, (0, 0))
            self.left_out[name] = (before[0] + kept, before[1] + total)


def _types(rule: Schema) -> frozenset[str]:
    named = rule.get("type")
    if named is None:
        return frozenset(_TYPES)
    kinds = {named} if isinstance(named, str) else set(named) if isinstance(named, list) else set()
    return frozenset(kinds | ({"integer"} if "number" in kinds else set()))


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _is_made_by(value: Any, branch: Sequence[Schema]) -> bool:
    kind = _kind_of(value)
    if not all(kind in _types(rule) for rule in branch):
        return False
    tags = _tags(branch)
    return not isinstance(value, dict) or all(
        name in value and any(value[name] == tag and type(value[name]) is type(tag) for tag in allowed)
        for name, allowed in tags.items()
    )


def _apart(branches: Sequence[Sequence[Schema]]) -> bool:
    """Can every value be made by one of the branches at most, told by its type or by a tag it must carry?"""
    for index, one in enumerate(branches):
        for other in branches[index + 1 :]:
            shared = set(_TYPES).intersection(*(_types(rule) for rule in (*one, *other)))
            if not shared:
                continue
            tags, others = _tags(one), _tags(other)
            if shared != {"object"} or not any(
                name in others and not any(tag in others[name] for tag in tags[name]) for name in tags
            ):
                return False
    return True


def _tags(rules: Sequence[Schema]) -> dict[str, list[Any]]:
    """Members that an object must have with one of a few values."""
    found: dict[str, list[Any]] = {}
    required = {name for rule in rules for name in rule.get("required", ())}
    for rule in rules:
        for name, schema in rule.get("properties", {}).items():
            if name in required and isinstance(schema, Mapping):
                if "const" in schema:
                    found[name] = [schema["const"]]
                elif isinstance(schema.get("enum"), list):
                    found[name] = schema["enum"]
    return found


def _of_item(rules: Sequence[Schema], index: int) -> list[Any]:
    found = []
    for rule in rules:
        first = rule.get("prefixItems", rule["items"] if isinstance(rule.get("items"), list) else ())
        if index < len(first):
            found.append(first[index])
        elif not isinstance(rule.get("items", True), list):
            found.append(rule.get("items", True))
    return found


def _of_member(rules: Sequence[Schema], name: str) -> list[Any]:
    found: list[Any] = []
    for rule in rules:
        if rule.get("patternProperties"):
            found.append({"not": {}})  # which pattern matches is for a validator to say
        elif name in rule.get("properties", {}):
            found.append(rule["properties"][name])
        else:
            found.append(rule.get("additionalProperties", True))
    return found


def _fixed_bytes(rule: Schema) -> float:
    values = [rule["const"]] if "const" in rule else rule["enum"]
    return max((len(encoded(value)) for value in values), default=0)


def _least_string(rules: Sequence[Schema]) -> float:
    least = max((rule.get("minLength", 0) for rule in rules), default=0)
    if any("pattern" in rule or "format" in rule for rule in rules):
        known = [_SHORT_FORMATS[rule["format"]] for rule in rules if rule.get("format") in _SHORT_FORMATS]
        known += [6 * rule["maxLength"] + 2 for rule in rules if "maxLength" in rule]
        return min(known, default=math.inf)
    return float(max(LEAST_STRING_BYTES, 6 * least) + 2)
