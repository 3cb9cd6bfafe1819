"""The host has not been put in standby by DPM."""

from __future__ import annotations

from vplacer.constraints.costs import HOST_CHANGE
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host, HostPower
from vplacer.request.demand import Demand


def rejects(problem: Problem, _demand: Demand, host: Host) -> str | None:
    """Reject a host in standby; a reason of its own, because it is there to be woken."""
    if host.power is not HostPower.STANDBY:
        return None
    cluster = problem.inventory.cluster_by_moid.get(host.cluster or "")
    by = " by DPM" if cluster is not None and cluster.dpm_enabled else ""
    return f"the host is in standby{by}"


def relax(problem: Problem, demand: Demand, host: Host) -> Relaxation | None:
    """Waking the host would do."""
    if rejects(problem, demand, host) is None:
        return None
    return Relaxation(f"take {host.name} out of standby", HOST_CHANGE)


FILTER = Filter("standby", "Host not in standby", rejects, relax)
