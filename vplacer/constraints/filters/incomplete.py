"""What the decision rests on was read: of the host, of the VMs on it, of its cluster, of the VM itself."""

from __future__ import annotations

from vplacer.constraints.checks.pool_memory import pool_of
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Placement, Problem
from vplacer.constraints.unread import unread_of_pool, unread_of_vm, unread_on_host
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand


def rejects(problem: Problem, demand: Demand, host: Host) -> str | None:
    """Reject a host where something that was not read may be in the way: unknown is not free."""
    found = unread_on_host(problem, host)
    if found is not None or not problem.inventory.gaps:
        return found
    for moid in (demand.vm, demand.template):
        vm = problem.inventory.vm_by_moid.get(moid or "")
        unread = unread_of_vm(problem, vm) if vm is not None else None
        if unread is not None:
            return unread
    pool = pool_of(problem, demand, Placement(demand.id, host.moid, ()))
    return unread_of_pool(problem, pool.moid if pool is not None else None)


def relax(_problem: Problem, _demand: Demand, _host: Host) -> Relaxation | None:
    """Nothing surely makes room: what is missing may show none. The evidence says what to do."""
    return None


FILTER = Filter("incomplete", "All that matters could be read", rejects, relax)
