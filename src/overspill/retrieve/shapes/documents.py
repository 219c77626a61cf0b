"""Source code, documents and settings: their definitions, headings and sections, with line numbers.

Code is parsed where the ``code`` extra is installed (tree-sitter, one grammar to a language); anything else, and
code of no known language, is told by the beginnings of lines.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from overspill.core.strategies.views import code as code_view
from overspill.retrieve.shapes import grammars
from overspill.retrieve.shapes.model import Landmark, Shape, Stretch

MOST_PARSED_BYTES = 8 << 20
_HTML_HEADING = re.compile(rb"<h([1-6])\b[^>]*>(.{0,400}?)(?:</h\1|$)", re.IGNORECASE | re.DOTALL)
_HTML_TERM = re.compile(rb"<dt\b[^>]*\bid=\"([^\"]{1,120})\"", re.IGNORECASE)
_TAG = re.compile(rb"<[^<>]{0,2000}>")
_MARKDOWN = re.compile(
    rb"^(?:(#{1,6})[ \t]+([^\n]{1,300})|([^\s#<>|`*-][^\n]{0,200})\r?\n(={3,}|-{3,})[ \t]*\r?$)", re.M
)
_SECTION = re.compile(rb"^(?:\[([^\]\n]{1,120})\]|#{2,}[ \t#]*([A-Z][A-Z0-9 /&,.'()_-]{3,80}?)[ \t#]*)\r?$", re.M)


def code(stretch: Stretch) -> Shape:
    marks = _parsed(stretch) or list(_by_lines(stretch))
    return Shape("source code", f"{len(marks)} definitions", landmarks=marks, facts={"definitions": marks})


def markup(stretch: Stretch) -> Shape:
    sample = stretch.sample()
    is_html = len(re.findall(rb"<[a-zA-Z/!]", sample)) * 120 > len(sample)
    marks = list(_html(stretch) if is_html else _markdown(stretch))
    return Shape(
        "HTML" if is_html else "document", f"{len(marks)} headings", landmarks=marks, facts={"headings": marks}
    )


def settings(stretch: Stretch) -> Shape:
    marks = []
    for block in stretch.blocks():
        for found in _SECTION.finditer(block.data):
            name = (found.group(1) or found.group(2)).decode("utf-8", "replace").strip()
            marks.append(Landmark(block.line + block.data.count(b"\n", 0, found.start()), name))
    return Shape("settings", f"{len(marks)} sections" if marks else "", landmarks=marks, facts={"sections": marks})


def _parsed(stretch: Stretch) -> list[Landmark]:
    """The definitions by tree-sitter, when the language is known and its grammar installed."""
    if stretch.end - stretch.start > MOST_PARSED_BYTES:
        return []
    language = grammars.language_of(stretch.call.command, stretch.sample())
    data = stretch.source.read(stretch.start, stretch.end - stretch.start) if language else b""
    found = grammars.definitions(data, language) if language else []
    return [Landmark(stretch.first_line + row, name, level) for row, name, level in found]


def _by_lines(stretch: Stretch) -> Iterator[Landmark]:
    for block in stretch.blocks():
        line, at = block.line, 0
        for start, _, level, label in code_view.definitions(block):
            if not level:
                continue
            line += block.data.count(b"\n", at, start)
            at = start
            yield Landmark(line, code_view.name_of(label), level)


def _html(stretch: Stretch) -> Iterator[Landmark]:
    for block in stretch.blocks():
        found = [(m.start(), int(m.group(1)), _text(m.group(2))) for m in _HTML_HEADING.finditer(block.data)]
        found += [(m.start(), 7, m.group(1).decode("utf-8", "replace")) for m in _HTML_TERM.finditer(block.data)]
        line, at = block.line, 0
        for start, level, name in sorted(found):
            line += block.data.count(b"\n", at, start)
            at = start
            if name:
                yield Landmark(line, name, level)


def _text(data: bytes) -> str:
    text = html.unescape(_TAG.sub(b" ", data).decode("utf-8", "replace"))
    return " ".join(text.replace("¶", " ").split()).rstrip(" #")


def _markdown(stretch: Stretch) -> Iterator[Landmark]:
    fenced = False
    for block in stretch.blocks():
        line, at = block.line, 0
        for found in _MARKDOWN.finditer(block.data):
            fences = len(re.findall(rb"^[ \t]*(?:```|~~~)", block.data[at : found.start()], re.M))
            fenced ^= bool(fences % 2)
            line += block.data.count(b"\n", at, found.start())
            at = found.start()
            if fenced:
                continue
            hashes, title, underlined, rule = found.groups()
            name = " ".join(_TAG.sub(b" ", title or underlined).decode("utf-8", "replace").split()).rstrip("# ")
            if name:
                yield Landmark(
                    line,
                    re.sub(r"[`*]|\]\([^)]*\)|[\[\]]", "", name),
                    len(hashes) if hashes else 1 if rule[:1] == b"=" else 2,
                )
        fences = len(re.findall(rb"^[ \t]*(?:```|~~~)", block.data[at:], re.M))
        fenced ^= bool(fences % 2)
