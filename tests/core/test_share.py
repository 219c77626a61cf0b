from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from overspill.core.share import fair_shares

WANTED = st.lists(st.integers(0, 10_000), min_size=1, max_size=12)


@given(WANTED, st.integers(0, 50_000))
def test_nobody_gets_more_than_wanted_and_nothing_is_overspent(wanted: list[int], total: int) -> None:
    shares = fair_shares(wanted, total)
    assert all(share <= want for share, want in zip(shares, wanted, strict=True))
    assert sum(shares) <= total


@given(WANTED, st.integers(0, 50_000))
def test_who_is_cut_gets_at_least_what_anybody_else_gets(wanted: list[int], total: int) -> None:
    shares = fair_shares(wanted, total)
    cut = [share for share, want in zip(shares, wanted, strict=True) if share < want]
    assert not cut or max(shares) - min(cut) <= 1
    assert sum(shares) >= min(total, sum(wanted)) - len(wanted)
