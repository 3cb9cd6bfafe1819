"""Makes the demand of one VM, or says why the VM is left alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vplacer.inventory.limits_table import FIRST_WITH_DYNAMIC, FIRST_WITH_VNUMA
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.inventory.yaml_marks import Pointer
from vplacer.request.asks import AskMaker
from vplacer.request.complaints import Complaints
from vplacer.request.demand import AffinityMode, Demand, GpuAsk, LeftAlone, NicAsk, Policy
from vplacer.request.file import Placing, VmEntry
from vplacer.request.lookup import Lookup
from vplacer.request.modes import ModeChooser
from vplacer.request.naming import listed
from vplacer.request.refusal import why_not_bios, why_not_static, why_pinned, why_untouchable
from vplacer.request.select import Target
from vplacer.request.sizing import GpuFigures, estimated_overhead_mib, needed_hardware_version
from vplacer.request.today import DeviceReader, TodaysDevices, difference_of, same_gpus, same_nics
from vplacer.request.where import Reachable, Where, WhereMaker
from vplacer.topology.host_topology import HostTopology


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a VM is to have.

    ``changed``: whether that differs from what it has; ``resized``: whether its size does; ``other_devices``:
    whether the devices do. ``unlabelled``: it keeps the devices it has, none of which carries a label.
    ``was_static``: it has static devices today.
    """

    cpus: int
    memory_mib: int
    vnuma_nodes: int | None
    gpus: tuple[GpuAsk, ...]
    nics: tuple[NicAsk, ...]
    changed: bool
    resized: bool
    other_devices: bool
    unlabelled: bool
    was_static: bool


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
        self.places = WhereMaker(inventory, lookup, complaints.request)
        self._noted: dict[str, list[str]] = {}
        self._taken: dict[Pointer, list[tuple[str, str]]] = {}

    def complain_of_taken_names(self) -> None:
        """Complain of names of new VMs that other VMs have, an entry's together."""
        for pointer, found in self._taken.items():
            told = listed([f"{name} ({difference})" for name, difference in found])
            self.complaints.wrong(
                (*pointer, "name"),
                f"VMs of this name exist and are not what this entry would make: {told}",
                hint="to change them use 'select' in an entry of its own; to make new ones, another 'name'",
            )

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
        hosts = self._hosts(target, where)
        mode = entry.placing.affinity or self._default_mode(asked, hosts, bool(entry.placing.may_move))
        if vm is not None and target.template is not None:
            difference = self._not_made_here(vm, target.template, today, asked, policy)
            if difference is not None:
                self._taken.setdefault(entry.pointer, []).append((target.name, difference))
                return None
        reason = self._refused(target, today, asked, mode)
        if reason is not None and vm is not None:
            return LeftAlone(vm.moid, vm.name, reason)
        if reason is not None:
            self.complaints.wrong((*entry.pointer, "template"), f"template '{base.name}': {reason}")
            return None
        self._note_demand(target, asked, mode, why_held)
        return self._demand(target, base, where, asked, mode, hosts)

    def shape(self, entry: VmEntry, base: Vm, name: str) -> Demand:
        """Return the demand of a VM expected later; ``base`` tells what the entry does not state."""
        target = Target(entry, name, None, base)
        policy = entry.placing.policy or Policy.PREFERRED
        where = self.places.where(target, False)
        asked = self._asked(target, base, self.reader.read(base, policy), policy, where)
        hosts = self._hosts(target, where)
        mode = entry.placing.affinity or self._default_mode(asked, hosts, False)
        return self._demand(target, base, where, asked, mode, hosts)

    def _hosts(self, target: Target, where: Where) -> Reachable:
        """Return the hosts a VM may be on after the plan: its own, unless it may move."""
        vm = target.vm
        own = self.inventory.host_by_moid.get(vm.host or "") if vm is not None else None
        if own is not None and not target.entry.placing.may_move:
            return Reachable.of((own,))
        return self.places.reachable(where.clusters, where.hosts)

    def _default_mode(self, asked: _Asked, hosts: Reachable, may_move: bool) -> AffinityMode:
        """Return the mode of a VM that states none: the one its devices imply, else what labels allow.

        One that may move and keeps its size may be bound to labels: where that cannot be, it stays as it is.
        """
        if asked.unlabelled and not _exact(asked) and (asked.resized or not may_move):
            return AffinityMode.HINT
        return self.modes.default(asked.gpus, asked.nics, hosts.moids)

    def _not_made_here(
        self, vm: Vm, template: Vm, today: TodaysDevices, asked: _Asked, policy: Policy
    ) -> str | None:
        """Return what shows that an existing VM is not the one a template entry made before, or None.

        vCenter does not keep what a VM was cloned from. One that has what is asked needs no change; one that
        is off and just as the template is a clone that was not set up yet.
        """
        found = difference_of(vm, today, asked.cpus, asked.memory_mib, asked.gpus, asked.nics)
        if found is None or vm.is_on or vm.folder != template.folder:
            return found
        of_template = self.reader.read(template, policy)
        raw = difference_of(vm, today, template.cpus, template.memory_mib, of_template.gpus, of_template.nics)
        return found if raw is not None else None

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
        if reason is None and not same_gpus(today.gpus, asked.gpus):
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
        if target.vm is None or target.vm.overhead_mib is None:
            self._note("memory overhead, which vCenter does not tell, taken from VMware's sample table", name)

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
            hosts = self.places.reachable(where.clusters, where.hosts).hosts

            def find_network(pointer: Pointer, word: str) -> str | None:
                return self.lookup.find_network(pointer, word, hosts)

            nics = tuple(self.asks.nic(spec, policy, bool(gpus), find_network) for spec in entry.nics)
        manual = manual_nodes(base)
        nodes = manual if cpus == base.cpus else None
        if entry.vnuma_stated:
            nodes = entry.vnuma_nodes
            self._check_nodes(target, cpus, nodes)
        other = not (same_gpus(today.gpus, gpus) and same_nics(today.nics, nics))
        sizes = (cpus, memory_mib, nodes) != (base.cpus, base.memory_mib, manual)
        asks: list[GpuAsk | NicAsk] = [*today.gpus, *today.nics, *gpus, *nics]
        labels = [ask.label for ask in asks if ask.label is not None]
        return _Asked(
            cpus,
            memory_mib,
            nodes,
            gpus,
            nics,
            changed=target.vm is None or sizes or other,
            resized=sizes,
            other_devices=other,
            unlabelled=target.vm is not None and not (other or labels or today.static),
            was_static=bool(today.static),
        )

    def _check_nodes(self, target: Target, cpus: int, nodes: int | None) -> None:
        if nodes is not None and cpus % nodes:
            self.complaints.wrong(
                (*target.entry.pointer, "vnuma"),
                f"the {cpus} vCPUs of '{target.name}' do not divide evenly over {nodes} vNUMA nodes",
            )

    def _demand(
        self,
        target: Target,
        base: Vm,
        where: Where,
        asked: _Asked,
        mode: AffinityMode,
        hosts: Reachable,
    ) -> Demand:
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
            hardware_version=_hardware_version(base, vm is None, placing, asked, mode, hosts),
            power_on=placing.power_on if placing.power_on is not None else (vm is None or vm.is_on),
            prefer_ht=base.prefers_threads if placing.prefer_ht is None else placing.prefer_ht,
            latency_high=latency_high,
            memory_reserved=bool(gpus or nics or latency_high) or _fully_reserved(base),
            cpu_reservation_mhz=base.cpu_reservation_mhz or 0,
            overhead_mib=_overhead(vm, asked),
            source=self.complaints.request.source_line(entry.pointer),
            mode_stated=placing.affinity is not None,
        )


def _overhead(vm: Vm | None, asked: _Asked) -> int:
    """Return the memory overhead in MiB: vCenter's figure, grown with the VM, else the estimate."""
    estimate = estimated_overhead_mib(asked.cpus, asked.memory_mib)
    if vm is None or vm.overhead_mib is None:
        return estimate
    return vm.overhead_mib + max(0, estimate - estimated_overhead_mib(vm.cpus, vm.memory_mib))


def _why_held(vm: Vm, today: TodaysDevices) -> str | None:
    """Return what keeps a VM on its host: a linked clone's disks, or devices that no ask can express."""
    if vm.linked_clone:
        return "its disks, which are a linked clone's"
    return listed(today.others) if today.others else None


def manual_nodes(vm: Vm) -> int | None:
    """Return the vNUMA nodes set by hand today; None = automatic."""
    per_node = vm.vnuma.cores_per_node
    if vm.vnuma.auto or not per_node or vm.cpus % per_node:
        return None
    return vm.cpus // per_node


def _hardware_version(
    base: Vm, is_new: bool, placing: Placing, asked: _Asked, mode: AffinityMode, hosts: Reachable
) -> int:
    """Return the version after the plan: never lower than today, raised only for what changes."""
    needed = FIRST_WITH_DYNAMIC if asked.was_static and mode is not AffinityMode.PIN else 0
    if asked.changed:
        least = max(needed, _least_version(base, is_new, asked, mode, hosts))
        needed = needed_hardware_version(asked.gpus, asked.nics, least, asked.cpus, asked.memory_mib)
    return max(base.hardware_version or 0, needed, placing.hardware_version or 0)


def _least_version(base: Vm, is_new: bool, asked: _Asked, mode: AffinityMode, hosts: Reachable) -> int:
    """Return the version that has the fields to be set; 0 where every one has.

    An upgrade cannot be undone, so an existing VM gets it only for device groups, an explicit vNUMA shape, or
    devices of a VM that comes to span nodes (numaNode), and for Dynamic DirectPath I/O.
    """
    if asked.vnuma_nodes is not None or any(ask.group for ask in asked.gpus):
        return FIRST_WITH_VNUMA
    if not (asked.gpus or asked.nics):
        return 0
    spans = hosts.may_span(asked.cpus) and (asked.other_devices or not hosts.may_span(base.cpus))
    if is_new or spans:
        return FIRST_WITH_VNUMA
    whole = any(ask.profile is None for ask in asked.gpus) or any(
        ask.kind == "passthrough" for ask in asked.nics
    )
    return FIRST_WITH_DYNAMIC if asked.other_devices and whole and mode is not AffinityMode.PIN else 0


def _exact(asked: _Asked) -> bool:
    """Whether some nearness is required, so that a card chosen by the platform would not do."""
    asks: list[GpuAsk | NicAsk] = [*asked.gpus, *asked.nics]
    near = any(ask.policy in (Policy.REQUIRED, Policy.SOCKET) for ask in asks)
    return (
        near
        or any(ask.interconnect_required for ask in asked.gpus)
        or any(ask.at_required for ask in asked.nics)
    )


def _fully_reserved(vm: Vm) -> bool:
    return bool(vm.memory_locked_to_max) or (vm.memory_reservation_mib or 0) >= vm.memory_mib > 0
