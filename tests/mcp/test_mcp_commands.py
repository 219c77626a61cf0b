"""Promises about the commands: `serve`, `mcp doctor`, options, settings per server and tool."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client as FastClient
from mcp_wiring import RAW, SERVE, interposed, interposer, lines, python_server

from mcp import Client, StdioServerParameters
from overspill.errors import PolicyError
from overspill.integrations.fastmcp import OverspillMiddleware as OfFastMCP
from overspill.integrations.mcp import OverspillMiddleware as OfTheSDK
from overspill.mcp.asgi import OverspillASGI
from overspill.mcp.assembly import assembled, assembled_in_python
from overspill.mcp.options import MCP, parsed
from overspill.store import open_store

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def stored(content: str) -> str:
    from overspill.core.model import Call

    spill = open_store(os.environ["OVERSPILL_DIR"]).spill(Call(tool="shell"))
    spill.write(content.encode())
    return spill.commit(Call(tool="shell")).handle


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_serve_reads_back_what_others_kept(mode: Any) -> None:
    handle = stored(lines(3_000))
    server = StdioServerParameters(command=SERVE[0], args=SERVE[1:], env=dict(os.environ))
    async with Client(server, mode=mode) as host:
        names = [tool.name for tool in (await host.list_tools()).tools]
        assert names == [f"overspill_{verb}" for verb in ("read", "grep", "outline", "query", "search")]
        page = await host.call_tool("overspill_read", {"handle": handle, "lines": "2000-2001"})
        assert "2001:line 2001" in page.content[0].text
        whole = await host.call_tool("overspill_read", {"handle": handle})
        assert len(whole.model_dump_json(by_alias=True, exclude_none=True)) < 9_000
        wrong = await host.call_tool("overspill_read", {"handle": "ovs_zzzzzzzz"})
        assert wrong.is_error


async def test_serve_and_mcp_stand_in_a_hosts_configuration(tmp_path: Path) -> None:
    """The `mcpServers` file that hosts read, with the installed command: what one server kept, the other reads."""
    overspill = str(Path(sys.executable).with_name("overspill"))
    env = {"OVERSPILL_DIR": str(tmp_path / "kept")}
    servers = {
        "kept": {"command": overspill, "args": ["serve", "--tools", "read"], "env": env},
        "rich": {
            "command": overspill,
            "args": ["mcp", "--tools", "none", "--", *python_server("featured")],
            "env": env,
        },
    }
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    async with FastClient(json.loads(file.read_text())) as host:
        names = {tool.name for tool in await host.list_tools()}
        assert {"kept_overspill_read", "rich_words"} <= names
        assert not [name for name in names if name.startswith("rich_overspill")]
        large = await host.call_tool("rich_words", {"count": 5_000})
        handle = large.meta["overspill"]["handles"][0]
        page = await host.call_tool("kept_overspill_read", {"handle": handle, "lines": "4000"})
        assert "word 3999" in page.content[0].text


def test_serve_refuses_what_it_is_not() -> None:
    asked = b'no json\n{"jsonrpc":"2.0","id":1,"method":"prompts/list"}\n\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n'
    done = subprocess.run(SERVE, input=asked, capture_output=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer.get("error", {}).get("code") for answer in answers] == [-32700, -32601, None]
    assert done.returncode == 0


def test_doctor_says_what_would_be() -> None:
    done = subprocess.run(
        interposer("doctor", "--skip", "plain", "--", *python_server("featured")), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "rich" in done.stdout
    assert "the schema holds: rows, words" in done.stdout
    assert "let through whole: plain" in done.stdout
    assert "read-back  overspill_read, overspill_grep" in done.stdout
    assert "ms with overspill" in done.stdout


@pytest.mark.parametrize(("words", "status"), [([], 2), (["--", "/no/such/server"], 1), (["--", *RAW, "crash"], 1)])
def test_doctor_says_what_is_wrong(words: list[str], status: int) -> None:
    done = subprocess.run(interposer("doctor", *words), capture_output=True, text=True)
    assert done.returncode == status
    assert done.stderr.startswith("overspill: ")


@pytest.mark.parametrize(
    "words",
    [
        ["--max-bytes", "many"],
        ["--max-bytes"],
        ["--structured", "sometimes"],
        ["--unknown"],
        ["--resources=yes"],
    ],
)
def test_a_wrong_option_is_named(words: list[str]) -> None:
    with pytest.raises(PolicyError, match=words[0].partition("=")[0]):
        parsed(MCP, words)


@pytest.mark.parametrize("options", [{"max_bytes": 10}, {"tools": "read,wipe"}, {"keep": "nothing"}])
def test_a_wrong_setting_is_refused_before_the_first_message(options: Any, tmp_path: Path) -> None:
    with pytest.raises(PolicyError):
        assembled(options, start=str(tmp_path), env={})


@pytest.mark.parametrize("prefix", ["a b/", "é", "x" * 49, "a\n"])
def test_a_prefix_that_makes_no_names_is_refused(prefix: str) -> None:
    with pytest.raises(PolicyError, match="--tool-prefix"):
        assembled({"tool_prefix": prefix}, start="/", env={})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_token": 300}, "'max_token' is not accepted: did you mean max_tokens"),
        ({"bogus": 1}, "'bogus' is not accepted: one of max_tokens"),
        ({"url": "http://h/"}, "'url' is not accepted"),
        ({"tools": ["read"]}, r"^tools = \['read'\] is not accepted: a text"),
        ({"max_tokens": 5}, "^max_tokens = 5 "),
        ({"max_tokens": "300"}, "^max_tokens = '300' "),
        ({"tool_prefix": "a b/"}, "^tool_prefix"),
        ({"skip": 1}, "^skip"),
        ({"keep_images": "no"}, "^keep_images"),
        ({"structured": "sometimes"}, "^structured"),
    ],
)
def test_a_wrong_keyword_is_named(options: Any, said: str) -> None:
    for wrapper in (partial(OverspillASGI, None), OfFastMCP, OfTheSDK):
        with pytest.raises(PolicyError, match=said):
            wrapper(**options)


def test_keywords_are_taken_as_python_writes_them(tmp_path: Path) -> None:
    given = {"store": tmp_path / "kept", "skip": "get_*", "max_tokens": 500, "config": None}
    made = assembled_in_python(given, start=str(tmp_path), env={})
    assert made.place == str(tmp_path / "kept")
    assert made.rules.bounder("get_it") is None
    assert made.policy.budget.max_tokens == 500


def test_settings_hold_for_a_server_and_its_tools(tmp_path: Path) -> None:
    (tmp_path / "overspill.toml").write_text(
        '[tools."files/*"]\nmax_bytes = 3000\n[tools."read_*"]\nmax_bytes = 4000\n[tools.whole]\nskip = true\n'
    )
    for name, tool, most in (
        ("files", "list", 3000),
        ("other", "read_it", 4000),
        ("", "read_it", 4000),
        ("", "x", 9000),
    ):
        bounder = assembled({"name": name}, start=str(tmp_path), env={}).rules.bounder(tool)
        assert bounder is not None
        assert bounder.policy.budget.max_bytes == most
    rules = assembled({"skip": ["get_*"]}, start=str(tmp_path), env={}).rules
    assert rules.bounder("whole") is None
    assert rules.bounder("get_it") is None


def test_names_and_number_of_the_own_tools(tmp_path: Path) -> None:
    made = assembled({"tools": "grep", "tool_prefix": "big_"}, start=str(tmp_path), env={}).conversation()
    assert list(made.book.names.values()) == ["big_grep"]
    assert not assembled({"tools": "none"}, start=str(tmp_path), env={}).conversation().book.names


def test_calls_of_a_shell_say_where_the_store_is_when_it_is_elsewhere(tmp_path: Path) -> None:
    options = {"tools": "none", "store": str(tmp_path / "elsewhere")}
    for given, told in ((options, f" --store {tmp_path / 'elsewhere'}"), ({"tools": "none"}, "")):
        bounder = assembled(given, start=str(tmp_path), env={}).rules.bounder("any")
        assert bounder is not None
        header = bounder.bound("".join(f"line {number}\n" for number in range(9000))).header
        assert re.search(r"overspill read ovs_\w+ --lines \d+-\d+(.*) or overspill grep", header)[1] == told  # type: ignore[index]


def test_nothing_heavy_is_loaded_before_it_is_needed() -> None:
    code = (
        "import os, sys\nfrom overspill.mcp import stdio\nfrom overspill.mcp.assembly import assembled\n"
        "assembled({}, start='/', env={}).conversation()\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {
        "sqlite3",
        "asyncio",
        "httpx",
        "re2",
        "click",
        "rich",
        "duckdb",
        "mcp",
        "starlette",
    }


def test_a_server_without_words() -> None:
    done = subprocess.run(interposer(), capture_output=True, text=True)
    assert done.returncode == 2
    assert "say which server" in done.stderr
    assert subprocess.run(interposed([*RAW, "crash"]), capture_output=True).returncode == 3
