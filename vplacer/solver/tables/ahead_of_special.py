"""What a host can still come to at most while VMs come that only some hosts take, or that rely on others.

These come before all others, so a table of what the others come to is enough: on top of it such VMs are
placed one by one, each part of them on its node, in the node's own devices. Whether one VM may rely on a
promise, those placed before it tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.solver.tables.ahead import FilledAhead, devices_of, narrow
from vplacer.solver.tables.filled_table import FilledTable
from vplacer.solver.tables.node_table import NodeTable
from vplacer.solver.tables.shares import WAYS, by_devices, shared_out
from vplacer.solver.tables.slots import Takes, devices
from vplacer.solver.tables.step import Step

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class _Part:
    """What a step takes of one node: of which variants it is part, and the states before and after it."""

    step: int
    variants: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]


class AheadOfSpecial:
    """Places special steps on top of the tables of an `Ahead`."""

    def __init__(
        self, steps: Sequence[Step], tables: Sequence[NodeTable], gpus: Sequence[Sequence[bool]]
    ) -> None:
        """Take the steps.

        Args:
            steps: the special ones.
            tables: of the `Ahead` of the others, node by node.
            gpus: which slots of each node are GPUs.
        """
        self.steps, self.tables = tuple(steps), tuple(tables)
        self._parts = [self._parts_of(number) for number in range(len(tables))]
        self._devices = devices_of(self.steps, tables, None)
        self._gpus = devices_of(self.steps, tables, gpus)

    def _parts_of(self, node: int) -> list[_Part]:
        table = self.tables[node]
        found: dict[tuple[int, Takes], list[int]] = {}
        for number, step in enumerate(self.steps):
            for which, (_, takes) in enumerate(step.variants):
                if devices(takes[node], table.promises):
                    found.setdefault((number, takes[node]), []).append(which)
        return [
            _Part(number, tuple(variants), _pairs(table, takes))
            for (number, takes), variants in found.items()
        ]

    def fill(self, wanted: Sequence[int], worth: Array, ahead: FilledAhead) -> FilledAhead:
        """Return what rows come to at most before the last special VM is placed.

        Args:
            wanted: steps that matter, by number.
            worth: value of each seating of the family.
            ahead: what they come to after it.
        """
        # Of some hosts it is not told what each part costs its node.
        shares_by = (by_devices, *WAYS) if len(ahead.filled) > len(WAYS) else WAYS
        ways = zip(shares_by, ahead.filled, strict=True)
        nothing = (0,) * len(self.tables)
        found = []
        for share, filled in ways:
            shares = {
                number: [
                    shared_out(int(worth[self.steps[number].name]), share(nothing, mine, cards))
                    for mine, cards in zip(self._devices[number], self._gpus[number], strict=True)
                ]
                for number in wanted
            }
            found.append(
                tuple(
                    FilledTable(self._filled(node, shares, one), one.most, (), (), ())
                    for node, one in enumerate(filled)
                )
            )
        return FilledAhead(self.tables, tuple(found))

    def _filled(self, node: int, shares: dict[int, list[tuple[int, ...]]], after: FilledTable) -> Array:
        table = self.tables[node]
        width, height = table.most[0] + 1, table.most[1] + 1
        kept: dict[tuple[int, int], dict[tuple[int, int], int]] = {}
        for part in self._parts[node]:
            if part.step not in shares:
                continue
            step = self.steps[part.step]
            value = max(shares[part.step][which][node] for which in part.variants)
            size = (step.cores[node], step.memory[node])
            for pair in part.pairs:
                known = kept.setdefault(pair, {})
                known[size] = max(known.get(size, 0), value)
        values = after.values.reshape(-1, width, height).astype(np.int64)
        # What is left after anything is taken comes before.
        for (before, then), sizes in sorted(kept.items()):
            for (cores, memory), value in sizes.items():
                if cores < width and memory < height and value:
                    here = values[before, cores:, memory:]
                    np.maximum(here, values[then, : width - cores, : height - memory] + value, out=here)
        return narrow(values.reshape(-1))


def _pairs(table: NodeTable, takes: Takes) -> tuple[tuple[int, int], ...]:
    """The states, of those that the table has, before and after some devices are taken."""
    after = table.after(takes)
    stands = table.canonical
    return tuple(
        sorted({(int(stands[state]), int(stands[then])) for state, then in enumerate(after) if then >= 0})
    )
