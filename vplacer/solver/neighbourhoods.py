"""Which hosts to solve anew together, the others held: where a VM without a place might go, then any."""

from __future__ import annotations

import random
from collections.abc import Mapping

from vplacer.solver.column import Column
from vplacer.solver.instance import Instance

SIZE = 350
"""Option variables of an exact model of hosts taken by chance."""

SIZE_OF_A_CLASS = 1200
"""The same of hosts that one kind of VM may go to: cards are exchanged among these."""


class Neighbourhoods:
    """Hosts to free for one level, one set after the other.

    At the levels "placed" first the hosts of each class that has VMs without a place, those with the
    fewest options first; hosts by chance follow without an end.
    """

    def __init__(self, instance: Instance, level: str, seed: int) -> None:
        """Begin with an answer that is not known yet: see `next`."""
        self._instance = instance
        self._priority = int(level.removeprefix("placed:")) if level.startswith("placed:") else None
        self._chooser = random.Random(seed)
        self._classes: list[int] | None = None
        self.by_chance = False
        """Whether the last set was taken by chance."""

    def begin_again(self) -> None:
        """Start over: the answer has changed."""
        self._classes = None

    def next(self, held: Mapping[int, Column]) -> set[int]:
        """Return positions of hosts. ``held``: the answer so far."""
        missing = _missing(self._instance, held)
        if self._classes is None:
            self._classes = self._ranked(missing)
        self.by_chance = not self._classes
        if self._classes:
            index = self._classes.pop()
            hosts = [n for n, task in enumerate(self._instance.tasks) if index in task.options]
            self._chooser.shuffle(hosts)
            return self._taken(hosts, SIZE_OF_A_CLASS)
        order = list(range(len(self._instance.tasks)))
        self._chooser.shuffle(order)
        if self._priority is not None and missing:
            order.sort(key=lambda position: not missing.intersection(self._instance.tasks[position].options))
        return self._taken(order, SIZE)

    def _ranked(self, missing: set[int]) -> list[int]:
        """The classes of the level that have VMs without a place, the one with the fewest options last."""
        options = {
            index: sum(len(task.options.get(index, ())) for task in self._instance.tasks)
            for index in missing
            if self._instance.classes[index].demand.priority == self._priority
        }
        return sorted((index for index, number in options.items() if number), key=lambda n: (-options[n], n))

    def _taken(self, order: list[int], size: int) -> set[int]:
        """The first hosts that an exact model may hold, at least one."""
        free: set[int] = set()
        for position in order:
            size -= max(1, sum(len(options) for options in self._instance.tasks[position].options.values()))
            if free and size < 0:
                break
            free.add(position)
        return free


def _missing(instance: Instance, held: Mapping[int, Column]) -> set[int]:
    """The classes of which an answer leaves VMs without a place."""
    placed: dict[int, int] = {}
    for column in held.values():
        for index, count in column.plan.seats().items():
            placed[index] = placed.get(index, 0) + count
    return {cls.index for cls in instance.classes if placed.get(cls.index, 0) < cls.count}
