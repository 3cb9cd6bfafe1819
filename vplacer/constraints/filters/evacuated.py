"""A host that is to be emptied takes nothing."""

from __future__ import annotations

from vplacer.constraints.costs import HOST_CHANGE
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand

ID = "evacuated"


def rejects(problem: Problem, _demand: Demand, host: Host) -> str | None:
    """Reject a host that is to be emptied, for VMs that are on it as for others."""
    if host.moid in problem.request.options.evacuate:
        return "the host is to be emptied"
    return None


def relax(problem: Problem, demand: Demand, host: Host) -> Relaxation | None:
    """Leaving the VM there, or the host as it is, would do; the host is not emptied then."""
    if rejects(problem, demand, host) is None:
        return None
    vm = problem.inventory.vm_by_moid.get(demand.vm or "")
    what = f"leave it on {host.name}" if vm is not None and vm.host == host.moid else f"allow {host.name}"
    return Relaxation(f"{what}, which is not emptied then", HOST_CHANGE)


FILTER = Filter(ID, "Host not to be emptied", rejects, relax)
