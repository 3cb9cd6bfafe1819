"""Classes that differ in priority and weight alone are one item: hosts cannot tell them apart."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from vplacer.solver.classes import DemandClass
from vplacer.solver.instance import Instance


@dataclass(frozen=True, slots=True)
class Item:
    """Classes of new VMs with the same seats, the highest priority and weight first.

    ``moving``: instead of these a class of running VMs that may move: as many of them are seated as leave
    their seats.
    """

    index: int
    classes: tuple[int, ...]
    moving: int | None = None

    @property
    def lead(self) -> int:
        """The class whose options speak for all."""
        return self.classes[0] if self.moving is None else self.moving


def build_items(instance: Instance) -> tuple[Item, ...]:
    """Group the classes of new VMs, in the order of their first class."""
    rows = _row_terms(instance)
    tied = {index for task in instance.tasks for _, members in task.together for index in members}
    groups: dict[object, list[DemandClass]] = {}
    for cls in instance.classes:
        if cls.vm is not None:
            continue
        plain = replace(cls.demand, id="", name="", source=None, priority=0, weight_milli=0)
        alone = cls.index if cls.gang is not None or cls.index in tied else None
        key = (plain, alone, rows.get(cls.index))
        groups.setdefault(key, []).append(cls)
    items = []
    for number, group in enumerate(groups.values()):
        ordered = sorted(group, key=lambda c: (-c.demand.priority, -c.demand.weight_milli, c.index))
        items.append(Item(number, tuple(cls.index for cls in ordered)))
    return tuple(items)


def _row_terms(instance: Instance) -> dict[int, object]:
    """What rows other than a class's own count say of it."""
    found: dict[int, dict[object, int]] = defaultdict(dict)
    for row in instance.rows.rows:
        for (kind, name), weight in row.everywhere.items():
            if kind in ("seats", "new") and row.name != f"count:{name}":
                found[int(name)][row.name, kind] = weight
        for (host, (kind, name)), weight in row.at.items():
            if kind in ("seats", "new"):
                found[int(name)][row.name, kind, host] = weight
    return {index: frozenset(terms.items()) for index, terms in found.items()}
