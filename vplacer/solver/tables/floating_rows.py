"""Rows of hosts on which VMs float.

What floating VMs may leave of two nodes is many residuals. One row stands for all of them, with the most that
any leaves each node; `finer` tells what it stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.constraints.supply import Amount
from vplacer.errors import InternalError
from vplacer.solver.host_state import HostState
from vplacer.solver.tables.finer import Finer, Within
from vplacer.solver.tables.node_table import NodeTable
from vplacer.solver.tables.plain import PlainGroup
from vplacer.solver.tables.pooled import Pooled
from vplacer.solver.tables.reachable import cells_of, left_of_all, reach_of
from vplacer.solver.tables.residuals import Residuals

Array = npt.NDArray[Any]


class RowMaker:
    """Makes the rows of the members of one family, in turn."""

    def __init__(self, tables: Sequence[NodeTable], positions: Sequence[int]) -> None:
        """Take the tables of the nodes and the positions of these."""
        self.tables, self.positions = tables, positions
        self._rows: list[tuple[int, Sequence[Sequence[int]], Array, Array, int]] = []
        self._within: list[Within] = []
        self._totals: dict[int, int] = {}
        self._memory: dict[int, int] = {}

    def add(self, kind: int, states: Sequence[Sequence[int]], rooms: Sequence[tuple[int, int]]) -> None:
        """Add the rows of a host of which it is known what is left.

        Args:
            kind: its number.
            states: device states of the nodes, several where they may be one or another.
            rooms: millicores and MiB of each node.
        """
        cores = np.array([cores for cores, _ in rooms], np.int64)
        memory = np.array([memory for _, memory in rooms], np.int64)
        self._add(kind, states, cores, memory, Within.nothing(len(rooms)))

    def add_floating(self, kind: int, states: Sequence[Sequence[int]], state: HostState) -> None:
        """Add the rows of a host on which VMs float; for the rest see `add`."""
        reach = reach_of(state)
        if reach is None:
            self._add_pooled(kind, states, state)
            return
        numbers = [self.positions.index(node) for node in reach.nodes]
        units = [self.tables[number].units for number in numbers]
        cells = cells_of(reach, [(u.millicores, u.memory_mib) for u in units])
        if not len(cells.first):
            raise InternalError("VMs that float on a host have no room there", obj=state.host.name)
        most, within = Within.of((cells.first, cells.second), numbers, len(self.positions))
        cores, memory = np.zeros(len(self.positions), np.int64), np.zeros(len(self.positions), np.int64)
        for number, unit in zip(numbers, units, strict=True):
            # The most that rounds down to these units: sizes are taken off exactly.
            cores[number] = (most[number, 0] + 1) * unit.millicores - 1
            memory[number] = (most[number, 1] + 1) * unit.memory_mib - 1
        self._add(kind, states, cores, memory, within)

    def _add_pooled(self, kind: int, states: Sequence[Sequence[int]], state: HostState) -> None:
        """Add the rows of a host of more than two nodes."""
        total = left_of_all(state)
        cores, memory = np.zeros(len(self.positions), np.int64), np.zeros(len(self.positions), np.int64)
        for number, (position, table) in enumerate(zip(self.positions, self.tables, strict=True)):
            room = state.room[position] if position >= 0 else Amount(0, 0)
            unit = table.units
            # The most that rounds down to these units: sizes are taken off exactly.
            most = min(max(0, room.millicores), total.millicores) // unit.millicores
            cores[number] = (most + 1) * unit.millicores - 1
            most = min(max(0, room.memory_mib), total.memory_mib) // unit.memory_mib
            memory[number] = (most + 1) * unit.memory_mib - 1
        self._totals[len(self._within)] = total.millicores
        self._memory[len(self._within)] = total.memory_mib
        self._add(kind, states, cores, memory, Within.nothing(len(self.positions)))

    def _add(
        self, kind: int, states: Sequence[Sequence[int]], cores: Array, memory: Array, within: Within
    ) -> None:
        self._rows.append((kind, states, cores, memory, len(self._within)))
        self._within.append(within)

    def residuals(self) -> Residuals:
        """Return the rows."""
        times = [len(states) for _, states, _, _, _ in self._rows]
        return Residuals(
            np.repeat(np.array([row[0] for row in self._rows], np.int32), times),
            np.array([state for row in self._rows for state in row[1]], np.int32),
            np.repeat(np.array([row[2] for row in self._rows]), times, axis=0),
            np.repeat(np.array([row[3] for row in self._rows]), times, axis=0),
            np.repeat(np.array([row[4] for row in self._rows], np.int32), times),
        )

    def finer(self, plain: Sequence[PlainGroup]) -> Finer | Pooled:
        """Return what each row stands for.

        ``plain``: VMs over several nodes that take no devices; where hosts of more than two nodes have
        floating VMs, they are priced there.
        """
        if self._totals:
            units = np.array([table.units.millicores for table in self.tables], np.int64)
            cores = np.array([row[2] for row in self._rows]) // units
            all_nodes = (cores * units).sum(axis=1).tolist()
            totals = [self._totals.get(number, all_nodes[number]) for number in range(len(self._within))]
            room = np.array([row[2] for row in self._rows])
            memory = np.array([row[3] for row in self._rows])
            mib = [
                self._memory.get(number, total) for number, total in enumerate(memory.sum(axis=1).tolist())
            ]
            most = [group.most(room, memory, np.array(mib)) for group in plain]
            most_plain = np.stack(most, axis=1) if most else np.zeros((len(totals), 0), np.int64)
            return Pooled(self.tables, totals, cores, plain, most_plain)
        return Finer(self._within, [table.most for table in self.tables])
