"""Makes the demand of one VM, or says why the VM is left alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.inventory.yaml_marks import Pointer
from vplacer.request.asks import AskMaker
from vplacer.request.complaints import Complaints
from vplacer.request.demand import AffinityMode, Demand, GpuAsk, LeftAlone, NicAsk, Policy
from vplacer.request.file import Placing
from vplacer.request.lookup import Lookup
from vplacer.request.modes import ModeChooser
from vplacer.request.naming import listed
from vplacer.request.refusal import why_not_bios, why_not_static, why_pinned, why_untouchable
from vplacer.request.select import Target
from vplacer.request.sizing import GpuFigures, estimated_overhead_mib, needed_hardware_version
from vplacer.request.today import DeviceReader, TodaysDevices
from vplacer.request.where import Where, WhereMaker
from vplacer.topology.host_topology import HostTopology


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a VM is to have. ``changed``: whether that differs from what it has."""

    cpus: int
    memory_mib: int
    vnuma_nodes: int | None
    gpus: tuple[GpuAsk, ...]
    nics: tuple[NicAsk, ...]
    changed: bool


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
        self.lookup = lookup
        self.complaints = complaints
        self.owner_reason = owner_reason
        self.include_managed = include_managed
        self.asks = AskMaker(inventory, topologies, complaints)
        self.figures = GpuFigures(inventory, self.asks.group_sizes)
        self.reader = DeviceReader(inventory)
        self.modes = ModeChooser(inventory, topologies)
        self.places = WhereMaker(inventory, lookup, complaints.request)
        self._noted: dict[str, list[str]] = {}

    def notes(self) -> tuple[str, ...]:
        """Return what the user should know of the demands made so far, equal remarks put together."""
        return tuple(f"{text}: {listed(names)}" for text, names in self._noted.items())

    def make(self, target: Target) -> Demand | LeftAlone | None:
        """Return the demand of a target, or why its VM is left alone; None where a complaint was noted."""
        vm, entry = target.vm, target.entry
        base = vm or target.template
        if base is None:
            return None
        policy = entry.placing.policy or Policy.PREFERRED
        today = self.reader.read(base, policy)
        if vm is not None:
            stated = entry.gpus is not None or entry.nics is not None
            reason = (
                why_untouchable(vm)
                or self._owned(vm, entry.placing)
                or why_pinned(today.static, entry.own_affinity, stated)
            )
            if reason is not None:
                return LeftAlone(vm.moid, vm.name, reason)
        why_held = _why_held(base, today) if vm is not None else None
        where = self.places.where(target, why_held is not None)
        if vm is not None and where.excluded:
            return LeftAlone(
                vm.moid, vm.name, f"it cannot leave its host, which the request excludes: {why_held}"
            )
        asked = self._asked(target, base, today, policy, where)
        mode = entry.placing.affinity or self.modes.default(
            asked.gpus, asked.nics, self.places.clusters(where), where.hosts
        )
        reason = self._refused(target, today, asked, mode)
        if reason is not None and vm is not None:
            return LeftAlone(vm.moid, vm.name, reason)
        if reason is not None:
            self.complaints.wrong((*entry.pointer, "template"), f"template '{base.name}': {reason}")
            return None
        self._note_demand(target, asked, mode, why_held)
        return self._demand(target, base, where, asked, mode)

    def _owned(self, vm: Vm, placing: Placing) -> str | None:
        if placing.include_managed or vm.name in self.include_managed or vm.moid in self.include_managed:
            return None
        return self.owner_reason(vm)

    def _refused(self, target: Target, today: TodaysDevices, asked: _Asked, mode: AffinityMode) -> str | None:
        """Return why the VM cannot have what is asked, or None."""
        base = target.vm or target.template
        assert base is not None
        whole = any(not (ask.profile or ask.group) for ask in asked.gpus) or bool(asked.nics)
        reason = why_not_static(base, mode, whole) if target.vm is not None else None
        if reason is None and _gpu_kinds(asked.gpus) != _gpu_kinds(today.gpus):
            reason = why_not_bios(base.firmware, self.figures.mmio_gib(asked.gpus))
        return reason

    def _note_demand(self, target: Target, asked: _Asked, mode: AffinityMode, why_held: str | None) -> None:
        name = target.name
        if why_held is not None:
            self._note(f"kept on its host, because of {why_held}", name)
        if target.vm is not None and target.entry.select is None:
            self._note("exists already and is planned as the VM it is, not made anew", name)
        if mode is not AffinityMode.HINT and any(ask.profile or ask.group for ask in asked.gpus):
            self._note(
                f"affinity {mode} binds vCPUs and memory; the card of a vGPU or device group remains "
                f"vSphere's choice",
                name,
            )

    def _note(self, text: str, name: str) -> None:
        self._noted.setdefault(text, []).append(name)

    def _asked(self, target: Target, base: Vm, today: TodaysDevices, policy: Policy, where: Where) -> _Asked:
        entry = target.entry
        cpus = entry.cpus if entry.cpus is not None else base.cpus
        memory_mib = entry.memory_mib if entry.memory_mib is not None else base.memory_mib
        gpus, nics = today.gpus, today.nics
        if entry.gpus is not None:
            gpus = tuple(self.asks.gpu(spec, policy) for spec in entry.gpus)
        if entry.nics is not None:
            hosts = self.places.reachable(where.clusters, where.hosts)

            def find_network(pointer: Pointer, word: str) -> str | None:
                return self.lookup.find_network(pointer, word, hosts)

            nics = tuple(self.asks.nic(spec, policy, bool(gpus), find_network) for spec in entry.nics)
        manual = _manual_nodes(base)
        nodes = manual if cpus == base.cpus else None
        if entry.vnuma_stated:
            nodes = entry.vnuma_nodes
            self._check_nodes(target, cpus, nodes)
        changed = (
            target.vm is None
            or (cpus, memory_mib, nodes) != (base.cpus, base.memory_mib, manual)
            or _gpu_kinds(gpus) != _gpu_kinds(today.gpus)
            or _nic_kinds(nics) != _nic_kinds(today.nics)
        )
        return _Asked(cpus, memory_mib, nodes, gpus, nics, changed)

    def _check_nodes(self, target: Target, cpus: int, nodes: int | None) -> None:
        if nodes is not None and cpus % nodes:
            self.complaints.wrong(
                (*target.entry.pointer, "vnuma"),
                f"the {cpus} vCPUs of '{target.name}' do not divide evenly over {nodes} vNUMA nodes",
            )

    def _demand(self, target: Target, base: Vm, where: Where, asked: _Asked, mode: AffinityMode) -> Demand:
        entry, placing, vm = target.entry, target.entry.placing, target.vm
        gpus, nics = asked.gpus, asked.nics
        latency_high = (placing.latency or base.latency_sensitivity) == "high"
        weight = self.figures.weight_milli(gpus) if entry.weight is None else round(entry.weight * 1000)
        return Demand(
            id=vm.moid if vm is not None else f"new:{target.name}",
            name=target.name,
            vm=vm.moid if vm is not None else None,
            template=target.template.moid if vm is None and target.template is not None else None,
            clusters=where.clusters,
            hosts=where.hosts,
            cpus=asked.cpus,
            memory_mib=asked.memory_mib,
            vnuma_nodes=asked.vnuma_nodes,
            gpus=gpus,
            nics=nics,
            priority=placing.priority or 0,
            weight_milli=weight,
            mode=mode,
            may_move=bool(placing.may_move),
            pool=where.pool,
            datastores=where.datastores,
            networks=where.networks,
            hardware_version=_hardware_version(base, placing, asked),
            power_on=placing.power_on if placing.power_on is not None else (vm is None or vm.is_on),
            prefer_ht=_prefers_threads(base) if placing.prefer_ht is None else placing.prefer_ht,
            latency_high=latency_high,
            memory_reserved=bool(gpus or nics or latency_high) or _fully_reserved(base),
            cpu_reservation_mhz=base.cpu_reservation_mhz or 0,
            overhead_mib=self._overhead(vm, target.name, asked),
            source=self.complaints.request.source_line(entry.pointer),
            mode_stated=placing.affinity is not None,
        )

    def _overhead(self, vm: Vm | None, name: str, asked: _Asked) -> int:
        """Return the memory overhead in MiB: vCenter's figure, grown with the VM, else the estimate."""
        estimate = estimated_overhead_mib(asked.cpus, asked.memory_mib)
        if vm is None or vm.overhead_mib is None:
            self._note("memory overhead, which vCenter does not tell, taken from VMware's sample table", name)
            return estimate
        return vm.overhead_mib + max(0, estimate - estimated_overhead_mib(vm.cpus, vm.memory_mib))


def _why_held(vm: Vm, today: TodaysDevices) -> str | None:
    """Return what keeps a VM on its host: a linked clone's disks, or devices that no ask can express."""
    if vm.linked_clone:
        return "its disks, which are a linked clone's"
    return listed(today.others) if today.others else None


def _manual_nodes(vm: Vm) -> int | None:
    """Return the vNUMA nodes set by hand today; None = automatic."""
    per_node = vm.vnuma.cores_per_node
    if vm.vnuma.auto or not per_node or vm.cpus % per_node:
        return None
    return vm.cpus // per_node


def _hardware_version(base: Vm, placing: Placing, asked: _Asked) -> int:
    """Return the version after the plan: never lower than today, raised only for what changes."""
    needed = 0
    if asked.changed:
        needed = needed_hardware_version(
            asked.gpus, asked.nics, asked.vnuma_nodes is not None, asked.cpus, asked.memory_mib
        )
    return max(base.hardware_version or 0, needed, placing.hardware_version or 0)


def _prefers_threads(vm: Vm) -> bool:
    return (vm.extra("numa.vcpu.preferHT") or "").lower() in ("true", "1", "yes")


def _fully_reserved(vm: Vm) -> bool:
    return bool(vm.memory_locked_to_max) or (vm.memory_reservation_mib or 0) >= vm.memory_mib > 0


def _gpu_kinds(gpus: tuple[GpuAsk, ...]) -> list[tuple[object, ...]]:
    """Return which cards are asked for, apart from nearness and label."""
    return [(ask.count, ask.model, ask.profile, ask.group) for ask in gpus]


def _nic_kinds(nics: tuple[NicAsk, ...]) -> list[tuple[object, ...]]:
    return [(ask.count, ask.kind, ask.model) for ask in nics]
