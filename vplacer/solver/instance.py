"""From a problem to what the solvers work on: classes, host tasks, rows, levels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from vplacer.constraints.labels import portable_labels, scope_of, why_not_portable
from vplacer.constraints.registry import filters
from vplacer.constraints.state import Placement, Problem
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm
from vplacer.request.demand import AffinityMode
from vplacer.solver.classes import DemandClass, build_classes
from vplacer.solver.host_model import HostLimit, HostTask
from vplacer.solver.host_state import HostState, build_host_state
from vplacer.solver.levels import Level, levels_for
from vplacer.solver.option import Option, OptionList, Takers
from vplacer.solver.options import list_options
from vplacer.solver.rows import RowSet, gangs, ha, headroom, merge, placement, pools, together
from vplacer.solver.score import placement_points
from vplacer.solver.wishes import any_wish, host_wishes, wished_host_points


@dataclass(frozen=True)
class Rejection:
    """Why a class has no place on a host, whatever else is placed: constraint id and evidence."""

    constraint: str
    evidence: str


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


def build_instance(problem: Problem, today: Mapping[str, Placement], order: tuple[str, ...]) -> Instance:
    """Build the instance.

    Args:
        problem: the problem.
        today: placements of today of existing VMs that already meet their demand.
        order: objective levels.
    """
    ruled = _ruled(problem)
    settled_ids = {
        demand.id
        for demand in problem.request.demands
        if demand.id in today and not demand.may_move and demand.id not in ruled
    }
    classes = build_classes(problem, dict(today), settled_ids)
    active_of: dict[str, list[tuple[int, Vm]]] = defaultdict(list)
    for cls in classes:
        if cls.vm is not None and cls.vm.host is not None:
            active_of[cls.vm.host].append((cls.index, cls.vm))
    active_vms = {cls.vm.moid for cls in classes if cls.vm is not None}
    rejections: dict[tuple[int, str], Rejection] = {}
    lister = _Lister(problem, classes)
    tasks: list[HostTask] = []
    complete = True
    for host in problem.inventory.hosts:
        if host.moid not in problem.topologies:
            continue
        standing = tuple(
            vm
            for vm in problem.inventory.vms_by_host.get(host.moid, ())
            if vm.moid not in active_vms and not vm.template
        )
        state = build_host_state(problem, host, standing, tuple(active_of.get(host.moid, ())))
        labels = portable_labels(problem, scope_of(host))
        options, whole = lister.on(state, labels, rejections)
        complete = complete and whole
        if options or state.actives:
            tasks.append(_task(problem, classes, state, options, standing))
    hosts = tuple(task.state.host.moid for task in tasks)
    rows = merge(
        [
            placement.build(classes),
            together.build(problem.request.rules.together, classes),
            gangs.build(problem.request.rules.gangs, classes, hosts),
            pools.build(problem, classes, hosts),
            ha.build(problem, classes, hosts),
            headroom.build(problem, classes, hosts),
        ]
    )
    return Instance(
        problem=problem,
        classes=classes,
        tasks=tuple(tasks),
        rows=rows,
        levels=levels_for(order, classes, problem.request.options.hosts_goal, any_wish(problem)),
        settled=tuple(today[identity] for identity in sorted(settled_ids)),
        rejections=rejections,
        complete=complete,
    )


def _ruled(problem: Problem) -> set[str]:
    """Demands that a rule ties to others: they are placed together with them, never beforehand."""
    rules = problem.request.rules
    ties = [rule.vms for rule in rules.apart]
    ties += [rule.vms for rule in rules.together]
    ties += [gang.vms for gang in rules.gangs]
    return {vm for vms in ties for vm in vms}


class _Lister:
    """Lists the options of all classes on one host after the other; hosts that are alike share lists."""

    def __init__(self, problem: Problem, classes: tuple[DemandClass, ...]) -> None:
        self.problem = problem
        self.classes = classes
        modes = {cls.demand.mode for cls in classes if cls.demand.has_devices}
        self.pin, self.label = AffinityMode.PIN in modes, AffinityMode.LABEL in modes
        self.known: dict[tuple[int, object], OptionList] = {}

    def on(
        self, state: HostState, labels: dict[str, int], rejections: dict[tuple[int, str], Rejection]
    ) -> tuple[dict[int, tuple[Option, ...]], bool]:
        """Return the options of every class on a host; classes without any are noted with the reason."""
        found: dict[int, tuple[Option, ...]] = {}
        complete = True
        takers = Takers(static=bool(state.actives) or self.pin, label=self.label)
        alike = _option_key(state, labels, takers)
        for cls in self.classes:
            rejection = rejected(self.problem, cls, state.host)
            if rejection is None:
                key = (cls.index, alike)
                if key not in self.known:
                    self.known[key] = list_options(cls.demand, state, labels, takers)
                listed = self.known[key]
                complete = complete and listed.complete
                if listed.options:
                    wished = wished_host_points(self.problem, cls.demand.id, state.host.moid)
                    options = listed.options
                    if wished:
                        options = tuple(replace(o, points=o.points + wished) for o in options)
                    found[cls.index] = options
                    continue
                rejection = no_options(self.problem, state.host, listed)
            rejections[cls.index, state.host.moid] = rejection
        return found, complete


def _option_key(state: HostState, labels: dict[str, int], takers: Takers) -> object:
    """All that an option list depends on beside the demand."""
    host = state.host
    return (
        id(state.topology),
        tuple(sorted(labels.items())),
        takers,
        state.cells,
        state.scarce,
        state.vgpu_held,
        host.core_count,
        host.thread_count,
        host.hyperthreading_active,
        host.numa_nodes,
        host.vgpu_profiles,
        host.vgpu_types,
        host.device_groups,
    )


def no_options(problem: Problem, host: Host, listed: OptionList) -> Rejection:
    """Say why an option list is empty."""
    evidence = listed.evidence or "no choice of cards"
    told = [why_not_portable(problem, scope_of(host), label) for label in listed.labels]
    return Rejection(listed.constraint or "devices", "; ".join(filter(None, told)) or evidence)


def rejected(problem: Problem, cls: DemandClass, host: Host) -> Rejection | None:
    """Return the first filter that rejects a host for a class, or None."""
    demand = cls.demand
    if cls.vm is not None and not demand.may_move and cls.home is not None:
        if cls.stay is not None:
            return Rejection("may-not-move", "the VM has what was asked for and stays as it is")
        if host.moid != cls.home:
            return Rejection("may-not-move", f"the VM stays on its host ({_name(problem, cls.home)})")
    for item in filters():
        evidence = item.rejects(problem, demand, host)
        if evidence is not None:
            return Rejection(item.id, evidence)
    cluster = problem.inventory.cluster_by_moid.get(host.cluster or "")
    admission = cluster.admission if cluster is not None and cluster.ha_enabled else None
    if admission is not None and host.moid in admission.dedicated:
        return Rejection("ha-admission", "the host is dedicated to HA failover")
    for rule in problem.request.rules.together:
        if not rule.required or demand.id not in rule.vms:
            continue
        anchors = [
            vm
            for member in rule.vms
            if member not in problem.demand_by_id
            and (vm := problem.inventory.vm_by_moid.get(member)) is not None
            and vm.host is not None
        ]
        elsewhere = [vm.name for vm in anchors if vm.host != host.moid]
        if elsewhere:
            names = ", ".join(elsewhere)
            return Rejection("together", f"rule '{rule.name}': {names} on another host")
    return None


def _name(problem: Problem, moid: str) -> str:
    host = problem.inventory.host_by_moid.get(moid)
    return host.name if host is not None else moid


def _task(
    problem: Problem,
    classes: tuple[DemandClass, ...],
    state: HostState,
    options: dict[int, tuple[Option, ...]],
    standing: tuple[Vm, ...],
) -> HostTask:
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
    return HostTask(state, options, tuple(limits), pairs, stay_points, wishes)


def _classes_of(classes: tuple[DemandClass, ...], vms: tuple[str, ...]) -> tuple[int, ...]:
    wanted = set(vms)
    return tuple(cls.index for cls in classes if wanted.intersection(cls.members))
