"""The steps of a table's axes."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from vplacer.constraints.supply import Amount
from vplacer.solver.tables.node_table import Units

MOST_STEPS = 256
"""Steps of the axis of cores, and of memory, of a table."""


def units_for(amounts: Iterable[Amount], most: tuple[int, int]) -> Units:
    """Choose the steps of a table: exact where that needs few steps, never above the least of cores.

    Args:
        amounts: all that may be taken of the node at once.
        most: the largest millicores and MiB that a residual has.
    """
    sizes = set(amounts)
    cores = sorted({a.millicores for a in sizes if a.millicores > 0})
    memory = sorted({a.memory_mib for a in sizes if a.memory_mib > 0})
    unit_cores = gcd(*cores) if cores else 1000
    if cores and most[0] // unit_cores > MOST_STEPS:
        unit_cores = max(unit_cores, min(*cores, -(-most[0] // MOST_STEPS)))
    unit_memory = gcd(*memory) if memory else 1024
    if memory and most[1] // unit_memory > MOST_STEPS:
        unit_memory = -(-most[1] // MOST_STEPS)
    return Units(max(1, unit_cores), max(1, unit_memory))
