"""Hosts of more than two nodes on which VMs float: what is left of their cores is shared by all nodes.

Wherever the floating VMs are, VMs that are placed take no more cores together than those leave of the host.
So the best that the tables of the nodes come to within so many cores is never below the truth. Whether the
floating VMs can be packed beside it is another matter: see `fitting`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.solver.tables.finer import Looked, keep_better, least
from vplacer.solver.tables.node_table import NodeTable

Array = npt.NDArray[Any]

MOST_STEPS = 128
"""Steps of the axis of the host's cores; with more they are coarser, which lets in more than there is."""

CELLS = 4_000_000
"""Rows times steps that are looked up at a time."""

_NONE = -(1 << 60)


class Pooled:
    """What the rows of a family stand for; beside `Finer`, for hosts of more nodes."""

    needed = True
    carried = 300

    def __init__(self, tables: Sequence[NodeTable], totals: Sequence[int | None], cores: Array) -> None:
        """Take what is left of each host.

        Args:
            tables: of the nodes.
            totals: millicores left of the host of each row; None = no VM floats there.
            cores: units left of each node, by row and node.
        """
        self._widths = [table.most[0] + 1 for table in tables]
        self._heights = [table.most[1] + 1 for table in tables]
        units = [table.units.millicores for table in tables]
        most = max((total for total in totals if total is not None), default=0)
        step = max(gcd(*units), -(-most // MOST_STEPS))
        self._units = np.array(units, np.int64)
        self._step = step
        self._costs = [
            (np.arange(width) * unit) // step for width, unit in zip(self._widths, units, strict=True)
        ]
        self._cores = cores
        self._loose = np.array([total is not None for total in totals])
        self._totals = np.array([total or 0 for total in totals], np.int64)

    def most(
        self,
        base: Array,
        flats: Sequence[Array],
        ways: Sequence[Sequence[Array]],
        enough: Array | None = None,
    ) -> Array:
        """Return what each row is worth at most; see `Finer.most`."""
        found = least(flats, ways)
        if enough is None:
            return found
        left = self._left(base, flats)
        found[left < 0] = -1
        size = max(1, CELLS // (MOST_STEPS + 1))
        for values in ways:
            open_rows = np.nonzero((found > enough) & self._loose[base])[0]
            for start in range(0, len(open_rows), size):
                rows = open_rows[start : start + size]
                reach = self._reach([at[rows] for at in flats], values, left[rows])[-1]
                found[rows] = np.minimum(found[rows], reach[np.arange(len(rows)), left[rows]])
        return found

    def look_up_best(
        self,
        owner: Array,
        placed: Array,
        known: Array,
        base: Array,
        flats: Sequence[Array],
        values: Sequence[Array],
    ) -> dict[int, Looked]:
        """Look up rows until no other can be better than what is known; see `Finer.look_up_best`."""
        reached = known.astype(np.int64)
        best: dict[int, Looked] = {}
        bound = placed + least(flats, [values])
        rows = np.nonzero((bound > reached[owner]) & ~self._loose[base])[0]
        keep_better(rows, owner[rows], bound[rows], [at[rows] for at in flats], reached, best)
        first = np.nonzero(self._loose[base] & (placed == 0) & (bound > reached[owner]))[0]
        self._look_up(first, owner, placed, base, flats, values, reached, best)
        later = np.nonzero(self._loose[base] & (placed > 0) & (bound > reached[owner]))[0]
        self._look_up(later, owner, placed, base, flats, values, reached, best)
        return best

    def _look_up(
        self,
        rows: Array,
        owner: Array,
        placed: Array,
        base: Array,
        flats: Sequence[Array],
        values: Sequence[Array],
        reached: Array,
        best: dict[int, Looked],
    ) -> None:
        size = max(1, CELLS // (MOST_STEPS + 1))
        for start in range(0, len(rows), size):
            mine = rows[start : start + size]
            left = self._left(base[mine], [at[mine] for at in flats])
            good = left >= 0
            mine, left = mine[good], left[good]
            if not len(mine):
                continue
            value, there = self._best([at[mine] for at in flats], values, left)
            keep_better(mine, owner[mine], value + placed[mine], there, reached, best)

    def _left(self, base: Array, flats: Sequence[Array]) -> Array:
        """Steps of cores that are left of the hosts of rows."""
        left = self._totals[base].copy()
        for number, (at, width, height) in enumerate(zip(flats, self._widths, self._heights, strict=True)):
            left -= (self._cores[base, number] - (at // height) % width) * self._units[number]
        return np.where(left >= 0, left // self._step, -1)

    def _best(
        self, flats: Sequence[Array], values: Sequence[Array], left: Array
    ) -> tuple[Array, list[Array]]:
        """The best of each row within the steps that are left, and where each node then is."""
        reaches = self._reach(flats, values, left)
        count = len(left)
        rows = np.arange(count)
        at_step = left.copy()
        value = reaches[-1][rows, at_step]
        goal = value
        there: list[Array] = []
        for number in range(len(flats) - 1, -1, -1):
            table, width, height = values[number], self._widths[number], self._heights[number]
            gains = self._gains(flats[number], table, width, height)
            chosen = np.zeros(count, np.int64)
            done = np.zeros(count, bool)
            for cores in range(width):
                then = at_step - self._costs[number][cores]
                hit = ~done & (then >= 0)
                hit &= reaches[number][rows, np.maximum(then, 0)] + gains[cores] == goal
                chosen[hit] = cores
                done |= hit
            goal = goal - gains[chosen, rows]
            at_step = at_step - self._costs[number][chosen]
            there.append(flats[number] - ((flats[number] // height) % width - chosen) * height)
        return value, there[::-1]

    def _reach(self, flats: Sequence[Array], values: Sequence[Array], left: Array) -> list[Array]:
        """What is reached within each number of steps, by row: with no node, with one, and so on."""
        found = [np.zeros((len(left), int(left.max(initial=0)) + 1), np.int64)]
        for at, table, width, height, cost in zip(
            flats, values, self._widths, self._heights, self._costs, strict=True
        ):
            found.append(self._add(found[-1], self._gains(at, table, width, height), cost))
        return found

    @staticmethod
    def _gains(at: Array, table: Array, width: int, height: int) -> Array:
        """What a node comes to with each number of units of cores, by units and row."""
        have = (at // height) % width
        gains = np.full((width, len(at)), _NONE, np.int64)
        for cores in range(int(have.max()) + 1):
            good = np.nonzero(have >= cores)[0]
            gains[cores, good] = table[at[good] - (have[good] - cores) * height]
        return gains

    @staticmethod
    def _add(reach: Array, gains: Array, cost: Array) -> Array:
        """What is reached with one more node."""
        if (gains <= 0).all():
            return reach
        found: Array = reach + gains[0][:, None]
        wide = reach.shape[1]
        for cores in range(1, len(gains)):
            if cost[cores] < wide and (gains[cores] > gains[cores - 1]).any():
                rest = found[:, cost[cores] :]
                np.maximum(rest, reach[:, : wide - cost[cores]] + gains[cores][:, None], out=rest)
        return found
