"""What a host can still come to at most, once some of its VMs over several nodes are placed.

Each part of a VM that spans nodes is a seating of its node, worth its share of the VM: who may take the parts
one by one is never worse off than who must take them together. So the sum over the nodes is never below the
best of the host, whichever way the worth is shared out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.solver.tables.node_table import FilledTable, NodeSeating, NodeTable, build_table
from vplacer.solver.tables.step import Rows, Step, Takes
from vplacer.solver.tables.symmetry import moved

Array = npt.NDArray[Any]

SAMPLED = 200
"""Rows that say what the parts of a VM cost their nodes."""

Split = tuple[int, tuple[int, ...]]
"""A step, and how many devices it takes of each node."""


@dataclass(frozen=True)
class _Position:
    """The table of one node with parts, how many of its seatings are the node's own, and what the others
    are parts of."""

    table: NodeTable
    own: int
    added: tuple[tuple[Split, ...], ...]


class Ahead:
    """The tables of one family with the parts of its spanning seatings."""

    def __init__(self, steps: Sequence[Step], tables: Sequence[NodeTable]) -> None:
        self.steps, self.tables = tuple(steps), tuple(tables)
        self._splits: list[dict[Split, int]] = [{} for _ in steps]
        for number, step in enumerate(steps):
            for which, (_, takes) in enumerate(step.variants):
                self._splits[number].setdefault((number, _devices(takes)), which)
        self._positions = tuple(self._position(number) for number in range(len(tables)))

    def looks(self) -> list[Array]:
        """Return, per node, a number for each device state, equal for those that are alike to all seatings.

        Nodes are looked at one by one; where the devices of one node decide which of another a step takes,
        no states count as alike.
        """
        if all(self._keeps(step) for step in self.steps):
            return [position.table.canonical for position in self._positions]
        return [np.arange(len(table.states)) for table in self.tables]

    def _keeps(self, step: Step) -> bool:
        """Whether a step's variants stay the same when slots of one node change places."""
        found = {takes for _, takes in step.variants}
        return all(
            (*takes[:n], moved(takes[n], order), *takes[n + 1 :]) in found
            for n, position in enumerate(self._positions)
            for order in position.table.orders
            for takes in found
        )

    def _position(self, n: int) -> _Position:
        table = self.tables[n]
        made: dict[NodeSeating, list[Split]] = {}
        for number, step in enumerate(self.steps):
            for _, takes in step.variants:
                if takes[n] or step.cores[n]:
                    seating = NodeSeating(
                        -1 - number,
                        takes[n],
                        step.cores[n] * table.units.millicores,
                        step.memory[n] * table.units.memory_mib,
                        step.points,
                    )
                    splits = made.setdefault(seating, [])
                    if (number, _devices(takes)) not in splits:
                        splits.append((number, _devices(takes)))
        most = (table.most[0] * table.units.millicores, table.most[1] * table.units.memory_mib)
        wider = build_table((*table.seatings, *made), table.states, most, table.units)
        return _Position(wider, len(table.seatings), tuple(tuple(splits) for splits in made.values()))

    def fill(
        self,
        wanted: Sequence[int],
        worth: Array,
        own: Sequence[Sequence[int]],
        filled: Sequence[FilledTable],
        rows: Rows,
    ) -> FilledAhead:
        """Fill the tables.

        Args:
            wanted: steps that matter, by number.
            worth: value of each seating of the family.
            own: values of the seatings of each node.
            filled: the nodes' own tables, filled.
            rows: residuals that tell what parts cost.
        """
        shares: dict[Split, tuple[int, ...]] = {}
        chosen = rows.only(np.arange(0, len(rows.member), max(1, len(rows.member) // SAMPLED)))
        held = [f.values[flat] for f, flat in zip(filled, chosen.flats(self.tables), strict=True)]
        for number in wanted:
            for split, which in self._splits[number].items():
                shares[split] = self._shares(self.steps[number], which, worth, filled, chosen, held)
        result = []
        for n, (position, mine) in enumerate(zip(self._positions, own, strict=True)):
            added = [
                max((shares[split][n] for split in splits if split in shares), default=0)
                for splits in position.added
            ]
            result.append(position.table.fill([*mine, *_alike(position, added)]))
        return FilledAhead(tuple(p.table for p in self._positions), tuple(result))

    def _shares(
        self,
        step: Step,
        which: int,
        worth: Array,
        filled: Sequence[FilledTable],
        rows: Rows,
        held: Sequence[Array],
    ) -> tuple[int, ...]:
        """Share out the worth of a step over the nodes as its parts cost these."""
        value = int(worth[step.name])
        takes = step.variants[which][1]
        after = []
        fits = np.ones(len(rows.member), bool)
        for n, table in enumerate(self.tables):
            state = table.after(takes[n])[rows.state[:, n]] if takes[n] else rows.state[:, n]
            cores, memory = rows.cores[:, n] - step.cores[n], rows.memory[:, n] - step.memory[n]
            fits &= (state >= 0) & (cores >= 0) & (memory >= 0)
            after.append((state, cores, memory))
        counted = [bool(takes[n]) or step.cores[n] > 0 for n in range(len(self.tables))]
        costs = [0.0] * len(counted)
        for n, (table, (state, cores, memory)) in enumerate(zip(self.tables, after, strict=True)):
            if counted[n] and fits.any():
                then = filled[n].values[table.flat(state[fits], cores[fits], memory[fits])]
                costs[n] = float((held[n][fits] - then).sum())
        if sum(costs) <= 0:
            costs = [float(one) for one in counted]
        # Rounded up: together never less than the whole.
        return tuple(-int(-value * cost // sum(costs)) if cost else 0 for cost in costs)


def _devices(takes: Sequence[Takes]) -> tuple[int, ...]:
    return tuple(sum(count for _, count in take) for take in takes)


def _alike(position: _Position, added: Sequence[int]) -> list[int]:
    """Give seatings that are one to the table the most that any of them is worth."""
    most: dict[object, int] = {}
    looks = [_look(seating) for seating in position.table.seatings[position.own :]]
    for look, value in zip(looks, added, strict=True):
        most[look] = max(most.get(look, 0), value)
    return [most[look] for look in looks]


def _look(seating: NodeSeating) -> tuple[int, ...]:
    devices = sum(count for _, count in seating.takes)
    return (seating.item, seating.millicores, seating.memory_mib, seating.points, devices)


@dataclass(frozen=True)
class FilledAhead:
    """The tables for some values."""

    tables: tuple[NodeTable, ...]
    filled: tuple[FilledTable, ...]

    def most(self, rows: Rows) -> Array:
        """Return what each row can still come to at most."""
        result = np.zeros(len(rows.member), np.int64)
        for filled, flat in zip(self.filled, rows.flats(self.tables), strict=True):
            result += filled.values[flat]
        return result
