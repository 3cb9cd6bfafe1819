"""A running VM that is migrated live finds a CPU it knows."""

from __future__ import annotations

from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.constraints.supply import holds_devices
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand


def rejects(problem: Problem, demand: Demand, host: Host) -> str | None:
    """Reject a live migration to another CPU vendor, or to another CPU model without EVC.

    A VM with devices is powered off to be moved, and a new one starts where it is placed: neither
    carries CPU features along.
    """
    vm = problem.inventory.vm_by_moid.get(demand.vm or "")
    if vm is None or not vm.is_on or vm.host == host.moid or holds_devices(vm) or demand.has_devices:
        return None
    source = problem.inventory.host_by_moid.get(vm.host or "")
    if source is None:
        return None
    if source.cpu_vendor and host.cpu_vendor and source.cpu_vendor.lower() != host.cpu_vendor.lower():
        return f"a running VM cannot move from {source.cpu_vendor} to {host.cpu_vendor} CPUs"
    cluster = problem.inventory.cluster_by_moid.get(host.cluster or "")
    if cluster is not None and cluster.evc_mode:
        return None
    if source.cpu_model and host.cpu_model and source.cpu_model != host.cpu_model:
        return f"the CPU differs ({source.cpu_model} to {host.cpu_model}) and the cluster has no EVC mode"
    return None


def relax(_problem: Problem, _demand: Demand, _host: Host) -> Relaxation | None:
    """Nothing in a request makes CPUs alike."""
    return None


FILTER = Filter("evc", "CPU compatible with live migration", rejects, relax)
