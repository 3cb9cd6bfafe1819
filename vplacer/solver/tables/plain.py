"""VMs over several nodes that take no devices, on hosts where floating VMs share the cores with all nodes.

What binds such a VM is mostly what is left of the host's cores, and not of which nodes. So it is priced as a
thing of the host, and seated on nodes when all else is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.constraints.supply import Amount
from vplacer.solver.host_state import HostState
from vplacer.solver.tables.fitting import packs
from vplacer.solver.tables.node_table import NodeTable
from vplacer.solver.tables.seatings import Seating

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class PlainGroup:
    """Seatings that differ in the nodes alone, by number in the family.

    ``millicores`` and ``memory_mib``: of all nodes. ``part``: the least that any of them takes of a node;
    ``nodes``: how many it takes.
    """

    names: tuple[int, ...]
    millicores: int
    memory_mib: int
    part: Amount
    nodes: int

    def most(self, cores: Array, memory: Array, total_mib: Array) -> Array:
        """How many hosts take at most.

        Args:
            cores: millicores left of each node, by host and node.
            memory: MiB left of each node, by host and node.
            total_mib: MiB left of each host.
        """
        found = np.full(len(cores), _MANY, np.int64)
        for room, size in ((cores, self.part.millicores), (memory, self.part.memory_mib)):
            if size > 0:
                found = np.minimum(found, (room // size).sum(axis=1) // self.nodes)
        if self.memory_mib > 0:
            found = np.minimum(found, total_mib // self.memory_mib)
        return found


_MANY = 1 << 20


def plain_groups(
    seatings: Sequence[Seating],
    spanning: Sequence[int],
    only: Mapping[int, object],
    tables: Sequence[NodeTable],
    positions: Sequence[int],
) -> tuple[PlainGroup, ...]:
    """Group the seatings over several nodes that take no devices.

    Args:
        seatings: of a family.
        spanning: numbers of those over several nodes.
        only: numbers of those that not all hosts have.
        tables: of the nodes: sizes are rounded down to their units.
        positions: of these nodes.
    """
    units = {position: table.units for position, table in zip(positions, tables, strict=True)}
    found: dict[tuple[int, ...], list[int]] = {}
    for name in spanning:
        seating = seatings[name]
        plain = not seating.tokens and not any(part.takes or part.position < 0 for part in seating.parts)
        if name in only or not plain or not seating.sure or len(seating.parts) < 2:
            continue
        size = 0
        for part in seating.parts:
            unit = units[part.position].millicores
            size += part.amount.millicores // unit * unit
        memory = [part.amount.memory_mib for part in seating.parts]
        least = min(part.amount.millicores for part in seating.parts)
        key = (seating.item, seating.points, size, sum(memory), least, min(memory), len(memory))
        found.setdefault(key, []).append(name)
    return tuple(
        PlainGroup(tuple(names), size, memory, Amount(cores, mib), nodes)
        for (_, _, size, memory, cores, mib, nodes), names in found.items()
    )


class PlainRoom:
    """The best that such VMs come to within so many steps of a host's cores.

    ``values``: by level and steps; hosts are of one level if they take as many of each kind at most.
    """

    def __init__(self, groups: Sequence[PlainGroup], most: Array, step: int, steps: int) -> None:
        """Take the groups.

        Args:
            groups: the groups.
            most: how many of each group each row takes at most, by row and group.
            step: millicores of a step.
            steps: at most.
        """
        # Of what takes less than a step there would be no end.
        kept = [number for number, group in enumerate(groups) if group.millicores >= step]
        self.groups = tuple(groups[number] for number in kept)
        # Groups that take as much share what there is: the one that is worth most stands for them.
        sizes = dict.fromkeys((group.millicores, group.memory_mib) for group in self.groups)
        self._alike = [
            [n for n, g in enumerate(self.groups) if (g.millicores, g.memory_mib) == size] for size in sizes
        ]
        self._steps = [millicores // step for millicores, _ in sizes]
        own = np.zeros((len(most), len(sizes)), np.int64)
        for at, (numbers, size) in enumerate(zip(self._alike, self._steps, strict=True)):
            own[:, at] = np.minimum(most[:, [kept[n] for n in numbers]].max(axis=1), steps // size)
        self._most, level = np.unique(own, axis=0, return_inverse=True)
        self.level: Array = level.reshape(-1)
        self.values = np.zeros((len(self._most), steps + 1), np.int64)
        self._stages = [self.values]
        self._chosen: list[tuple[int, int]] = []
        self._taken: dict[int, tuple[tuple[PlainGroup, int], ...]] = {}

    @property
    def names(self) -> frozenset[int]:
        """The seatings that are priced here."""
        return frozenset(name for group in self.groups for name in group.names)

    def fill(self, worth: Array) -> None:
        """Take the value of each seating of the family."""
        self.values[...] = 0
        self._stages = [self.values.copy()]
        self._chosen, self._taken = [], {}
        for at, (numbers, size) in enumerate(zip(self._alike, self._steps, strict=True)):
            value, best = max((int(worth[self.groups[n].names[0]]), -n) for n in numbers)
            self._chosen.append((-best, value))
            before = self._stages[-1]
            after = before.copy()
            for count in range(1, int(self._most[:, at].max(initial=0)) + 1 if value > 0 else 0):
                rows = np.nonzero(self._most[:, at] >= count)[0]
                more = before[rows, : before.shape[1] - count * size] + count * value
                after[rows, count * size :] = np.maximum(after[rows, count * size :], more)
            self._stages.append(after)
        self.values = self._stages[-1]

    def place(self, level: Array, steps: Array) -> Array:
        """Return numbers that tell a level and steps, for `taken`."""
        return level * self.values.shape[1] + steps

    def taken(self, place: int) -> tuple[tuple[PlainGroup, int], ...]:
        """Return what makes the best of a level and steps, with counts."""
        if place not in self._taken:
            self._taken[place] = self._told(*divmod(place, self.values.shape[1]))
        return self._taken[place]

    def _told(self, level: int, steps: int) -> tuple[tuple[PlainGroup, int], ...]:
        found = []
        for at in range(len(self._steps) - 1, -1, -1):
            number, value = self._chosen[at]
            goal, before = self._stages[at + 1][level, steps], self._stages[at][level]
            count = 0
            while before[steps - count * self._steps[at]] + count * value != goal:
                count += 1
            steps -= count * self._steps[at]
            if count:
                found.append((self.groups[number], count))
        return tuple(found)


def seated(
    state: HostState,
    seatings: Sequence[Seating],
    others: Mapping[int, int],
    wanted: Sequence[tuple[PlainGroup, int]],
) -> Counter[int]:
    """Seat VMs on the nodes of a host beside others, as far as there is room; of the rest any seat is told.

    Where the least is left that is enough, so that floating VMs have what is large; if they then have no
    room, where the most is left.
    """
    found: Counter[int] = Counter()
    for fullest in (True, False):
        found = _seated(state, seatings, others, wanted, fullest)
        together = [(seatings[name], count) for name, count in (Counter(others) + found).items()]
        if packs(state, together):
            break
    return found


def _seated(
    state: HostState,
    seatings: Sequence[Seating],
    others: Mapping[int, int],
    wanted: Sequence[tuple[PlainGroup, int]],
    fullest: bool,
) -> Counter[int]:
    cores = [room.millicores for room in state.room]
    memory = [room.memory_mib for room in state.room]

    def take(name: int, count: int) -> None:
        for part in seatings[name].parts:
            if part.position >= 0:
                cores[part.position] -= part.amount.millicores * count
                memory[part.position] -= part.amount.memory_mib * count

    for name, count in others.items():
        take(name, count)
    found: Counter[int] = Counter()
    for group, count in wanted:
        for _ in range(count):
            best, least = group.names[0], None
            for name in group.names:
                parts = seatings[name].parts
                left = [cores[part.position] - part.amount.millicores for part in parts]
                spare = [memory[part.position] - part.amount.memory_mib for part in parts]
                if min(left) < 0 or min(spare) < 0:
                    continue
                much = sum(left) if fullest else -min(left)
                if least is None or much < least:
                    best, least = name, much
            found[best] += 1
            take(best, 1)
    return found
