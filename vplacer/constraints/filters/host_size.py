"""The VM would fit the host if it were empty."""

from __future__ import annotations

from vplacer.constraints.costs import LESS_CPU_OR_MEMORY
from vplacer.constraints.loads import supply_of
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.constraints.supply import demand_amount
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand


def rejects(problem: Problem, demand: Demand, host: Host) -> str | None:
    """Reject a VM with more vCPUs than the host has threads, or more than its whole supply."""
    threads = host.thread_count or host.core_count
    if threads is not None and demand.cpus > threads:
        return f"{demand.cpus} vCPUs, the host has {threads} hardware threads"
    supply = supply_of(problem, host.moid).total
    wanted = demand_amount(demand, host, problem.request.options)
    if wanted.millicores > supply.millicores:
        return f"needs {_cores(wanted.millicores)} cores, the empty host gives {_cores(supply.millicores)}"
    if wanted.memory_mib > supply.memory_mib:
        return f"needs {wanted.memory_mib} MiB of memory, the empty host gives {supply.memory_mib}"
    return None


def relax(problem: Problem, demand: Demand, host: Host) -> Relaxation | None:
    """The largest size that fits the empty host would do."""
    if rejects(problem, demand, host) is None:
        return None
    supply = supply_of(problem, host.moid).total
    wanted = demand_amount(demand, host, problem.request.options)
    if wanted.memory_mib > supply.memory_mib:
        most = max(0, supply.memory_mib - demand.overhead_mib)
        return Relaxation(
            f"ask for at most {most} MiB of memory", LESS_CPU_OR_MEMORY, demand.id, "memory", f"{most} MiB"
        )
    cpus = demand.cpus
    if wanted.millicores > supply.millicores:
        cpus = cpus * supply.millicores // wanted.millicores
    threads = host.thread_count or host.core_count
    if threads is not None:
        cpus = min(cpus, threads)
    return Relaxation(f"ask for at most {cpus} vCPUs", LESS_CPU_OR_MEMORY, demand.id, "cpus", str(cpus))


def _cores(millicores: int) -> str:
    return f"{millicores / 1000:g}"


FILTER = Filter("host-size", "Size of the empty host", rejects, relax)
