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

from vplacer.solver.host_state import HostState
from vplacer.solver.tables.fitting import packs
from vplacer.solver.tables.node_table import NodeTable
from vplacer.solver.tables.seatings import Seating

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class PlainGroup:
    """Seatings that differ in the nodes alone, by number in the family. ``millicores``: of all nodes."""

    names: tuple[int, ...]
    millicores: int


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
    found: dict[tuple[int, int, int], list[int]] = {}
    for name in spanning:
        seating = seatings[name]
        plain = not seating.tokens and not any(part.takes or part.position < 0 for part in seating.parts)
        if name in only or not plain or not seating.sure or len(seating.parts) < 2:
            continue
        size = 0
        for part in seating.parts:
            unit = units[part.position].millicores
            size += part.amount.millicores // unit * unit
        found.setdefault((seating.item, seating.points, size), []).append(name)
    return tuple(PlainGroup(tuple(names), size) for (_, _, size), names in found.items())


class PlainRoom:
    """The best that such VMs come to within so many steps of the host's cores."""

    def __init__(self, groups: Sequence[PlainGroup], step: int, most: int) -> None:
        """Take the groups, the millicores of a step, and the most steps."""
        # Of what takes less than a step there would be no end.
        self.groups = tuple(group for group in groups if group.millicores >= step)
        self._steps = [group.millicores // step for group in self.groups]
        self.values = np.zeros(most + 1, np.int64)
        self._worth: list[int] = []
        self._taken: dict[int, tuple[tuple[PlainGroup, int], ...]] = {}

    @property
    def names(self) -> frozenset[int]:
        """The seatings that are priced here."""
        return frozenset(name for group in self.groups for name in group.names)

    def fill(self, worth: Array) -> None:
        """Take the value of each seating of the family."""
        self._worth = [int(worth[group.names[0]]) for group in self.groups]
        values = [0] * len(self.values)
        for size, value in zip(self._steps, self._worth, strict=True):
            if value > 0:
                for step in range(size, len(values)):
                    values[step] = max(values[step], values[step - size] + value)
        self.values = np.array(values, np.int64)
        self._taken = {}

    def taken(self, steps: int) -> tuple[tuple[PlainGroup, int], ...]:
        """Return what makes the best of so many steps, with counts."""
        if steps not in self._taken:
            self._taken[steps] = self._told(steps)
        return self._taken[steps]

    def _told(self, steps: int) -> tuple[tuple[PlainGroup, int], ...]:
        found: Counter[int] = Counter()
        while self.values[steps] > 0:
            for number, (size, value) in enumerate(zip(self._steps, self._worth, strict=True)):
                if size <= steps and value > 0 and self.values[steps - size] + value == self.values[steps]:
                    found[number] += 1
                    steps -= size
                    break
            else:
                steps -= 1
        return tuple((self.groups[number], count) for number, count in sorted(found.items()))


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
