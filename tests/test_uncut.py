"""What passes whole, told to or by a fault: nothing is cut, and its secrets are taken out all the same."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overspill import MemoryStore, configured, preset
from overspill.config import load
from overspill.envelope import bound_envelope
from overspill.tools import Middleware, ToolResult, repository_tools

SECRET = "ghp_" + "a1B2" * 9
MARK = "[redacted: github token]"
LONG = "".join(f"{number:07}\n" for number in range(20_000))


def is_whole(text: str) -> bool:
    return text == LONG + MARK


def raises(tool: str, result: ToolResult) -> bool:
    raise RuntimeError("no verdict")


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"store": "file"}, {}),
        ({}, {"max_bytes": 10}),
        ({"should_truncate": raises}, {}),
        ({"should_truncate": lambda *_: False}, {}),
        ({"skip": ["read"]}, {}),
        ({}, {"skip": True}),
    ],
)
def test_the_middleware_lets_no_secret_through(
    settings: dict[str, Any], options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("no directory")
    through = Middleware("registry", redact=True, **{"store": MemoryStore(), **settings})
    assert is_whole(asyncio.run(through.apply(LONG + SECRET, "read", options=options)).content)
    pieces = iter([LONG, SECRET[:9], SECRET[9:]])
    if settings.get("store") != "file":
        assert is_whole(asyncio.run(through.apply(pieces, "read", options=options)).content)


def test_a_store_that_fails_lets_no_secret_through(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    bounded = preset("registry", store=tmp_path / "file", redact=True).bound(LONG + SECRET)
    assert is_whole(bounded.text)
    assert bounded.redactions == 1


def test_an_envelope_that_skips_lets_no_secret_through() -> None:
    envelope = {"data": LONG + " " + SECRET, "context": {"truncation_skip": True}}
    whole = bound_envelope(envelope, bounder=preset("unified", store=MemoryStore(), redact=True))
    assert whole == {**envelope, "data": LONG + " " + MARK}


@pytest.mark.parametrize("command", [["bound"], ["bound", "--json"], ["run", "--", "cat"]])
def test_the_command_line_lets_no_secret_through(command: list[str], tmp_path: Path) -> None:
    env = {**os.environ, "OVERSPILL_SKIP": "1", "OVERSPILL_REDACT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "overspill", *command],
        input=(LONG + SECRET).encode(), cwd=tmp_path, env=env, capture_output=True, check=True,
    )  # fmt: skip
    assert SECRET.encode() not in done.stdout
    assert MARK.encode() in done.stdout
    assert len(done.stdout) > len(LONG)


@pytest.mark.parametrize(
    "bounds",
    [
        lambda: preset("registry", store=MemoryStore(), skip=True),
        lambda: preset("registry", store=MemoryStore(), tool="read"),
        lambda: preset("opencode", store=MemoryStore(), skip=True),
        lambda: configured(store=MemoryStore(), skip=True),
        lambda: configured(store=MemoryStore(), tool="read_file"),
    ],
)
def test_skip_is_heard_wherever_a_bounder_comes_from(
    bounds: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("overspill.toml").write_text("[tools.read_file]\nskip = true\n")
    bounder = bounds()
    assert bounder.bound(LONG).text is LONG
    assert bounder.bound(iter([LONG, LONG])).text == LONG * 2
    parts = [{"type": "text", "text": LONG}, {"type": "text", "text": LONG}]
    assert bounder.tool(lambda: parts)() is parts


def test_a_shell_that_a_file_tells_to_skip_shows_all(tmp_path: Path) -> None:
    (tmp_path / "overspill.yaml").write_text("tools: {bash: {skip: true}}\n")
    bash = repository_tools(tmp_path, store=MemoryStore(), configuration=load(tmp_path, {}))[-1]
    result = asyncio.run(bash.run({"command": "seq 30000"}))
    assert "\n15000\n" in result.content
