"""Level "room" measured on a state, and how many VMs of the mix each host could still take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from vplacer.constraints.state import Placement, State
from vplacer.constraints.supply import consumer_of_demand
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import BoundBy, Demand
from vplacer.solver.future.count import Left, counts, left_of, mix_points
from vplacer.solver.future.places import shapes_here
from vplacer.solver.future.shapes import mix_shapes
from vplacer.solver.future.taken import taken_by_placements
from vplacer.solver.host_state import HostState, build_host_state, untouched_state
from vplacer.solver.levels import cpu_only_cost
from vplacer.solver.room import Loose, blocks_of, room_value, unnamed


def room_of_host(state: State, host: Host) -> int:
    """Return the points of a host: what could still be placed of the mix, and what is left whole.

    Less the vCPUs of CPU-only demands beside GPUs.
    """
    problem = state.problem
    topology = problem.topologies[host.moid]
    shapes = shapes_here(problem, host.moid)
    if not topology.gpus and not shapes:
        return 0
    built = _beside_standing(state, host)
    new = state.placements_by_host.get(host.moid, ())
    value = mix_points(shapes, _left(state, host, built)) if shapes else 0
    if not topology.gpus:
        return value
    gpu_nodes = frozenset(gpu.node for gpu in topology.gpus if gpu.node is not None)
    penalty = sum(
        cpu_only_cost(problem.demand_by_id[placement.demand], placement.nodes, gpu_nodes, True)
        for placement in state.all_placements_by_host.get(host.moid, ())
    )
    return value + _whole(state, built, new) - penalty


def room_for_mix(state: State) -> Mapping[str, int]:
    """Return how many VMs of each shape of the mix fit beside all that is placed, each by itself.

    By the name of the shape, in the order of the mix. What a host takes is what `future.count` counts.
    """
    problem = state.problem
    names = {shape.index: shape.name for shape in mix_shapes(problem)}
    found = dict.fromkeys(names.values(), 0)
    for host in problem.inventory.hosts:
        shapes = shapes_here(problem, host.moid) if host.moid in problem.topologies else ()
        if shapes:
            left = _left(state, host, _beside_standing(state, host))
            for shape, count in zip(shapes, counts(shapes, left), strict=True):
                found[names[shape.shape]] += count
    return found


def _beside_standing(state: State, host: Host) -> HostState:
    standing = state.standing_by_host.get(host.moid, ())
    untouched = untouched_state(state.problem, host.moid)
    if len(standing) == untouched.standing_count:
        return untouched
    return build_host_state(state.problem, host, standing, ())


def _left(state: State, host: Host, built: HostState) -> Left:
    """Return what the standing VMs and the placements of a host leave of it."""
    problem = state.problem
    new = state.placements_by_host.get(host.moid, ())
    left = left_of(built)
    left.taken += taken_by_placements(problem, host, new, built)
    for placement in new:
        demand = problem.demand_by_id[placement.demand]
        left.consume(consumer_of_demand(demand, placement.nodes, host, problem.request.options))
    return left


def _whole(state: State, built: HostState, new: tuple[Placement, ...]) -> int:
    """Return the points of the blocks of cards that are left whole."""
    cell_of: dict[PciAddress, int] = {a: cell.index for cell in built.cells for a in cell.addresses}
    sure: dict[int, int] = defaultdict(int)
    chosen: dict[int, int] = defaultdict(int)
    loose = {"gpu": unnamed(built).gpus, "nic": unnamed(built).nics}
    for placement in new:
        demand = state.problem.demand_by_id[placement.demand]
        for assignment in placement.devices:
            cell = cell_of.get(assignment.address)
            if cell is None or _is_function(demand, assignment.ask, assignment.index):
                continue
            if assignment.bound_by is BoundBy.STATIC:
                sure[cell] += 1
            else:
                chosen[cell] += 1
                loose[built.cells[cell].card.kind] += 1
    return room_value(blocks_of(built), sure, chosen, Loose(loose["gpu"], loose["nic"]))


def _is_function(demand: Demand, ask: str, index: int) -> bool:
    return ask == "nic" and demand.nics[index].kind == "sriov"
