"""How a budget is divided among the parts of a result: arithmetic on budgets and sizes, pure."""

from __future__ import annotations

from collections.abc import Sequence

from overspill.core.measure import Size
from overspill.core.model import UNITS, Budget
from overspill.core.share import fair_shares


def shares_of(wanted: Sequence[Size], room: Budget) -> list[float]:
    """Of the room, by the unit that is the scarcest."""
    named = [index for index, unit in enumerate(UNITS) if getattr(room, f"max_{unit}")]
    bound = {unit: getattr(room, f"max_{UNITS[unit]}") for unit in named}
    unit = max(named, key=lambda index: sum(size[index] for size in wanted) / bound[index], default=named[0])
    total = bound[unit]
    # What is small in this unit may be large in another.
    needs = [max(int(total * size[index] / bound[index]) + 1 for index in named) for size in wanted]
    return [share / total for share in fair_shares(needs, total)]


def fraction(budget: Budget, part: float) -> Budget:
    named = {f"max_{unit}": getattr(budget, f"max_{unit}") for unit in UNITS}
    return Budget(**{name: max(1, int(bound * part)) for name, bound in named.items() if bound})


def is_nearly(size: Budget, budget: Budget) -> bool:
    """Within the other and little less."""
    pairs = [(getattr(size, f"max_{unit}"), getattr(budget, f"max_{unit}")) for unit in UNITS]
    return all(bound is None or (used is not None and 0.8 * bound <= used <= bound) for used, bound in pairs)


def less(budget: Budget, *sizes: Size) -> Budget | None:
    """What is left; None when nothing is."""
    left = {}
    for index, unit in enumerate(UNITS):
        bound = getattr(budget, f"max_{unit}")
        if bound:
            left[f"max_{unit}"] = bound - sum(size[index] for size in sizes)
    return Budget(**left) if min(left.values()) > 0 else None
