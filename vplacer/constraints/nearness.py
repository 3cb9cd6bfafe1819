"""What a placement breaks of the nearness its demand insists on: shared by the checks of locality."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vplacer.constraints.locality import AskLocality, ask_locality, card_relation, fixed_nodes
from vplacer.constraints.nvlink_use import nvlink_use
from vplacer.constraints.state import Confidence, DeviceAssignment, Placement, State, Violation
from vplacer.request.demand import BoundBy, Demand, GpuAsk, NicAsk, Policy
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import Level, NumaRelation

LOCALITY = "locality"
INTERCONNECT = "interconnect"
NIC_NEAR_GPU = "nic-near-gpu"
NOT_STEERABLE = "not-steerable"

_GOOD = {
    Policy.REQUIRED: frozenset({NumaRelation.SAME_NODE}),
    Policy.SOCKET: frozenset({NumaRelation.SAME_NODE, NumaRelation.SAME_SOCKET}),
}
_WORDS = {
    NumaRelation.SAME_NODE: "on the same node",
    NumaRelation.SAME_SOCKET: "on another node of the socket",
    NumaRelation.OTHER_SOCKET: "on another socket",
    NumaRelation.UNKNOWN: "at an unknown place",
}


def breaks(state: State, host: str, constraint: str) -> Iterable[Violation]:
    """Return the violations of one of the four constraints by the placements of a host."""
    return [found for found in state.derive(_all_breaks, host) if found.constraint == constraint]


def _all_breaks(state: State, host: str) -> tuple[Violation, ...]:
    found: list[Violation] = []
    for placement in state.all_placements_by_host.get(host, ()):
        demand = state.problem.demand_by_id[placement.demand]
        asks: list[tuple[str, int, GpuAsk | NicAsk]] = [
            *(("gpu", index, gpu) for index, gpu in enumerate(demand.gpus)),
            *(("nic", index, nic) for index, nic in enumerate(demand.nics)),
        ]
        for kind, index, ask in asks:
            if _insists(ask):
                found.extend(_ask_breaks(state, demand, placement, kind, index, ask))
    return tuple(found)


def _insists(ask: GpuAsk | NicAsk) -> bool:
    if ask.policy in _GOOD:
        return True
    return ask.interconnect_required if isinstance(ask, GpuAsk) else ask.near_gpu and ask.at_required


def _ask_breaks(
    state: State, demand: Demand, placement: Placement, kind: str, index: int, ask: GpuAsk | NicAsk
) -> Iterable[Violation]:
    topology = state.problem.topologies[placement.host]
    found = ask_locality(state, demand, placement, kind, index)
    mine = [a for a in placement.devices if a.ask == kind and a.index == index]
    name = f"{kind}s[{index}]"
    good = _GOOD.get(ask.policy)
    if good is not None and found.numa not in good:
        yield _numa_break(demand, placement, topology, mine, found, ask.policy, name)
    if isinstance(ask, GpuAsk):
        if ask.interconnect_required and found.interconnect_ok is not True:
            unusable = _why_no_nvlink(state, placement, ask)
            yield _interconnect_break(demand, placement, topology, mine, found, ask, name, unusable)
    elif ask.near_gpu and ask.at_required and found.near_gpu_ok is not True:
        sure = Confidence.UNKNOWN if found.near_gpu_ok is None else Confidence.PROVED
        text = f"{name}: no NIC for each GPU within {ask.at.value}, whatever cards are chosen"
        yield Violation(NIC_NEAR_GPU, demand.id, text, sure, placement.host)


def _numa_break(
    demand: Demand,
    placement: Placement,
    topology: HostTopology,
    mine: Sequence[DeviceAssignment],
    found: AskLocality,
    policy: Policy,
    name: str,
) -> Violation:
    """Tell a card at the wrong place from one whose place nobody can fix."""
    wanted = "node" if policy is Policy.REQUIRED else "socket"
    sure = Confidence.UNKNOWN if found.numa is NumaRelation.UNKNOWN else Confidence.PROVED
    nodes = fixed_nodes(topology, placement)
    witness = [card_relation(topology, a.address, nodes) for a in mine] if nodes else []
    chosen_well = bool(witness) and all(relation in _GOOD[policy] for relation in witness)
    platform = any(a.bound_by is BoundBy.PLATFORM for a in mine)
    if not nodes:
        text = f"{name} {policy.value}: vCPUs and memory are not bound to nodes"
        return Violation(NOT_STEERABLE, demand.id, text, host=placement.host)
    if platform or chosen_well:
        who = (
            "the platform chooses the card at power-on" if platform else "the label leaves a choice of cards"
        )
        text = f"{name} {policy.value}: {who}, and it may be {_WORDS[found.numa]}"
        return Violation(NOT_STEERABLE, demand.id, text, sure, placement.host)
    on = ", ".join(str(node) for node in nodes)
    cards = ", ".join(a.address.short for a in mine)
    text = f"{name} {policy.value}: {cards} {_WORDS[found.numa]}, not on the {wanted} of node {on}"
    return Violation(LOCALITY, demand.id, text, sure, placement.host)


def _interconnect_break(
    demand: Demand,
    placement: Placement,
    topology: HostTopology,
    mine: Sequence[DeviceAssignment],
    found: AskLocality,
    ask: GpuAsk,
    name: str,
    unusable: str,
) -> Violation:
    """``unusable``: why NVLink does not serve the GPUs at all; empty = the links decide."""
    sure = Confidence.UNKNOWN if found.interconnect_ok is None else Confidence.PROVED
    level = ask.interconnect
    choice = any(a.bound_by is not BoundBy.STATIC for a in mine)
    if not unusable and choice and _joined(topology, mine, level):
        text = f"{name}: {level.value} holds for some of the cards that may be chosen, not for all"
        return Violation(NOT_STEERABLE, demand.id, text, sure, placement.host)
    cards = ", ".join(a.address.short for a in mine)
    what = "not known to be" if found.interconnect_ok is None else "not"
    text = f"{name}: {cards} are {what} joined by {level.value}{unusable and f': {unusable}'}"
    return Violation(INTERCONNECT, demand.id, text, sure, placement.host)


def _why_no_nvlink(state: State, placement: Placement, ask: GpuAsk) -> str:
    if ask.interconnect is not Level.NVLINK or ask.group is not None:
        return ""
    host = state.problem.inventory.host_by_moid[placement.host]
    return nvlink_use(host, state.problem.topologies[placement.host], ask).why


def _joined(topology: HostTopology, mine: Sequence[DeviceAssignment], level: Level) -> bool:
    addresses = [assignment.address for assignment in mine]
    return all(
        topology.relation(a, b).satisfies(level)
        for index, a in enumerate(addresses)
        for b in addresses[index + 1 :]
    )
