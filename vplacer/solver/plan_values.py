"""Values of the levels on one host, counted from its plan.

The model's own variables may understate what no objective asked them for (a block left whole, a host
left empty), so a column's values are always counted here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from vplacer.request.demand import BoundBy, RequestOptions
from vplacer.solver.classes import DemandClass
from vplacer.solver.future.count import mix_points
from vplacer.solver.future.plan_left import left_by_plan
from vplacer.solver.host_model import HostTask
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.host_state import ActiveVm, HostState
from vplacer.solver.levels import cpu_only_cost
from vplacer.solver.option import takes_function
from vplacer.solver.reseat import option_change, option_cost
from vplacer.solver.room import Loose, blocks_of, room_value, unnamed


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
        values[f"placed:{cls.demand.priority}"] += cls.demand.weight_milli * count
        values["locality"] += option.points * count
        values["moves"] -= option_cost(cls, option, state) * count
        values["power_cycles"] -= option_change(cls, option, state).power_cycle * count
        values["room"] -= cpu_only_cost(cls.demand, option.nodes, gpu_nodes, has_gpu) * count
    for index in plan.stays:
        cls = classes[index]
        values[f"placed:{cls.demand.priority}"] += cls.demand.weight_milli
        values["locality"] += task.stay_points.get(index, 0)
        values["room"] -= cpu_only_cost(cls.demand, cls.stay.nodes if cls.stay else (), gpu_nodes, has_gpu)
    present = Counter(plan.seats()) + Counter(plan.as_is)
    values["locality"] += sum(wish.points(sum(present[c] for c in wish.classes)) for wish in task.wishes)
    cards = _cards(task, plan)
    loose = Loose(cards.loose["gpu"], cards.loose["nic"])
    values["room"] += room_value(blocks_of(state), cards.sure, cards.chosen, loose)
    if task.mix is not None:
        values["room"] += mix_points(
            task.mix.shapes, left_by_plan(task, task.mix.problem, classes, options, plan)
        )
    values["hosts"] -= _host_use(task, options, plan)
    return dict(values)


@dataclass
class _Cards:
    """Cards taken per cell for sure, those somebody else chooses, and how many lie where nobody knows."""

    sure: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    chosen: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    loose: dict[str, int] = field(default_factory=dict)


def _cards(task: HostTask, plan: HostPlan) -> _Cards:
    state = task.state
    held = unnamed(state)
    found = _Cards(loose={"gpu": held.gpus, "nic": held.nics})
    for index, option, count in plan.chosen:
        for use in task.options[index][option].uses:
            if use.resource == "vgpu":
                found.loose["gpu"] += use.count * count
            for cell, taken in use.cells:
                if takes_function(use, state.cells[cell]):
                    continue
                if use.bound_by is BoundBy.STATIC:
                    found.sure[cell] += taken * count
                else:
                    found.chosen[cell] += taken * count
                    found.loose[state.cells[cell].card.kind] += taken * count
    for cell, _, _ in plan.vgpus:
        found.chosen[cell] += 1
    keeping = set(plan.stays) | set(plan.as_is)
    for active in state.actives:
        if active.class_index in keeping:
            _keep(active, state, found)
    return found


def _keep(active: ActiveVm, state: HostState, found: _Cards) -> None:
    """Count what a VM holds that keeps its place."""
    cell_of = {address: cell.index for cell in state.cells for address in cell.addresses}
    for holding in active.holdings:
        where = (holding.address,) if holding.address is not None else holding.candidates
        cells = sorted({cell_of[address] for address in where if address in cell_of})
        if holding.kind == "vf" or not cells:
            continue
        if holding.address is None and not (holding.kind == "vgpu" and holding.group is None):
            found.loose[state.cells[cells[0]].card.kind] += 1
            continue
        for cell in cells:
            found.sure[cell] += 1


def _host_use(task: HostTask, options: RequestOptions, plan: HostPlan) -> int:
    present = sum(plan.seats().values()) + len(plan.as_is)
    if options.hosts_goal == "spread":
        return (task.state.standing_count + present) ** 2
    return 1 if present or task.state.standing_count else 0
