"""A column: one way to fill a host, with all that rows and levels need to know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ortools.sat.python import cp_model

from vplacer.constraints.checks.change_limits import MOVES, POWER_CYCLES
from vplacer.request.demand import RequestOptions
from vplacer.solver.classes import DemandClass
from vplacer.solver.host_model import HostTask, HostVars
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.option import Option
from vplacer.solver.plan_values import plan_values
from vplacer.solver.reseat import option_change
from vplacer.solver.rows import Key


@dataclass(frozen=True)
class Column:
    """A host's plan, the values of the rows' quantities and of the levels (maximised sense)."""

    plan: HostPlan
    quantities: Mapping[Key, int]
    levels: Mapping[str, int]


def column_of(
    task: HostTask, classes: tuple[DemandClass, ...], options: RequestOptions, plan: HostPlan
) -> Column:
    """Count all that rows and levels need to know of a plan."""
    quantities: dict[Key, int] = {("seats", index): count for index, count in plan.seats().items()}
    for index, _, count in plan.chosen:
        quantities["new", index] = quantities.get(("new", index), 0) + count
    quantities |= {("as_is", index): 1 for index in plan.as_is}
    present = plan.seats().keys() | set(plan.as_is)
    quantities |= {("rule", name): 1 for name, members in task.together if present.intersection(members)}
    quantities |= _changes(task, classes, plan)
    return Column(plan, quantities, plan_values(task, classes, options, plan))


def _changes(task: HostTask, classes: tuple[DemandClass, ...], plan: HostPlan) -> dict[Key, int]:
    """Count what a plan does to existing VMs."""
    found: dict[Key, int] = {}
    for index, number, count in plan.chosen:
        if classes[index].vm is None:
            continue
        change = option_change(classes[index], task.options[index][number], task.state)
        for name, does in ((POWER_CYCLES, change.power_cycle), (MOVES, change.moves)):
            if does:
                found[name, 0] = found.get((name, 0), 0) + count
    return found


def read_plan(
    solver: cp_model.CpSolver, variables: HostVars, options: Mapping[int, tuple[Option, ...]]
) -> HostPlan:
    """Read one host's plan out of a solved model."""
    chosen = [
        (index, options[index].index(option), solver.value(count))
        for index, listed in sorted(variables.chosen.items())
        for option, count in listed
        if solver.value(count)
    ]
    return HostPlan(
        chosen=tuple(chosen),
        stays=tuple(index for index, var in sorted(variables.stays.items()) if solver.value(var)),
        as_is=tuple(index for index, var in sorted(variables.as_is.items()) if solver.value(var)),
        vgpus=tuple(
            (cell, profile, solver.value(var))
            for (cell, profile), var in sorted(variables.vgpus.items())
            if solver.value(var)
        ),
    )
