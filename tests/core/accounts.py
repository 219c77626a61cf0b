"""Checks a bounded result against its source, without trusting anything overspill computed."""

from __future__ import annotations

import re

import regex

from overspill.core.measure import display
from overspill.core.model import Bounded, Budget
from overspill.core.policy import Policy

ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)|[ -/]*[0-~])")


def assert_kept_promises(bounded: Bounded, source: bytes, policy: Policy) -> None:
    assert_fits(bounded.text, policy)
    bounded.text.encode("utf-8")  # valid Unicode
    if not bounded.truncated:
        return
    assert bounded.header + bounded.excerpt == bounded.text
    assert_accounted(bounded, source)
    assert_verbatim(bounded, source)
    assert_cut_safely(bounded, source)


def assert_fits(text: str, policy: Policy) -> None:
    budget: Budget = policy.budget if policy.limit is None else policy.limit
    if budget.max_bytes:
        assert len(text.encode("utf-8")) <= budget.max_bytes
    if budget.max_chars:
        assert len(text) <= budget.max_chars
    if budget.max_lines:
        assert len(text.split("\n")) - text.endswith("\n") <= budget.max_lines
    if budget.max_tokens:
        assert policy.counter(text) <= budget.max_tokens


def assert_accounted(bounded: Bounded, source: bytes) -> None:
    total_lines = source.count(b"\n") + (source[-1:] not in (b"\n", b""))
    assert (bounded.total_bytes, bounded.total_lines) == (len(source), total_lines)
    at, shown = 0, set()
    for part in bounded.parts:
        stretch = part.span or part.gap
        assert stretch is not None
        assert stretch.start == at
        at = stretch.end
        first = source.count(b"\n", 0, stretch.start) + 1
        last = source.count(b"\n", 0, stretch.end - 1) + 1
        column = stretch.start - (source.rfind(b"\n", 0, stretch.start) + 1)
        if part.span:
            assert (part.span.line, part.span.column) == (first, column)
            shown.update(range(first, last + 1))
        elif part.gap:
            assert (part.gap.first_line, part.gap.last_line, part.gap.first_column) == (first, last, column)
            ends_line = stretch.end == len(source) or source[stretch.end - 1 : stretch.end] == b"\n"
            assert (part.gap.last_column is None) == ends_line
            if not ends_line:
                assert part.gap.last_column == stretch.end - (source.rfind(b"\n", 0, stretch.end) + 1)
    assert at == len(source)
    assert bounded.kept_bytes + bounded.omitted_bytes == len(source)
    assert bounded.kept_lines == len(shown)
    assert bounded.omitted_lines == total_lines - len(shown)
    assert tuple(part.gap for part in bounded.parts if part.gap) == bounded.gaps


def assert_verbatim(bounded: Bounded, source: bytes) -> None:
    spans = [part for part in bounded.parts if part.span]
    assert spans, "a non-empty output never yields an empty excerpt"
    for part in spans:
        assert part.span is not None
        assert part.span.data == source[part.span.start : part.span.end]
        assert part.text == display(part.span.data)
        assert_subsequence(part.text, source[part.span.start : part.span.end])


def assert_subsequence(shown: str, source: bytes) -> None:
    """Every character shown stands in the source, in order; U+FFFD stands for what is not UTF-8."""
    text = source.decode("utf-8", "replace")
    at = 0
    for char in shown:
        if char == "\ufffd":
            continue
        at = text.find(char, at) + 1
        assert at, f"{char!r} is not from the source"


def assert_cut_safely(bounded: Bounded, source: bytes) -> None:
    borders = {border for gap in bounded.gaps for border in (gap.start, gap.end)} - {0, len(source)}
    for border in borders:
        assert not (source[border - 1 : border] == b"\r" and source[border : border + 1] == b"\n")
        for escape in ESCAPE.finditer(source, max(0, border - 200), border + 200):
            assert not escape.start() < border < escape.end(), "cut inside an escape sequence"
        line_start = source.rfind(b"\n", 0, border) + 1
        if line_start == border:
            continue
        nearby = source[max(line_start, border - 400) : border + 400]
        assert_cluster_border(nearby, border - max(line_start, border - 400))


def assert_cluster_border(data: bytes, border: int) -> None:
    try:
        before, after = data[:border].decode("utf-8"), data[border:].decode("utf-8", "replace")
    except UnicodeDecodeError:
        return  # not text: there are no clusters to cut
    at = 0
    for cluster in regex.findall(r"\X", before + after):
        if at < len(before) < at + len(cluster):
            assert len(cluster) > 16, f"cut inside the cluster {cluster!r}"
        at += len(cluster)
