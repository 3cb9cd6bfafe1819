"""Whether a host takes a VM: its state, what it offers, and whether its memory and CPU can be reserved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from vplacer.constraints.filters.hardware_version import limits_of
from vplacer.constraints.supply import MIB
from vplacer.inventory.cluster import Cluster
from vplacer.inventory.host import ConnectionState, Host, HostPower
from vplacer.inventory.vm import Vm, VmPower
from vplacer.lab.model.faults import LabFault
from vplacer.lab.model.pools import vm_takes_mib
from vplacer.lab.model.tables import Tables

_LEAST_MHZ: Final = 32
"""CPU that HA counts for a VM without a reservation (das.vmcpuminmhz)."""


def host_faults(host: Host) -> Iterator[LabFault]:
    """Yield why nothing can be done at a host now."""
    if host.connection is not ConnectionState.CONNECTED:
        text = f"Unable to communicate with the remote host {host.name}, since it is disconnected."
        yield LabFault("HostNotConnected", text)
    elif host.in_maintenance:
        text = f"The operation is not allowed in the current state: host {host.name} is in maintenance mode."
        yield LabFault("InvalidState", text)
    elif host.power is not HostPower.ON:
        yield LabFault("InvalidState", f"Host {host.name} is {host.power.value}.")


def place_faults(tables: Tables, vm: Vm, host: Host) -> Iterator[LabFault]:
    """Yield why a VM cannot or may not be at a host at all: what the host lacks, and rules."""
    yield from misfits(vm, host)
    yield from _rule_faults(tables, vm, host)


def misfits(vm: Vm, host: Host) -> Iterator[LabFault]:
    """Yield what a host lacks for a VM: its hardware version, storage, networks, logical CPUs."""
    version = vm.hardware_version
    if version is not None and host.limits and limits_of(host, version) is None:
        text = f"Virtual machine hardware version vmx-{version} is not supported by host {host.name}."
        yield LabFault("VirtualHardwareVersionNotSupported", text, hostName=host.name, host=host.moid)
    for store in vm.datastores:
        if store not in host.datastores:
            text = f"Host {host.name} cannot access datastore {store} of virtual machine {vm.name}."
            yield LabFault("CannotAccessVmDisk", text, device=f"datastore {store}", backing=store)
    for network in vm.networks:
        if network not in host.networks:
            text = f"Network {network} of virtual machine {vm.name} is not on host {host.name}."
            yield LabFault("CannotAccessNetwork", text, network=network)
    if host.thread_count is not None and vm.cpus > host.thread_count:
        text = f"The host has {host.thread_count} logical CPUs, fewer than the {vm.cpus} vCPUs."
        yield LabFault("NotEnoughLogicalCpus", text, host=host.moid)


def _rule_faults(tables: Tables, vm: Vm, host: Host) -> Iterator[LabFault]:
    """Rules that must hold keep a VM from being started or moved there, where DRS is on."""
    cluster = tables.cluster_of(host)
    if cluster is None:
        return
    for rule in cluster.vm_host_rules:
        if not (rule.enabled and rule.mandatory and vm.moid in rule.vms):
            continue
        if (host.moid in rule.hosts) == rule.apart:
            text = f"Rule '{rule.name}' keeps virtual machine {vm.name} off host {host.name}."
            yield LabFault("VmHostAffinityRuleViolation", text, vmName=vm.name, hostName=host.name)
    if cluster.drs_level is None:
        return
    for apart in cluster.vm_vm_rules:
        if not (apart.enabled and apart.apart and vm.moid in apart.vms):
            continue
        beside = [other.name for other in tables.vms_on(host.moid) if other.moid in apart.vms and other.is_on]
        if any(name != vm.name for name in beside):
            text = f"Rule '{apart.name}' keeps virtual machine {vm.name} off host {host.name}."
            yield LabFault("RuleViolation", text, host=host.moid)


def amount_faults(tables: Tables, vm: Vm, host: Host) -> Iterator[LabFault]:
    """Yield what cannot be reserved for a VM that is to run, or to run at another host.

    Admission looks at reservations alone: cores that VMs share are nobody's (vSphere Resource Management,
    "Admission Control"). A host that held more in the beginning than this arithmetic allows may hold as
    much again: a snapshot does not tell all that counts.
    """
    running = _as_running(vm)
    others = [other for other in tables.vms_on(host.moid) if other.is_on and other.moid != vm.moid]
    at_first = [old for old in tables.base.vms_by_host.get(host.moid, ()) if old.is_on]
    need = vm_takes_mib(running)
    if host.memory_bytes is not None:
        whole = host.memory_bytes // MIB - (host.system_memory_mib or 0)
        room = max(whole, sum(map(vm_takes_mib, at_first))) - sum(map(vm_takes_mib, others))
        if need > room:
            yield _no_memory(f"The host {host.name} does not have sufficient memory resources", room, need)
    mhz = vm.cpu_reservation_mhz or 0
    if mhz and host.core_count and host.cpu_hz:
        whole = host.core_count * host.cpu_hz // 1_000_000
        left = max(whole, _reserved_mhz(at_first)) - _reserved_mhz(others)
        if mhz > left:
            text = (
                f"The host {host.name} does not have sufficient CPU resources: {left} MHz left, {mhz} asked."
            )
            yield LabFault("InsufficientCpuResourcesFault", text, unreserved=max(0, left), requested=mhz)
    yield from _pool_faults(tables, vm, need)
    yield from _failover_faults(tables, running, host)


def _reserved_mhz(vms: Iterable[Vm]) -> int:
    return sum(vm.cpu_reservation_mhz or 0 for vm in vms)


def _as_running(vm: Vm) -> Vm:
    return vm if vm.is_on else replace(vm, power=VmPower.ON)


def _no_memory(what: str, room: int, need: int) -> LabFault:
    text = f"{what} to satisfy the reservation: {max(0, room)} MB left, {need} MB asked."
    return LabFault(
        "InsufficientMemoryResourcesFault", text, unreserved=max(0, room) * MIB, requested=need * MIB
    )


def _pool_faults(tables: Tables, vm: Vm, need: int) -> Iterator[LabFault]:
    """What a VM that runs has reserved of its pool already is no more to be found."""
    pool = tables.pools.get(vm.pool or "")
    if pool is None or pool.memory_unreserved_mib is None:
        return
    before = tables.vms.get(vm.moid)
    has = vm_takes_mib(before) if before is not None and before.pool == vm.pool else 0
    # As with hosts: a pool that was overdrawn in the beginning may be so again.
    begun = tables.base.pool_by_moid.get(pool.moid)
    room = pool.memory_unreserved_mib - min(0, (begun.memory_unreserved_mib if begun else None) or 0)
    if need - has > max(0, room):
        what = f"The resource pool {pool.name} does not have sufficient memory"
        yield _no_memory(what, room, need - has)


def _failover_faults(tables: Tables, vm: Vm, host: Host) -> Iterator[LabFault]:
    """HA's admission control, by sums of reservations; of failures tolerated, the largest hosts' are lost.

    vSphere counts slots there, which is stricter where VMs differ in size.
    """
    cluster = tables.cluster_of(host)
    admission = cluster.admission if cluster is not None else None
    if cluster is None or admission is None or not cluster.ha_enabled:
        return
    text = f"Insufficient resources to satisfy configured failover level of cluster {cluster.name}."
    if admission.policy == "dedicated":
        if host.moid in admission.dedicated:
            yield LabFault("InsufficientFailoverResourcesFault", f"{text} {host.name} is kept for failover.")
        return
    if admission.policy not in ("hosts", "percent"):
        return
    rooms = _cluster_room(tables, cluster)
    before = tables.vms.get(vm.moid)
    inside = before is not None and before.is_on and _in(tables, before, cluster)
    used = _reserved(tables, cluster, without=vm.moid)
    mine = _counted(vm)
    was = _counted(before) if before is not None and inside else (0, 0)
    at_first = _reserved_at_first(tables, cluster)
    for room, begun, others, now, old in zip(rooms, at_first, used, mine, was, strict=True):
        if others + now > max(room, begun) and now > old:
            yield LabFault("InsufficientFailoverResourcesFault", text)
            return


def _in(tables: Tables, vm: Vm, cluster: Cluster) -> bool:
    host = tables.hosts.get(vm.host or "")
    return host is not None and host.cluster == cluster.moid


def _counted(vm: Vm) -> tuple[int, int]:
    return max(_LEAST_MHZ, vm.cpu_reservation_mhz or 0), vm_takes_mib(vm)


def _reserved(tables: Tables, cluster: Cluster, without: str) -> tuple[int, int]:
    mhz = mib = 0
    for host in tables.hosts.values():
        if host.cluster != cluster.moid:
            continue
        for moid in tables.on_host[host.moid]:
            vm = tables.vms[moid]
            if vm.is_on and moid != without:
                more = _counted(vm)
                mhz, mib = mhz + more[0], mib + more[1]
    return mhz, mib


def _reserved_at_first(tables: Tables, cluster: Cluster) -> tuple[int, int]:
    hosts = {host.moid for host in tables.base.hosts if host.cluster == cluster.moid}
    counted = [_counted(vm) for moid in hosts for vm in tables.base.vms_by_host.get(moid, ()) if vm.is_on]
    return sum(mhz for mhz, _ in counted), sum(mib for _, mib in counted)


def _cluster_room(tables: Tables, cluster: Cluster) -> tuple[int, int]:
    """MHz and MiB that may be reserved in a cluster."""
    admission = cluster.admission
    hosts = [
        host
        for host in tables.hosts.values()
        if host.cluster == cluster.moid and not any(True for _ in host_faults(host))
    ]
    mhz = sorted(((host.core_count or 0) * (host.cpu_hz or 0) // 1_000_000 for host in hosts), reverse=True)
    memory = (max(0, (h.memory_bytes or 0) // MIB - (h.system_memory_mib or 0)) for h in hosts)
    mib = sorted(memory, reverse=True)
    if admission is None:
        return sum(mhz), sum(mib)
    if admission.policy == "hosts":
        lost = admission.failover_hosts or 0
        return sum(mhz[lost:]), sum(mib[lost:])
    cpu_percent, memory_percent = admission.cpu_percent or 0, admission.memory_percent or 0
    return sum(mhz) * (100 - cpu_percent) // 100, sum(mib) * (100 - memory_percent) // 100
