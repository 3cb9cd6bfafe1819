"""How near the devices of a placement are guaranteed to be: to the VM's CPUs and to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from vplacer.constraints.bipartite import assign
from vplacer.constraints.nvlink_use import nvlink_use
from vplacer.constraints.state import DeviceAssignment, Placement, State
from vplacer.constraints.steering import all_of, possible_cards
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import BoundBy, Demand, GpuAsk, NicAsk
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import Level, NumaRelation

Cards = tuple[PciAddress, ...]

_NEARNESS = (
    NumaRelation.SAME_NODE,
    NumaRelation.SAME_SOCKET,
    NumaRelation.OTHER_SOCKET,
    NumaRelation.UNKNOWN,
)


@dataclass(frozen=True, slots=True)
class AskLocality:
    """What is guaranteed of one ask of a placement, whatever cards the platform chooses.

    ``numa``: the farthest any of its devices may be from the VM's nodes; UNKNOWN where a device's
    node is, and where the VM floats: nothing is local then. ``both_sides_fixed``: CPUs and memory are
    bound to nodes (or the host has one), and so are the devices, by backing, label or because every
    choice is alike.
    ``interconnect_ok`` and ``near_gpu_ok``: None = not known; True where nothing was asked.
    """

    numa: NumaRelation
    both_sides_fixed: bool
    interconnect_ok: bool | None
    near_gpu_ok: bool | None


def ask_locality(
    state: State, demand: Demand, placement: Placement, ask_kind: str, index: int
) -> AskLocality:
    """Say how near the devices of one ask are. ``ask_kind``: "gpu" | "nic"."""
    topology = state.problem.topologies[placement.host]
    cards = possible_cards(state, placement)
    mine = [
        (assignment, options)
        for assignment, options in zip(placement.devices, cards, strict=True)
        if assignment.ask == ask_kind and assignment.index == index
    ]
    nodes = fixed_nodes(topology, placement)
    relations = [{card_relation(topology, card, nodes) for card in options} for _, options in mine]
    numa = max((r for found in relations for r in found), key=_NEARNESS.index, default=NumaRelation.SAME_NODE)
    device_side = all(
        len(found) == 1 or assignment.bound_by is not BoundBy.PLATFORM
        for (assignment, _), found in zip(mine, relations, strict=True)
    )
    fixed = bool(nodes) and device_side and numa is not NumaRelation.UNKNOWN
    ask: GpuAsk | NicAsk = demand.gpus[index] if ask_kind == "gpu" else demand.nics[index]
    interconnect: bool | None = True
    near: bool | None = True
    if isinstance(ask, GpuAsk):
        interconnect = _interconnected(topology, mine, ask.interconnect)
        if ask.interconnect is Level.NVLINK and ask.group is None and len(mine) > 1:
            host = state.problem.inventory.host_by_moid[placement.host]
            interconnect = all_of([interconnect, nvlink_use(host, topology, ask).carries])
    elif ask.near_gpu:
        gpus = [
            options
            for assignment, options in zip(placement.devices, cards, strict=True)
            if assignment.ask == "gpu" and _is_gpu(topology, assignment.address)
        ]
        near = _shared_out(topology, [options for _, options in mine], gpus, ask.at)
    return AskLocality(numa, fixed, interconnect, near)


def fixed_nodes(topology: HostTopology, placement: Placement) -> tuple[int, ...]:
    """Return the nodes the VM's CPUs and memory are surely on; empty = it floats."""
    if placement.nodes:
        return placement.nodes
    with_cores = [node.id for node in topology.nodes if node.core_count > 0]
    return tuple(with_cores) if len(with_cores) == 1 else ()


def card_relation(topology: HostTopology, card: PciAddress, nodes: Sequence[int]) -> NumaRelation:
    """Return how near a card is to the nearest of some nodes.

    A card on a node without cores is as near as the nodes with cores nearest to it. UNKNOWN where the
    card's node is, and where there are no nodes: the VM floats.
    """
    device = topology.device(card)
    if device is None or not device.cpu_nodes or not nodes:
        return NumaRelation.UNKNOWN
    relations = (topology.node_relation(own, node) for own in device.cpu_nodes for node in nodes)
    return min(relations, key=_NEARNESS.index)


def _is_gpu(topology: HostTopology, address: PciAddress) -> bool:
    return any(gpu.address == address for gpu in topology.gpus)


def _interconnected(
    topology: HostTopology, mine: Sequence[tuple[DeviceAssignment, Cards]], level: Level
) -> bool | None:
    """Whether every two GPUs of an ask are joined, for every choice of cards.

    GPUs of one device group are joined by NVLink by the vendor's word.
    """
    if level is Level.ANY:
        return True
    gpus = [(a, options) for a, options in mine if _is_gpu(topology, a.address)]
    answers: list[bool | None] = []
    for (one, a_options), (other, b_options) in combinations(gpus, 2):
        if level is Level.NVLINK and one.group is not None and one.group == other.group:
            continue
        answers.append(_every_choice(topology, a_options, b_options, level))
        if answers[-1] is False:
            return False
    return all_of(answers)


def _every_choice(topology: HostTopology, a_options: Cards, b_options: Cards, level: Level) -> bool | None:
    """Whether any card of one device and any card of another are near enough.

    Two vGPUs on one card are as near as can be.
    """
    return all_of(topology.relation(a, b).satisfies(level) for a in a_options for b in b_options if a != b)


def _shared_out(
    topology: HostTopology, nics: Sequence[Cards], gpus: Sequence[Cards], level: Level
) -> bool | None:
    """Whether each NIC has a GPU near enough, GPUs shared out evenly, for every choice of cards.

    Evenly: with n GPUs and m NICs, no GPU serves more than m / n, rounded up.
    """
    if level is Level.ANY or not nics:
        return True
    if not gpus:
        return False
    most = -(-len(nics) // len(gpus))
    table = [[_every_choice(topology, nic, gpu, level) for gpu in gpus] for nic in nics]
    room = [most] * len(gpus)
    if assign(len(nics), room, lambda nic, gpu: table[nic][gpu] is True) is not None:
        return True
    return None if assign(len(nics), room, lambda nic, gpu: table[nic][gpu] is not False) else False
