"""Makes a plan from a problem and its solution."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any

from vplacer.constraints.disturbance import disturbance_of
from vplacer.constraints.state import Placement, Problem, State, Violation
from vplacer.errors import InternalError
from vplacer.inventory.host import Host
from vplacer.inventory.moids import moid_order
from vplacer.plan.draft import Draft, draft
from vplacer.plan.future import future_notes, future_room
from vplacer.plan.model import (
    DriftItem,
    EvacuatedHost,
    Impact,
    Observed,
    OverlayRef,
    Plan,
    RequestRef,
    Summary,
    Symbol,
    Unplaced,
    Verdict,
    VmPlan,
)
from vplacer.plan.nvswitch import nvswitch_notes
from vplacer.plan.observed import (
    observe_host,
    observe_resident,
    observe_vcenter,
    observe_vm,
    running_vms,
)
from vplacer.plan.off_claims import off_claim_notes
from vplacer.plan.off_vms import off_notes
from vplacer.plan.order import Job, in_order, with_dependencies
from vplacer.plan.reasons import impact_of, planned_asks, reasons_of
from vplacer.plan.settings import manual_cores_per_node
from vplacer.plan.source import source_of
from vplacer.plan.steps import steps_of
from vplacer.plan.upkeep_notes import evacuated_hosts, evacuation_notes, over_limit_notes
from vplacer.solver.verdict import Solution, Status


def build_plan(
    problem: Problem,
    solution: Solution,
    *,
    created: str,
    tool_version: str,
    fingerprint: str = "",
    request_document: Any = None,
    overlays: Sequence[OverlayRef] = (),
    violations_before: Sequence[Violation] | None = None,
    violations_after: Sequence[Violation] | None = None,
    drift: Sequence[DriftItem] = (),
    what_if: Sequence[str] | None = None,
) -> Plan:
    """Make the plan that leads from today to a solution.

    Args:
        problem: what was decided on.
        solution: what was decided; of an infeasible request the best partial placement.
        created: time of the plan, ISO 8601 UTC.
        tool_version: version of vplacer.
        fingerprint: of the snapshot.
        request_document: the parsed request file, kept in the plan.
        overlays: overlays that were used.
        violations_before: what the judge says of today, None = not asked.
        violations_after: what the judge says of the solution, None = not asked.
        drift: what moved since the previous plan (`plan.staleness.drift`).

    Raises:
        InternalError: the solution contradicts the inventory or the request.
        InventoryIncomplete: a host does not tell what a step needs.
    """
    state = State(problem, solution.placements)
    names = _names(problem, solution)
    jobs, cold = _jobs(state, names)
    steps = in_order(jobs)
    vms = _vm_plans(state, jobs, violations_before or (), cold)
    evacuated = evacuated_hosts(state)
    over_limit = over_limit_notes(problem.request.options, sum(vm.impact.power_cycle for vm in vms))
    return Plan(
        tool_version=tool_version,
        created=created,
        source=source_of(problem.inventory, fingerprint, overlays),
        request=_request_ref(problem, request_document),
        verdict=_verdict(solution),
        applyable=bool(steps) and _settled(problem, solution) and not over_limit and what_if is None,
        summary=_summary(problem, vms, violations_before, violations_after),
        vms=vms,
        unplaced=tuple(Unplaced(item, problem.demand_by_id[item].name) for item in solution.unplaced),
        left_alone=problem.request.left_alone,
        steps=steps,
        observed=_observed(problem, jobs),
        drift=tuple(drift),
        notes=(*over_limit, *_notes(state, evacuated, jobs)),
        names=tuple(sorted(names.items())),
        evacuated=evacuated,
        future=future_room(state),
        hypothetical=what_if is not None,
        what_if=tuple(what_if or ()),
    )


def _vm_plans(
    state: State, jobs: Sequence[Job], violations: Iterable[Violation], cold: frozenset[str]
) -> tuple[VmPlan, ...]:
    """Return what becomes of each VM, in the order of the request; ``violations``: of today."""
    judged: dict[str, list[Violation]] = {}
    for item in violations:
        judged.setdefault(item.object, []).append(item)
    by_demand = {job.id: job for job in jobs}
    order = {demand.id: index for index, demand in enumerate(state.problem.request.demands)}
    placements = sorted(state.placements, key=lambda item: order[item.demand])
    return tuple(_vm_plan(state, item, by_demand.get(item.demand), judged, cold) for item in placements)


def _settled(problem: Problem, solution: Solution) -> bool:
    """Whether a solution is one that may be carried out."""
    placed_all = not solution.unplaced or problem.request.options.partial
    return placed_all and solution.status in (Status.OPTIMAL, Status.FEASIBLE)


def _request_ref(problem: Problem, document: Any) -> RequestRef:
    request = problem.request
    return RequestRef(PurePath(request.source).name, request.sha256, _canonical(document))


def _notes(state: State, evacuated: tuple[EvacuatedHost, ...], jobs: Sequence[Job]) -> tuple[str, ...]:
    """Return what else is to be known of the plan."""
    drafts = [job.draft for job in jobs]
    return (
        *evacuation_notes(state, evacuated),
        *state.problem.request.notes,
        *off_notes(state, drafts),
        *off_claim_notes(state, drafts),
        *nvswitch_notes(state, drafts),
        *_topology_notes(state.problem, jobs),
        *future_notes(state),
    )


def _verdict(solution: Solution) -> Verdict:
    return Verdict(
        solution.status,
        solution.stopped_by,
        solution.seed,
        solution.solver_version,
        solution.levels,
        solution.assumptions,
        solution.reasons,
        solution.ways_out,
    )


def _canonical(document: Any) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _jobs(state: State, names: dict[str, str]) -> tuple[tuple[Job, ...], frozenset[str]]:
    """Draft all placements; migrations that wait for each other in a circle go switched off, one by one.

    A VM whose place others have mended is left as it is, like one that stays.
    """
    problem = state.problem
    order = {demand.id: index for index, demand in enumerate(problem.request.demands)}
    placements = sorted(
        (p for p in state.placements if not (p.stays or disturbance_of(problem, p).untouched)),
        key=lambda item: order[item.demand],
    )
    drafts = {item.demand: draft(state, item) for item in placements}
    cold: set[str] = set()
    while True:
        jobs = [Job(item, steps_of(item, names)) for item in drafts.values() if item.changes]
        linked, circle = with_dependencies(state, jobs)
        if not circle:
            return linked, frozenset(cold)
        first = circle[0]
        if first in cold:
            raise InternalError("a migration waits for itself", obj=names.get(first, first))
        cold.add(first)
        drafts[first] = draft(state, drafts[first].placement, cold=True)


def _vm_plan(
    state: State,
    placement: Placement,
    job: Job | None,
    judged: dict[str, list[Violation]],
    cold: frozenset[str],
) -> VmPlan:
    if job is None:
        return _unchanged(state, placement)
    item = job.draft
    demand = item.demand
    here = state.problem.inventory.host_by_moid.get(item.today.host or "")
    notes = list(item.notes)
    if demand.id in cold:
        notes.append("it moves switched off: with vMotion it and another VM would wait for each other's room")
    return VmPlan(
        demand=demand.id,
        name=demand.name,
        vm=demand.vm,
        symbol=_symbol(item),
        host_before=None if item.is_new else item.today.host,
        host_after=placement.host,
        nodes=tuple(sorted(placement.nodes)),
        vnuma_nodes=item.settings.shape.nodes if item.settings.shape is not None else None,
        cpus=demand.cpus,
        memory_mib=demand.memory_mib,
        mode=demand.mode,
        asks=planned_asks(state, placement, item.vnodes),
        reasons=reasons_of(item, judged.get(demand.id, ())),
        impact=impact_of(item, [item.host, *([here] if here is not None else [])]),
        steps=tuple(step.id for step in job.steps),
        notes=tuple(notes),
    )


def _unchanged(state: State, placement: Placement) -> VmPlan:
    """Return a VM that stays as it is: nothing is computed that its present settings could contradict."""
    demand = state.problem.demand_by_id[placement.demand]
    vm = state.problem.inventory.vm_by_moid[demand.vm or ""]
    manual = manual_cores_per_node(vm)
    return VmPlan(
        demand=demand.id,
        name=demand.name,
        vm=demand.vm,
        symbol=Symbol.UNCHANGED,
        host_before=vm.host,
        host_after=placement.host,
        nodes=tuple(sorted(placement.nodes)),
        vnuma_nodes=vm.cpus // manual if manual else None,
        cpus=demand.cpus,
        memory_mib=demand.memory_mib,
        mode=demand.mode,
        asks=planned_asks(state, placement, [None] * len(placement.devices)),
        reasons=(),
        impact=Impact(),
        steps=(),
    )


def _symbol(item: Draft) -> Symbol:
    if item.is_new:
        return Symbol.CREATE
    return Symbol.MIGRATE if item.relocate is not None else Symbol.CHANGE


def _summary(
    problem: Problem,
    vms: Sequence[VmPlan],
    before: Sequence[Violation] | None,
    after: Sequence[Violation] | None,
) -> Summary:
    created = sum(1 for vm in vms if vm.symbol is Symbol.CREATE)
    migrated = sum(1 for vm in vms if vm.symbol is Symbol.MIGRATE)
    reconfigured = sum(1 for vm in vms if vm.symbol is Symbol.CHANGE)
    everyone = sum(1 for vm in problem.inventory.vms if not vm.template)
    return Summary(
        created=created,
        reconfigured=reconfigured,
        migrated=migrated,
        power_cycles=sum(1 for vm in vms if vm.impact.power_cycle),
        unchanged=everyone - migrated - reconfigured,
        unchanged_requested=sum(1 for vm in vms if not vm.changed),
        requested=len(problem.request.demands),
        placed=len(vms),
        violations_before=None if before is None else len(before),
        violations_after=None if after is None else len(after),
    )


def _observed(problem: Problem, jobs: Iterable[Job]) -> tuple[Observed, ...]:
    """Return the fields the decision used of all that the plan touches: hosts, VMs, and who else is there."""
    inventory = problem.inventory
    hosts: set[str] = set()
    changed: set[str] = set()
    for job in jobs:
        hosts.add(job.draft.host.moid)
        changed.add(job.draft.today.moid)
        if not job.draft.is_new and job.draft.today.host is not None:
            hosts.add(job.draft.today.host)
    residents: set[str] = set()
    found = [observe_vcenter(inventory)]
    for moid in sorted(hosts & set(inventory.host_by_moid), key=moid_order):
        here = inventory.vms_by_host.get(moid, ())
        found.append(observe_host(inventory.host_by_moid[moid], here))
        residents.update(vm.moid for vm in running_vms(here))
    found += [observe_vm(inventory.vm_by_moid[moid]) for moid in sorted(changed, key=moid_order)]
    found += [
        observe_resident(inventory.vm_by_moid[moid]) for moid in sorted(residents - changed, key=moid_order)
    ]
    return tuple(found)


def _topology_notes(problem: Problem, jobs: Iterable[Job]) -> tuple[str, ...]:
    """Return what is doubtful about the hosts the plan uses."""
    hosts: dict[str, Host] = {job.draft.host.moid: job.draft.host for job in jobs}
    return tuple(
        f"{hosts[moid].name}: {text}"
        for moid in sorted(hosts, key=moid_order)
        for text in problem.topologies[moid].mismatches
    )


def _names(problem: Problem, solution: Solution) -> dict[str, str]:
    """Return display names of everything a plan may mention by id."""
    inventory = problem.inventory
    names = {demand.id: demand.name for demand in problem.request.demands}
    for demand in problem.request.demands:
        if demand.template is not None:
            names[demand.template] = inventory.vm_by_moid[demand.template].name
        if demand.pool is not None and demand.pool in inventory.pool_by_moid:
            names[demand.pool] = inventory.pool_by_moid[demand.pool].name
        vm = inventory.vm_by_moid.get(demand.vm or "")
        if vm is not None and vm.host in inventory.host_by_moid:
            names[vm.host] = inventory.host_by_moid[vm.host].name
    for placement in solution.placements:
        names[placement.host] = inventory.host_by_moid[placement.host].name
    for reason in solution.reasons:
        for rejection in reason.rejections:
            names |= {moid: inventory.host_by_moid[moid].name for moid, _ in rejection.hosts}
        parts = (part for conflict in reason.conflicts for part in conflict.parts)
        objects = {moid for part in parts for moid in part.objects}
        names |= {moid: inventory.vm_by_moid[moid].name for moid in objects & inventory.vm_by_moid.keys()}
    evacuate = problem.request.options.evacuate
    names |= {moid: inventory.host_by_moid[moid].name for moid in evacuate}
    objects = {moid for way in solution.ways_out for change in way.changes for moid in change.objects}
    names |= {moid: inventory.vm_by_moid[moid].name for moid in objects & inventory.vm_by_moid.keys()}
    names |= {moid: inventory.host_by_moid[moid].name for moid in objects & inventory.host_by_moid.keys()}
    names |= {cluster.moid: cluster.name for cluster in inventory.clusters}
    networks = {network.moid: network.name for network in inventory.networks}
    for demand in problem.request.demands:
        asked = (*demand.networks, *(nic.network for nic in demand.nics if nic.network is not None))
        names |= {moid: networks[moid] for moid in asked if moid in networks}
    return names
