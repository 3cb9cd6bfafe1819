"""Whether VMs that float between NUMA nodes have room on some assignment to nodes.

ESXi moves a VM between NUMA nodes at will, so nobody may say where a floating VM is; what must hold
is that *some* assignment exists. Exact search: depth first, best fit first, with memory of states
seen, pruned by what subset sums can still fill of each node. The search is bounded; undecided is an
answer of its own and its callers take it for "does not fit".
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

from vplacer.constraints.supply import Amount

WORK_LIMIT = 20_000
"""States looked at before the search gives up. On random two-node hosts, 85 % full, a few hundred are
enough; 0.1-0.2 % of four- and eight-node hosts stay undecided."""

_GRID = 1024
"""Subset sums are taken over at most this many steps, so that they stay cheap for terabytes."""

Item: TypeAlias = tuple[Amount, int, tuple[int, ...]]
"""What one part takes, how many equal parts, and the positions of the nodes allowed (empty = all)."""

Divisible: TypeAlias = tuple[Amount, tuple[int, ...]]
"""An amount spread over nodes as the platform likes, and the positions of the nodes allowed."""


class Fit(StrEnum):
    """The answer of a packing question."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


@lru_cache(maxsize=65_536)
def fits(
    nodes: tuple[Amount, ...],
    items: tuple[Item, ...],
    divisible: tuple[Divisible, ...] = (),
    limit: int = WORK_LIMIT,
) -> Fit:
    """Say whether items and divisible amounts fit together into the residuals of a host's nodes.

    Args:
        nodes: what is left of each node after all that is bound; a negative residual counts as none.
        items: each part lies whole on one of its allowed nodes; parts of one item may share a node.
        divisible: CPU and memory are each spread over the allowed nodes.
        limit: states looked at before the answer is UNDECIDED.
    """
    room = tuple(Amount(max(0, node.millicores), max(0, node.memory_mib)) for node in nodes)
    parts = [(amount, allowed) for amount, count, allowed in items for _ in range(count)]
    parts = [(amount, allowed) for amount, allowed in parts if amount.millicores > 0 or amount.memory_mib > 0]
    spread = _by_allowed(divisible)
    if not _spread_fits(room, _by_allowed(((a, w) for a, w in (*parts, *divisible)))):
        return Fit.NO
    if not parts:
        return Fit.YES
    if len(nodes) == 1:
        # Parts of one node are as good as divisible, and that was just checked.
        return Fit.YES
    return _Search(room, parts, spread, limit).run()


def _by_allowed(amounts: Iterable[Divisible]) -> tuple[Divisible, ...]:
    """Sum amounts that may lie on the same nodes."""
    found: dict[tuple[int, ...], Amount] = {}
    for amount, allowed in amounts:
        key = tuple(sorted(set(allowed)))
        found[key] = found.get(key, Amount(0, 0)) + amount
    return tuple((amount, allowed) for allowed, amount in sorted(found.items()))


def _spread_fits(room: tuple[Amount, ...], spread: tuple[Divisible, ...]) -> bool:
    """Whether divisible amounts fit: for every union of allowed sets, what must lie in it has room.

    That condition (Hall's) is enough for a flow from amounts to nodes, for CPU and memory apart.
    """
    everything = frozenset(range(len(room)))
    sets = [(amount, frozenset(allowed) or everything) for amount, allowed in spread]
    unions = {frozenset[int]()}
    for _, allowed in sets:
        unions |= {union | allowed for union in unions}
    for union in unions:
        cpu = sum(amount.millicores for amount, allowed in sets if allowed <= union)
        memory = sum(amount.memory_mib for amount, allowed in sets if allowed <= union)
        if cpu > sum(room[node].millicores for node in union):
            return False
        if memory > sum(room[node].memory_mib for node in union):
            return False
    return True


class _Search:
    """One bounded depth-first search."""

    def __init__(
        self,
        room: tuple[Amount, ...],
        parts: list[tuple[Amount, tuple[int, ...]]],
        spread: tuple[Divisible, ...],
        limit: int,
    ) -> None:
        self.room = room
        self.spread = spread
        self.left = limit
        self.cpu_scale = max(1, sum(node.millicores for node in room))
        self.memory_scale = max(1, sum(node.memory_mib for node in room))
        everything = tuple(range(len(room)))
        # Few choices first, then the largest.
        self.parts = sorted(
            ((amount, allowed or everything) for amount, allowed in parts),
            key=lambda part: (len(part[1]), -self._size(part[0]), part[1], part[0].millicores),
        )
        # Nodes may be exchanged for one another in the memory only where all are alike to all parts.
        self.alike = all(allowed == everything for _, allowed in self.parts) and all(
            not allowed for _, allowed in spread
        )
        self.seen: set[tuple[int, tuple[tuple[int, int], ...]]] = set()

    def _size(self, amount: Amount) -> float:
        return max(amount.millicores / self.cpu_scale, amount.memory_mib / self.memory_scale)

    def _prepare_sums(self) -> None:
        """Bit i of a mask: some subset of the parts from here on sums to i steps, each rounded down.

        Rounding down keeps the bound honest: parts that fit a node also fit it after rounding.
        """
        largest_cpu = max(node.millicores for node in self.room)
        largest_memory = max(node.memory_mib for node in self.room)
        self.cpu_step = 1000 if largest_cpu <= 1000 * _GRID else -(-largest_cpu // _GRID)
        self.memory_step = max(1, -(-largest_memory // _GRID))
        count = len(self.parts)
        self.cpu_rest, self.memory_rest = [0] * (count + 1), [0] * (count + 1)
        self.cpu_sums, self.memory_sums = [1] * (count + 1), [1] * (count + 1)
        for index in range(count - 1, -1, -1):
            amount = self.parts[index][0]
            cpu, memory = amount.millicores // self.cpu_step, amount.memory_mib // self.memory_step
            self.cpu_rest[index] = self.cpu_rest[index + 1] + cpu
            self.memory_rest[index] = self.memory_rest[index + 1] + memory
            self.cpu_sums[index] = self.cpu_sums[index + 1] | self.cpu_sums[index + 1] << cpu
            self.memory_sums[index] = self.memory_sums[index + 1] | self.memory_sums[index + 1] << memory

    def run(self) -> Fit:
        """Search."""
        if self.left >= len(self.parts) and self._first_way():
            return Fit.YES
        self._prepare_sums()
        return self._go(0, [(node.millicores, node.memory_mib) for node in self.room])

    def _first_way(self) -> bool:
        """Whether all fits the way that is tried first; mostly it does, and nothing need be prepared."""
        room = [(node.millicores, node.memory_mib) for node in self.room]
        for amount, allowed in self.parts:
            cpu, memory = amount.millicores, amount.memory_mib
            best, least = -1, 0.0
            for node in allowed:
                left = room[node]
                if left[0] >= cpu and left[1] >= memory:
                    slack = self._slack(left, cpu, memory)
                    if best < 0 or slack < least:
                        best, least = node, slack
            if best < 0:
                return False
            room[best] = (room[best][0] - cpu, room[best][1] - memory)
        return self.alike or _spread_fits(tuple(Amount(*node) for node in room), self.spread)

    def _hopeless(self, index: int, room: list[tuple[int, int]]) -> bool:
        """Whether the fullest the nodes can get with the parts left is less than those parts."""
        cpu = sum(_largest(self.cpu_sums[index], left // self.cpu_step) for left, _ in room)
        if cpu < self.cpu_rest[index]:
            return True
        memory = sum(_largest(self.memory_sums[index], left // self.memory_step) for _, left in room)
        return memory < self.memory_rest[index]

    def _go(self, index: int, room: list[tuple[int, int]]) -> Fit:
        if index == len(self.parts):
            # Where all nodes are alike to all, the sums were checked before the search.
            if self.alike or _spread_fits(tuple(Amount(*node) for node in room), self.spread):
                return Fit.YES
            return Fit.NO
        if self.left <= 0:
            return Fit.UNDECIDED
        self.left -= 1
        key = (index, tuple(sorted(room) if self.alike else room))
        if key in self.seen:
            return Fit.NO
        if self._hopeless(index, room):
            self.seen.add(key)
            return Fit.NO
        amount, allowed = self.parts[index]
        cpu, memory = amount.millicores, amount.memory_mib
        tried: set[tuple[int, int]] = set()
        for node in sorted(allowed, key=lambda n: (self._slack(room[n], cpu, memory), n)):
            left = room[node]
            if left[0] < cpu or left[1] < memory or (self.alike and left in tried):
                continue
            tried.add(left)
            after = room.copy()
            after[node] = (left[0] - cpu, left[1] - memory)
            answer = self._go(index + 1, after)
            if answer is not Fit.NO:
                return answer
        self.seen.add(key)
        return Fit.NO

    def _slack(self, left: tuple[int, int], cpu: int, memory: int) -> float:
        return (left[0] - cpu) / self.cpu_scale + (left[1] - memory) / self.memory_scale


def _largest(sums: int, most: int) -> int:
    """Return the largest reachable sum of at most ``most`` steps."""
    return (sums & ((1 << (most + 1)) - 1)).bit_length() - 1
