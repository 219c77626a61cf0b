"""Test runs: their sections, and each failure by its name, with lines.

Beside what a log of any kind is told by.  A failure is listed where its details stand when the runner
prints them, else where it is named.
"""

from __future__ import annotations

import re
from dataclasses import replace

from overspill.retrieve.shapes import logs
from overspill.retrieve.shapes.model import Landmark, Shape, Stretch

_SECTION = re.compile(
    rb"^(?:={3,} (?P<ruled>[^=\n][^\n]*?) ={3,}|(?P<plain>failures:|Failures:|FAILURES!*|short test summary info"
    rb"|There (?:was|were) \d+ (?:failure|error)s?:|Ran \d+ tests? in [^\n]*|Tests run: [^\n]*"
    rb"|test result: [^\n]*))\r?$",
    re.MULTILINE,
)
_DETAILED = re.compile(
    rb"^(?:_{3,} (?P<pytest>[^\n]+?) _{3,}"
    rb"|---- (?P<cargo>\S+) stdout ----"
    rb"|(?:FAIL|ERROR): (?P<unittest>\w+ \([^)\n]+\))[^\n]*"
    rb"|[ \t]*--- FAIL: (?P<go>\S+) [^\n]*"
    rb"|\d+\) (?P<junit>[\w$.\[\]]+\([\w$.]+\))"
    rb"|[ \t]+\xe2\x97\x8f (?P<jest>[^\n]+)"
    rb"|[ \t]*not ok \d+ (?:- )?(?P<tap>[^\n]+)"
    rb"|\[  FAILED  \] (?P<googletest>[\w/.]+)[^\n]*)\r?$",
    re.MULTILINE,
)
_NAMED = re.compile(
    rb"^(?:(?P<verbose>\S+::[^\n]+?) (?:FAILED|ERROR)\b[^\n]*"
    rb"|(?:FAILED|ERROR) (?P<summary>\S+::\S+)[^\n]*"
    rb"|test (?P<cargo>\S+) \.\.\. FAILED[^\n]*)$",
    re.MULTILINE,
)
"""``FAILED`` without details, as verbose runs and summaries have it."""


def test_run(stretch: Stretch, *, kind: str) -> Shape:
    log = logs.log(stretch, kind=kind)
    sections, detailed, named = (_marks(stretch, pattern) for pattern in (_SECTION, _DETAILED, _NAMED))
    failures = detailed or named
    if not failures:
        return log
    headline = f"{len(failures)} failure{'s' if len(failures) != 1 else ''} named"
    marks = [mark._replace(level=1) for mark in sections.values()] + [
        mark._replace(level=2) for mark in failures.values()
    ]
    facts = {
        **log.facts,
        "sections": {mark.line: mark.name for mark in sections.values()},
        "failures": {name: mark.line for name, mark in failures.items()},
    }
    return replace(log, headline=headline, landmarks=sorted(marks), facts=facts)


def _marks(stretch: Stretch, pattern: re.Pattern[bytes]) -> dict[str, Landmark]:
    """What it names, by name, each where it stands first."""
    marks: dict[str, Landmark] = {}
    for block in stretch.blocks():
        line, at = block.line, 0
        for found in pattern.finditer(block.data):
            if found.start() == 0 and block.column:
                continue
            line += block.data.count(b"\n", at, found.start())
            at = found.start()
            name = found.group(found.lastgroup or 0).decode("utf-8", "replace").strip()
            marks.setdefault(name, Landmark(line, name))
    return marks
