"""The VM stays in its cluster, and goes where the request and its pool say."""

from __future__ import annotations

from vplacer.constraints.costs import ELSEWHERE
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand


def rejects(problem: Problem, demand: Demand, host: Host) -> str | None:
    """Reject hosts outside the VM's cluster, the clusters and hosts asked for, or the pool's owner."""
    inventory = problem.inventory
    if demand.vm is not None and (vm := inventory.vm_by_moid.get(demand.vm)) is not None:
        home = inventory.host_by_moid.get(vm.host or "")
        if home is not None and home.cluster is None and home.moid != host.moid:
            return f"the VM is on {home.name}, which is in no cluster"
        if home is not None and home.cluster != host.cluster:
            return f"the VM stays in its cluster {_name(problem, home.cluster)}"
    if demand.clusters and host.cluster not in demand.clusters:
        wanted = ", ".join(_name(problem, moid) for moid in demand.clusters)
        return f"the host is not in {wanted}, as the request asks"
    if demand.hosts and host.moid not in demand.hosts:
        return "the host is not among those the request names"
    pool = inventory.pool_by_moid.get(demand.pool or "")
    if pool is not None and pool.owner in inventory.cluster_by_moid and pool.owner != host.cluster:
        return f"resource pool {pool.name} belongs to cluster {_name(problem, pool.owner)}"
    return None


def relax(problem: Problem, demand: Demand, host: Host) -> Relaxation | None:
    """Allowing the host's cluster, or the host, helps only where the request itself excludes it."""
    if rejects(problem, demand, host) is None:
        return None
    if demand.clusters and host.cluster is not None and host.cluster not in demand.clusters:
        name = _name(problem, host.cluster)
        return Relaxation(f"allow cluster {name}", ELSEWHERE, demand.id, "clusters", name)
    if demand.hosts and host.moid not in demand.hosts:
        return Relaxation(f"allow host {host.name}", ELSEWHERE, demand.id, "hosts", host.name)
    return None


def _name(problem: Problem, moid: str | None) -> str:
    cluster = problem.inventory.cluster_by_moid.get(moid or "")
    return cluster.name if cluster is not None else (moid or "none")


FILTER = Filter("cluster", "Cluster and host as asked", rejects, relax)
