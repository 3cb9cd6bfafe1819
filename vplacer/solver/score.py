"""Values of the objective's levels, measured on a state: what is reported, whoever solved it."""

from __future__ import annotations

from collections import defaultdict

from vplacer.constraints.disturbance import disturbance_of
from vplacer.constraints.locality import ask_locality, card_relation, fixed_nodes
from vplacer.constraints.seating import reseated, seating_of_placement
from vplacer.constraints.state import Placement, Problem, State
from vplacer.constraints.steering import possible_cards
from vplacer.inventory.host import Host
from vplacer.request.demand import Policy
from vplacer.solver.levels import Level as ObjectiveLevel
from vplacer.solver.levels import change_cost
from vplacer.solver.nearness import compact_points
from vplacer.solver.room_measure import room_of_host
from vplacer.solver.wishes import measured, wished_host_points
from vplacer.topology.levels import Level, NumaRelation

_WORTH = {NumaRelation.SAME_NODE: 2, NumaRelation.SAME_SOCKET: 1}


def placement_points(problem: Problem, placement: Placement) -> int:
    """Return the locality points of one placement by itself (a VM that stays)."""
    return locality_points(State(problem, (placement,)), placement)


def locality_points(state: State, placement: Placement) -> int:
    """Return the points of a placement's preferred wishes, counted at their worst.

    2 a device sure to be on a node of the vCPUs, 1 on their socket; 2 a card of an ask whose wished
    interconnect is sure; 2 a NIC of an ask whose NICs are sure to be near the GPUs; 1 for nodes that are
    all on one socket, where there are several; 2 for a host that a preferred rule wishes.
    """
    demand = state.problem.demand_by_id[placement.demand]
    topology = state.problem.topologies[placement.host]
    nodes = fixed_nodes(topology, placement)
    points = compact_points(topology, placement.nodes)
    points += wished_host_points(state.problem, demand.id, placement.host)
    for assignment, cards in zip(placement.devices, possible_cards(state, placement), strict=True):
        asks = demand.gpus if assignment.ask == "gpu" else demand.nics
        if assignment.index < len(asks) and asks[assignment.index].policy is Policy.PREFERRED:
            points += min((_WORTH.get(card_relation(topology, card, nodes), 0) for card in cards), default=0)
    for index, gpu in enumerate(demand.gpus):
        wished = not gpu.interconnect_required and gpu.interconnect is not Level.ANY and gpu.count > 1
        if wished and ask_locality(state, demand, placement, "gpu", index).interconnect_ok:
            points += 2 * gpu.count
    for index, nic in enumerate(demand.nics):
        wished = nic.near_gpu and not nic.at_required
        if wished and ask_locality(state, demand, placement, "nic", index).near_gpu_ok:
            points += 2 * nic.count
    return points


def measure(state: State, levels: tuple[ObjectiveLevel, ...]) -> dict[str, int]:
    """Return the value of every level, in the sense it is reported (costs positive).

    Args:
        state: the answer.
        levels: the levels.
    """
    asked = {level.id for level in levels}
    values: defaultdict[str, int] = defaultdict(int)
    problem = state.problem
    for placement in state.placements:
        demand = problem.demand_by_id[placement.demand]
        values[f"placed:{demand.priority}"] += demand.weight_milli
        if "locality" in asked:
            values["locality"] += locality_points(state, placement)
        if "moves" in asked and not placement.stays:
            vm = problem.inventory.vm_by_moid.get(demand.vm or "")
            other = vm is not None and reseated(vm, seating_of_placement(demand, placement))
            change = disturbance_of(problem, placement)
            values["moves"] += change_cost(change, other)
            values["power_cycles"] = values.get("power_cycles", 0) + change.power_cycle
    if "locality" in asked:
        values["locality"] += measured(state)
    for host in problem.inventory.hosts:
        if host.moid in problem.topologies:
            values["room"] += room_of_host(state, host) if "room" in asked else 0
            values["hosts"] += _hosts(state, host) if "hosts" in asked else 0
    return {level.id: values[level.id] for level in levels}


def _moved_away(state: State, moid: str) -> bool:
    placement = state.placement_by_demand.get(moid)
    return placement is not None and not placement.stays


def _hosts(state: State, host: Host) -> int:
    """1 for a used host, or the square of its VMs when they are to be spread."""
    problem = state.problem
    here = state.all_placements_by_host.get(host.moid, ())
    number = len(here)
    placed = {problem.demand_by_id[placement.demand].vm for placement in here}
    number += sum(
        1
        for vm in problem.inventory.vms_by_host.get(host.moid, ())
        if not vm.template and vm.moid not in placed and not _moved_away(state, vm.moid)
    )
    if problem.request.options.hosts_goal == "spread":
        return number * number
    return 1 if number else 0
