"""Many residuals at once: hosts of a family with what is left of each node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.constraints.supply import Amount
from vplacer.solver.tables.node_table import NodeTable
from vplacer.solver.tables.seatings import Seating
from vplacer.solver.tables.slots import most_devices

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Residuals:
    """Rows of residuals: kind, and per node device state, millicores and MiB.

    ``base``: the row it comes from, as long as nothing was placed.
    """

    kind: Array
    states: Array
    cores: Array
    memory: Array
    base: Array

    def only(self, wanted: Array) -> Residuals:
        """Return some of the rows."""
        return Residuals(
            self.kind[wanted],
            self.states[wanted],
            self.cores[wanted],
            self.memory[wanted],
            self.base[wanted],
        )

    def flat(self, tables: Sequence[NodeTable]) -> Array:
        """Positions in the tables."""
        columns = []
        for number, table in enumerate(tables):
            cores = self.cores[:, number] // table.units.millicores
            memory = self.memory[:, number] // table.units.memory_mib
            columns.append(table.flat(self.states[:, number], cores, memory))
        return np.stack(columns, axis=1).astype(np.int32)


class Again:
    """Whether one more spanning seating may follow on a residual: never wrongly no."""

    def __init__(self, seatings: Sequence[Seating], tables: Sequence[NodeTable]) -> None:
        with_devices = [s for s in seatings if s.tokens or any(part.takes for part in s.parts)]
        smallest: dict[object, Seating] = {}
        for seating in seatings:
            if not seating.tokens and not any(part.takes for part in seating.parts):
                places = tuple(part.position for part in seating.parts)
                smallest[places] = _smaller(smallest.get(places, seating), seating)
        self.without_devices = tuple(smallest.values())
        self._devices = min(
            (sum(n for p in s.parts for _, n in p.takes) + sum(n for _, n in s.tokens) for s in with_devices),
            default=None,
        )
        self._cores = min((p.amount.millicores for s in with_devices for p in s.parts), default=0)
        self._free = [
            np.array([most_devices(state, table.openings) for state in table.states], np.int64)
            for table in tables
        ]

    def may(self, residuals: Residuals) -> Array:
        """Which rows have devices and cores for one that takes devices."""
        if self._devices is None:
            return np.zeros(len(residuals.kind), bool)
        devices = sum(free[residuals.states[:, n]] for n, free in enumerate(self._free))
        enough: Array = (devices >= self._devices) & (residuals.cores.max(axis=1) >= self._cores)
        return enough


def _smaller(one: Seating, other: Seating) -> Seating:
    """A seating no larger than either of two on the same nodes."""
    amounts = [
        Amount(min(a.amount.millicores, b.amount.millicores), min(a.amount.memory_mib, b.amount.memory_mib))
        for a, b in zip(one.parts, other.parts, strict=True)
    ]
    return replace(one, parts=tuple(replace(p, amount=x) for p, x in zip(one.parts, amounts, strict=True)))
