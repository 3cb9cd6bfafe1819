"""Values of the levels on one host, counted from its plan.

The model's own variables may understate what no objective asked them for (a block left whole, a host
left empty), so a column's values are always counted here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from vplacer.request.demand import BoundBy, RequestOptions
from vplacer.solver.classes import DemandClass
from vplacer.solver.host_model import HostTask
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.levels import change_cost, cpu_only_cost
from vplacer.solver.room import blocks_of, room_value


def plan_values(
    task: HostTask, classes: tuple[DemandClass, ...], options: RequestOptions, plan: HostPlan
) -> dict[str, int]:
    """Return every level's value of a plan on a host, in the maximised sense."""
    values: dict[str, int] = defaultdict(int)
    state = task.state
    gpu_nodes = frozenset(g.node for g in state.topology.gpus if g.node is not None)
    has_gpu = bool(state.topology.gpus)
    for index, number, count in plan.chosen:
        cls = classes[index]
        option = task.options[index][number]
        same = cls.home == state.host.moid
        values[f"placed:{cls.demand.priority}"] += cls.demand.weight_milli * count
        values["locality"] += option.points * count
        values["moves"] -= change_cost(cls.demand, cls.vm, same, cls.stay is not None) * count
        values["room"] -= cpu_only_cost(cls.demand, option.nodes, gpu_nodes, has_gpu) * count
    for index in plan.stays:
        cls = classes[index]
        values[f"placed:{cls.demand.priority}"] += cls.demand.weight_milli
        values["locality"] += task.stay_points.get(index, 0)
        values["room"] -= cpu_only_cost(cls.demand, cls.stay.nodes if cls.stay else (), gpu_nodes, has_gpu)
    values["room"] += room_value(blocks_of(state), *_cards(task, plan))
    values["hosts"] -= _host_use(task, options, plan)
    return dict(values)


def _cards(task: HostTask, plan: HostPlan) -> tuple[Mapping[int, int], Mapping[int, int], int]:
    """Cards taken per cell for sure, those somebody else chooses, and how many of these there are."""
    sure: dict[int, int] = defaultdict(int)
    chosen: dict[int, int] = defaultdict(int)
    number = 0
    state = task.state
    for index, option, count in plan.chosen:
        for use in task.options[index][option].uses:
            static = use.bound_by is BoundBy.STATIC
            if use.resource == "vgpu":
                number += use.count * count
            elif use.resource != "vf":
                for cell, taken in use.cells:
                    (sure if static else chosen)[cell] += taken * count
                number += 0 if static else sum(taken for _, taken in use.cells) * count
    for cell, _, _ in plan.vgpus:
        chosen[cell] += 1
    keeping = set(plan.stays) | set(plan.as_is)
    cell_of = {address: cell.index for cell in state.cells for address in cell.addresses}
    for active in state.actives:
        if active.class_index in keeping:
            for holding in active.holdings:
                if holding.kind != "vf" and holding.address in cell_of:
                    sure[cell_of[holding.address]] += 1
    return sure, chosen, number


def _host_use(task: HostTask, options: RequestOptions, plan: HostPlan) -> int:
    present = sum(plan.seats().values()) + len(plan.as_is)
    if options.hosts_goal == "spread":
        return (task.state.standing_count + present) ** 2
    return 1 if present or task.state.standing_count else 0
