"""What seats place: those of an item go to its classes, the highest priority first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from vplacer.solver.classes import DemandClass
from vplacer.solver.tables.items import Item
from vplacer.solver.tables.lp import LightColumn

Seats = TypeVar("Seats", int, float)

PRIORITY_STEP = 16
"""How much more a priority counts than the next where all of them are searched at once."""

TOGETHER_SCALE = 16
"""Of that search: see `Aim`."""


def by_class(
    items: Sequence[Item], seats: Sequence[Seats], limits: Mapping[int, int]
) -> Iterator[tuple[int, Seats]]:
    """Yield each class and how many of it are placed.

    Args:
        items: the items.
        seats: seats of each item.
        limits: VMs of each class that may be placed.
    """
    for item in items:
        left = seats[item.index]
        for index in item.classes:
            placed = min(left, limits[index])
            left -= placed
            yield index, placed


def seats_held(held: Iterable[tuple[LightColumn, int]], items: int) -> list[int]:
    """Return the seats of each of so many items in some columns, each taken by so many hosts."""
    seats = [0] * items
    for column, count in held:
        for item, number in column.seats:
            seats[item] += number * count
    return seats


def weights_by_priority(classes: Iterable[DemandClass]) -> dict[int, dict[int, int]]:
    """Return the weight of a VM of each class, by priority, the highest first."""
    found: dict[int, dict[int, int]] = {}
    for cls in sorted(classes, key=lambda cls: -cls.demand.priority):
        found.setdefault(cls.demand.priority, {})[cls.index] = cls.demand.weight_milli
    return found


def factors_together(weights: Mapping[int, object]) -> dict[int, int]:
    """Return by how much each priority, the highest first, counts more where all are searched at once."""
    return {p: PRIORITY_STEP ** (len(weights) - 1 - n) for n, p in enumerate(weights)}


def weights_together(weights: Mapping[int, Mapping[int, int]]) -> dict[int, int]:
    """Return the weight of a VM of each class where all priorities are searched at once."""
    factor = factors_together(weights)
    return {index: factor[p] * each for p, mine in weights.items() for index, each in mine.items()}


def weight_placed(
    items: Sequence[Item],
    classes: Sequence[DemandClass],
    held: Iterable[tuple[LightColumn, int]],
    weight: Mapping[int, int],
) -> int:
    """Return the weight of the classes placed by some columns, each taken by so many hosts."""
    limits = {index: classes[index].count for item in items for index in item.classes}
    told = by_class(items, seats_held(held, len(items)), limits)
    return sum(placed * weight.get(index, 0) for index, placed in told)


def points_a_seat(items: Sequence[Item], columns: Iterable[LightColumn]) -> list[int]:
    """Return the most points that a seat of each item may have in some columns."""
    most = [0] * len(items)
    for column in columns:
        if isinstance(column.source, tuple):
            for seating, _ in column.source:
                most[seating.item] = max(most[seating.item], seating.points)
        else:
            for item, count in column.seats:
                most[item] = max(most[item], -(-column.points // count))
    return most
