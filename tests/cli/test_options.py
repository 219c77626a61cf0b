"""One table of options, two readers: what the quick parser takes, click takes the same way."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill.cli.app import command_of
from overspill.cli.options import TABLES, Option, parsed

VALUES = {
    "size": st.sampled_from(["1", "50", "0", "-3", "x", "1.5", "٣", ""]),
    "status": st.sampled_from(["0", "1", "-9", "x", ""]),
    "duration": st.sampled_from(["5", "0.5s", "2m", "1h", "0", "-1", "nan", "s", ""]),
    "text": st.sampled_from(["a", "", "a b", "-x", "--", "--json", "ż", "a=b"]),
    "flag": st.just(""),
}


def one_option(option: Option) -> st.SearchStrategy[list[str]]:
    flag = st.sampled_from(option.flags)
    if option.kind == "flag":
        return st.builds(lambda flag: [flag], flag)
    joined = st.builds(
        lambda flag, value: [f"{flag}={value}"] if flag.startswith("--") else [flag, value], flag, VALUES[option.kind]
    )
    apart = st.builds(lambda flag, value: [flag, value], flag, VALUES[option.kind])
    return st.one_of(joined, apart)


def command_lines(name: str) -> st.SearchStrategy[list[str]]:
    options = st.lists(st.one_of([one_option(option) for option in TABLES[name]]), max_size=4)
    rest = st.sampled_from(
        [[], ["--"], ["ls"], ["--", "ls", "-l"], ["ls", "--json"], ["-"], ["--what"], ["--", "--json"]]
    )
    return st.builds(lambda options, rest: [word for option in options for word in option] + rest, options, rest)


def by_click(name: str, words: list[str]) -> dict[str, Any] | None:
    command = command_of(name)
    assert command is not None
    seen: dict[str, Any] = {}
    command.callback = lambda **values: seen.update(values)
    try:
        command.main(words, standalone_mode=False)
    except click.ClickException:
        return None
    rest = tuple(seen.pop("words", ()))
    values = {key: value for key, value in seen.items() if value is not None}
    if name == "run" and bool(rest) == ("shell_command" in values):
        return None
    return {**values, "words": rest}


@pytest.mark.parametrize("name", TABLES)
def test_both_readers_agree(name: str) -> None:
    @given(command_lines(name))
    def agree(words: list[str]) -> None:
        quick = parsed(name, words)
        if quick is not None:
            assert quick == by_click(name, words)

    agree()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("run", ["--max-tokens", "5", "--for", "why", "--", "ls", "-l"]),
        ("run", ["--timeout=5m", "-q", "-c", "ls | wc"]),
        ("run", ["ls", "--json"]),
        ("bound", ["--exit-status", "-9", "--json"]),
        ("bound", []),
    ],
)
def test_the_quick_parser_takes_what_is_plainly_right(name: str, words: list[str]) -> None:
    assert parsed(name, words) is not None


def modules_after(*words: str) -> set[str]:
    code = "import sys; from overspill.__main__ import main; status = main(); sys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, input="small\n", check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [("run", "--", "true"), ("run", "--", "echo", "small"), ("bound",), ()])
def test_a_small_output_loads_next_to_nothing(words: tuple[str, ...]) -> None:
    without = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    more = modules_after(*words) - set(without.stdout.split())
    ours = {name for name in more if name.partition(".")[0] == "overspill"}
    assert not {name for name in ours if name.startswith(("overspill.core", "overspill.store", "overspill.bounder"))}
    assert more - ours <= {"select", "fcntl", "__future__", "errno", "_sitebuiltins"}


def test_an_empty_exit_status_is_one_that_is_not_known() -> None:
    assert parsed("bound", ["--exit-status", "", "--command", "make"]) == {"command": "make", "words": ()}
