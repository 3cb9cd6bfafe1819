"""HA admission control still lets the VMs be powered on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from vplacer.constraints.loads import supply_of
from vplacer.constraints.registry import Check
from vplacer.constraints.state import Confidence, Problem, State, Violation
from vplacer.constraints.supply import MIB, holds_devices
from vplacer.inventory.cluster import Cluster, HaAdmission
from vplacer.inventory.host import ConnectionState, Host, HostPower
from vplacer.inventory.vm import Vm
from vplacer.request.demand import Demand

ID = "ha-admission"

_LEAST_MHZ = 32
"""CPU that HA counts for a powered-on VM without a reservation (das.vmcpuminmhz)."""

_Reserved = tuple[int, int]
"""MHz and MiB."""


def check(state: State) -> Iterable[Violation]:
    """Compare the reservations of each cluster with what its admission control leaves.

    hosts: what the largest hosts would take along must not be needed. vSphere counts slots there,
    which is stricter where VMs differ in size; this is necessary, not sufficient. percent: shares of
    CPU and memory stay unreserved. dedicated: failover hosts take no VM. A cluster beyond it today
    may stay so, and not get worse.
    """
    touched = {
        state.problem.inventory.host_by_moid[placement.host].cluster
        for placement in state.placements
        if not placement.stays
    }
    for cluster in state.problem.inventory.clusters:
        admission = cluster.admission
        if cluster.moid in touched and cluster.ha_enabled and admission is not None:
            if admission.policy == "dedicated":
                yield from _dedicated(state, admission)
            elif admission.policy in ("hosts", "percent"):
                yield from _reservations(state, cluster, admission)


def _dedicated(state: State, admission: HaAdmission) -> Iterable[Violation]:
    for placement in state.placements:
        if not placement.stays and placement.host in admission.dedicated:
            text = "the host is dedicated to HA failover"
            yield Violation(ID, placement.demand, text, host=placement.host)


def _reservations(state: State, cluster: Cluster, admission: HaAdmission) -> Iterable[Violation]:
    problem = state.problem
    cpu_room, memory_room, how = room(problem, cluster, admission)
    before = problem.derive(reserved_today).get(cluster.moid, (0, 0))
    after = state.derive(_reserved).get(cluster.moid, (0, 0))
    for what, used, old, limit, sure in (
        ("MHz of CPU", after[0], before[0], cpu_room, Confidence.LIKELY),
        ("MiB of memory", after[1], before[1], memory_room, Confidence.PROVED),
    ):
        if used > limit and used > old:
            text = f"cluster {cluster.name}: {used} {what} reserved, {limit} allowed ({how})"
            numbers = (("reserved", used), ("allowed", limit))
            yield Violation(ID, cluster.moid, text, sure, numbers=numbers)


def room(problem: Problem, cluster: Cluster, admission: HaAdmission) -> tuple[int, int, str]:
    """Return the MHz and MiB that may be reserved in a cluster, and by which rule."""
    hosts = [host for host in problem.inventory.hosts if host.cluster == cluster.moid and _counts(host)]
    cpu = sorted(((host.core_count or 0) * (host.cpu_hz or 0) // 1_000_000 for host in hosts), reverse=True)
    memory = sorted((_memory(problem, host) for host in hosts), reverse=True)
    if admission.policy == "hosts":
        lost = admission.failover_hosts or 0
        failures = "1 host failure" if lost == 1 else f"{lost} host failures"
        return sum(cpu[lost:]), sum(memory[lost:]), f"{failures} tolerated"
    cpu_percent, memory_percent = admission.cpu_percent or 0, admission.memory_percent or 0
    return (
        sum(cpu) * (100 - cpu_percent) // 100,
        sum(memory) * (100 - memory_percent) // 100,
        f"{cpu_percent} % of CPU and {memory_percent} % of memory kept free",
    )


def _counts(host: Host) -> bool:
    return (
        host.connection is ConnectionState.CONNECTED
        and host.power is HostPower.ON
        and host.in_maintenance is False
    )


def _memory(problem: Problem, host: Host) -> int:
    """Memory HA counts: the host's, less its own reservation; the margin is no reservation."""
    whole = (host.memory_bytes or 0) // MIB - (host.system_memory_mib or 0)
    return max(whole, supply_of(problem, host.moid).total.memory_mib)


def vm_reserved(vm: Vm) -> _Reserved:
    """Return the MHz and MiB a running VM has reserved."""
    full = holds_devices(vm) or vm.memory_locked_to_max
    memory = vm.memory_mib if full else (vm.memory_reservation_mib or 0)
    return max(_LEAST_MHZ, vm.cpu_reservation_mhz or 0), memory + (vm.overhead_mib or 0)


def demand_reserved(demand: Demand, vm: Vm | None, host: Host) -> _Reserved:
    """Return the MHz and MiB a demand reserves when placed on a host."""
    memory = demand.memory_mib if demand.memory_reserved else 0
    if not demand.memory_reserved and vm is not None:
        memory = min(vm.memory_reservation_mib or 0, demand.memory_mib)
    cpu = demand.cpu_reservation_mhz
    if demand.latency_high:
        cpu = max(cpu, demand.cpus * (host.cpu_hz or 0) // 1_000_000)
    return max(_LEAST_MHZ, cpu), memory + demand.overhead_mib


def reserved_today(problem: Problem) -> dict[str, _Reserved]:
    """Return what running VMs have reserved today, by cluster."""
    return _by_cluster(
        problem, ((vm.host or "", vm_reserved(vm)) for vm in problem.inventory.vms if vm.is_on)
    )


def _reserved(state: State) -> dict[str, _Reserved]:
    problem = state.problem
    entries = [
        (host, vm_reserved(vm)) for host, vms in state.standing_by_host.items() for vm in vms if vm.is_on
    ]
    for placement in state.placements:
        demand = problem.demand_by_id[placement.demand]
        if not placement.stays and demand.power_on:
            vm = problem.inventory.vm_by_moid.get(demand.vm or "")
            host = problem.inventory.host_by_moid[placement.host]
            entries.append((placement.host, demand_reserved(demand, vm, host)))
    return _by_cluster(problem, entries)


def _by_cluster(problem: Problem, entries: Iterable[tuple[str, _Reserved]]) -> dict[str, _Reserved]:
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for moid, (cpu, memory) in entries:
        host = problem.inventory.host_by_moid.get(moid)
        if host is not None and host.cluster is not None:
            found[host.cluster][0] += cpu
            found[host.cluster][1] += memory
    return {cluster: (cpu, memory) for cluster, (cpu, memory) in found.items()}


CHECK = Check(ID, "HA admission control", "across", check)
