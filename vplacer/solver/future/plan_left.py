"""What the plan of a host leaves of it."""

from __future__ import annotations

from dataclasses import replace

from vplacer.constraints.state import Problem
from vplacer.constraints.supply import consumer_of_demand
from vplacer.request.demand import RequestOptions
from vplacer.solver.classes import DemandClass
from vplacer.solver.future.count import Left, left_of
from vplacer.solver.future.taken import Taken, taken_by_option
from vplacer.solver.host_model import HostTask
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.host_state import ActiveVm


def left_by_plan(
    task: HostTask,
    problem: Problem,
    classes: tuple[DemandClass, ...],
    options: RequestOptions,
    plan: HostPlan,
) -> Left:
    """Return what a plan leaves of a host."""
    left = left_of(task.state)
    keeping = set(plan.stays) | set(plan.as_is)
    for active in task.state.actives:
        if active.class_index in keeping:
            _keep(active, left)
    for index, number, count in plan.chosen:
        demand, option = classes[index].demand, task.options[index][number]
        left.consume(consumer_of_demand(demand, option.nodes, task.state.host, options), count)
        for taken in taken_by_option(problem, demand, option, task.state):
            left.taken.append(replace(taken, count=taken.count * count))
    return left


def _keep(active: ActiveVm, left: Left) -> None:
    """Count a VM that keeps its place."""
    left.consume(active.consumer)
    for holding in active.holdings:
        where = (holding.address,) if holding.address is not None else holding.candidates
        if holding.kind == "vgpu" and holding.group is None and holding.profile is not None:
            for address in where:
                left.vgpus.setdefault(address, []).append(holding.profile)
        elif holding.kind == "vf" or holding.address is not None:
            left.kept.update(where)
        elif where:
            left.taken.append(Taken(frozenset(where), 1))
