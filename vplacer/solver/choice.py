"""What one choice of nodes and cards is worth, or the first hard wish that it breaks, said for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

from vplacer.constraints.nvlink_use import nvlink_use
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import BoundBy, Policy
from vplacer.solver.host_state import HostState
from vplacer.solver.nearness import (
    CellPool,
    ask_interconnect,
    compact_points,
    nics_near,
    numa_points,
    numa_satisfied,
)
from vplacer.solver.option import Asked, AskUse, Way
from vplacer.topology.levels import Level

_Pooled = tuple[AskUse, CellPool]

_JOINED = {
    Level.NVLINK: "joined by NVLink",
    Level.SWITCH: "on one PCIe switch",
    Level.ROOT: "on one PCIe host bridge",
    Level.NUMA: "on one NUMA node",
    Level.SOCKET: "on one socket",
}
_NEAR_GPU = {
    Level.SWITCH: "on the PCIe switch of a GPU of the VM",
    Level.ROOT: "on the PCIe host bridge of a GPU of the VM",
    Level.NUMA: "on the NUMA node of a GPU of the VM",
    Level.SOCKET: "on the socket of a GPU of the VM",
}
_NEAR_CPU = {Policy.REQUIRED: "on the pNUMA node of the vCPUs", Policy.SOCKET: "on the socket of the vCPUs"}


@dataclass(frozen=True, slots=True)
class Break:
    """A hard wish that a choice breaks: constraint id and evidence.

    ``step`` counts the wishes that were looked at before; ``unknown`` says that something nobody told
    is in the way.
    """

    step: int
    constraint: str
    evidence: str
    unknown: bool = False

    @property
    def rank(self) -> tuple[int, int]:
        """Greater = nearer to success, and more worth telling."""
        weight = 2 if self.constraint == "not-steerable" else int(self.unknown)
        return (self.step, weight)


_Judged = tuple[Break | None, int]

NOTHING_NARROWED: Mapping[int, CellPool] = MappingProxyType({})


class ChoiceJudge:
    """Judges choices of ways to serve what is asked for on one host.

    What a way is worth by itself is found once for all choices that it is part of.
    """

    def __init__(self, asked: Asked, state: HostState) -> None:
        self.asked, self.state = asked, state
        self._pools: dict[int, CellPool] = {}
        self._near: dict[tuple[int, CellPool, tuple[int, ...]], _Judged] = {}
        self._ways: list[Way] = []

    def pool(self, way: Way) -> CellPool:
        """Return `pool_of` a way."""
        if id(way) not in self._pools:
            self._pools[id(way)] = pool_of(way, self.state)
            self._ways.append(way)
        return self._pools[id(way)]

    def choice(
        self,
        nodes: tuple[int, ...],
        choice: Sequence[Way],
        narrowed: Mapping[int, CellPool] = NOTHING_NARROWED,
    ) -> _Judged:
        """Return what a choice breaks, or None, and its locality points.

        Args:
            nodes: pNUMA nodes its vCPUs and memory are bound to; empty = they float.
            choice: a way to serve each ask.
            narrowed: by position in the choice, the cells its cards can only come from because all others
                are gone.
        """
        pools = [narrowed.get(at) or self.pool(way) for at, way in enumerate(choice)]
        uses = [(way.use, pool) for way, pool in zip(choice, pools, strict=True)]
        points = compact_points(self.state.topology, nodes)
        for at, (way, pool) in enumerate(zip(choice, pools, strict=True)):
            broken, gained = self._by_itself(way, pool, nodes, 3 * at)
            if broken is None:
                points += gained
                broken, gained = _judge_near_gpu(self.asked, way.use, pool, uses, self.state, 3 * at + 2)
            if broken is not None:
                return broken, 0
            points += gained
        return None, points

    def alone(self, nodes: tuple[int, ...], way: Way, position: int) -> Break | None:
        """Return the wish that a way breaks even if its cards are sure, whatever serves the other asks.

        ``position``: of the ask among all that is asked for.
        """
        if not way.use.cells:
            return None
        return self._by_itself(way, chosen_pool(way.use), nodes, 3 * position)[0]

    def _by_itself(self, way: Way, pool: CellPool, nodes: tuple[int, ...], step: int) -> _Judged:
        """What of the wishes that look at one ask only is broken, and points."""
        self.pool(way)
        key = (id(way), pool, nodes)
        if key not in self._near:
            broken, joined = _judge_interconnect(self.asked, way.use, pool, self.state, step)
            gained = 0
            if broken is None:
                broken, gained = _judge_numa(self.asked, way.use, pool, nodes, self.state, step + 1)
            self._near[key] = (broken, 0 if broken is not None else joined + gained)
        return self._near[key]


def _judge_interconnect(asked: Asked, use: AskUse, pool: CellPool, state: HostState, step: int) -> _Judged:
    if use.ask != "gpu":
        return None, 0
    ask = asked.gpus[use.index]
    joined = ask_interconnect(ask, use, pool, state)
    if not ask.interconnect_required or joined:
        wished = not ask.interconnect_required and ask.interconnect is not Level.ANY and ask.count > 1
        return None, 2 * ask.count if joined and wished else 0
    if ask.interconnect is Level.NVLINK and use.resource != "group":
        usable = nvlink_use(state.host, state.topology, ask)
        if usable.carries is not True:
            return Break(step, "interconnect", usable.why, unknown=usable.carries is None), 0
    words = _JOINED[ask.interconnect]
    if not pool.sure and ask_interconnect(ask, use, chosen_pool(use), state):
        return Break(
            step, "not-steerable", f"{_chooser(use, state)}, and not every {ask.count} are {words}"
        ), 0
    if _unknown_pair(use, ask.interconnect, state):
        told = f"no {ask.count} free GPUs are known to be {words}: an overlay can tell what is not known"
        return Break(step, "interconnect", told, unknown=True), 0
    return Break(step, "interconnect", f"no {ask.count} free GPUs are {words}"), 0


def _unknown_pair(use: AskUse, level: Level, state: HostState) -> bool:
    """Whether the cards chosen may be joined, for all that is known."""
    cards = [a for index, count in use.cells for a in state.cells[index].addresses[:count]]
    answers = {state.topology.relation(a, b).satisfies(level) for a, b in combinations(cards, 2)}
    return None in answers and False not in answers


def _judge_numa(
    asked: Asked, use: AskUse, pool: CellPool, nodes: tuple[int, ...], state: HostState, step: int
) -> _Judged:
    ask = asked.gpus[use.index] if use.ask == "gpu" else asked.nics[use.index]
    if ask.policy is Policy.PREFERRED:
        return None, numa_points(use, pool, nodes, state)
    if ask.policy is Policy.NONE or numa_satisfied(ask.policy, pool, nodes, state):
        return None, 0
    near = _NEAR_CPU[ask.policy]
    if not nodes and sum(node.core_count > 0 for node in state.host.numa_nodes) != 1:
        floats = f"affinity {asked.mode.value} lets its vCPUs and memory float between NUMA nodes"
        return Break(step, "not-steerable", f"{floats}, so that no card is near them for sure"), 0
    if use.cells and not numa_satisfied(ask.policy, chosen_pool(use), nodes, state):
        lost = [a.short for i, _ in use.cells for a in state.cells[i].addresses if not _has_node(a, state)]
        if lost:
            told = (
                f"which NUMA node {lost[0]} is nearest to is unknown: vCenter does not tell, an overlay can"
            )
            return Break(step, "locality", told, unknown=True), 0
        return Break(step, "locality", f"no {_what(asked, use)} {near}"), 0
    told = f"{_chooser(use, state)}, and not every one it may be is {near}"
    return Break(step, "not-steerable", told), 0


def _has_node(address: PciAddress, state: HostState) -> bool:
    device = state.topology.device(address)
    return device is not None and bool(device.cpu_nodes)


def _what(asked: Asked, use: AskUse) -> str:
    """Name the free cards that an ask is about."""
    if use.ask == "nic":
        count = asked.nics[use.index].count
        return "free NIC" if count == 1 else f"{count} free NICs"
    ask = asked.gpus[use.index]
    if ask.count == 1:
        return "free GPU"
    joined = ""
    if ask.interconnect_required and ask.interconnect is not Level.ANY:
        joined = f" {_JOINED[ask.interconnect]}"
    return f"{ask.count} free GPUs{joined}"


def _judge_near_gpu(
    asked: Asked, use: AskUse, pool: CellPool, uses: list[_Pooled], state: HostState, step: int
) -> _Judged:
    if use.ask != "nic" or not asked.nics[use.index].near_gpu:
        return None, 0
    ask = asked.nics[use.index]
    gpus = [other for other in uses if other[0].ask == "gpu"]
    near = ask.at is Level.ANY or nics_near(ask.at, use, pool, gpus, state)
    if not ask.at_required or near:
        return None, 2 * ask.count if near and not ask.at_required else 0
    words = _NEAR_GPU[ask.at]
    named = [(gpu, chosen_pool(gpu)) for gpu, _ in gpus]
    sure = pool.sure and all(gpu_pool.sure for _, gpu_pool in gpus)
    if not sure and nics_near(ask.at, use, chosen_pool(use), named, state):
        loose = use if not pool.sure else next(gpu for gpu, gpu_pool in gpus if not gpu_pool.sure)
        told = f"{_chooser(loose, state)}, and not for every choice is the NIC {words}"
        return Break(step, "not-steerable", told), 0
    evenly = ", GPUs shared out evenly" if ask.count > 1 else ""
    return Break(step, "nic-near-gpu", f"no {_what(asked, use)} {words}{evenly}"), 0


def chosen_pool(use: AskUse) -> CellPool:
    """Return the cards counted in the option, as if they were sure."""
    return CellPool(tuple(index for index, _ in use.cells), sure=True)


def _chooser(use: AskUse, state: HostState) -> str:
    noun = "GPUs" if use.ask == "gpu" else "NICs"
    if use.bound_by is not BoundBy.LABEL:
        return f"vSphere chooses the {noun} at power-on"
    labels = sorted({state.cells[index].card.label or "" for index, _ in use.cells})
    return f"vSphere chooses {noun} with label {' or '.join(labels)} at power-on"


def pool_of(way: Way, state: HostState) -> CellPool:
    """The cards the card may come from: the chosen ones (static), the label's, or the platform's.

    Where all of the pool is taken, only the order is open, and the choice counts as sure.
    """
    taken = sum(count for _, count in way.use.cells)
    if way.use.bound_by is BoundBy.STATIC:
        return CellPool(tuple(index for index, _ in way.use.cells), sure=True)
    if way.use.bound_by is BoundBy.LABEL:
        labels = {state.cells[index].card.label for index, _ in way.use.cells}
        kinds = {state.cells[index].card.ids for index, _ in way.use.cells}
        cells = tuple(c.index for c in state.cells if c.card.label in labels and c.card.ids in kinds)
    else:
        cells = way.platform_pool
    sure = way.use.resource in ("card", "group") and sum(state.cells[c].size for c in cells) == taken
    return CellPool(cells, sure)
