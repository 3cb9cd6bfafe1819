"""VMs that span nodes, in the units of the tables, and what placing one more of them leaves of a host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.solver.tables.node_table import NodeTable
from vplacer.solver.tables.slots import Takes
from vplacer.solver.tables.symmetry import moved

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Step:
    """Spanning seatings that differ in the devices alone.

    ``cores`` and ``memory``: units taken of each node. ``variants``: number in the family and, per node, the
    devices. ``only``: the members that have it; None = all.
    """

    item: int
    points: int
    cores: tuple[int, ...]
    memory: tuple[int, ...]
    variants: tuple[tuple[int, tuple[Takes, ...]], ...]
    only: frozenset[int] | None

    @property
    def name(self) -> int:
        """One of its seatings; all are worth the same."""
        return self.variants[0][0]


@dataclass(frozen=True)
class Rows:
    """Residuals of hosts of a family: member, and per node device state, units of cores and memory.

    ``base``: the row it comes from, as long as nothing was placed.
    """

    member: Array
    state: Array
    cores: Array
    memory: Array
    base: Array

    def only(self, wanted: Array) -> Rows:
        """Return some of the rows."""
        return Rows(
            self.member[wanted],
            self.state[wanted],
            self.cores[wanted],
            self.memory[wanted],
            self.base[wanted],
        )

    def flats(self, tables: Sequence[NodeTable]) -> list[Array]:
        """Return where each node is in its table."""
        return [
            table.flat(self.state[:, n], self.cores[:, n], self.memory[:, n])
            for n, table in enumerate(tables)
        ]


def with_images(step: Step, rows: Rows, tables: Sequence[NodeTable]) -> Step:
    """Return a step with those variants too that differ by slots alike to a node and no host has room for.

    No host lists them, for none has the cards; without them the slots would not look alike.
    """
    known = {takes for _, takes in step.variants}
    added: list[tuple[int, tuple[Takes, ...]]] = []
    todo = list(step.variants)
    while todo:
        name, takes = todo.pop()
        for n, table in enumerate(tables):
            for order in table.orders:
                image = (*takes[:n], moved(takes[n], order), *takes[n + 1 :])
                if image not in known and not _fits_somewhere(image, rows, tables):
                    known.add(image)
                    added.append((name, image))
                    todo.append((name, image))
    return replace(step, variants=(*step.variants, *added)) if added else step


def _fits_somewhere(takes: tuple[Takes, ...], rows: Rows, tables: Sequence[NodeTable]) -> bool:
    fits = np.ones(len(rows.member), bool)
    for n, (table, take) in enumerate(zip(tables, takes, strict=True)):
        if take:
            fits &= table.after(take)[rows.state[:, n]] >= 0
    return bool(fits.any())


@dataclass(frozen=True)
class Choices:
    """All that may be placed on hosts with the same devices: step, seating, device states after it."""

    step: Array
    name: Array
    after: Array


class Chooser:
    """Tells the choices of device states; of those that leave the same, up to symmetry, one is kept."""

    def __init__(
        self, steps: Sequence[Step], special: int, tables: Sequence[NodeTable], looks: Sequence[Array]
    ) -> None:
        """Take the steps.

        Args:
            steps: of a family.
            special: how many of them, the first, may be told apart by devices that are alike to the others.
            tables: of the family's nodes.
            looks: per node, a number for each device state, equal for those that are alike.
        """
        self._special, self._looks = special, looks
        variants = [(number, *variant) for number, step in enumerate(steps) for variant in step.variants]
        self._step = np.array([step for step, _, _ in variants], np.int32)
        self._name = np.array([name for _, name, _ in variants], np.int32)
        self._takes: list[tuple[Array, Array]] = []
        for n, table in enumerate(tables):
            known: dict[Takes, int] = {}
            which = [known.setdefault(takes[n], len(known)) for _, _, takes in variants]
            after = [table.after(take) if take else np.arange(len(table.states)) for take in known]
            self._takes.append((np.array(which, np.int32), np.array(after, np.int32)))
        self._known: dict[tuple[int, ...], Choices] = {}

    def of(self, states: tuple[int, ...]) -> Choices:
        """Return the choices of a host whose nodes are in these device states."""
        if states not in self._known:
            self._known[states] = self._choices(states)
        return self._known[states]

    def _choices(self, states: tuple[int, ...]) -> Choices:
        after = np.stack(
            [then[which, state] for (which, then), state in zip(self._takes, states, strict=True)], axis=1
        )
        good = np.nonzero((after >= 0).all(axis=1))[0]
        looks = [self._step[good], np.where(self._step[good] < self._special, good, 0)]
        looks += [look[after[good, n]] for n, look in enumerate(self._looks)]
        _, first = np.unique(np.stack(looks, axis=1), axis=0, return_index=True)
        kept = np.sort(good[first])
        return Choices(self._step[kept], self._name[kept], after[kept])
