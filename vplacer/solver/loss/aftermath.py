"""The site after a loss as a problem: the hosts that are left, and the VMs that must find a place there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace

from vplacer.constraints.checks.pool_memory import vm_holds
from vplacer.constraints.judge import check_change
from vplacer.constraints.state import Placement, Problem, State, Violation
from vplacer.inventory.cluster import ResourcePool
from vplacer.inventory.moids import moid_order
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.request.demand import Demand


def without_admission(inventory: Inventory) -> Inventory:
    """Return an inventory whose HA admission control refuses nothing: a restart is what it keeps room for."""
    clusters = tuple(replace(cluster, admission=None) for cluster in inventory.clusters)
    return replace(inventory, clusters=clusters)


def aftermath(
    problem: Problem,
    lost: Collection[str],
    demands: tuple[Demand, ...],
    waiting: Collection[str],
    clusters: Collection[str | None] | None = None,
) -> Problem:
    """Return the problem of placing VMs on the hosts that a loss leaves.

    Args:
        problem: the site without admission control, and all rules there are.
        lost: hosts that are gone.
        demands: VMs that must find a place.
        waiting: moids of VMs that exist, do not run, and are among those.
        clusters: hosts of other clusters are left out; None = all are taken.
    """
    whole = problem.inventory
    hosts = tuple(
        host
        for host in whole.hosts
        if host.moid not in lost and (clusters is None or host.cluster in clusters)
    )
    kept = {host.moid for host in hosts}
    gone = [vm for host in lost for vm in whole.vms_by_host.get(host, ()) if vm.moid not in waiting]
    dropped = {vm.moid for vm in gone} | set(waiting)
    here = [vm for host in hosts for vm in whole.vms_by_host.get(host.moid, ()) if vm.moid not in dropped]
    inventory = replace(
        whole,
        hosts=hosts,
        vms=tuple(sorted(here, key=lambda vm: moid_order(vm.moid))),
        pools=_given_back(whole.pools, gone),
    )
    request = replace(problem.request, demands=demands)
    if waiting:
        topologies = {moid: topology for moid, topology in problem.topologies.items() if moid in kept}
        return Problem(inventory, topologies, request)
    return problem.part(inventory, request)


def faults(problem: Problem, placements: Iterable[Placement]) -> list[Violation]:
    """Return what the judge finds wrong with VMs placed after a loss; that some have no place is no fault."""
    placed = tuple(sorted(placements, key=lambda placement: placement.demand))
    missing = {demand.id for demand in problem.request.demands} - {placement.demand for placement in placed}
    hosts = sorted({placement.host for placement in placed})
    return [
        violation
        for violation in check_change(State(problem, placed), hosts)
        if not (violation.constraint == "placed" and violation.object in missing)
    ]


def _given_back(pools: tuple[ResourcePool, ...], gone: Iterable[Vm]) -> tuple[ResourcePool, ...]:
    """Give resource pools back what VMs reserved that are gone: their restart takes it again."""
    by_moid = {pool.moid: pool for pool in pools}
    held: dict[str, int] = defaultdict(int)
    for vm in gone:
        at, seen = vm.pool if vm.is_on else None, set[str]()
        while at is not None and at in by_moid and at not in seen:
            held[at] += vm_holds(vm)
            seen.add(at)
            at = by_moid[at].parent
    return tuple(
        pool
        if pool.memory_unreserved_mib is None or not held[pool.moid]
        else replace(pool, memory_unreserved_mib=pool.memory_unreserved_mib + held[pool.moid])
        for pool in pools
    )
