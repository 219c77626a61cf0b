"""Outputs for the tests of read-back: any bytes, kept in a store; and the shapes that break readers."""

from __future__ import annotations

from hypothesis import strategies as st

from overspill.core.access import Shell
from overspill.core.model import Budget, Call
from overspill.core.policy import Policy
from overspill.store import MemoryStore

LINES = st.lists(
    st.one_of(
        st.binary(max_size=60),
        st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.sampled_from(
            [
                b"",
                b"plain text",
                b"\xe4\xb8\xad\xe6\x96\x87" * 40,
                "👩‍👩‍👧‍👦".encode() * 30,
                b"\x1b[31mred\x1b[0m " * 30,
                b"10%\r20%\r100%",
                b"x" * 5000,
                b"crlf\r",
                b"\x00\xff\xfe" * 50,
                b"\xed\xa0\x80 lone",
            ]
        ),
    ),
    max_size=12,
)
OUTPUTS = st.one_of(
    st.binary(max_size=400), st.tuples(LINES, st.booleans()).map(lambda made: b"\n".join(made[0]) + b"\n" * made[1])
)
BUDGETS = st.one_of(
    st.builds(Budget, max_tokens=st.integers(300, 900)),
    st.builds(Budget, max_bytes=st.integers(600, 3000)),
    st.builds(Budget, max_chars=st.integers(600, 3000)),
    st.builds(Budget, max_tokens=st.integers(300, 900), max_lines=st.integers(4, 20)),
)


def keep(data: bytes, **call: str) -> tuple[MemoryStore, str]:
    """A store that holds the output, and its handle."""
    store = MemoryStore()
    spill = store.spill(Call(**call))  # type: ignore[arg-type]
    spill.write(data)
    return store, spill.commit(Call(**call)).handle  # type: ignore[arg-type]


def tight(budget: Budget) -> Policy:
    return Policy(budget=budget, access=Shell())
