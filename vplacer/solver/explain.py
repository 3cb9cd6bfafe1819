"""Why a demand has no place, host by host, and the cheapest ways out.

Every host gets exactly one reason: the first constraint that rejects it. A way out is shown only if
the demand, changed so, was tried on the answer and fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from vplacer.constraints.labels import portable_labels, scope_of
from vplacer.constraints.registry import Relaxation, filters
from vplacer.constraints.state import Placement
from vplacer.request.demand import Demand
from vplacer.solver.classes import DemandClass
from vplacer.solver.host_model import HostTask
from vplacer.solver.host_state import HostState, build_host_state
from vplacer.solver.instance import Instance, Rejection, no_options
from vplacer.solver.options import list_options
from vplacer.solver.relax import changes_of, room_made, scaled, smaller
from vplacer.solver.residual import residual_state, shortage
from vplacer.solver.verdict import DemandReasons, HostReason

MAX_RELAXATIONS = 4

_ROW_IDS = {"pool": "pool-memory", "ha-admission": "ha-admission", "headroom": "headroom"}
"""Constraint ids of the rows that limit sums, by the first part of their names."""


@dataclass
class _Hosts:
    """Residual hosts of one answer, built when first asked for."""

    instance: Instance
    placements: tuple[Placement, ...]

    def __post_init__(self) -> None:
        self.tasks: dict[str, HostTask] = {task.state.host.moid: task for task in self.instance.tasks}
        self.states: dict[tuple[str, str | None], HostState] = {}

    def state(self, moid: str, without: str | None) -> HostState:
        """Residual state of a host, without one demand's VM if that is there today."""
        problem = self.instance.problem
        host = problem.inventory.host_by_moid[moid]
        key = (
            moid,
            without if without in {vm.moid for vm in problem.inventory.vms_by_host.get(moid, ())} else None,
        )
        if key not in self.states:
            task = self.tasks.get(moid)
            if task is None:
                standing = tuple(vm for vm in problem.inventory.vms_by_host.get(moid, ()) if not vm.template)
                self.states[key] = build_host_state(problem, host, standing, ())
            else:
                self.states[key] = residual_state(self.instance, task, self.placements, key[1])
        return self.states[key]


def explain(
    instance: Instance, placements: tuple[Placement, ...], unplaced: tuple[str, ...]
) -> tuple[DemandReasons, ...]:
    """Return the reasons of every unplaced demand; demands of one class share the work."""
    hosts = _Hosts(instance, placements)
    found: dict[str, DemandReasons] = {}
    for cls in instance.classes:
        members = [member for member in cls.members if member in unplaced]
        if not members:
            continue
        rejections = _rejections(instance, cls, hosts)
        ways = _ways_out(instance, cls, hosts, rejections)
        for member in members:
            found[member] = DemandReasons(member, len(rejections), _by_constraint(rejections), ways)
    return tuple(found[member] for member in sorted(found))


def _rejections(instance: Instance, cls: DemandClass, hosts: _Hosts) -> dict[str, Rejection]:
    """The reason of every host of the inventory that has a topology."""
    found: dict[str, Rejection] = {}
    for host in instance.problem.inventory.hosts:
        if host.moid not in instance.problem.topologies:
            continue
        known = instance.rejections.get((cls.index, host.moid))
        found[host.moid] = (
            known
            or _why_full(instance, cls, cls.demand, host.moid, hosts)
            or _why_rule(instance, cls, host.moid, hosts)
        )
    return found


def _why_full(
    instance: Instance, cls: DemandClass, demand: Demand, moid: str, hosts: _Hosts
) -> Rejection | None:
    """Why a demand does not fit a host beside the answer's VMs; None if it does."""
    state = hosts.state(moid, cls.vm.moid if cls.vm is not None else None)
    labels = portable_labels(instance.problem, scope_of(state.host))
    listed = list_options(demand, state, labels)
    if not listed.options:
        return no_options(instance.problem, state.host, listed)
    short = shortage(demand, listed.options, state, instance)
    return Rejection(short.constraint, short.evidence) if short is not None else None


def _why_rule(instance: Instance, cls: DemandClass, moid: str, hosts: _Hosts) -> Rejection:
    """Which rule keeps a demand off a host on which it would fit."""
    here = {p.demand for p in hosts.placements if p.host == moid}
    here |= {vm.moid for vm in instance.problem.inventory.vms_by_host.get(moid, ())}
    member = cls.members[0]
    for apart in instance.problem.request.rules.apart:
        if member in apart.vms and len(here.intersection(apart.vms) - {member}) >= apart.at_most:
            return Rejection("apart", f"rule {apart.name}: at most {apart.at_most} of its VMs a host")
    if cls.gang is not None:
        return Rejection("gang", f"gang {cls.gang} has no host for every member")
    for together in instance.problem.request.rules.together:
        if member in together.vms:
            return Rejection("together", f"rule {together.name}: its VMs do not fit here all together")
    for row in instance.rows.rows:
        kind, _, rest = row.name.partition(":")
        if kind in _ROW_IDS and row.coefficient(moid, ("new", cls.index)) > 0:
            return Rejection(_ROW_IDS[kind], f"the limit of {rest.partition('#')[0]} is reached")
    return Rejection("others", "it fits here only in place of VMs that count more or as much")


def _by_constraint(rejections: dict[str, Rejection]) -> tuple[HostReason, ...]:
    groups: dict[str, list[tuple[str, str]]] = {}
    for moid, rejection in rejections.items():
        groups.setdefault(rejection.constraint, []).append((moid, rejection.evidence))
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(HostReason(constraint, tuple(hosts)) for constraint, hosts in ordered)


def _ways_out(
    instance: Instance, cls: DemandClass, hosts: _Hosts, rejections: dict[str, Rejection]
) -> tuple[Relaxation, ...]:
    """Changes that were tried and help, cheapest first."""
    found: list[Relaxation] = []
    open_hosts = [
        moid
        for moid, rejection in rejections.items()
        if rejection.constraint not in {item.id for item in filters()} or _passes(instance, cls.demand, moid)
    ]
    everywhere = list(rejections)
    found += [
        change.relaxation
        for change in changes_of(cls.demand)
        if _helps(instance, cls, change.demand, everywhere, hosts)
    ]
    sizes = smaller(cls.demand, lambda demand: _helps(instance, cls, demand, everywhere, hosts))
    found += [change.relaxation for change in sizes]
    if not found:
        smaller_whole = (c for c in scaled(cls.demand) if _helps(instance, cls, c.demand, everywhere, hosts))
        found += [change.relaxation for change in islice(smaller_whole, 1)]
    for moid in open_hosts:
        found += room_made(instance, cls, hosts.state(moid, None), moid, _fits_on(instance))
    found += _host_changes(instance, cls, rejections, hosts)
    unique = {relaxation.text: relaxation for relaxation in found}
    return tuple(sorted(unique.values(), key=lambda r: (r.cost, r.text))[:MAX_RELAXATIONS])


def _passes(instance: Instance, demand: Demand, moid: str) -> bool:
    host = instance.problem.inventory.host_by_moid[moid]
    return all(item.rejects(instance.problem, demand, host) is None for item in filters())


def _helps(instance: Instance, cls: DemandClass, demand: Demand, moids: list[str], hosts: _Hosts) -> bool:
    """Whether the changed demand fits some host."""
    for moid in moids:
        if not demand.may_move and cls.home is not None and moid != cls.home:
            continue
        if _passes(instance, demand, moid) and _why_full(instance, cls, demand, moid, hosts) is None:
            return True
    return False


def _fits_on(instance: Instance) -> Callable[[HostState, Demand], bool]:
    def fits_on(state: HostState, demand: Demand) -> bool:
        labels = portable_labels(instance.problem, scope_of(state.host))
        listed = list_options(demand, state, labels)
        return bool(listed.options) and shortage(demand, listed.options, state, instance) is None

    return fits_on


def _host_changes(
    instance: Instance, cls: DemandClass, rejections: dict[str, Rejection], hosts: _Hosts
) -> list[Relaxation]:
    """What an administrator can change at a host that a single filter rejects."""
    found: list[Relaxation] = []
    problem = instance.problem
    for moid in rejections:
        host = problem.inventory.host_by_moid[moid]
        against = [item for item in filters() if item.rejects(problem, cls.demand, host) is not None]
        if len(against) != 1:
            continue
        way = against[0].relax(problem, cls.demand, host)
        if way is not None and _why_full(instance, cls, cls.demand, moid, hosts) is None:
            found.append(way)
    return found
