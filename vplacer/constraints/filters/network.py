"""The host has the VM's networks."""

from __future__ import annotations

from vplacer.constraints.costs import HOST_CHANGE
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand


def rejects(problem: Problem, demand: Demand, host: Host) -> str | None:
    """Reject a host that lacks a network of the VM, or of the virtual functions it asks for."""
    missing = _missing(problem, demand, host)
    return f"the host has no network {', '.join(missing)}" if missing else None


def relax(problem: Problem, demand: Demand, host: Host) -> Relaxation | None:
    """Connecting the host would do."""
    missing = _missing(problem, demand, host)
    if not missing:
        return None
    return Relaxation(f"connect {host.name} to network {', '.join(missing)}", HOST_CHANGE)


def _missing(problem: Problem, demand: Demand, host: Host) -> list[str]:
    wanted = {*demand.networks, *(nic.network for nic in demand.nics if nic.network is not None)}
    absent = wanted.difference(host.networks)
    if not absent:
        return []
    names = {network.moid: network.name for network in problem.inventory.networks}
    return sorted(names.get(moid, moid) for moid in absent)


FILTER = Filter("network", "Networks present", rejects, relax)
