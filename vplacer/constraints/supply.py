"""Supply and consumption of CPU and memory on a host: one arithmetic for filters, judge and solver.

CPU is counted in millicores (1000 = one physical core), memory in MiB. Supply is rounded down,
consumption up. Each supply figure says where it comes from.

Facts: vNUMA sizing and placement count physical cores, not threads, unless numa.vcpu.preferHT (Frank
Denneman, vNUMA series). GPU VMs need their whole memory reserved (Broadcom KB 309986).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from vplacer.inventory.host import Host, NumaNode
from vplacer.inventory.vm import DvxBacking, DynamicBacking, SriovBacking, StaticBacking, VgpuBacking, Vm
from vplacer.request.demand import Demand, RequestOptions

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Amount:
    """Millicores and MiB."""

    millicores: int
    memory_mib: int

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.millicores + other.millicores, self.memory_mib + other.memory_mib)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.millicores - other.millicores, self.memory_mib - other.memory_mib)

    def fits(self, room: Amount) -> bool:
        """Whether this much fits in a room; a negative residual takes nothing but zero."""
        return (self.millicores <= room.millicores or self.millicores == 0) and (
            self.memory_mib <= room.memory_mib or self.memory_mib == 0
        )


ZERO = Amount(0, 0)


def total(amounts: Iterable[Amount]) -> Amount:
    """Sum amounts."""
    millicores = memory_mib = 0
    for amount in amounts:
        millicores += amount.millicores
        memory_mib += amount.memory_mib
    return Amount(millicores, memory_mib)


@dataclass(frozen=True, slots=True)
class NodeSupply:
    """What one pNUMA node gives to VMs, before any VM."""

    id: int
    package: int | None
    amount: Amount


@dataclass(frozen=True, slots=True)
class HostSupply:
    """What a host gives to VMs.

    ``nodes`` empty = the host does not describe its NUMA nodes (nothing can be bound there).
    ``total`` is at most the sum of the nodes. ``sources`` names the property behind each figure.
    """

    host: str
    nodes: tuple[NodeSupply, ...]
    total: Amount
    sources: tuple[tuple[str, str], ...]


class Seat(StrEnum):
    """How a VM's CPU and memory lie over the nodes of its host.

    bound: each node of ``nodes`` takes an equal part, fixed. item: ``parts`` equal NUMA clients that
    lie on one node each, the platform chooses which. divisible: spread as the platform likes.
    """

    BOUND = "bound"
    ITEM = "item"
    DIVISIBLE = "divisible"


@dataclass(frozen=True, slots=True)
class Consumer:
    """One VM's consumption on its host; ``part`` is the amount of each of ``parts`` equal parts.

    ``nodes``: for BOUND the nodes, one a part; for the others the nodes allowed, empty = all.
    """

    vm: str
    seat: Seat
    part: Amount
    parts: int
    nodes: tuple[int, ...] = ()

    @property
    def whole(self) -> Amount:
        """All parts together."""
        return Amount(self.part.millicores * self.parts, self.part.memory_mib * self.parts)


def overcommit(table: tuple[tuple[str, float], ...], cluster: str | None, default: float) -> float:
    """Look up a per-cluster ratio; the entry "" is the default of clusters not named."""
    if not table:
        return default
    ratios = dict(table)
    return ratios.get(cluster or "", ratios.get("", default))


def overcommit_of(options: RequestOptions, cluster: str | None) -> tuple[float, float]:
    """Return the ratios of a cluster: of CPU and of memory."""
    return (
        overcommit(options.cpu_overcommit, cluster, 4.0),
        overcommit(options.memory_overcommit, cluster, 1.0),
    )


def host_supply(host: Host, options: RequestOptions) -> HostSupply:
    """Compute what a host gives to VMs, per NUMA node and in all.

    Memory: hardware less the host's own reservation (config.systemResources); the API does not say
    on which node ESXi keeps its own, so it is taken from the nodes in proportion, and each node is
    further cut by the margin. A node without cores (the memory of a GPU) gives VMs nothing.
    """
    sources = [("cores", "hardware.cpuInfo.numCpuCores")]
    memory_mib = (host.memory_bytes or 0) // MIB
    system_mib = host.system_memory_mib or 0
    sources.append(("memory", "hardware.memorySize"))
    sources.append(
        ("system memory", "config.systemResources" if host.system_memory_mib is not None else "not told: 0")
    )
    keep = 1.0 - options.memory_margin_percent / 100.0
    node_total_mib = sum((node.memory_bytes or 0) // MIB for node in nodes_with_cores(host))
    nodes = []
    for node in host.numa_nodes:
        node_mib = (node.memory_bytes or 0) // MIB if node.core_count > 0 else 0
        share = system_mib * node_mib // node_total_mib if node_total_mib else 0
        amount = Amount(node.core_count * 1000, max(0, math.floor((node_mib - share) * keep)))
        nodes.append(NodeSupply(node.id, node.package, amount))
    sources.append(("node memory", f"numaNode.memorySize less {options.memory_margin_percent:g} % margin"))
    cores = host.core_count if host.core_count is not None else sum(n.core_count for n in host.numa_nodes)
    memory = max(0, math.floor((memory_mib - system_mib) * keep))
    if nodes_with_cores(host):
        memory = min(memory, sum(node.amount.memory_mib for node in nodes)) if memory_mib else 0
    return HostSupply(host.moid, tuple(nodes), Amount(cores * 1000, memory), tuple(sources))


def nodes_with_cores(host: Host) -> tuple[NumaNode, ...]:
    """Return the NUMA nodes VMs can run on."""
    return tuple(node for node in host.numa_nodes if node.core_count > 0)


def holds_devices(vm: Vm) -> bool:
    """Whether a VM holds a passthrough, vGPU, SR-IOV or DVX device: then all its memory is reserved."""
    kinds = (StaticBacking, DynamicBacking, VgpuBacking, DvxBacking, SriovBacking)
    return any(isinstance(device.backing, kinds) for device in vm.devices)


def holds_gpu_like(vm: Vm) -> bool:
    """Whether a VM holds a vGPU or a passthrough device: it then takes whole cores."""
    kinds = (StaticBacking, DynamicBacking, VgpuBacking)
    return any(isinstance(device.backing, kinds) for device in vm.devices)


def client_count(cpus: int, node_cores: int, manual_nodes: int | None) -> int:
    """Return the number of NUMA clients: the manual vNUMA size, else the fewest equal parts that fit.

    ``node_cores`` is the largest node's cores (threads with preferHT); 0 gives one client. Parts are
    equal, so the count divides ``cpus`` (vSphere API: VirtualNuma.coresPerNumaNode).
    """
    if manual_nodes is not None:
        return max(1, manual_nodes)
    if node_cores <= 0:
        return 1
    fewest = max(1, -(-cpus // node_cores))
    for parts in range(fewest, cpus + 1):
        if cpus % parts == 0:
            return parts
    return max(1, cpus)


def consumer_of_vm(vm: Vm, host: Host, options: RequestOptions) -> Consumer | None:
    """Return what an existing VM takes on its host; None for one that takes nothing (powered off).

    A VM with devices or latency sensitivity "high" counts one core a vCPU; others are divided by
    the cluster's overcommit, but never below their CPU reservation.
    """
    if not vm.is_on or vm.template:
        return None
    threads = threads_per_core(host) if vm.prefers_threads else 1
    exact = holds_gpu_like(vm) or vm.latency_sensitivity == "high"
    millicores = _millicores(
        vm.cpus,
        exact,
        threads,
        overcommit(options.cpu_overcommit, host.cluster, 4.0),
        vm.cpu_reservation_mhz or 0,
        host,
    )
    reserved = (
        vm.memory_mib if holds_devices(vm) or vm.memory_locked_to_max else (vm.memory_reservation_mib or 0)
    )
    ratio = overcommit(options.memory_overcommit, host.cluster, 1.0)
    memory = max(min(reserved, vm.memory_mib), math.ceil(vm.memory_mib / ratio)) + (vm.overhead_mib or 0)
    whole = Amount(millicores, memory)
    manual = None
    if vm.vnuma.cores_per_node and not vm.vnuma.auto:
        manual = max(1, vm.cpus // vm.vnuma.cores_per_node)
    parts = client_count(vm.cpus, _node_room(host, threads), manual)
    affinity = vm.node_affinity
    known = {node.id for node in host.numa_nodes} if affinity else set()
    if affinity and set(affinity) <= known and parts % len(affinity) == 0:
        # Each allowed node then takes the same number of clients: exact for one node, and what
        # vplacer itself writes for several.
        if len(affinity) == 1 or parts == len(affinity):
            return Consumer(vm.moid, Seat.BOUND, _split(whole, len(affinity)), len(affinity), affinity)
        return Consumer(vm.moid, Seat.ITEM, _split(whole, parts), parts, affinity)
    homes = nodes_with_cores(host)
    if len(homes) == 1:
        return Consumer(vm.moid, Seat.BOUND, whole, 1, (homes[0].id,))
    allowed = tuple(node for node in affinity if node in known)
    if reserved >= vm.memory_mib:
        return Consumer(vm.moid, Seat.ITEM, _split(whole, parts), parts, allowed)
    return Consumer(vm.moid, Seat.DIVISIBLE, whole, 1, allowed)


def consumer_of_demand(
    demand: Demand, nodes: tuple[int, ...], host: Host, options: RequestOptions
) -> Consumer | None:
    """Return what a demand takes when placed on a host, bound to ``nodes`` or floating (empty).

    None when the VM will not run after the plan.
    """
    if not demand.power_on:
        return None
    whole = demand_amount(demand, host, options)
    if nodes:
        return Consumer(demand.id, Seat.BOUND, _split(whole, len(nodes)), len(nodes), nodes)
    homes = nodes_with_cores(host)
    if len(homes) == 1:
        return Consumer(demand.id, Seat.BOUND, whole, 1, (homes[0].id,))
    if not demand.memory_reserved:
        return Consumer(demand.id, Seat.DIVISIBLE, whole, 1)
    parts = demand_parts(demand, host)
    return Consumer(demand.id, Seat.ITEM, _split(whole, parts), parts)


def demand_amount(demand: Demand, host: Host, options: RequestOptions) -> Amount:
    """Return all a demand takes on a host of its cluster."""
    threads = threads_per_core(host) if demand.prefer_ht else 1
    millicores = _millicores(
        demand.cpus,
        demand.wants_whole_cores,
        threads,
        overcommit(options.cpu_overcommit, host.cluster, 4.0),
        demand.cpu_reservation_mhz,
        host,
    )
    memory = demand.memory_mib
    if not demand.memory_reserved:
        memory = math.ceil(memory / overcommit(options.memory_overcommit, host.cluster, 1.0))
    return Amount(millicores, memory + demand.overhead_mib)


def demand_parts(demand: Demand, host: Host) -> int:
    """Return the number of NUMA clients a demand has on a host."""
    threads = threads_per_core(host) if demand.prefer_ht else 1
    return client_count(demand.cpus, _node_room(host, threads), demand.vnuma_nodes)


def nodes_kept(demand: Demand, host: Host) -> tuple[int, ...]:
    """Return the nodes of a host that a demand's ``kept_nodes`` bind it to; empty = it floats there.

    An affinity to nodes the host does not have binds nothing. One to more nodes than the VM has parts lets
    vSphere choose among them, which counts as floating.
    """
    nodes = demand.kept_nodes
    if not nodes or not set(nodes) <= {node.id for node in host.numa_nodes}:
        return ()
    return nodes if len(nodes) in (1, demand_parts(demand, host)) else ()


def threads_per_core(host: Host) -> int:
    """Return SMT threads per core; 1 where not known or switched off."""
    if not host.core_count or not host.thread_count or host.hyperthreading_active is False:
        return 1
    return max(1, host.thread_count // host.core_count)


def _node_room(host: Host, threads: int) -> int:
    return max((node.core_count for node in host.numa_nodes), default=0) * threads


def _millicores(cpus: int, exact: bool, threads: int, ratio: float, reservation_mhz: int, host: Host) -> int:
    if exact:
        return -(-cpus * 1000 // threads)
    shared = math.ceil(cpus * 1000 / ratio)
    if reservation_mhz and host.cpu_hz:
        shared = max(shared, -(-reservation_mhz * 1_000_000 * 1000 // host.cpu_hz))
    return shared


def _split(whole: Amount, parts: int) -> Amount:
    return Amount(-(-whole.millicores // parts), -(-whole.memory_mib // parts))
