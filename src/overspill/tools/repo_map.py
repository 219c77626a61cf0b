"""A map of a repository: its definitions, the most referred to first, as many as fit a number of tokens.

Definitions and references are read by tree-sitter with each language's own grammar (the ``code`` extra).
A definition is worth what other files refer to it, less for names that many define.
"""

from __future__ import annotations

import builtins
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from math import sqrt
from pathlib import Path
from time import thread_time
from typing import TYPE_CHECKING, Any, NamedTuple

from overspill.core.ports import Store
from overspill.core.tokens import estimate_tokens
from overspill.errors import MissingExtra, RequestError
from overspill.tools.base import Tool
from overspill.tools.root import Root, Walk, but_for, printable

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Node, Tree

MAX_TOKENS = 2_000
MOST_FILE_BYTES = 1_000_000
"""A larger file is generated or data."""
MOST_SECONDS = 2.0
"""For parsing one file: what takes longer is no code that anybody wrote."""
_SIGNATURE_CHARS = 160
_LINE_BYTES = 2_000
"""Looked at for a signature: a file of one line would be copied for each of its definitions."""
_NAMES = ("identifier", "type_identifier", "field_identifier", "property_identifier", "constant")
_EVERYWHERE = frozenset(dir(builtins)) | {"get", "set", "add", "run", "name", "text", "data", "path", "join", "main"}
"""Names that mostly mean something else than the definition of that name."""


class Language(NamedTuple):
    package: str
    definitions: frozenset[str]
    factory: str = "language"


_JS = frozenset(
    ["function_declaration", "generator_function_declaration", "class_declaration", "method_definition"]
)  # fmt: skip
_TS = _JS | frozenset(
    ["interface_declaration", "type_alias_declaration", "enum_declaration", "abstract_class_declaration"]
)  # fmt: skip
_C = frozenset(["function_definition", "struct_specifier", "enum_specifier", "union_specifier", "type_definition"])
_PYTHON = Language("tree_sitter_python", frozenset(["function_definition", "class_definition"]))
_JAVASCRIPT = Language("tree_sitter_javascript", _JS)
_TYPESCRIPT = Language("tree_sitter_typescript", _TS, "language_typescript")
_TSX = Language("tree_sitter_typescript", _TS, "language_tsx")
_GO = Language("tree_sitter_go", frozenset(["function_declaration", "method_declaration", "type_spec"]))
_RUST = Language(
    "tree_sitter_rust",
    frozenset(["function_item", "struct_item", "enum_item", "trait_item", "type_item", "macro_definition"]),
)
_JAVA = Language(
    "tree_sitter_java",
    frozenset(f"{kind}_declaration" for kind in ("class", "interface", "enum", "record", "method")),
)
_RUBY = Language("tree_sitter_ruby", frozenset(["class", "module", "method", "singleton_method"]))
_LANGUAGES: dict[str, Language] = {
    ".py": _PYTHON, ".pyi": _PYTHON,
    ".js": _JAVASCRIPT, ".jsx": _JAVASCRIPT, ".mjs": _JAVASCRIPT, ".cjs": _JAVASCRIPT,
    ".ts": _TYPESCRIPT, ".mts": _TYPESCRIPT, ".cts": _TYPESCRIPT, ".tsx": _TSX,
    ".go": _GO, ".rs": _RUST, ".java": _JAVA, ".rb": _RUBY,
    ".c": Language("tree_sitter_c", _C), ".h": Language("tree_sitter_cpp", _C | {"class_specifier"}),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp"), Language("tree_sitter_cpp", _C | {"class_specifier"})),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Definition:
    file: str
    line: int
    depth: int
    name: str
    signature: str


class RepoMap(Tool):
    """Maps a repository: its most used classes and functions with their lines, fitted into `max_tokens`."""

    name = "repo_map"
    MAX_OUTPUT_CHARS = 10_000
    MAX_OUTPUT_LINES = 1_000

    def __init__(self, root: str | os.PathLike[str] = ".", *, store: Store | str | None = None) -> None:
        super().__init__(store=store)
        self._root = Root(root)

    def execute(self, path: str = ".", max_tokens: int = MAX_TOKENS) -> str:
        if not 50 <= max_tokens <= 100_000:
            raise RequestError("max_tokens", max_tokens, "a number of tokens, 50 to 100,000")
        place = self._root.directory(path)
        definitions: list[Definition] = []
        references: dict[str, Counter[str]] = {}
        walk = Walk(self._root, place)
        unread = 0
        for file in walk.files():
            try:
                found = self._of_file(file)
            except RequestError:
                unread += 1
                continue
            if found is not None:
                definitions += found[0]
                references[printable(self._root.shown(file))] = found[1]
        if not definitions:
            known = sorted({language.package.removeprefix("tree_sitter_") for language in _LANGUAGES.values()})
            return f"[no definitions found; languages: {', '.join(known)}{but_for(unread + walk.unread)}]"
        ranked = ranking(definitions, references)
        return self._fitted(ranked, max_tokens, unread + walk.unread)

    def _of_file(self, file: Path) -> tuple[list[Definition], Counter[str]] | None:
        language = _LANGUAGES.get(file.suffix.lower())
        if language is None:
            return None
        with self._root.open(file) as source:
            data = source.read(MOST_FILE_BYTES + 1)
        if len(data) > MOST_FILE_BYTES:
            return None
        return read_definitions(data, printable(self._root.shown(file)), language)

    def _fitted(self, ranked: list[Definition], max_tokens: int, unread: int) -> str:
        """The most of the ranking that fits, by halving."""
        low, high, best = 0, len(ranked), ""
        while low <= high:
            middle = (low + high + 1) // 2
            text = drawn(ranked[:middle], len(ranked), unread)
            fits = (
                estimate_tokens(text) <= max_tokens
                and len(text) <= self.MAX_OUTPUT_CHARS
                and text.count("\n") < self.MAX_OUTPUT_LINES
            )
            if fits:
                low, best = middle + 1, text
            else:
                high = middle - 1
        return best


def ranking(definitions: list[Definition], references: dict[str, Counter[str]]) -> list[Definition]:
    """The most referred to first; a name that many files define says little about each."""
    users: dict[str, dict[str, int]] = defaultdict(dict)
    for file, names in references.items():
        for name, count in names.items():
            users[name][file] = count
    homes = Counter(definition.name for definition in definitions)

    def worth(definition: Definition) -> float:
        elsewhere = sum(sqrt(count) for file, count in users[definition.name].items() if file != definition.file)
        likely = (0.3 if definition.name.startswith("_") else 1.0) * (0.1 if definition.name in _EVERYWHERE else 1.0)
        return likely * (elsewhere + 0.1) / homes[definition.name] / (1 + 0.3 * definition.depth)

    return sorted(definitions, key=lambda definition: (-worth(definition), definition.file, definition.line))


def drawn(chosen: list[Definition], total: int, unread: int = 0) -> str:
    """By file, the file of the most worthy first, in the order of their lines."""
    by_file: dict[str, list[Definition]] = defaultdict(list)
    for definition in chosen:
        by_file[definition.file].append(definition)
    lines = []
    for file, definitions in by_file.items():
        lines.append(f"{file}:")
        lines += [
            f"{definition.line:>6}: {'  ' * definition.depth}{definition.signature}"
            for definition in sorted(definitions, key=lambda definition: definition.line)
        ]
    left = total - len(chosen)
    note = (
        f"[{len(chosen)} of {total} definitions, the most used first"
        + ("" if left else "; this is all")
        + f"{but_for(unread)}]"
    )
    return "\n".join([*lines, note])


def read_definitions(source: bytes, file: str, language: Language) -> tuple[list[Definition], Counter[str]]:
    """What a file defines, and how often it names what; a ``RequestError`` when it can't be parsed in time."""
    grammar = _grammar(language)  # first: it says which extra is missing
    names: Counter[str] = Counter()
    definitions: list[Definition] = []
    lines = source.split(b"\n")
    around: list[int] = []
    for node in _nodes(_parsed(source, file, grammar.language)):
        if node.kind_id in grammar.names:
            names[_text(source, node)] += 1
        elif node.kind_id in grammar.definitions:
            while around and around[-1] <= node.start_byte:
                around.pop()
            if name := _name_of(source, node):
                row = node.start_point[0]
                line = lines[row][:_LINE_BYTES].decode("utf-8", "replace")
                signature = " ".join(line.split())[:_SIGNATURE_CHARS]
                definitions.append(Definition(file, row + 1, min(len(around), 4), name, signature))
                names[name] -= 1  # its own name is among the identifiers
            around.append(node.end_byte)
    return definitions, +names


def _parsed(source: bytes, file: str, grammar: Grammar) -> Tree:
    """Asked how it goes on, the parser also lets the other threads run: without, it would hold up the program."""
    from tree_sitter import Parser

    rest, until = memoryview(source), thread_time() + MOST_SECONDS
    try:
        # A parser of its own: one that several threads use at a time breaks.
        return Parser(grammar).parse(lambda at, _: rest[at:], progress_callback=lambda *_: thread_time() > until)
    except ValueError:
        raise RequestError("path", file, f"a file that can be parsed within {MOST_SECONDS:g} seconds") from None


def _nodes(tree: Tree) -> Iterator[Node]:
    """All, each before those inside it. A query would take quadratic time for what is nested or broken badly."""
    cursor = tree.walk()
    while True:
        if cursor.node is not None:
            yield cursor.node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _name_of(source: bytes, node: Node) -> str:
    named = node.child_by_field_name("name")
    while named is None:
        # In C the name is wrapped in declarators: pointers, parameters, arrays.
        inner = node.child_by_field_name("declarator")
        if inner is None:
            return ""
        named = inner if inner.child_count == 0 else inner.child_by_field_name("name")
        node = inner
    return _text(source, named)


def _text(source: bytes, node: Node) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


class _Grammar(NamedTuple):
    language: Grammar
    definitions: frozenset[int]
    names: frozenset[int]


@lru_cache(maxsize=32)
def _grammar(language: Language) -> _Grammar:
    try:
        from tree_sitter import Language as Grammar

        module: Any = import_module(language.package)
    except ImportError:
        raise MissingExtra("repo_map", "code") from None
    grammar = Grammar(getattr(module, language.factory)())

    def known(kinds: Iterable[str]) -> frozenset[int]:
        return frozenset(number for kind in kinds if (number := grammar.id_for_node_kind(kind, True)))

    return _Grammar(grammar, known(language.definitions), known(_NAMES))
