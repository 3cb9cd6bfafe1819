"""DRS must not carry a VM with numa.nodeAffinity to another host."""

from __future__ import annotations

from vplacer.constraints.costs import OTHER_BINDING
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.request.demand import AffinityMode, Demand

_FULLY = "fullyAutomated"


def rejects(problem: Problem, demand: Demand, host: Host) -> str | None:
    """Reject writing node affinity where DRS may migrate the VM and no override is allowed.

    A node number means other hardware on another host. DRS does not migrate VMs with passthrough or
    SR-IOV devices; it moves others by itself only where it is fully automated.
    """
    if demand.drs_override or not _writes_affinity(demand) or _unmovable(demand):
        return None
    cluster = problem.inventory.cluster_by_moid.get(host.cluster or "")
    if cluster is None or cluster.drs_level is None:
        return None
    own = dict(cluster.drs_overrides).get(demand.vm or "")
    if (own or cluster.drs_level) != _FULLY:
        return None
    return f"DRS of cluster {cluster.name} may migrate the VM, and its node affinity with it"


def _writes_affinity(demand: Demand) -> bool:
    """Mode pin binds nodes always, mode label where a labelled card gives the number a meaning."""
    return demand.mode is AffinityMode.PIN


def _unmovable(demand: Demand) -> bool:
    return bool(demand.nics) or any(ask.profile is None and ask.group is None for ask in demand.gpus)


def relax(problem: Problem, demand: Demand, host: Host) -> Relaxation | None:
    """Mode hint writes no affinity."""
    if rejects(problem, demand, host) is None:
        return None
    return Relaxation("use affinity mode 'hint'", OTHER_BINDING, demand.id, "affinity", "hint")


FILTER = Filter("drs", "DRS leaves pinned VMs alone", rejects, relax)
