"""From a problem to what the solvers work on: classes, host tasks, rows, levels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from vplacer.constraints.state import Placement, Problem
from vplacer.inventory.vm import Vm
from vplacer.solver.classes import DemandClass, build_classes
from vplacer.solver.eligible import Rejection as Rejection  # noqa: PLC0414 - part of an instance's words
from vplacer.solver.future.places import mix_of_host
from vplacer.solver.host_model import HostLimit, HostTask
from vplacer.solver.host_state import HostState, build_host_state, untouched_state
from vplacer.solver.levels import Level, levels_for
from vplacer.solver.lister import Lister
from vplacer.solver.option import Option
from vplacer.solver.rows import RowSet, gangs, ha, headroom, limits, merge, placement, pools, together
from vplacer.solver.rows.openings import Openings
from vplacer.solver.score import placement_points
from vplacer.solver.wishes import any_wish, host_wishes


@dataclass(frozen=True)
class Instance:
    """What the solvers work on.

    ``settled``: placements of existing VMs that meet their demand and stay. ``rejections`` by
    (class index, host moid). ``complete`` False = an option list was cut, so no optimality.
    """

    problem: Problem
    classes: tuple[DemandClass, ...]
    tasks: tuple[HostTask, ...]
    rows: RowSet
    levels: tuple[Level, ...]
    settled: tuple[Placement, ...]
    rejections: Mapping[tuple[int, str], Rejection]
    complete: bool


def stub_of(problem: Problem) -> Instance:
    """Return an instance of nothing but the problem, for whoever only asks it for that."""
    return Instance(problem, (), (), RowSet(()), (), (), {}, True)


def build_instance(
    problem: Problem,
    today: Mapping[str, Placement],
    order: tuple[str, ...],
    only: Collection[str] | None = None,
    held: Collection[str] = (),
) -> Instance:
    """Build the instance.

    Args:
        problem: the problem.
        today: placements of today of existing VMs that already meet their demand.
        order: objective levels.
        only: hosts to look at; None = all.
        held: demands of existing VMs that may move and nevertheless stay, unless a rule ties them to others.
    """
    ruled = _ruled(problem)
    settled_ids = {
        demand.id
        for demand in problem.request.demands
        if demand.id in today and (not demand.may_move or demand.id in held) and demand.id not in ruled
    }
    classes = build_classes(problem, dict(today), settled_ids)
    lister = Lister(problem, classes)
    tasks: list[HostTask] = []
    complete = True
    for standing, state in _states(problem, classes, only):
        options, whole = lister.on(state)
        complete = complete and whole
        if options or state.actives:
            tasks.append(host_task(problem, classes, state, options, standing))
    openings = _openings(tasks)
    rows = merge(
        [
            placement.build(classes),
            together.build(problem.request.rules.together, classes),
            gangs.build(problem.request.rules.gangs, classes, openings),
            pools.build(problem, classes, openings),
            ha.build(problem, classes, openings),
            headroom.build(problem, classes, openings),
            limits.build(problem, classes),
        ]
    )
    return Instance(
        problem=problem,
        classes=classes,
        tasks=tuple(tasks),
        rows=rows,
        levels=levels_for(order, classes, problem.request.options.hosts_goal, any_wish(problem)),
        settled=tuple(today[identity] for identity in sorted(settled_ids)),
        rejections=lister.rejections(),
        complete=complete,
    )


def _states(
    problem: Problem, classes: tuple[DemandClass, ...], only: Collection[str] | None
) -> Iterable[tuple[tuple[Vm, ...], HostState]]:
    """Yield every host asked for with the VMs that the plan cannot touch, and what those leave of it."""
    active_of: dict[str, list[tuple[int, Vm]]] = defaultdict(list)
    for cls in classes:
        if cls.vm is not None and cls.vm.host is not None:
            active_of[cls.vm.host].append((cls.index, cls.vm))
    for host in problem.inventory.hosts:
        if host.moid not in problem.topologies or (only is not None and host.moid not in only):
            continue
        actives = tuple(active_of.get(host.moid, ()))
        touched = {vm.moid for _, vm in actives}
        here = problem.inventory.vms_by_host.get(host.moid, ())
        standing = tuple(vm for vm in here if vm.moid not in touched and not vm.template)
        state = (
            build_host_state(problem, host, standing, actives)
            if actives
            else untouched_state(problem, host.moid)
        )
        yield standing, state


def _openings(tasks: list[HostTask]) -> Openings:
    """Return where classes have options, and what hosts have left for all of them."""
    shared: dict[int, frozenset[int]] = {}
    for task in tasks:
        if id(task.options) not in shared:
            shared[id(task.options)] = frozenset(task.options)
    return Openings(
        hosts=tuple(task.state.host.moid for task in tasks),
        open_to={task.state.host.moid: shared[id(task.options)] for task in tasks},
        left={task.state.host.moid: task.state.total_room for task in tasks},
    )


def _ruled(problem: Problem) -> set[str]:
    """Demands that a rule ties to others: they are placed together with them, never beforehand."""
    rules = problem.request.rules
    ties = [rule.vms for rule in rules.apart]
    ties += [rule.vms for rule in rules.together]
    ties += [gang.vms for gang in rules.gangs]
    return {vm for vms in ties for vm in vms}


def host_task(
    problem: Problem,
    classes: tuple[DemandClass, ...],
    state: HostState,
    options: dict[int, tuple[Option, ...]],
    standing: tuple[Vm, ...],
) -> HostTask:
    """Return the task of a host: what fits it, and what rules say of it.

    Args:
        problem: the problem.
        classes: all classes.
        state: the host.
        options: of the classes on it.
        standing: VMs on it that the plan cannot touch.
    """
    rules = problem.request.rules
    here = {vm.moid for vm in standing}
    limits = []
    for apart in rules.apart:
        members = _classes_of(classes, apart.vms)
        if apart.required and members:
            most = max(0, apart.at_most - sum(1 for vm in apart.vms if vm in here))
            limits.append(HostLimit(apart.name, members, most))
    for gang in rules.gangs:
        members = _classes_of(classes, gang.vms)
        if members:
            most = max(0, 1 - sum(1 for vm in gang.vms if vm in here))
            limits.append(HostLimit(f"gang {gang.name}", members, most))
    pairs = tuple((rule.name, _classes_of(classes, rule.vms)) for rule in rules.together if rule.required)
    stay_points = {
        active.class_index: placement_points(problem, stay)
        for active in state.actives
        if (stay := classes[active.class_index].stay) is not None
    }
    wishes = host_wishes(problem, classes, frozenset(here))
    mix = mix_of_host(problem, state.host.moid)
    return HostTask(state, options, tuple(limits), pairs, stay_points, wishes, mix)


def _classes_of(classes: tuple[DemandClass, ...], vms: tuple[str, ...]) -> tuple[int, ...]:
    wanted = set(vms)
    return tuple(cls.index for cls in classes if wanted.intersection(cls.members))
