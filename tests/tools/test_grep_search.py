"""grep_search: the same with ripgrep and without, within its room on any data, nothing outside the root."""

from __future__ import annotations

import asyncio
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

from overspill import MemoryStore
from overspill.tools import GrepSearch, ripgrep

needs_ripgrep = pytest.mark.skipif(ripgrep.program("rg") is None, reason="ripgrep is not installed")


def tool(root: Path, *, rg: str | None = None, **limits: int) -> GrepSearch:
    made = GrepSearch(root, store=MemoryStore(), rg=rg)
    for name, value in limits.items():
        setattr(made, name, value)
    return made


def found(root: Path, pattern: str, *, rg: str | None = None, **arguments: Any) -> str:
    result = asyncio.run(tool(root, rg=rg).run({"pattern": pattern, **arguments}))
    assert not result.truncated
    return str(result.content)


def write(root: Path, name: str, content: str | bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


PATTERNS = [
    "needle", "needle$", "^needle", r"\bneedle\b", r"\w+", r"\d{2,}", r"[^a-z\d]+$", r"x.y", r"(?i)NEEDLE", "é+",
    r"\s$",
    r"[[:upper:]]", r"a|b|ccc", r"\Aneedle", r"needle\z", r"\Bq", r"[]x]", r"[[]", r"[a&&b]", r"\<", r"[\w-]+@", "^$",
    r"\x41", r"\pN", r"(?P<n>ne)(e)", r"(?-m:^a)", r"{", r"a{,2}", r"(?s)a.b", r"[^\W]", r"\Qa.b\E", "foo[^x]",
]  # fmt: skip


@needs_ripgrep
def test_with_ripgrep_and_without_the_answer_is_the_same(tmp_path: Path) -> None:
    source = random.Random(7)
    pieces = [
        "needle",
        "NEEDLE",
        "héé",
        "日本",
        "12",
        "x\ry",
        "x y",
        "q",
        "A",
        "[]",
        "{",
        "<a>",
        "a.b",
        "foo",
        "٣",
        "@",
        "",
    ]
    for number in range(60):
        lines = [" ".join(source.choices(pieces, k=source.randrange(4))) for _ in range(source.randrange(30))]
        end = source.choice(["\n", "\r\n"])
        write(tmp_path, f"d{number % 5}/f{number}.txt", end.join(lines) + source.choice(["", end]))
    write(tmp_path, "bad.txt", b"\xff\xfe needle \xe9\n" * 5)
    write(tmp_path, "binary", b"needle\0" * 50)
    write(tmp_path, "late.bin", b"needle\n" * 3_000 + b"\0needle\n")
    write(tmp_path, "utf16.txt", "needle\n".encode("utf-16"))
    write(tmp_path, "bom.txt", "\ufeffneedle\n")
    write(tmp_path, ".gitignore", "d3/\n*.tmp\n")
    write(tmp_path, "d1/.gitignore", "f1.txt\n!f6.txt\n")
    write(tmp_path, ".ignore", "d0\n")
    write(tmp_path, "x.tmp", "needle\n")
    write(tmp_path, "d2/.git/info/needle", "needle\n")
    write(tmp_path, ".hidden/needle", "needle\n")
    for pattern in PATTERNS:
        for path in (".", "d1", "d3", "d0/f0.txt"):
            with_it = found(tmp_path, pattern, rg="rg", path=path)
            assert with_it == found(tmp_path, pattern, rg=None, path=path), (pattern, path)
    assert "needle" in found(tmp_path, "needle", rg="rg")


@pytest.mark.parametrize("pattern", [pattern for pattern in PATTERNS if pattern not in (r"(?-m:^a)", r"[^\W]")])
def test_what_ripgrep_is_asked_is_never_less_than_what_is_wanted(pattern: str) -> None:
    said = ripgrep.translated(pattern)
    if said is None:
        assert re.search(r"\{,|&&|\(\?s\)|\\Q", pattern) or pattern == "{"


@needs_ripgrep
def test_ripgrep_spares_the_files_without_a_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.txt", "needle\n")
    write(tmp_path, "b.txt", "hay\n")
    opened: list[str] = []
    searching = tool(tmp_path, rg="rg")
    monkeypatch.setattr(
        searching._root, "open", lambda path, open=searching._root.open: opened.append(path.name) or open(path)
    )
    assert searching.execute("needle").startswith("[1 match in 1 file]")
    assert "b.txt" not in opened


def test_matches_close_together_are_one_block_and_never_more_than_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "".join(f"line {number}\n" for number in range(1, 301)))
    content = found(tmp_path, "line")
    assert content.startswith("[showing the first 100 of 300 matches in 1 file; narrow")
    assert content.count("a.txt:") == 100
    assert "--" not in content
    apart = found(tmp_path, "line (10|20)$", context=1)
    assert apart.split("\n")[1:] == [
        "a.txt-9- line 9", "a.txt:10: line 10", "a.txt-11- line 11", "--",
        "a.txt-19- line 19", "a.txt:20: line 20", "a.txt-21- line 21",
    ]  # fmt: skip


def test_where_everything_matches_something_is_shown_all_the_same(tmp_path: Path) -> None:
    write(tmp_path, "wide.txt", ("word " * 70 + "\n") * 2_000)
    content = found(tmp_path, "word", context=50)
    shown = re.match(r"\[showing the first (\d+) of 2000 matches", content)
    assert shown
    assert int(shown[1]) == content.count("wide.txt:") > 10
    assert len(content) <= 8_000


def test_context_that_does_not_fit_gives_way_to_the_match(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", ("x" * 390 + "\n") * 60 + "needle\n" + ("y" * 390 + "\n") * 60)
    content = found(tmp_path, "needle", context=50)
    assert "a.txt:61: needle" in content
    assert len(content) <= 8_000


def test_in_a_line_of_30_megabytes_the_window_around_the_match_is_shown(tmp_path: Path) -> None:
    before = 17_000_000
    write(tmp_path, "one.json", b"first\n" + b"a" * before + b" needle " + b"b" * 13_000_000 + b"\nlast\n")
    content = found(tmp_path, "needle", context=0)
    assert "one.json:2: [bytes" in content
    assert " needle " in content
    place = re.search(r"\[bytes (\d+)-(\d+)\]", content)
    assert place
    assert int(place[1]) <= before + 2 <= int(place[2])
    assert len(content) < 1_000
    assert "one.json:3: last" in found(tmp_path, "last")


@pytest.mark.parametrize(
    ("include", "names"),
    [
        ("*.py", {"a.py", "src/b.py", "src/deep/c.py"}),
        ("src/**/*.py", {"src/b.py", "src/deep/c.py"}),
        ("*.{ts,tsx}", {"src/d.ts", "src/e.tsx"}),
        ("src/", {"src/b.py", "src/d.ts", "src/e.tsx", "src/deep/c.py"}),
        ("!*.py", {"src/d.ts", "src/e.tsx"}),
        ("nothing*", set()),
    ],
)
@pytest.mark.parametrize("rg", [None, pytest.param("rg", marks=needs_ripgrep)])
def test_include_is_a_pattern_as_models_write_them(
    tmp_path: Path, include: str, names: set[str], rg: str | None
) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/d.ts", "src/e.tsx"):
        write(tmp_path, name, "needle\n")
    content = found(tmp_path, "needle", include=include, rg=rg)
    assert set(re.findall(r"^([^\[:\n]+):1: needle", content, re.MULTILINE)) == names


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"pattern": "("}, "bad pattern"),
        ({"pattern": ""}, "it is empty"),
        ({"pattern": "(?=x)"}, "lookahead isn't supported"),
        ({"pattern": "x", "path": "../.."}, "a path inside"),
        ({"pattern": "x", "path": "nowhere"}, "that is there"),
        ({"pattern": "x", "context": 51}, "0 to 50"),
        ({"pattern": "x", "include": "{a,b}" * 20}, "at most 100 alternatives"),
    ],
)
def test_a_mistake_is_a_sentence(tmp_path: Path, arguments: dict[str, Any], words: str) -> None:
    result = asyncio.run(tool(tmp_path).run(arguments))
    assert result.is_error
    assert words in result.content


@pytest.mark.parametrize("rg", [None, pytest.param("rg", marks=needs_ripgrep)])
def test_a_pipe_is_not_waited_for_and_odd_words_are_a_sentence(tmp_path: Path, rg: str | None) -> None:
    write(tmp_path, "a.txt", "x\0\n")
    os.mkfifo(tmp_path / "pipe")

    def said(**arguments: str) -> str:
        return str(asyncio.run(asyncio.wait_for(tool(tmp_path, rg=rg).run(arguments), 20)).content)

    assert said(pattern="x", path="pipe").endswith("a regular file or a directory")
    assert said(pattern="x", path="n" * 5_000).startswith("path 'nnn")
    assert said(pattern="x\0").startswith("no match for")


@pytest.mark.parametrize("ending", ["left alone", "too long"])
def test_a_ripgrep_that_nobody_waits_for_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    write(tmp_path, "root/a.txt", "x\n")
    write(tmp_path, "rg", f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    (tmp_path / "rg").chmod(0o755)
    searching = tool(tmp_path / "root", rg=str(tmp_path / "rg"))

    async def main() -> None:
        running = asyncio.ensure_future(searching.run({"pattern": "x"}))
        for _ in range(1_000):
            await asyncio.sleep(0.01)
            if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
                break
        if ending == "left alone":
            running.cancel()
            await asyncio.wait({running})
        else:
            assert (await running).content.startswith("[1 match in 1 file]")
        for _ in range(300):
            try:
                os.kill(int((tmp_path / "pid").read_text()), 0)
            except ProcessLookupError:
                return
            await asyncio.sleep(0.02)
        raise AssertionError("it goes on")

    if ending == "too long":
        monkeypatch.setattr(ripgrep, "MOST_SECONDS", 0.2)
    asyncio.run(asyncio.wait_for(main(), 20))


def test_a_pattern_that_would_hang_others_does_not_hang(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "a" * 50_000 + "\n")
    assert found(tmp_path, "(a+)+$").startswith("[1 match")
    assert found(tmp_path, "(a|aa)+b") == "no match for '(a|aa)+b'"


def test_own_limits_hold(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "line\n" * 900)
    content = tool(tmp_path, MAX_OUTPUT_CHARS=3_000, MAX_OUTPUT_LINES=20).execute("line")
    assert content.count("\n") < 20
    assert "showing the first 19 of 900" in content


def test_a_pattern_that_is_none_is_refused_with_what_this_tool_understands(tmp_path: Path) -> None:
    result = asyncio.run(tool(tmp_path).run({"pattern": "f(x"}))
    assert result.is_error
    assert "missing )" in result.content
    assert result.content.endswith("put a backslash before each that has a meaning")
