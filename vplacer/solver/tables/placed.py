"""What seats place: those of an item go to its classes, the highest priority first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from vplacer.solver.classes import DemandClass
from vplacer.solver.tables.items import Item
from vplacer.solver.tables.lp import LightColumn

Seats = TypeVar("Seats", int, float)


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
