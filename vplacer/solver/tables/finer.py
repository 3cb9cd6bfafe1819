"""What rows stand for, where floating VMs may leave many residuals of a host: looked up as far as it matters.

A row has the most that any of its residuals leaves each node. Residuals with the same cores make a group,
with the most memory that any of them leaves each node: what it comes to is never below the truth, and
mostly equal to it, since memory is seldom short on both nodes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

CHUNK = 2_000_000
"""Residuals looked up at a time."""


@dataclass(frozen=True)
class Within:
    """What one row stands for.

    ``cores`` and ``memory``: units of each group below the row, by group and node. ``sizes``: residuals of
    each group; ``below``: units of memory of each below its group, by residual and node.
    """

    cores: Array
    memory: Array
    sizes: Array
    below: Array

    @staticmethod
    def nothing(nodes: int) -> Within:
        """The row itself."""
        zero = np.zeros((1, nodes), np.int16)
        return Within(zero, zero, np.ones(1, np.int64), zero)

    @staticmethod
    def of(sides: tuple[Array, Array], numbers: Sequence[int], nodes: int) -> tuple[Array, Within]:
        """Return the most that is left of each node (cores and memory), and what is within that.

        Args:
            sides: residuals of two nodes, in units of cores and memory, ordered by the cores.
            numbers: which two of the nodes.
            nodes: how many there are.
        """
        both = np.stack([side[:, 0] for side in sides], axis=1)
        new = np.ones(len(both), bool)
        new[1:] = (both[1:] != both[:-1]).any(axis=1)
        at = np.nonzero(new)[0]
        group = np.cumsum(new) - 1
        most = np.zeros((nodes, 2), np.int64)
        cores, memory = np.zeros((len(at), nodes), np.int16), np.zeros((len(at), nodes), np.int16)
        below = np.zeros((len(both), nodes), np.int16)
        for side, number in zip(sides, numbers, strict=True):
            most[number] = side.max(axis=0, initial=0)
            highest = np.maximum.reduceat(side[:, 1], at) if len(at) else at
            cores[:, number] = most[number, 0] - side[at, 0]
            memory[:, number] = most[number, 1] - highest
            below[:, number] = highest[group] - side[:, 1]
        return most, Within(cores, memory, np.bincount(group, minlength=len(at)), below)


@dataclass(frozen=True, slots=True)
class Looked:
    """The best residual of an owner: its row, its value, and where each node is in its table.

    ``spare``: what is left of the host's cores beside the nodes (see `PlainRoom.place`).
    """

    row: int
    value: int
    flats: tuple[int, ...]
    spare: int = 0


class Finer:
    """What all rows of a family stand for.

    ``carried``: residuals on which more VMs are tried at a time; of the others is told what they may come to.
    """

    carried = 200_000

    def __init__(self, within: Sequence[Within], most: Sequence[tuple[int, int]]) -> None:
        """Take what each row stands for, and the most units of each node's table."""
        self._groups = _ends(np.array([len(one.cores) for one in within]))
        self._cores = np.concatenate([one.cores for one in within])
        self._memory = np.concatenate([one.memory for one in within])
        self._cells = _ends(np.concatenate([one.sizes for one in within]))
        self._below = np.concatenate([one.below for one in within])
        self._widths = [cores + 1 for cores, _ in most]
        self._heights = [memory + 1 for _, memory in most]
        self.needed = len(self._below) > len(within)

    def fill(self, worth: Array) -> None:
        """Take the value of each seating of the family: nothing here depends on it."""

    def most(
        self,
        base: Array,
        flats: Sequence[Array],
        ways: Sequence[Sequence[Array]],
        enough: Array | None = None,  # noqa: ARG002 - always told as closely as can be
    ) -> Array:
        """Return what each row is worth at most: -1 where none of its groups has room.

        Args:
            base: which rows these were when nothing was placed.
            flats: by node, where each row is in its table.
            ways: tables by node, several that are each never below the truth: the least counts.
            enough: where a row is worth no more than this, it need not be told more closely.
        """
        if not self.needed:
            return least(flats, ways)
        found = np.empty(len(base), np.int64)
        for rows in self._chunks(np.diff(self._groups)[base]):
            owner, _, good, places = self._group_places(base[rows], [at[rows] for at in flats])
            bound = least(places, ways)
            bound[~good] = -1
            at = np.nonzero(np.diff(owner, prepend=-1))[0]
            found[rows] = np.maximum.reduceat(bound, at) if len(at) else bound
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
        """Look up rows, those that promise most first, until no other can be better than what is known.

        Args:
            owner: whose rows these are.
            placed: what is placed already is worth.
            known: the best known of each owner.
            base: which rows these were when nothing was placed.
            flats: by node, where each row is in its table.
            values: the tables.

        Returns:
            What is better than known, by owner.
        """
        bound = placed.astype(np.int64)
        for table, at in zip(values, flats, strict=True):
            bound += table[at]
        reached = known.astype(np.int64)
        best: dict[int, Looked] = {}
        rows = np.nonzero(bound > reached[owner])[0]
        if not self.needed:
            keep_better(rows, owner[rows], bound[rows], [at[rows] for at in flats], reached, best)
            return best
        for part in self._chunks(np.diff(self._groups)[base[rows]]):
            mine = rows[part]
            self._look_up(mine, owner, placed, reached, base, [at[mine] for at in flats], values, best)
        return best

    def _chunks(self, sizes: Array) -> list[slice]:
        """Cut rows where their groups become too many for once."""
        ends = np.cumsum(sizes)
        cuts = [0]
        while cuts[-1] < len(sizes):
            done = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
            cuts.append(max(cuts[-1] + 1, int(np.searchsorted(ends, done + CHUNK, side="right"))))
        return [slice(first, last) for first, last in pairwise(cuts)]

    def _group_places(self, base: Array, flats: Sequence[Array]) -> tuple[Array, Array, Array, list[Array]]:
        """Of the groups of some rows: the row, the group, whether it has room, where each node is."""
        owner, group = _expand(self._groups, base)
        good = np.ones(len(owner), bool)
        places = []
        for number, (at, width, height) in enumerate(zip(flats, self._widths, self._heights, strict=True)):
            cores, memory = self._cores[group, number], self._memory[group, number]
            good &= ((at // height) % width)[owner] >= cores
            good &= (at % height)[owner] >= memory
            places.append(at[owner] - cores.astype(np.int64) * height - memory)
        for place in places:
            place[~good] = 0
        return owner, group, good, places

    def _look_up(
        self,
        rows: Array,
        owner: Array,
        placed: Array,
        reached: Array,
        base: Array,
        flats: Sequence[Array],
        values: Sequence[Array],
        best: dict[int, Looked],
    ) -> None:
        """Look up the groups of some rows, and the residuals of those that may be better than known."""
        mine, group, good, places = self._group_places(base[rows], flats)
        bound = np.where(good, least(places, [values]) + placed[rows][mine], -1)
        row = rows[mine]
        who = owner[row]
        left = np.nonzero(bound > reached[who])[0]
        width = 1
        while len(left):
            chosen, left = _most_promising(left, who, bound, width)
            at, cell = _expand(self._cells, group[chosen])
            at = chosen[at]
            value = placed[row[at]].astype(np.int64)
            good = np.ones(len(at), bool)
            there = []
            for number, (table, place, height) in enumerate(zip(values, places, self._heights, strict=True)):
                below = self._below[cell, number]
                good &= (place % height)[at] >= below
                there.append(np.where(good, place[at] - below, 0))
                value += table[there[-1]]
            value[~good] = -1
            keep_better(row[at], who[at], value, there, reached, best)
            left = left[bound[left] > reached[who[left]]]
            width *= 4


def least(places: Sequence[Array], ways: Sequence[Sequence[Array]]) -> Array:
    """The least that some tables say of places, by node."""
    found: Array | None = None
    for values in ways:
        total = np.zeros(len(places[0]), np.int64)
        for table, at in zip(values, places, strict=True):
            total += table[at]
        found = total if found is None else np.minimum(found, total)
    assert found is not None
    return found


def _ends(sizes: Array) -> Array:
    """Where each of some stretches begins, and the end of the last."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _expand(ends: Array, chosen: Array) -> tuple[Array, Array]:
    """Of each member of some stretches: which of the stretches it is in, and its number."""
    sizes = ends[chosen + 1] - ends[chosen]
    owner = np.repeat(np.arange(len(chosen)), sizes)
    first = np.cumsum(sizes) - sizes
    return owner, np.arange(len(owner)) - np.repeat(first - ends[chosen], sizes)


def keep_better(
    rows: Array,
    who: Array,
    value: Array,
    flats: Sequence[Array],
    reached: Array,
    best: dict[int, Looked],
) -> None:
    """Keep what is better than known, of equals the first row."""
    better = np.nonzero(value > reached[who])[0]
    order = better[np.lexsort((rows[better], -value[better], who[better]))]
    owners, first = np.unique(who[order], return_index=True)
    for one, at in zip(owners.tolist(), order[first].tolist(), strict=True):
        reached[one] = value[at]
        best[one] = Looked(int(rows[at]), int(value[at]), tuple(int(flat[at]) for flat in flats))


def _most_promising(left: Array, owner: Array, bound: Array, width: int) -> tuple[Array, Array]:
    """Take so many rows of each owner, the greatest bounds first; also return the others."""
    if width == 1:
        most = np.full(int(owner[left].max()) + 1, -1, np.int64)
        np.maximum.at(most, owner[left], bound[left])
        hits = left[bound[left] == most[owner[left]]]
        chosen = hits[np.unique(owner[hits], return_index=True)[1]]
        others = np.ones(len(owner), bool)
        others[chosen] = False
        return chosen, left[others[left]]
    order = left[np.lexsort((-bound[left], owner[left]))]
    mine = owner[order]
    starts = np.nonzero(np.concatenate([np.ones(1, bool), mine[1:] != mine[:-1]]))[0]
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return order[rank < width], order[rank >= width]
