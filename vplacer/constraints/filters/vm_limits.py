"""What one VM may have on the host at its hardware version."""

from __future__ import annotations

from vplacer.constraints.costs import LESS_CPU_OR_MEMORY, LESS_DEVICES
from vplacer.constraints.filters.hardware_version import limits_of
from vplacer.constraints.matching import group_type
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.constraints.supply import demand_parts
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand


def device_counts(demand: Demand, host: Host) -> tuple[int, int, int]:
    """Return how many passthrough devices, vGPUs and device groups the VM will have."""
    passthrough = sum(nic.count for nic in demand.nics if nic.kind == "passthrough")
    vgpus = groups = 0
    for ask in demand.gpus:
        if ask.group is not None:
            groups += ask.count
            offered = group_type(host, ask.group)
            kinds = [part.kind for part in offered.components] if offered is not None else []
            vgpus += ask.count * kinds.count("nvidiaVgpu")
            passthrough += ask.count * kinds.count("pciPassthru")
        elif ask.profile is not None:
            vgpus += ask.count
        else:
            passthrough += ask.count
    return passthrough, vgpus, groups


def _excess(demand: Demand, host: Host) -> tuple[str, int, int, str] | None:
    """The first limit exceeded: what, how many, how many are allowed, and who says so."""
    limits = limits_of(host, demand.hardware_version)
    if limits is None:
        return None
    passthrough, vgpus, groups = device_counts(demand, host)
    for what, wanted, most in (
        ("vCPUs", demand.cpus, limits.max_cpus),
        ("MiB of memory", demand.memory_mib, limits.max_memory_mib),
        ("passthrough devices", passthrough, limits.max_passthrough),
        ("vGPUs", vgpus, limits.max_vgpus),
        ("vNUMA nodes", demand_parts(demand, host), limits.max_numa_nodes),
        ("device groups", groups, limits.max_device_groups),
    ):
        if most is not None and wanted > most:
            source = "the host's descriptor" if limits.source == "descriptor" else "the table of limits"
            return what, wanted, most, source
    return None


def rejects(_problem: Problem, demand: Demand, host: Host) -> str | None:
    """Reject a VM larger than the hardware version allows on this host."""
    excess = _excess(demand, host)
    if excess is None:
        return None
    what, wanted, most, source = excess
    return f"{wanted} {what}, at most {most} at vmx-{demand.hardware_version} on this host ({source})"


def relax(_problem: Problem, demand: Demand, host: Host) -> Relaxation | None:
    """The allowed number would do."""
    excess = _excess(demand, host)
    if excess is None:
        return None
    what, _, most, _ = excess
    field = {"vCPUs": "cpus", "MiB of memory": "memory"}.get(what)
    cost = LESS_CPU_OR_MEMORY if field else LESS_DEVICES
    value = f"{most} MiB" if field == "memory" else str(most)
    return Relaxation(f"ask for at most {most} {what}", cost, demand.id, field, value if field else None)


FILTER = Filter("vm-limits", "Limits of the hardware version", rejects, relax)
