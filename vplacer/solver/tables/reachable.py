"""What VMs that float can leave of the two nodes of a host.

Where it is not known on which node they are, some way to share them out must leave room for what is placed.
A way puts parts that lie whole (sum S) on the first node and a share of what may be divided (D): of R,
which VMs bound to it leave, ``R - S - D`` to ``R - S`` remain, and of the second node the rest of the
host's total. So what can remain is a set of boxes, one for each sum S.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.constraints.supply import Amount
from vplacer.solver.host_state import HostState

Array = npt.NDArray[Any]

MOST_SUMS = 4_096
"""Sums told apart. With more they are told to coarser steps, which lets in more than there is."""

_SHIFT = 40
"""Millicores stand above so many bits of MiB in one number."""


@dataclass(frozen=True)
class Reach:
    """What may be left of the first of two nodes; the second is left the rest of the total.

    ``nodes``: their positions. ``low`` and ``high``: boxes of millicores and MiB, shape (boxes, 2).
    ``total``: what is left of both.
    """

    nodes: tuple[int, int]
    low: Array
    high: Array
    total: tuple[int, int]


def floats(state: HostState) -> bool:
    """Whether VMs whose node is not known run on a host."""
    return bool(state.items or state.divisible)


def open_nodes(state: HostState) -> tuple[int, ...]:
    """Positions of the nodes of which bound VMs leave anything."""
    return tuple(n for n, room in enumerate(state.room) if room.millicores > 0 or room.memory_mib > 0)


def reach_of(state: HostState) -> Reach | None:
    """Return what may be left of the nodes of a host; None where more than two take part, or too few."""
    nodes = open_nodes(state)
    if len(state.node_ids) < 2 or len(nodes) > 2:
        return None
    pair = (nodes + tuple(n for n in range(len(state.node_ids)) if n not in nodes))[:2]
    first, second = pair[0], pair[1]
    rooms = [_pair(state.room[first]), _pair(state.room[second])]
    parts = [
        (_pair(amount), not allowed or first in allowed, not allowed or second in allowed)
        for amount, count, allowed in state.items
        for _ in range(count)
    ]
    sums, slack = _sums(parts, rooms)
    here, loose = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for amount, allowed in state.divisible:
        if not allowed or (first in allowed and second in allowed):
            loose += _pair(amount)
        elif first in allowed:
            here += _pair(amount)
    everything = sum((_pair(amount) for amount, _ in state.divisible), np.zeros(2, np.int64))
    total = rooms[0] + rooms[1] - sum((p for p, _, _ in parts), np.zeros(2, np.int64)) - everything
    high = np.minimum(rooms[0] - sums - here, total)
    low = np.maximum(rooms[0] - sums - slack - here - loose, 0)
    good = (low <= high).all(axis=1)
    return Reach((first, second), low[good], high[good], (int(total[0]), int(total[1])))


def left_of_all(state: HostState) -> Amount:
    """Return what floating VMs leave of all nodes together, and of the host."""
    floating = sum((_pair(amount) * count for amount, count, _ in state.items), np.zeros(2, np.int64))
    floating = sum((_pair(amount) for amount, _ in state.divisible), floating)
    rooms = sum((_pair(room) for room in state.room), np.zeros(2, np.int64))
    cores, memory = np.maximum(0, np.minimum(rooms - floating, _pair(state.total_room))).tolist()
    return Amount(cores, memory)


def _pair(amount: Amount) -> Array:
    return np.array([max(0, amount.millicores), max(0, amount.memory_mib)], np.int64)


def _sums(parts: Sequence[tuple[Array, bool, bool]], rooms: Sequence[Array]) -> tuple[Array, Array]:
    """Sums of parts that may lie on the first node while the others lie on the second.

    Returns:
        the sums, shape (sums, 2), and by how much at most they are told too low.
    """
    ordered = sorted(parts, key=lambda p: (p[1] and p[2], -int(p[0][0]), -int(p[0][1])))
    found, slack, placed = np.zeros((1, 2), np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    for amount, on_first, on_second in ordered:
        placed = placed + amount
        ways = ([found] if on_second else []) + ([found + amount] if on_first else [])
        found = np.concatenate(ways) if ways else found[:0]
        found = found[(found <= rooms[0]).all(axis=1) & (placed - found - slack <= rooms[1]).all(axis=1)]
        found = _distinct(found)
        while len(found) > MOST_SUMS:
            found, slack = _coarser(found, slack)
    return found, slack


def _coarser(sums: Array, slack: Array) -> tuple[Array, Array]:
    """Tell sums to steps about twice as coarse, rounded down."""
    step = 2 * (slack + 1)
    return _distinct(sums // step * step), slack + step - 1


def _distinct(sums: Array) -> Array:
    keys = np.unique((sums[:, 0] << _SHIFT) | sums[:, 1])
    return np.stack([keys >> _SHIFT, keys & ((1 << _SHIFT) - 1)], axis=1)


@dataclass(frozen=True)
class Cells:
    """Residuals of two nodes in whole units: shape (cells, 2), cores and memory."""

    first: Array
    second: Array


def cells_of(reach: Reach, units: Sequence[tuple[int, int]]) -> Cells:
    """Return what may be left in whole units of each node's table, rounded down.

    Of what rounds to the same on the first node, the most that is left of the second is told.
    """
    if not len(reach.low):
        nothing = np.zeros((0, 2), np.int64)
        return Cells(nothing, nothing)
    axes = [
        _Axis(reach.low[:, axis], reach.high[:, axis], reach.total[axis], units[0][axis], units[1][axis])
        for axis in (0, 1)
    ]
    cores, memory = axes
    if cores.narrow and memory.narrow:
        at = np.unique(cores.begin * len(memory.first) + memory.begin)
        rows, columns = at // len(memory.first), at % len(memory.first)
    else:
        edge = np.zeros((len(cores.first) + 1, len(memory.first) + 1), np.int32)
        np.add.at(edge, (cores.begin, memory.begin), 1)
        np.add.at(edge, (cores.end + 1, memory.begin), -1)
        np.add.at(edge, (cores.begin, memory.end + 1), -1)
        np.add.at(edge, (cores.end + 1, memory.end + 1), 1)
        rows, columns = np.nonzero(edge.cumsum(axis=0).cumsum(axis=1)[:-1, :-1])
    return Cells(
        np.stack([cores.first[rows], memory.first[columns]], axis=1),
        np.stack([cores.second[rows], memory.second[columns]], axis=1),
    )


class _Axis:
    """Cores or memory: the distinct pairs of whole units left, and the stretch of them each box spans."""

    def __init__(self, low: Array, high: Array, total: int, unit: int, other: int) -> None:
        marks = np.unique(low)
        if (low < high).any():
            steps = np.arange(-(-int(low.min()) // unit) * unit, int(high.max()) + 1, unit)
            marks = np.unique(np.concatenate([marks, steps]))
        first, second = marks // unit, (total - marks) // other
        new = np.ones(len(marks), bool)
        new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
        number = np.cumsum(new) - 1
        self.first, self.second = first[new], second[new]
        self.begin = number[np.searchsorted(marks, low)]
        self.end = number[np.searchsorted(marks, high, side="right") - 1]
        self.narrow = bool((self.begin == self.end).all())
