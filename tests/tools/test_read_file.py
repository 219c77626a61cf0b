"""read_file: whatever the file, its pages put together are the file, and each is within the tool's limits."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overspill import MemoryStore
from overspill.tools import ReadFile

NEXT = re.compile(r"go on: read_file (\{.*\})\]$")


def page(root: Path, **arguments: Any) -> str:
    result = asyncio.run(ReadFile(root, store=MemoryStore()).run(arguments))
    assert not result.is_error, result.content
    assert not result.truncated
    assert len(result.content) <= 5_000
    assert result.content.count("\n") + 1 <= 200
    return str(result.content)


def read_by_pages(root: Path, name: str) -> tuple[str, int]:
    """The whole text, by doing what each page says."""
    asked: dict[str, Any] = {"path": name}
    text, pages, line = "", 0, 0
    while asked:
        lines = page(root, **asked).split("\n")
        following = NEXT.search(lines[-1])
        if lines[-1].startswith("["):
            lines.pop()
        for shown in lines:
            number, _, part = shown.partition("\t")
            text += ("\n" if line and int(number) != line else "") + part
            line = int(number)
        asked = json.loads(following[1]) if following else {}
        pages += 1
    return text, pages


LINES = st.lists(
    st.one_of(
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0[\t"), max_size=60),
        st.builds(str.__mul__, st.sampled_from(["x", "漢", "😀", "é", "👩‍👩‍👧‍👦", "ab "]), st.integers(1, 9_000)),
    ),
    min_size=1,
    max_size=30,
)  # fmt: skip


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, st.booleans())
def test_the_pages_together_are_the_file(tmp_path: Path, lines: list[str], ended: bool) -> None:
    text = "\n".join(lines)
    (tmp_path / "f.txt").write_text(text + ("\n" if ended else ""), "utf-8", newline="")
    if not text:
        return
    assert read_by_pages(tmp_path, "f.txt")[0] == (text if ended else text.removesuffix("\n"))


def test_a_file_of_200_lines_is_one_page_and_one_of_201_is_not(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n" * 200)
    (tmp_path / "b").write_text("x\n" * 201)
    assert page(tmp_path, path="a").count("\n") == 199
    assert "[" not in page(tmp_path, path="a")
    second = page(tmp_path, path="b").split("\n")
    assert len(second) == 200
    assert second[-1] == '[lines 1-199 of 201; go on: read_file {"path": "b", "offset": 200}]'
    assert page(tmp_path, path="b", offset=200).split("\n")[-1] == "[lines 200-201 of 201: the end]"
    assert page(tmp_path, path="a", limit=3).split("\n")[-1].startswith("[lines 1-3 of 200; go on")


def test_one_line_of_a_megabyte_is_read_by_its_bytes(tmp_path: Path) -> None:
    text = "".join(chr(0x4E00 + number % 5_000) for number in range(350_000))
    (tmp_path / "one").write_text(text)
    assert "is not over; go on" in page(tmp_path, path="one")
    first = page(tmp_path, path="one", column=1_000_000).split("\n")
    assert "bytes 1000000-" in first[-1]


def test_names_with_quotes_and_endless_names_make_calls_that_can_be_pasted(tmp_path: Path) -> None:
    name = 'a "quoted" 漢字.txt'
    (tmp_path / name).write_text("x\n" * 500)
    assert json.loads(NEXT.search(page(tmp_path, path=name))[1])["path"] == name  # type: ignore[index]
    deep = "/".join(["d" * 200] * 10)
    (tmp_path / deep).mkdir(parents=True)
    (tmp_path / deep / "f").write_text("word " * 5_000)
    assert "word" in page(tmp_path, path=f"{deep}/f")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": "f", "offset": 9}, "1 to 3: the file has 3 lines"),
        ({"path": "f", "offset": 0}, "1 or more"),
        ({"path": "f", "limit": 0}, "1 or more"),
        ({"path": "f", "column": 6}, "1 to 4: the line has 4 bytes"),
        ({"path": "f", "offset": 3, "column": 50}, "the line has 3 bytes"),
        ({"path": "f", "offset": 3, "column": 4}, "1 to 3: the line has 3 bytes"),
        ({"path": "f", "column": -1}, "1 or more"),
        ({"path": "../f"}, "a path inside"),
        ({"path": "f", "offset": "2"}, "Expected int"),
        ({}, "path"),
    ],
)
def test_a_mistake_is_a_sentence(tmp_path: Path, arguments: dict[str, Any], words: str) -> None:
    (tmp_path / "f").write_text("one.\ntwo.\nend")
    result = asyncio.run(ReadFile(tmp_path, store=MemoryStore()).run(arguments))
    assert result.is_error
    assert words in result.content


def test_what_is_no_text_and_what_is_empty_is_said(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "e").write_bytes(b"")
    assert page(tmp_path, path="b") == '["b" is no text: 6 bytes]'
    assert page(tmp_path, path="e") == '["e" is empty]'


def test_bytes_that_are_no_utf8_come_out_valid(tmp_path: Path) -> None:
    (tmp_path / "l").write_bytes(b"caf\xe9\r\n" * 3 + b"\xff" * 20_000)
    assert page(tmp_path, path="l").startswith("     1\tcaf\ufffd\n")
    assert "bytes 1-" in page(tmp_path, path="l", offset=4)
