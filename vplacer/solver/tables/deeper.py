"""Hosts that may take several VMs over more than one node: their best, by trying what such VMs leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from vplacer.solver.tables.node_table import FilledTable, NodeTable

Array = npt.NDArray[Any]

MOST_TRIES = 3_000
"""Combinations tried for one kind of host. One that has more keeps the best of these, and is not proved."""

MOST_DEPTH = 12
"""VMs over several nodes that are tried together on one host."""

Residual = tuple[tuple[int, int, int], ...]
"""Device state, cores and memory (in units of the table) of each node."""


@dataclass(frozen=True, slots=True)
class Step:
    """A spanning seating in the units of the tables: per node (number, cores, memory), and takes."""

    name: int
    parts: tuple[tuple[int, int, int, tuple[tuple[int, int], ...]], ...]
    only: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Begun:
    """The best found for a kind: its value, the seatings placed, where each node is then, and its
    device state."""

    value: int
    names: tuple[int, ...]
    flats: tuple[int, ...]
    states: tuple[int, ...]


@dataclass
class Deeper:
    """Tries the spanning seatings of one family.

    ``starts``: residuals by member, several where vGPUs are split. ``unfinished``: members with more
    combinations than were tried.
    """

    steps: tuple[Step, ...]
    tables: tuple[NodeTable, ...]
    starts: dict[int, tuple[Residual, ...]]
    unfinished: set[int] = field(default_factory=set)

    def best(self, worth: Array, filled: Sequence[FilledTable]) -> dict[int, Begun]:
        """Return the best of each member; those with too many combinations are noted as unfinished."""
        steps = self._worthwhile(worth)
        self.unfinished = set()
        found = {}
        for member, starts in self.starts.items():
            mine = [step for step in steps if step.only is None or member in step.only]
            search = _Search(mine, worth.tolist(), self.tables, filled)
            for residual in starts:
                search.go(0, residual, 0, ())
            if search.tries > MOST_TRIES:
                self.unfinished.add(member)
            if search.found is not None:
                found[member] = search.found
        return found

    def _worthwhile(self, worth: Array) -> list[Step]:
        """Steps that no other of the same sort makes needless."""
        sorts: dict[object, list[Step]] = {}
        for step in self.steps:
            if worth[step.name] > 0:
                sort = (tuple((n, c > 0, takes) for n, c, _, takes in step.parts), step.only)
                sorts.setdefault(sort, []).append(step)
        kept = []
        for steps in sorts.values():
            steps.sort(key=lambda s: (-int(worth[s.name]), [p[1:3] for p in s.parts], s.name))
            mine: list[Step] = []
            for step in steps:
                if not any(_no_larger(known, step) for known in mine):
                    mine.append(step)
            kept += mine
        return kept


def _no_larger(one: Step, other: Step) -> bool:
    return all(a[1] <= b[1] and a[2] <= b[2] for a, b in zip(one.parts, other.parts, strict=True))


class _Search:
    """The search on one member."""

    def __init__(
        self,
        steps: Sequence[Step],
        worth: Sequence[int],
        tables: Sequence[NodeTable],
        filled: Sequence[FilledTable],
    ) -> None:
        self.steps, self.worth, self.tables, self.filled = steps, worth, tables, filled
        self.tries = 0
        self.found: Begun | None = None

    def go(self, first: int, residual: Residual, total: int, names: tuple[int, ...]) -> None:
        """Look at a residual, then place one more of the steps from ``first`` on."""
        self.tries += 1
        flats = tuple(int(table.flat(*node)) for table, node in zip(self.tables, residual, strict=True))
        value = total + sum(f.values.item(flat) for f, flat in zip(self.filled, flats, strict=True))
        if self.found is None or value > self.found.value:
            self.found = Begun(value, names, flats, tuple(node[0] for node in residual))
        if len(names) == MOST_DEPTH:
            self.tries = MOST_TRIES + 1
        for number in range(first, len(self.steps)):
            if self.tries > MOST_TRIES:
                return
            step = self.steps[number]
            after = self._after(residual, step)
            if after is not None:
                self.go(number, after, total + self.worth[step.name], (*names, step.name))

    def _after(self, residual: Residual, step: Step) -> Residual | None:
        nodes = list(residual)
        for number, cores, memory, takes in step.parts:
            state, left_cores, left_memory = nodes[number]
            if left_cores < cores or left_memory < memory:
                return None
            if takes:
                state = int(self.tables[number].after(takes)[state])
                if state < 0:
                    return None
            nodes[number] = (state, left_cores - cores, left_memory - memory)
        return tuple(nodes)
