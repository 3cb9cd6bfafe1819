"""Running VMs as demands: what they are today is what they shall be, wherever they go."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import DynamicBacking, StaticBacking, Vm
from vplacer.request.asks import group_sizes
from vplacer.request.demand import AffinityMode, Demand, LeftAlone, Policy
from vplacer.request.demands import manual_nodes
from vplacer.request.modes import ModeChooser
from vplacer.request.naming import listed
from vplacer.request.refusal import why_not_static, why_untouchable
from vplacer.request.sizing import GpuFigures, estimated_overhead_mib
from vplacer.request.today import DeviceReader, TodaysDevices
from vplacer.topology.host_topology import HostTopology


class AsToday:
    """Makes demands of VMs that no request describes."""

    def __init__(
        self,
        inventory: Inventory,
        topologies: Mapping[str, HostTopology],
        owner_reason: Callable[[Vm], str | None],
        include_managed: frozenset[str],
    ) -> None:
        self.inventory = inventory
        self.owner_reason = owner_reason
        self.include_managed = include_managed
        self.reader = DeviceReader(inventory)
        self.figures = GpuFigures(inventory, group_sizes(inventory, topologies))
        self.modes = ModeChooser(inventory, topologies)
        self._noted: dict[str, list[str]] = {}

    def notes(self) -> tuple[str, ...]:
        """Return the remarks, equal ones put together."""
        return tuple(f"{text}: {listed(names)}" for text, names in self._noted.items())

    def make(self, vm: Vm, priority: int) -> Demand | LeftAlone:
        """Return a VM as a demand that may move, or why it is left alone.

        Devices are of the same kind, model, profile, group and label as today. What is bound stays bound:
        static cards and node numbers become the equal on another host, a VM that floats goes on floating.
        """
        today = self.reader.read(vm, Policy.PREFERRED)
        mode = self.mode(vm, today)
        reason = self._why_left(vm, today, mode)
        if reason is not None:
            return LeftAlone(vm.moid, vm.name, reason)
        return self.demand(vm, today, mode, priority)

    def demand(self, vm: Vm, today: TodaysDevices, mode: AffinityMode, priority: int) -> Demand:
        """Return a VM as a demand, whether it can be moved or not."""
        return demand_as_today(
            vm, today, mode, priority, self.figures.weight_milli(today.gpus), self._home(vm)
        )

    def _why_left(self, vm: Vm, today: TodaysDevices, mode: AffinityMode) -> str | None:
        """Return why a VM cannot be moved, or None."""
        reason = why_untouchable(vm)
        if reason is None and not self.include_managed.intersection((vm.name, vm.moid)):
            reason = self.owner_reason(vm)
        if reason is None:
            reason = why_held(vm, today)
        if reason is None and vm.cpu_affinity:
            reason = "its vCPUs are tied to physical CPUs of its host (CPU affinity); clear that first"
        return reason or why_not_static(vm, mode, bool(today.static))

    def mode(self, vm: Vm, today: TodaysDevices) -> AffinityMode:
        """Return the mode that says of a VM what is so today."""
        if today.static:
            return AffinityMode.PIN
        if not vm.node_affinity:
            return AffinityMode.HINT
        if not _whole(vm):
            return AffinityMode.PIN
        if _labelled(vm):
            return AffinityMode.LABEL
        hosts = tuple(h.moid for h in self.inventory.hosts if h.cluster in self._home(vm))
        return self.modes.default(today.gpus, today.nics, hosts)

    def _home(self, vm: Vm) -> tuple[str, ...]:
        host = self.inventory.host_by_moid.get(vm.host or "")
        return (host.cluster,) if host is not None and host.cluster is not None else ()

    def remark(self, vm: Vm, mode: AffinityMode) -> None:
        """Remember what a VM gains or loses when it moves in a mode."""
        today = self.reader.read(vm, Policy.PREFERRED)
        if today.static and not vm.node_affinity:
            text = "gets numa.nodeAffinity beside its static card, which it has not today"
        elif mode is AffinityMode.HINT and vm.node_affinity:
            text = (
                "loses numa.nodeAffinity where it moves: no label fixes the node of its cards on other hosts"
            )
        else:
            return
        self._noted.setdefault(text, []).append(vm.name)


def why_held(vm: Vm, today: TodaysDevices) -> str | None:
    """Return what keeps a VM on its host: a linked clone's disks, or devices that no ask can express."""
    if vm.linked_clone:
        return "it is a linked clone, which is not moved away from the disks it shares"
    return f"no request can ask for its {listed(today.others)} elsewhere" if today.others else None


def _whole(vm: Vm) -> bool:
    return any(isinstance(device.backing, StaticBacking | DynamicBacking) for device in vm.devices)


def _labelled(vm: Vm) -> bool:
    """Whether every whole card is bound by a label."""
    dynamic = [device.backing for device in vm.devices if isinstance(device.backing, DynamicBacking)]
    return bool(dynamic) and all(backing.label for backing in dynamic)


def demand_as_today(
    vm: Vm,
    today: TodaysDevices,
    mode: AffinityMode,
    priority: int,
    weight_milli: int,
    clusters: tuple[str, ...],
) -> Demand:
    """Return a VM as a demand that may move and changes nothing else."""
    has_devices = bool(today.gpus or today.nics)
    full = bool(vm.memory_locked_to_max) or (vm.memory_reservation_mib or 0) >= vm.memory_mib > 0
    latency_high = vm.latency_sensitivity == "high"
    overhead = vm.overhead_mib
    return Demand(
        id=vm.moid,
        name=vm.name,
        vm=vm.moid,
        template=None,
        clusters=clusters,
        hosts=(),
        cpus=vm.cpus,
        memory_mib=vm.memory_mib,
        vnuma_nodes=manual_nodes(vm),
        gpus=today.gpus,
        nics=today.nics,
        priority=priority,
        weight_milli=weight_milli,
        mode=mode,
        may_move=True,
        pool=vm.pool,
        datastores=vm.datastores,
        networks=vm.networks,
        hardware_version=vm.hardware_version or 0,
        power_on=vm.is_on,
        prefer_ht=vm.prefers_threads,
        latency_high=latency_high,
        memory_reserved=has_devices or latency_high or full,
        cpu_reservation_mhz=vm.cpu_reservation_mhz or 0,
        overhead_mib=estimated_overhead_mib(vm.cpus, vm.memory_mib) if overhead is None else overhead,
    )
