"""Shares what room there is among several outputs, so that small ones stay whole and large ones are equal."""

from __future__ import annotations

from collections.abc import Sequence


def fair_shares(wanted: Sequence[int], total: int) -> list[int]:
    """Max-min fairness: nobody gets more than wanted, and what small wishes leave goes to the larger ones."""
    shares = [0] * len(wanted)
    left, waiting = total, len(wanted)
    for index in sorted(range(len(wanted)), key=lambda at: (wanted[at], at)):
        shares[index] = min(wanted[index], left // waiting)
        left -= shares[index]
        waiting -= 1
    return shares
