"""Which language a piece of code is written in, and what it defines: by tree-sitter, with the ``code`` extra.

A grammar that isn't installed gives no definitions; its caller has a plainer way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

MOST_DEPTH = 4
_FUNCTIONS = ("arrow_function", "function_expression", "generator_function")
"""What makes a variable of JavaScript a definition."""
_LEAST_SIGNS = 5
"""So many lines must look like a language when no file name tells it."""


class Language(NamedTuple):
    """A grammar's package, the suffixes of its files, the nodes that define, and how its lines begin."""

    package: str
    suffixes: str
    nodes: frozenset[str]
    signs: re.Pattern[bytes]
    factory: str = "language"


class Definition(NamedTuple):
    row: int
    name: str
    level: int


def _language(package: str, suffixes: str, nodes: str, signs: bytes, factory: str = "language") -> Language:
    return Language(package, suffixes, frozenset(nodes.split()), re.compile(rb"^(?:" + signs + rb")", re.M), factory)


_JAVASCRIPT = (
    "function_declaration generator_function_declaration class_declaration method_definition variable_declarator"
)
_TYPESCRIPT = (
    _JAVASCRIPT
    + " abstract_class_declaration interface_declaration type_alias_declaration enum_declaration internal_module module"
)
_C = "function_definition struct_specifier union_specifier enum_specifier type_definition"
LANGUAGES = (
    _language("tree_sitter_python", "py|pyi", "function_definition class_definition",
              rb"def |class \w+.*:|from \S+ import |import [\w.]+$|async def "),
    _language("tree_sitter_typescript", "ts|mts|cts", _TYPESCRIPT,
              rb"(?:export )?(?:interface|type|enum|abstract class|declare) \w+|import type ", "language_typescript"),
    _language("tree_sitter_typescript", "tsx", _TYPESCRIPT, rb"(?!)", "language_tsx"),
    _language("tree_sitter_javascript", "js|jsx|mjs|cjs", _JAVASCRIPT,
              rb"(?:export )?(?:default )?(?:async )?function\*? ?\w*\(|(?:const|let|var) [\w{].*=|"
              rb"import .* from ['\"]|module\.exports"),
    _language("tree_sitter_go", "go", "function_declaration method_declaration type_spec",
              rb"func (?:\([^)]*\) )?\w+\(|package \w+$|type \w+ (?:struct|interface|func)"),
    _language("tree_sitter_rust", "rs",
              "function_item struct_item enum_item trait_item impl_item mod_item type_item macro_definition",
              rb"(?:pub(?:\([a-z]+\))? )?(?:fn|struct|enum|trait|mod|use) \w+|impl\b.*\{|#\[derive"),
    _language("tree_sitter_java", "java",
              "class_declaration interface_declaration enum_declaration record_declaration method_declaration "
              "constructor_declaration",
              rb"import (?:static )?[\w.]+\*?;|package [\w.]+;|(?:public |final |abstract )+(?:class|interface|enum) "),
    _language("tree_sitter_ruby", "rb", "class module method singleton_method",
              rb"\s*(?:def [\w.?!]+|module [A-Z]\w*|class [A-Z]\S*(?: < \S+)?)\s*$|require ['\"]|end$"),
    _language("tree_sitter_cpp", "cc|cpp|cxx|hh|hpp|h", _C + " class_specifier namespace_definition",
              rb"namespace \w+|template ?<|using namespace|class \w+.*[{:]|#include <\w+>$"),
    _language("tree_sitter_c", "c", _C, rb"#\s*include [<\"]|#\s*define \w|(?:static|struct|void|int) \w"),
)  # fmt: skip


def language_of(command: str, sample: bytes) -> Language | None:
    """By a file name in the command, else by the lines: the language that most of them speak for."""
    for language in LANGUAGES:
        if re.search(rf"\w\.(?:{language.suffixes})\b", command):
            return language
    signs = [(len(language.signs.findall(sample)), language) for language in LANGUAGES]
    most, language = max(signs, key=lambda entry: entry[0])
    return language if most > _LEAST_SIGNS else None


def definitions(data: bytes, language: Language) -> list[Definition]:
    """What the code defines, by rows from 0; empty when the grammar isn't installed."""
    parser = _parser(language.package, language.factory)
    return list(_walk(parser.parse(data).root_node, language.nodes)) if parser is not None else []


@lru_cache(maxsize=len(LANGUAGES))
def _parser(package: str, factory: str) -> Any:
    try:
        from tree_sitter import Language as Grammar
        from tree_sitter import Parser

        return Parser(Grammar(getattr(import_module(package), factory)()))
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith("tree_sitter"):
            raise
        return None


def _walk(root: Any, nodes: frozenset[str]) -> Iterator[Definition]:
    pending = [(child, 1) for child in reversed(root.children)]
    while pending:
        node, level = pending.pop()
        if node.type in nodes and (name := _name_of(node)):
            yield Definition(_row_of(node), name, level)
            level += 1
        if level <= MOST_DEPTH and node.child_count:
            pending += [(child, level) for child in reversed(node.children)]


def _named(node: Any) -> Any:
    """The node of its name: in C it is wrapped in declarators, of an ``impl`` it is the type."""
    named = node.child_by_field_name("name") or node.child_by_field_name("type" if node.type == "impl_item" else "name")
    while named is None:
        inner = node.child_by_field_name("declarator")
        if inner is None:
            return None
        named, node = (inner if not inner.child_count else inner.child_by_field_name("name")), inner
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        return named if value is not None and value.type in _FUNCTIONS else None
    if node.type in ("struct_specifier", "union_specifier", "enum_specifier", "class_specifier"):
        return named if node.child_by_field_name("body") is not None else None  # elsewhere it is only used
    return named


def _name_of(node: Any) -> str:
    named = _named(node)
    return (named.text or b"").decode("utf-8", "replace") if named is not None else ""


def _row_of(node: Any) -> int:
    """Where its name stands: a definition can begin with lines of attributes and types."""
    row: int = _named(node).start_point[0]
    return row
