"""Handles: short, typable, unambiguous, and never a path."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill import MemoryStore
from overspill.errors import UnknownHandle
from overspill.store.handles import (
    ALPHABET,
    CODE_LENGTH,
    PREFIX,
    SHORT,
    code_of,
    code_range,
    digest_of,
    shortest,
    typed,
)
from overspill.store.local import LocalStore

CODES = st.text(ALPHABET, min_size=CODE_LENGTH, max_size=CODE_LENGTH)


@given(st.binary(min_size=32, max_size=32))
def test_a_code_is_the_whole_digest(digest: bytes) -> None:
    code = code_of(digest.hex())
    assert len(code) == CODE_LENGTH
    assert set(code) <= set(ALPHABET)
    assert digest_of(code) == digest.hex()


def test_handles_are_stable_over_versions() -> None:
    # Transcripts and prompt caches hold these: a change of spelling loses them.
    assert shortest(code_of(hashlib.sha256(b"").hexdigest()), ()) == "ovs_werc8gmr"


@given(CODES, st.lists(CODES, max_size=5), st.integers(0, CODE_LENGTH - 1))
def test_as_long_as_needed_and_no_longer(code: str, others: list[str], shared: int) -> None:
    near = code[:shared] + ALPHABET[(ALPHABET.index(code[shared]) + 1) % 32] * (CODE_LENGTH - shared)
    everyone = [*others, near, code]
    handle = shortest(code, everyone)
    assert not any(other.startswith(handle[4:]) for other in everyone if other != code)
    assert len(handle) == 4 + SHORT or any(other.startswith(handle[4:-1]) for other in everyone if other != code)


@pytest.mark.parametrize(
    "written",
    ["ovs_7k2m9x4q", " ovs_7k2m9x4q\n", "`ovs_7k2m9x4q`", "[ovs_7k2m9x4q]", '"ovs_7k2m9x4q".', "OVS_7K2M9X4Q",
     "7k2m9x4q", "(ovs_7k2m9x4q),", "<ovs_7k2m9x4q>"],
)  # fmt: skip
def test_what_people_type_is_understood(written: str) -> None:
    assert typed(written) == "7k2m9x4q"


def test_letters_that_look_like_digits_are_read_as_these() -> None:
    assert typed("ovs_OIl0") == "0110"


@given(st.text(max_size=60))
def test_nothing_else_gets_through(text: str) -> None:
    start = ""
    with suppress(UnknownHandle):
        start = typed(text)
    assert set(start) <= set(ALPHABET)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("ovs_00000000", "no output 'ovs_00000000' is kept here; `overspill ls` lists what is kept"),
        (" `0000abcd`.", "no output '0000abcd' is kept here; `overspill ls` lists what is kept"),
        ("NOPE", "no output 'NOPE' is kept here; it was read as ovs_n0pe; `overspill ls` lists what is kept"),
        ("ovs_lucky", "no output 'ovs_lucky' is kept here; `overspill ls` lists what is kept"),
    ],
)
def test_an_unknown_one_is_quoted_as_it_was_typed(asked: str, said: str, tmp_path: Path) -> None:
    for store in (LocalStore(tmp_path / "none"), MemoryStore()):
        with pytest.raises(UnknownHandle) as refused:
            store.stored(asked)
        assert str(refused.value) == said


def test_a_refusal_is_short() -> None:
    with pytest.raises(UnknownHandle) as refused:
        typed("../" * 5000)
    assert len(str(refused.value)) < 400


@given(CODES, CODES, st.integers(1, CODE_LENGTH))
def test_a_range_is_a_prefix(code: str, other: str, length: int) -> None:
    first, last = code_range(code[:length])
    assert (first <= other < last) == other.startswith(code[:length])
    assert first <= code < last


def test_prefix() -> None:
    assert PREFIX == "ovs_"
