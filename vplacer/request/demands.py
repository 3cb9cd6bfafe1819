"""Makes the demand of one VM, or says why the VM is left alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vplacer.inventory.host import Host
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.inventory.yaml_marks import Pointer
from vplacer.request.asks import AskMaker
from vplacer.request.complaints import Complaints
from vplacer.request.demand import AffinityMode, Demand, GpuAsk, LeftAlone, NicAsk, Policy
from vplacer.request.file import Placing
from vplacer.request.lookup import Lookup
from vplacer.request.modes import ModeChooser
from vplacer.request.refusal import why_not_bios, why_not_static, why_pinned, why_untouchable
from vplacer.request.select import Target
from vplacer.request.sizing import GpuFigures, estimated_overhead_mib, needed_hardware_version
from vplacer.request.today import DeviceReader, TodaysDevices
from vplacer.topology.host_topology import HostTopology

NO_DEVICES = TodaysDevices((), (), (), ())


@dataclass(frozen=True, slots=True)
class _Where:
    """Where a VM may go and what its host must reach, as moids; empty = any."""

    clusters: tuple[str, ...]
    hosts: tuple[str, ...]
    pool: str | None
    datastores: tuple[str, ...]
    networks: tuple[str, ...]


class DemandMaker:
    """Makes demands from targets of one request and one inventory."""

    def __init__(
        self,
        inventory: Inventory,
        topologies: Mapping[str, HostTopology],
        lookup: Lookup,
        complaints: Complaints,
        owner_reason: Callable[[Vm], str | None],
        include_managed: frozenset[str],
    ) -> None:
        self.inventory = inventory
        self.lookup = lookup
        self.complaints = complaints
        self.owner_reason = owner_reason
        self.include_managed = include_managed
        self.asks = AskMaker(inventory, topologies, complaints)
        self.figures = GpuFigures(inventory, self.asks.group_sizes)
        self.reader = DeviceReader(inventory)
        self.modes = ModeChooser(inventory, topologies)
        self._notes: list[str] = []
        self._estimated: list[str] = []

    def notes(self) -> tuple[str, ...]:
        """Return what the user should know of the demands made so far."""
        if not self._estimated:
            return tuple(self._notes)
        count = len(self._estimated)
        return (
            *self._notes,
            f"memory overhead of {count} VM{'s' if count > 1 else ''} is estimated from VMware's sample "
            f"table, because vCenter tells none",
        )

    def make(self, target: Target) -> Demand | LeftAlone | None:
        """Return the demand of a target, or why its VM is left alone; None where a complaint was noted."""
        vm, entry = target.vm, target.entry
        if vm is not None:
            reason = why_untouchable(vm) or self._owned(vm, entry.placing)
            if reason is not None:
                return LeftAlone(vm.moid, vm.name, reason)
        base = vm or target.template
        if base is None:
            return None
        policy = entry.placing.policy or Policy.PREFERRED
        today = self.reader.read(base, policy)
        stated = entry.gpus is not None or entry.nics is not None
        if vm is not None:
            reason = why_pinned(today.static, entry.own_affinity, stated)
            if reason is not None:
                return LeftAlone(vm.moid, vm.name, reason)
        where = self._where(target, today)
        gpus, nics = self._devices(target, today, policy, where)
        mode = entry.placing.affinity or self.modes.default(gpus, nics, where.clusters)
        reason = self._refused(target, today, gpus, nics, mode)
        if reason is not None:
            if vm is not None:
                return LeftAlone(vm.moid, vm.name, reason)
            self.complaints.wrong((*entry.pointer, "template"), f"template '{base.name}': {reason}")
            return None
        if vm is not None and where.hosts == () and self._held_here(vm, today):
            return LeftAlone(vm.moid, vm.name, "it cannot leave its host, which the request excludes")
        return self._demand(target, base, where, gpus, nics, mode)

    def _owned(self, vm: Vm, placing: Placing) -> str | None:
        if placing.include_managed or vm.name in self.include_managed or vm.moid in self.include_managed:
            return None
        return self.owner_reason(vm)

    def _refused(
        self,
        target: Target,
        today: TodaysDevices,
        gpus: tuple[GpuAsk, ...],
        nics: tuple[NicAsk, ...],
        mode: AffinityMode,
    ) -> str | None:
        """Return why the VM cannot have what is asked, or None."""
        base = target.vm or target.template
        assert base is not None
        whole = any(not (ask.profile or ask.group) for ask in gpus) or bool(nics)
        reason = why_not_static(base, mode, whole) if target.vm is not None else None
        if reason is None and _kinds(gpus) != _kinds(today.gpus):
            reason = why_not_bios(base.firmware, self.figures.mmio_gib(gpus))
        return reason

    def _devices(
        self, target: Target, today: TodaysDevices, policy: Policy, where: _Where
    ) -> tuple[tuple[GpuAsk, ...], tuple[NicAsk, ...]]:
        entry = target.entry
        gpus = today.gpus
        if entry.gpus is not None:
            gpus = tuple(self.asks.gpu(spec, policy) for spec in entry.gpus)
        nics = today.nics
        if entry.nics is not None:
            hosts = self._reachable(where)

            def find_network(pointer: Pointer, word: str) -> str | None:
                return self.lookup.find_network(pointer, word, hosts)

            nics = tuple(self.asks.nic(spec, policy, bool(gpus), find_network) for spec in entry.nics)
        return gpus, nics

    def _where(self, target: Target, today: TodaysDevices) -> _Where:
        entry, placing, vm = target.entry, target.entry.placing, target.vm
        base = vm or target.template
        assert base is not None
        at = self._placing_pointer(entry.pointer)
        clusters: tuple[str, ...] = ()
        hosts: tuple[str, ...] = ()
        if placing.clusters is not None:
            clusters = self.lookup.find_clusters(at("clusters"), placing.clusters)
        if placing.hosts is not None:
            hosts = self.lookup.find_hosts(at("hosts"), placing.hosts)
        if vm is not None and placing.clusters is None and placing.hosts is None:
            home = self.lookup.cluster_of(vm)
            clusters = (home,) if home is not None else ()
        pool = self._pool(vm, placing, clusters, hosts, at)
        reachable = self._reachable(_Where(clusters, hosts, pool, (), ()))
        datastores, networks = base.datastores, base.networks
        if placing.datastore is not None:
            found = [self.lookup.find_datastore(at("datastore"), w, reachable) for w in placing.datastore]
            datastores = tuple(moid for moid in found if moid is not None)
        if placing.networks is not None:
            found = [self.lookup.find_network(at("networks"), w, reachable) for w in placing.networks]
            networks = tuple(moid for moid in found if moid is not None)
        if vm is not None and self._held_here(vm, today) and vm.host is not None:
            fits = (not hosts or vm.host in hosts) and self._in_clusters(vm.host, clusters)
            hosts = (vm.host,) if fits else ()
        return _Where(clusters, hosts, pool, datastores, networks)

    def _placing_pointer(self, pointer: Pointer) -> Callable[[str], Pointer]:
        """Return where a placing key stands: in the entry, else in the defaults."""
        entry = self.complaints.request.data["vms"][pointer[1]]
        return lambda key: (*pointer, key) if key in entry else ("defaults", key)

    def _pool(
        self,
        vm: Vm | None,
        placing: Placing,
        clusters: tuple[str, ...],
        hosts: tuple[str, ...],
        at: Callable[[str], Pointer],
    ) -> str | None:
        """Return the pool; an existing VM's own only where it surely stays in the pool's cluster."""
        if placing.pool is not None:
            owners = clusters or tuple(
                dict.fromkeys(c for h in hosts if (c := self.inventory.host_by_moid[h].cluster) is not None)
            )
            return self.lookup.find_pool(at("pool"), placing.pool, owners)
        pool = self.inventory.pool_by_moid.get(vm.pool) if vm is not None and vm.pool else None
        if pool is None:
            return None
        possible = {host.cluster for host in self._reachable(_Where(clusters, hosts, None, (), ()))}
        if pool.owner in self.inventory.cluster_by_moid and possible != {pool.owner}:
            return None
        return pool.moid

    def _in_clusters(self, host: str, clusters: tuple[str, ...]) -> bool:
        return not clusters or self.inventory.host_by_moid[host].cluster in clusters

    def _reachable(self, where: _Where) -> list[Host]:
        """Return the hosts a VM may go to by name alone."""
        return [
            host
            for host in self.inventory.hosts
            if (not where.clusters or host.cluster in where.clusters)
            and (not where.hosts or host.moid in where.hosts)
        ]

    def _held_here(self, vm: Vm, today: TodaysDevices) -> bool:
        """Whether a VM cannot leave its host: a linked clone, or devices no ask can express."""
        return bool(vm.linked_clone) or bool(today.others)

    def _demand(
        self,
        target: Target,
        base: Vm,
        where: _Where,
        gpus: tuple[GpuAsk, ...],
        nics: tuple[NicAsk, ...],
        mode: AffinityMode,
    ) -> Demand:
        entry, placing, vm = target.entry, target.entry.placing, target.vm
        cpus = entry.cpus if entry.cpus is not None else base.cpus
        memory_mib = entry.memory_mib if entry.memory_mib is not None else base.memory_mib
        vnuma = self._vnuma(target, base, cpus)
        needed = needed_hardware_version(
            gpus, nics, vnuma is not None and entry.vnuma_stated, cpus, memory_mib
        )
        reserved = base.memory_locked_to_max or (base.memory_reservation_mib or 0) >= base.memory_mib > 0
        latency_high = (placing.latency or base.latency_sensitivity) == "high"
        prefer_ht = placing.prefer_ht
        if prefer_ht is None:
            prefer_ht = (base.extra("numa.vcpu.preferHT") or "").lower() in ("true", "1", "yes")
        power_on = placing.power_on
        weight = self.figures.weight_milli(gpus) if entry.weight is None else round(entry.weight * 1000)
        return Demand(
            id=vm.moid if vm is not None else f"new:{target.name}",
            name=target.name,
            vm=vm.moid if vm is not None else None,
            template=target.template.moid if vm is None and target.template is not None else None,
            clusters=where.clusters,
            hosts=where.hosts,
            cpus=cpus,
            memory_mib=memory_mib,
            vnuma_nodes=vnuma,
            gpus=gpus,
            nics=nics,
            priority=placing.priority or 0,
            weight_milli=weight,
            mode=mode,
            may_move=bool(placing.may_move),
            pool=where.pool,
            datastores=where.datastores,
            networks=where.networks,
            hardware_version=max(base.hardware_version or 0, needed, placing.hardware_version or 0),
            power_on=(vm is None or vm.is_on) if power_on is None else power_on,
            prefer_ht=prefer_ht,
            latency_high=latency_high,
            memory_reserved=bool(gpus or nics or reserved or latency_high),
            cpu_reservation_mhz=base.cpu_reservation_mhz or 0,
            overhead_mib=self._overhead(vm, target.name, cpus, memory_mib),
            source=self.complaints.request.source_line(entry.pointer),
        )

    def _vnuma(self, target: Target, base: Vm, cpus: int) -> int | None:
        """Return the explicit number of vNUMA nodes: stated, or the manual setting of today; None = auto."""
        entry = target.entry
        if entry.vnuma_stated:
            nodes = entry.vnuma_nodes
            if nodes is not None and cpus % nodes:
                self.complaints.wrong(
                    (*entry.pointer, "vnuma"),
                    f"the {cpus} vCPUs of '{target.name}' do not divide evenly over {nodes} vNUMA nodes",
                )
            return nodes
        per_node = base.vnuma.cores_per_node
        if base.vnuma.auto or not per_node or cpus != base.cpus or cpus % per_node:
            return None
        return cpus // per_node

    def _overhead(self, vm: Vm | None, name: str, cpus: int, memory_mib: int) -> int:
        """Return the memory overhead: vCenter's figure, grown with the VM, else the estimate."""
        estimate = estimated_overhead_mib(cpus, memory_mib)
        if vm is None or vm.overhead_mib is None:
            self._estimated.append(name)
            return estimate
        grown = estimate - estimated_overhead_mib(vm.cpus, vm.memory_mib)
        return vm.overhead_mib + max(0, grown)


def _kinds(gpus: tuple[GpuAsk, ...]) -> list[tuple[int, str | None, str | None, str | None]]:
    """Return what cards are asked for, apart from nearness and label."""
    return [(ask.count, ask.model, ask.profile, ask.group) for ask in gpus]
