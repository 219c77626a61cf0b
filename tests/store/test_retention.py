"""Retention: what goes follows from rows, limits and the time, and what is in use stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill.core.model import Call
from overspill.core.ports import Stored
from overspill.errors import PolicyError
from overspill.store.quantities import duration_days, size_bytes
from overspill.store.retention import DAY_SECONDS, Retention, doomed

NOW = 1_000 * DAY_SECONDS


def row(name: str, *, size: int = 1, days: float = 0, read_days: float | None = None, **more: object) -> Stored:
    read = NOW - (days if read_days is None else read_days) * DAY_SECONDS
    values = {"call": Call(session=str(more.pop("session", ""))), **more}
    return Stored(
        handle=name,
        digest=name,
        bytes=size,
        lines=1,
        created=NOW - days * DAY_SECONDS,
        read=read,
        **values,  # type: ignore[arg-type]
    )


def gone(rows: list[Stored], leased: tuple[str, ...] = (), **limits: object) -> list[str]:
    retention = Retention(**{"days": None, "max_total_bytes": None, **limits})  # type: ignore[arg-type]
    return [each.row.handle for each in doomed(rows, retention, now=NOW, leased=leased)]


def test_age() -> None:
    rows = [row("a", days=7.001), row("b", days=6.999), row("c", days=30, pinned=True), row("d", days=30)]
    assert set(gone(rows, days=7, leased=("d",))) == {"a"}


def test_least_recently_read_goes_first() -> None:
    rows = [row("old-but-read", size=5, days=5, read_days=0.1), row("young", size=5, days=1), row("new", size=5)]
    assert gone(rows, max_total_bytes=10) == ["young"]
    assert gone(rows, max_outputs=2) == ["young"]
    assert gone(rows, max_outputs=1) == ["young", "old-but-read"]


def test_the_newest_stays_even_when_it_is_too_big_alone() -> None:
    assert gone([row("a", size=3, days=1), row("b", size=100)], max_total_bytes=10) == ["a"]


def test_a_time_that_lies_ahead_tells_nothing() -> None:
    # Taken from a clock that was wrong: else such outputs would outlive all others for years.
    ahead = [row("ahead", size=5, days=-3650), row("pinned", size=5, days=-3650, pinned=True)]
    rows = [*ahead, row("old", size=5, days=2), row("new", size=5, days=-0.01)]
    assert gone(rows, max_total_bytes=15) == ["ahead"]
    assert gone(rows, max_total_bytes=10) == ["ahead", "old"]
    assert gone(rows, days=7) == []


def test_per_session() -> None:
    rows = [row(f"{session}{days}", days=days, session=session) for session in "ab" for days in (3, 2, 1)]
    rows += [row("none1", days=9), row("none2", days=9)]
    assert sorted(gone(rows, max_per_session=2)) == ["a3", "b3"]


def test_compressed_outputs_count_as_what_they_take() -> None:
    assert gone([row("a", size=1000, days=1, kept_bytes=3), row("b", size=5)], max_total_bytes=10) == []


def test_reasons_are_words() -> None:
    rows = [row("a", days=8), row("b", size=50, days=1), row("c", size=50)]
    reasons = [each.reason for each in doomed(rows, Retention(days=7, max_total_bytes=60), now=NOW)]
    assert reasons == ["older than 7 days", "over 60 bytes, least recently read"]


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.floats(0, 20), st.booleans(), st.sampled_from(["", "s", "t"])), max_size=25
    ),
    st.one_of(st.none(), st.integers(0, 200)),
    st.one_of(st.none(), st.integers(1, 9)),
    st.one_of(st.none(), st.integers(1, 5)),
    st.one_of(st.none(), st.floats(0, 15)),
)
def test_what_stays_is_within_the_limits(
    found: list[tuple[int, float, bool, str]], size: int | None, count: int | None, each: int | None, days: float | None
) -> None:
    rows = [
        row(f"{number:03}", size=one, days=age, pinned=pinned, session=session)
        for number, (one, age, pinned, session) in enumerate(found)
    ]
    taken = gone(rows, days=days, max_total_bytes=size, max_outputs=count, max_per_session=each)
    assert len(taken) == len(set(taken))
    stays = [one for one in rows if one.handle not in taken]
    assert not any(one.pinned for one in rows if one.handle in taken)
    free = [one for one in stays if not one.pinned]
    newest = max(rows, key=lambda one: (one.created, one.read, one.handle), default=None)
    assert size is None or sum(one.bytes for one in stays) <= size or all(one is newest for one in free)
    assert count is None or len(stays) <= count or all(one is newest for one in free)
    for session in "st":
        mine = [one for one in stays if one.call.session == session]
        assert each is None or len(mine) <= each or all(one.pinned for one in mine)
    if (days, size, count, each) == (None, None, None, None):
        assert not taken


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2 GB", 2_000_000_000),
        ("512 MiB", 512 * 1024**2),
        ("1.5kb", 1500),
        (77, 77),
        ("1_000", 1000),
        ("10k", 10_000),
        ("0", 0),
    ],
)
def test_sizes(text: str | int, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "days"), [("7 days", 7), ("12 hours", 0.5), (3, 3), ("1.5d", 1.5), ("2 weeks", 14), ("7", 7)]
)
def test_durations(text: str | float, days: float) -> None:
    assert duration_days(text) == days


@pytest.mark.parametrize("wrong", ["", "GB", "2 XB", -1, True, "-3 MB", None, float("nan"), [], "2 days"])
def test_wrong_sizes_are_refused_with_their_setting(wrong: object) -> None:
    with pytest.raises(PolicyError, match=r"store\.max_total_bytes"):
        size_bytes(wrong, setting="store.max_total_bytes")  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["", "days", "2 GB", -1, True, None, float("inf")])
def test_wrong_durations_are_refused(wrong: object) -> None:
    with pytest.raises(PolicyError, match="7 days"):
        duration_days(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [0, -1, True, "3"])
def test_wrong_counts_are_refused(wrong: object) -> None:
    with pytest.raises(PolicyError, match=r"store\.max_outputs"):
        Retention.of(retention_days=7, max_total_bytes=None, max_outputs=wrong, max_per_session=None)  # type: ignore[arg-type]
