"""One budget for all that `run` shows: whatever comes, on whichever stream, and however much comes later."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.commands import overspill, shell
from cli.test_run import handle_in
from overspill import Budget, Policy
from overspill.cli.output import Output
from overspill.cli.policies import Chosen
from overspill.process import Ending

NUMBERS = "".join(f"{number}\n" for number in range(1, 20_001)).encode()
LEAST = {"max_bytes": 367, "max_tokens": 163, "max_chars": 269, "max_lines": 4}
"""What a policy takes at least."""


@contextmanager
def printed() -> Iterator[Callable[[], tuple[bytes, bytes]]]:
    """What reaches the two streams meanwhile."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        saved = os.dup(1), os.dup(2)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            yield lambda: (out.seek(0) or out.read(), err.seek(0) or err.read())
        finally:
            for stream, kept in enumerate(saved, 1):
                os.dup2(kept, stream)
                os.close(kept)


def ending(exit_code: int, *, goes_on: bool, timed_out: bool = False) -> Ending:
    return Ending(exit_code, 1.0, timed_out=timed_out, by_terminal=False, lingering={9: 1} if goes_on else {})


lines = st.sampled_from(
    [b"", b"\n", b"a", b"one line\n", "漢字 👩‍👩‍👧 \n".encode(), b"\xff\0\n", NUMBERS[:300], NUMBERS, b"x" * 50_000]
)
chunks = st.lists(st.tuples(st.sampled_from([1, 2]), lines), max_size=3)
budgets = st.builds(
    lambda unit, more: {unit: LEAST[unit] + (more // 8 if unit == "max_lines" else more)},
    st.sampled_from(sorted(LEAST)),
    st.sampled_from([0, 1, 8, 30, 300]),
)


@given(budgets, chunks, chunks, st.sampled_from([0, 3]), st.booleans(), st.booleans())
def test_the_whole_fits_with_all_that_comes_later(
    sizes: dict[str, int], first: list[Any], later: list[Any], exit_code: int, merged: bool, timed_out: bool
) -> None:
    output = Output(Chosen(dict(sizes), tool="shell", command="x"), merged=merged)
    with printed() as seen:
        for stream, data in first:
            output.take(1 if merged else stream, data)
        end = ending(exit_code, goes_on=True, timed_out=timed_out)
        output.finish(end)
        before = b"".join(seen())
        after = output.again()
        for stream, data in later:
            after.take(1 if merged else stream, data)
        after.finish(end.afterwards())
        shown = seen()
    policy = Policy(budget=Budget(**sizes))
    whole = b"".join(shown).decode("utf-8", "replace")
    assert policy.measure.fits(whole, policy.budget)
    if any(data for _, data in later):
        assert b"".join(shown) != before or "max_lines" in sizes, "what came later is told"


@pytest.mark.parametrize("unit", sorted(LEAST))
@pytest.mark.parametrize("place", ["", "/dev/null/none"], ids=["kept", "not kept"])
def test_at_the_least_budget_one_line_tells_what_came_later(unit: str, place: str) -> None:
    options = {unit: LEAST[unit]} | ({"store": place} if place else {})
    output = Output(Chosen(options, tool="shell", command="x"), merged=True)
    with printed() as seen:
        output.take(1, NUMBERS)
        output.finish(ending(3, goes_on=True))
        later = output.again()
        later.take(1, NUMBERS)
        later.finish(ending(3, goes_on=True).afterwards())
        told = seen()[0].decode().splitlines()
    ended = next(at for at, line in enumerate(told) if line.startswith("[overspill: exit status 3 "))
    assert told[ended + 1].startswith("[overspill")
    assert "of 20000 lines shown" in told[ended + 1]


@pytest.mark.parametrize("most", [367, 500, 790])
@pytest.mark.parametrize("first", ["seq 20000", "seq 130"])
def test_what_comes_later_fits_beside_what_was_shown(most: int, first: str) -> None:
    script = f"{first}; (sleep .6; seq 20000; echo the last) & exit 0"
    for streams in (subprocess.STDOUT, subprocess.PIPE):
        done = overspill("run", "--max-bytes", str(most), *shell(script)[1:], stdout=subprocess.PIPE, stderr=streams)
        assert len(done.stdout) + len(done.stderr or b"") <= most
        told = handle_in(b"ovs_" + done.stdout.rpartition(b"[overspill ovs_")[2])
        assert overspill("show", "--raw", told).stdout.endswith(NUMBERS + b"the last\n")


def test_what_comes_later_begins_on_a_line_of_its_own_when_it_is_cut() -> None:
    done = overspill("run", *shell("printf unfinished; (sleep .6; seq 20000) & exit 0")[1:])
    assert done.stdout.startswith(b"unfinished\n[overspill ovs_")
    assert len(done.stdout) <= 9_000
    done = overspill("run", *shell("printf unfinished; (sleep .6; echo ' no more') & exit 0")[1:])
    assert done.stdout == b"unfinished no more\n"
