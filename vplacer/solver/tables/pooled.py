"""Hosts of more than two nodes on which VMs float: what is left of their cores is shared by all nodes.

Wherever the floating VMs are, VMs that are placed take no more cores together than those leave of the host.
So the best that the tables of the nodes come to within so many cores is never below the truth. Whether the
floating VMs can be packed beside it is another matter: see `fitting`. VMs over several nodes that take no
devices take cores of the host alone: see `plain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.solver.tables.finer import Looked, keep_better, least
from vplacer.solver.tables.node_table import NodeTable
from vplacer.solver.tables.plain import PlainGroup, PlainRoom

Array = npt.NDArray[Any]

MOST_STEPS = 128
"""Steps of the axis of the host's cores; with more they are coarser, which lets in more than there is."""

CELLS = 2_000_000
"""Rows times steps that are looked up at a time."""

_NONE = -(1 << 60)


class Pooled:
    """What the rows of a family stand for; beside `Finer`, for hosts of more nodes."""

    needed = True
    carried = 10_000

    def __init__(
        self,
        tables: Sequence[NodeTable],
        totals: Sequence[int],
        cores: Array,
        plain: Sequence[PlainGroup],
        most_plain: Array,
    ) -> None:
        """Take what is left of each host.

        Args:
            tables: of the nodes.
            totals: millicores left of the host of each row.
            cores: units left of each node, by row and node.
            plain: VMs over several nodes that take no devices.
            most_plain: how many of these fit at most, by row and group.
        """
        self._widths = [table.most[0] + 1 for table in tables]
        self._heights = [table.most[1] + 1 for table in tables]
        units = [table.units.millicores for table in tables]
        self._step = max(gcd(*units), -(-max(totals, default=0) // MOST_STEPS))
        self._units = np.array(units, np.int64)
        # The most units of a node within so many steps.
        span = max(
            ((width - 1) * unit // self._step for width, unit in zip(self._widths, units, strict=True)),
            default=0,
        )
        steps = np.arange(span + 1)
        self._within = [
            np.minimum(width - 1, np.searchsorted(np.arange(width) * unit // self._step, steps, "right") - 1)
            for width, unit in zip(self._widths, units, strict=True)
        ]
        self._cores = cores
        self._totals = np.array(totals, np.int64)
        self.plain = PlainRoom(plain, most_plain, self._step, max(totals, default=0) // self._step)

    def fill(self, worth: Array) -> None:
        """Take the value of each seating of the family."""
        self.plain.fill(worth)

    def most(
        self,
        base: Array,
        flats: Sequence[Array],
        ways: Sequence[Sequence[Array]],
        enough: Array | None = None,
    ) -> Array:
        """Return what each row is worth at most; see `Finer.most`."""
        left = self._left(base, flats)
        level = self.plain.level[base]
        found = least(flats, ways) + self.plain.values[level, np.maximum(left, 0)]
        found[left < 0] = -1
        for values in ways:
            rows = np.nonzero(found > (0 if enough is None else enough))[0]
            if len(rows):
                told = self._values([at[rows] for at in flats], values, left[rows], level[rows])
                found[rows] = np.minimum(found[rows], told)
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
        left = self._left(base, flats)
        level = self.plain.level[base]
        bound = placed + least(flats, [values]) + self.plain.values[level, np.maximum(left, 0)]
        bound[left < 0] = -1
        chosen: dict[int, Looked] = {}
        # What nothing was placed on comes first: with its value, few of the others are looked up.
        for first in (True, False):
            rows = np.nonzero(((placed == 0) == first) & (bound > reached[owner]))[0]
            if len(rows):
                value = self._values([at[rows] for at in flats], values, left[rows], level[rows])
                value += placed[rows]
                keep_better(rows, owner[rows], value, [], reached, chosen)
        if not chosen:
            return {}
        winners = np.array([looked.row for looked in chosen.values()])
        mine = [at[winners] for at in flats]
        there, spare = self._traced(mine, values, left[winners], level[winners])
        return {
            one: Looked(looked.row, looked.value, tuple(int(at[n]) for at in there), int(spare[n]))
            for n, (one, looked) in enumerate(chosen.items())
        }

    def _left(self, base: Array, flats: Sequence[Array]) -> Array:
        """Steps of cores that are left of the hosts of rows."""
        left = self._totals[base].copy()
        for number, (at, width, height) in enumerate(zip(flats, self._widths, self._heights, strict=True)):
            left -= (self._cores[base, number] - (at // height) % width) * self._units[number]
        return np.where(left >= 0, left // self._step, -1)

    def _profiles(self, flats: Sequence[Array], values: Sequence[Array]) -> tuple[Array, Array]:
        """What nodes come to within each number of steps: profiles, and which each row has, by node."""
        kinds: dict[tuple[int, int], list[int]] = {}
        for number, table in enumerate(values):
            kinds.setdefault((id(table), int(self._units[number])), []).append(number)
        found = []
        which = np.empty((len(flats[0]), len(flats)), np.int64)
        count = 0
        for numbers in kinds.values():
            places, at = np.unique(np.stack([flats[n] for n in numbers]), return_inverse=True)
            width, height = self._widths[numbers[0]], self._heights[numbers[0]]
            have = (places // height) % width
            cores = np.minimum(self._within[numbers[0]][None], have[:, None])
            found.append(values[numbers[0]][places[:, None] - (have[:, None] - cores) * height])
            which[:, numbers] = count + at.reshape(len(numbers), -1).T
            count += len(places)
        profiles, same = np.unique(np.concatenate(found), axis=0, return_inverse=True)
        return profiles.astype(np.int64), same.reshape(-1)[which]

    def _values(self, flats: Sequence[Array], values: Sequence[Array], left: Array, level: Array) -> Array:
        """The best of each row within the steps that are left. Rows that are alike are looked up once."""
        profiles, which = self._profiles(flats, values)
        alike = np.concatenate([left[:, None], level[:, None], np.sort(which, axis=1)], axis=1)
        rows, owner = np.unique(alike, axis=0, return_inverse=True)
        found = np.full(len(rows), -1, np.int64)
        at = int(np.searchsorted(rows[:, 0], 0))
        while at < len(rows):
            # They are ordered by what is left.
            end = at + 1
            while end < len(rows) and (end + 1 - at) * (int(rows[end, 0]) + 1) <= CELLS:
                end = min(len(rows), max(end + 1, at + CELLS // (int(rows[end, 0]) + 1)))
            mine = rows[at:end]
            reach = self._reach(profiles, mine[:, 2:], int(mine[-1, 0]))[-1]
            found[at:end] = self._with_plain(reach, mine[:, 0], mine[:, 1]).max(axis=1)
            at = end
        result: Array = found[owner.reshape(-1)]
        return result

    def _with_plain(self, reach: Array, left: Array, level: Array) -> Array:
        """What each row comes to with so many steps for its nodes, and the rest for VMs without devices."""
        rest = left[:, None] - np.arange(reach.shape[1])[None]
        found: Array = np.where(
            rest >= 0, reach + self.plain.values[level[:, None], np.maximum(rest, 0)], _NONE
        )
        return found

    @staticmethod
    def _reach(profiles: Array, which: Array, most: int) -> list[Array]:
        """What is reached within each number of steps, by row: with no node, with one, and so on."""
        found = [np.zeros((len(which), most + 1), np.int64)]
        jumps = np.diff(profiles, axis=1) > 0
        for mine in which.T:
            before = found[-1]
            after = before + profiles[mine, 0][:, None]
            for step in np.nonzero(jumps[np.unique(mine)].any(axis=0))[0] + 1:
                if step <= most:
                    rest = after[:, step:]
                    np.maximum(rest, before[:, : most + 1 - step] + profiles[mine, step][:, None], out=rest)
            found.append(after)
        return found

    def _traced(
        self, flats: Sequence[Array], values: Sequence[Array], left: Array, level: Array
    ) -> tuple[list[Array], Array]:
        """Where each node of some rows is in its best, and what is left for VMs without devices."""
        profiles, which = self._profiles(flats, values)
        reaches = self._reach(profiles, which, int(left.max()))
        rows = np.arange(len(left))
        at = self._with_plain(reaches[-1], left, level).argmax(axis=1)
        spare = self.plain.place(level, left - at)
        there: list[Array] = []
        for number in range(len(flats) - 1, -1, -1):
            goal = reaches[number + 1][rows, at]
            mine = profiles[which[:, number]]
            then = at[:, None] - np.arange(profiles.shape[1])[None]
            hit = then >= 0
            hit &= reaches[number][rows[:, None], np.maximum(then, 0)] + mine == goal[:, None]
            chosen = hit.argmax(axis=1)
            at = at - chosen
            width, height = self._widths[number], self._heights[number]
            have = (flats[number] // height) % width
            cores = np.minimum(have, self._within[number][chosen])
            there.append(flats[number] - (have - cores) * height)
        return there[::-1], spare
