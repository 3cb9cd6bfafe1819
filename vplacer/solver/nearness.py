"""What an option may claim about nearness, given who chooses the cards.

A claim holds only if it holds for every card that may be chosen (`CellPool`). Static DirectPath
chooses exactly; a label leaves any of its cards; without either the platform takes any matching one.
"""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.constraints.locality import card_relation
from vplacer.constraints.nvlink_use import nvlink_use
from vplacer.request.demand import BoundBy, GpuAsk, Policy
from vplacer.solver.cells import Cell
from vplacer.solver.host_state import HostState
from vplacer.solver.option import AskUse
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import Level, NumaRelation


@dataclass(frozen=True, slots=True)
class CellPool:
    """The cells a card may come from; ``sure`` = exactly the cards counted in the option."""

    cells: tuple[int, ...]
    sure: bool


def pool_guarantees(first: Cell, second: Cell, level: Level, state: HostState) -> bool:
    """Whether any card of one cell and any other card of another are within a level, for sure."""
    if first.index != second.index:
        return bool(state.topology.relation(first.addresses[0], second.addresses[0]).satisfies(level))
    if first.size < 2:
        return True
    return bool(state.topology.relation(first.addresses[0], first.addresses[1]).satisfies(level))


def ask_interconnect(ask: GpuAsk, use: AskUse, pool: CellPool, state: HostState) -> bool:
    """Whether the wished interconnect holds between every two cards, whatever is chosen."""
    if ask.interconnect is Level.ANY or (ask.count < 2 and use.resource != "group"):
        return True
    if use.resource == "group":
        # The vendor's driver makes groups of joined cards only; nearer wishes need their members known.
        if ask.interconnect is Level.NVLINK:
            return True
        return all(
            bool(state.topology.relation(a, b).satisfies(ask.interconnect))
            for group in use.sets
            for at, a in enumerate(group)
            for b in group[at + 1 :]
        ) and _one_choice(pool, use, state)
    if ask.interconnect is Level.NVLINK and not nvlink_use(state.host, state.topology, ask).carries:
        return False
    cells = [state.cells[index] for index in pool.cells]
    counts = dict(use.cells)
    of_label: dict[str | None, int] = {}
    for index, count in use.cells:
        label = state.cells[index].card.label
        of_label[label] = of_label.get(label, 0) + count
    for at, first in enumerate(cells):
        for second in cells[at:]:
            if first.index == second.index and pool.sure and counts.get(first.index, 0) < 2:
                continue
            same_label = first.card.label == second.card.label
            if use.bound_by is BoundBy.LABEL and same_label and of_label.get(first.card.label, 0) < 2:
                continue
            if not pool_guarantees(first, second, ask.interconnect, state):
                return False
    return True


def _one_choice(pool: CellPool, use: AskUse, state: HostState) -> bool:
    members = sum(len(group) for group in use.sets)
    return sum(state.cells[index].size for index in pool.cells) == members


def _relation(cell: Cell, nodes: tuple[int, ...], state: HostState) -> NumaRelation:
    """How near a card of the cell is to the vCPUs; unknown while they float over several nodes."""
    if not nodes:
        with_cores = [node.id for node in state.host.numa_nodes if node.core_count > 0]
        nodes = tuple(with_cores) if len(with_cores) == 1 else ()
    return card_relation(state.topology, cell.addresses[0], nodes)


def numa_satisfied(policy: Policy, pool: CellPool, nodes: tuple[int, ...], state: HostState) -> bool:
    """Whether a strict policy holds for every card that may be chosen."""
    allowed = {NumaRelation.SAME_NODE}
    if policy is Policy.SOCKET:
        allowed.add(NumaRelation.SAME_SOCKET)
    return bool(pool.cells) and all(
        _relation(state.cells[index], nodes, state) in allowed for index in pool.cells
    )


def numa_points(use: AskUse, pool: CellPool, nodes: tuple[int, ...], state: HostState) -> int:
    """Points for a preferred policy: 2 a card sure to be on a node of the vCPUs, 1 on their socket.

    Where a label or the platform chooses, each card counts as the farthest it may be; a label's cards
    are all on one node.
    """
    worth = {NumaRelation.SAME_NODE: 2, NumaRelation.SAME_SOCKET: 1}
    if use.cells and (pool.sure or use.bound_by is BoundBy.LABEL):
        return sum(
            count * worth.get(_relation(state.cells[index], nodes, state), 0) for index, count in use.cells
        )
    count = use.count or sum(count for _, count in use.cells)
    worst = min(
        (worth.get(_relation(state.cells[index], nodes, state), 0) for index in pool.cells), default=0
    )
    return count * worst


def compact_points(topology: HostTopology, nodes: tuple[int, ...]) -> int:
    """A point for a VM of several NUMA nodes that all are on one socket: less than any device's."""
    near = all(topology.node_relation(nodes[0], other) is NumaRelation.SAME_SOCKET for other in nodes[1:])
    return int(len(nodes) > 1 and near)


def nics_near(
    level: Level, use: AskUse, pool: CellPool, gpus: list[tuple[AskUse, CellPool]], state: HostState
) -> bool:
    """Whether each NIC is within a level of a GPU of the VM, GPUs shared out evenly.

    Every GPU serves at most ceil(NICs / GPUs) NICs. What a label or the platform chooses may be any of
    its pool; of each label so many are chosen as the option counts.
    """
    nics = _pools(use, pool, state)
    cards = [each for gpu, gpu_pool in gpus for each in _pools(gpu, gpu_pool, state)]
    if not nics or not cards:
        return False
    return _matched(level, nics, cards, state)


def _pools(use: AskUse, pool: CellPool, state: HostState) -> list[tuple[int, ...]]:
    """The cells that each card of an ask may come from."""
    counted = [index for index, count in use.cells for _ in range(count)]
    if pool.sure:
        return [(index,) for index in counted]
    if use.bound_by is BoundBy.LABEL:
        labels = [state.cells[index].card.label for index in counted]
        return [tuple(i for i in pool.cells if state.cells[i].card.label == label) for label in labels]
    return [pool.cells] * (len(counted) or use.count) if pool.cells else []


def _matched(
    level: Level, nics: list[tuple[int, ...]], gpus: list[tuple[int, ...]], state: HostState
) -> bool:
    """Match NICs to GPUs (augmenting paths over the few cards of a VM)."""
    share = -(-len(nics) // len(gpus))
    slots = [pool for pool in gpus for _ in range(share)]
    taken: dict[int, int] = {}

    def near(nic: tuple[int, ...], gpu: tuple[int, ...]) -> bool:
        return all(pool_guarantees(state.cells[a], state.cells[b], level, state) for a in nic for b in gpu)

    def seat(number: int, seen: set[int]) -> bool:
        for slot, gpu in enumerate(slots):
            if slot in seen or not near(nics[number], gpu):
                continue
            seen.add(slot)
            if slot not in taken or seat(taken[slot], seen):
                taken[slot] = number
                return True
        return False

    return all(seat(number, set()) for number in range(len(nics)))
