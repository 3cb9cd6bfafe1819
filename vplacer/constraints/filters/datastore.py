"""The host sees the VM's datastores."""

from __future__ import annotations

from vplacer.constraints.costs import HOST_CHANGE
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand


def rejects(problem: Problem, demand: Demand, host: Host) -> str | None:
    """Reject a host that does not mount every datastore of the VM."""
    missing = [moid for moid in demand.datastores if moid not in host.datastores]
    if missing:
        names = ", ".join(sorted(_name(problem, moid) for moid in missing))
        return f"the host does not see datastore {names}"
    return None


def relax(problem: Problem, demand: Demand, host: Host) -> Relaxation | None:
    """Mounting the datastore would do."""
    evidence = rejects(problem, demand, host)
    if evidence is None:
        return None
    names = ", ".join(sorted(_name(problem, m) for m in demand.datastores if m not in host.datastores))
    return Relaxation(f"mount datastore {names} on {host.name}", HOST_CHANGE)


def _name(problem: Problem, moid: str) -> str:
    return next((store.name for store in problem.inventory.datastores if store.moid == moid), moid)


FILTER = Filter("datastore", "Datastores reachable", rejects, relax)
