"""What a host can still come to at most, once some of its VMs over several nodes are placed.

Each part of a VM that spans nodes is a seating of its node, worth its share of the VM: who may take the parts
one by one is never worse off than who must take them together. So the sum over the nodes is never below the
best of the host, whichever way the worth is shared out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.solver.tables.filled_table import FilledTable
from vplacer.solver.tables.finer import Finer
from vplacer.solver.tables.node_table import NodeSeating, NodeTable, build_table
from vplacer.solver.tables.pooled import Pooled
from vplacer.solver.tables.shares import WAYS, shared_out
from vplacer.solver.tables.slots import State, Takes, devices
from vplacer.solver.tables.step import Rows, Step
from vplacer.solver.tables.symmetry import canonical, moved

Array = npt.NDArray[Any]

SMALL = 1 << 29
"""Values below it may be added without harm."""

SAMPLED = 200
"""Rows that say what the parts of a VM cost their nodes."""

FEW = 4
"""Rows of hosts of more than two nodes of which no costs are told: to look up a few is sooner done."""

Split = tuple[int, tuple[State, ...]]
"""A step, and the devices it takes of each node, up to symmetry."""


@dataclass(frozen=True)
class _Position:
    """The table of one node with parts, how many of its seatings are the node's own, and what the others
    are parts of."""

    table: NodeTable
    own: int
    added: tuple[tuple[Split, ...], ...]


class Ahead:
    """The tables of one family with the parts of its spanning seatings."""

    def __init__(
        self, steps: Sequence[Step], tables: Sequence[NodeTable], gpus: Sequence[Sequence[bool]]
    ) -> None:
        """Take the steps, the tables of the nodes, and which slots of each node are GPUs."""
        self.tables = tuple(tables)
        self.steps = tuple(_by_devices(step, tables) for step in steps)
        self._looks: dict[tuple[int, Takes], State] = {}
        self._splits: list[dict[Split, int]] = [{} for _ in steps]
        for number, step in enumerate(steps):
            for which, (_, takes) in enumerate(step.variants):
                self._splits[number].setdefault(self._split(number, takes), which)
        self._devices = devices_of(self.steps, tables, None)
        self._gpus = devices_of(self.steps, tables, gpus)
        self._positions = tuple(self._position(number) for number in range(len(tables)))

    @property
    def wider(self) -> tuple[NodeTable, ...]:
        """The tables, node by node."""
        return tuple(position.table for position in self._positions)

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

    def _split(self, number: int, takes: tuple[Takes, ...]) -> Split:
        """What kind of split of a step some devices are."""
        return number, tuple(self._look(n, take) for n, take in enumerate(takes))

    def _look(self, n: int, takes: Takes) -> State:
        if (n, takes) not in self._looks:
            counts = dict(takes)
            vector = tuple(counts.get(slot, 0) for slot in range(len(self.tables[n].states[0])))
            self._looks[n, takes] = canonical(vector, self.tables[n].orders)
        return self._looks[n, takes]

    def _position(self, n: int) -> _Position:
        table = self.tables[n]
        made: dict[NodeSeating, list[Split]] = {}
        parts: dict[tuple[int, State], int] = {}
        for number, step in enumerate(self.steps):
            for _, takes in step.variants:
                if takes[n] or step.cores[n]:
                    # Parts that are worth the same are one item, others are not.
                    part = parts.setdefault((number, self._look(n, takes[n])), len(parts))
                    seating = NodeSeating(
                        -1 - part,
                        takes[n],
                        step.cores[n] * table.units.millicores,
                        step.memory[n] * table.units.memory_mib,
                        step.points,
                    )
                    splits = made.setdefault(seating, [])
                    split = self._split(number, takes)
                    if split not in splits:
                        splits.append(split)
        most = (table.most[0] * table.units.millicores, table.most[1] * table.units.memory_mib)
        wider = build_table(
            (*table.seatings, *made),
            table.states,
            most,
            table.units,
            openings=table.openings,
            promises=table.promises,
        )
        return _Position(wider, len(table.seatings), tuple(tuple(splits) for splits in made.values()))

    def fill(
        self,
        wanted: Sequence[int],
        worth: Array,
        own: Sequence[Sequence[int]],
        filled: Sequence[FilledTable],
        rows: Rows,
        *,
        tied: bool,
    ) -> FilledAhead:
        """Fill the tables, so that little is promised beyond what can be had.

        Args:
            wanted: steps that matter, by number.
            worth: value of each seating of the family.
            own: values of the seatings of each node.
            filled: the nodes' own tables, filled.
            rows: residuals that the tables are for.
            tied: whether there are residuals in which somebody relies on others.
        """
        chosen = rows.only(np.arange(0, len(rows.member), max(1, len(rows.member) // SAMPLED)))
        held = [f.values[flat] for f, flat in zip(filled, chosen.flats(self.tables), strict=True)]
        costs: dict[Split, tuple[float, ...]] = {}
        ways: list[dict[Split, tuple[float, ...]]] = [{} for _ in WAYS]
        for number in wanted:
            step = self.steps[number]
            for split, which in self._splits[number].items():
                if len(chosen.member) >= FEW or len(self.tables) <= 2:
                    costs[split] = self._costs(step, which, filled, chosen, held)
                sizes = step.cores, self._devices[number][which], self._gpus[number][which]
                for way, share in zip(ways, WAYS, strict=True):
                    way[split] = share(*sizes)
        told = (costs, *ways) if costs else ways
        return FilledAhead(self.wider, tuple(self._filled(way, worth, own, tied) for way in told))

    def _filled(
        self,
        weights: Mapping[Split, tuple[float, ...]],
        worth: Array,
        own: Sequence[Sequence[int]],
        tied: bool,
    ) -> tuple[FilledTable, ...]:
        """Fill the tables with the worth of each step shared out by some weights of the nodes."""
        worths = {
            split: shared_out(max(0, int(worth[self.steps[split[0]].name])), weight)
            for split, weight in weights.items()
        }
        result = []
        for n, (position, mine) in enumerate(zip(self._positions, own, strict=True)):
            added = [
                max((worths[s][n] for s in splits if s in worths), default=0) for splits in position.added
            ]
            found = position.table.fill([*mine, *_alike(position, added)], tied=tied)
            found.values = narrow(found.values)
            result.append(found)
        return tuple(result)

    def _costs(
        self,
        step: Step,
        which: int,
        filled: Sequence[FilledTable],
        rows: Rows,
        held: Sequence[Array],
    ) -> tuple[float, ...]:
        """What the parts of a step cost their nodes."""
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
        return tuple(costs)


def narrow(values: Array) -> Array:
    """Return values as a smaller number type where they are small; what can never be counts as very bad."""
    if values.dtype == np.int32 or values.max(initial=0) >= SMALL:
        return values
    return np.maximum(values, -SMALL).astype(np.int32)


def devices_of(
    steps: Sequence[Step], tables: Sequence[NodeTable], only: Sequence[Sequence[bool]] | None
) -> list[list[tuple[int, ...]]]:
    """Return, by step and variant, the devices taken of each node: of all slots, or of some only."""

    def count(n: int, take: Takes) -> int:
        taken = devices(take, tables[n].promises)
        return sum(number for slot, number in taken if only is None or only[n][slot])

    return [[tuple(count(n, take) for n, take in enumerate(takes)) for _, takes in s.variants] for s in steps]


def _by_devices(step: Step, tables: Sequence[NodeTable]) -> Step:
    """A step that relies on no promise and breaks none: never worth less."""
    variants = tuple(
        (name, tuple(devices(take, table.promises) for take, table in zip(takes, tables, strict=True)))
        for name, takes in step.variants
    )
    return replace(step, variants=variants)


def _alike(position: _Position, added: Sequence[int]) -> list[int]:
    """Give seatings that are one to the table the most that any of them is worth."""
    most: dict[int, int] = {}
    items = [seating.item for seating in position.table.seatings[position.own :]]
    for item, value in zip(items, added, strict=True):
        most[item] = max(most.get(item, 0), value)
    return [most[item] for item in items]


@dataclass(frozen=True)
class FilledAhead:
    """The tables for some values, for each way to share out the worth of steps."""

    tables: tuple[NodeTable, ...]
    filled: tuple[tuple[FilledTable, ...], ...]

    def most(self, rows: Rows, finer: Finer | Pooled, enough: Array) -> Array:
        """Return what each row can still come to at most; it need not be close where it is enough."""
        ways = [[one.values for one in way] for way in self.filled]
        return finer.most(rows.base, rows.flats(self.tables), ways, enough)
