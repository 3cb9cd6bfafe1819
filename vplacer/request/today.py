"""What an existing VM holds today, as asks: the request's default where it says nothing of devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vplacer.inventory.device_kind import DeviceKind, device_kind
from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.nic_models import nic_by_ids
from vplacer.inventory.pci import PciIds
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import (
    DvxBacking,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    UnknownBacking,
    VgpuBacking,
    Vm,
)
from vplacer.request.asks import nic_model_name
from vplacer.request.demand import GpuAsk, NicAsk, Policy


@dataclass(frozen=True, slots=True)
class TodaysDevices:
    """The devices of a VM as asks, by kind.

    ``others``: devices that no ask can express (Enhanced DirectPath, NVMe, unknown types); they stay as
    they are and keep the VM on its host. ``static``: addresses of static DirectPath devices.
    """

    gpus: tuple[GpuAsk, ...]
    nics: tuple[NicAsk, ...]
    others: tuple[str, ...]
    static: tuple[str, ...]


class DeviceReader:
    """Reads devices of VMs of one inventory."""

    def __init__(self, inventory: Inventory) -> None:
        self.inventory = inventory
        self.kinds: dict[tuple[int, int], DeviceKind] = {}
        for host in inventory.hosts:
            for device in host.pci_devices:
                self.kinds.setdefault((device.ids.vendor, device.ids.device), device_kind(device))

    def read(self, vm: Vm, policy: Policy) -> TodaysDevices:
        """Return what a VM or template holds, equal devices counted together, in order of first mention."""
        gpus: Counter[GpuAsk] = Counter()
        nics: Counter[NicAsk] = Counter()
        others: list[str] = []
        static: list[str] = []
        for group in vm.device_groups:
            gpus[GpuAsk(1, group=group.name, policy=policy)] += 1
        for device in vm.devices:
            if device.group_key is not None:
                continue
            match device.backing:
                case VgpuBacking(profile=profile):
                    gpus[GpuAsk(1, profile=profile, policy=policy)] += 1
                case SriovBacking(network=network):
                    nics[NicAsk(1, kind="sriov", network=network, policy=policy)] += 1
                case StaticBacking() as backing:
                    static.append(str(backing.address))
                    self._count(self._static_ids(vm, backing), None, policy, gpus, nics, others)
                case DynamicBacking() as backing:
                    self._count(_dynamic_ids(backing), backing.label, policy, gpus, nics, others)
                case DvxBacking(device_class=name):
                    others.append(f"Enhanced DirectPath I/O device of class {name}")
                case UnknownBacking(type_name=name):
                    others.append(f"device of the unknown type {name}")
                case _:
                    pass
        return TodaysDevices(
            gpus=tuple(replace(ask, count=count) for ask, count in gpus.items()),
            nics=tuple(replace(ask, count=count) for ask, count in nics.items()),
            others=tuple(others),
            static=tuple(static),
        )

    def _count(
        self,
        ids: PciIds | None,
        label: str | None,
        policy: Policy,
        gpus: Counter[GpuAsk],
        nics: Counter[NicAsk],
        others: list[str],
    ) -> None:
        kind = self._kind(ids)
        if ids is not None and kind is DeviceKind.GPU:
            model = gpu_by_ids(ids)
            gpus[GpuAsk(1, model=model.name if model else str(ids), label=label, policy=policy)] += 1
        elif ids is not None and kind is DeviceKind.NIC:
            nics[NicAsk(1, model=nic_model_name(ids), label=label, policy=policy)] += 1
        else:
            others.append(f"passthrough device {ids or 'without ids'}")

    def _kind(self, ids: PciIds | None) -> DeviceKind | None:
        if ids is None:
            return None
        if gpu_by_ids(ids) is not None:
            return DeviceKind.GPU
        if nic_by_ids(ids) is not None:
            return DeviceKind.NIC
        return self.kinds.get((ids.vendor, ids.device))

    def _static_ids(self, vm: Vm, backing: StaticBacking) -> PciIds | None:
        """Return the ids the configuration names, else those of the card that is at the address now.

        After a card was moved another device may be there; a device id stored in decimal names nothing.
        """
        if self._kind(backing.ids) in (DeviceKind.GPU, DeviceKind.NIC):
            return backing.ids
        host = self.inventory.host_by_moid.get(vm.host) if vm.host else None
        device = host.device(backing.address) if host is not None else None
        return device.ids if device is not None else backing.ids


def _dynamic_ids(backing: DynamicBacking) -> PciIds | None:
    """Return the ids of the first allowed device: vplacer writes one, and people nearly always do."""
    if not backing.allowed:
        return None
    first = backing.allowed[0]
    return PciIds(first.vendor, first.device, first.sub_vendor, first.sub_device)


def difference_of(
    vm: Vm,
    today: TodaysDevices,
    cpus: int,
    memory_mib: int,
    gpus: tuple[GpuAsk, ...],
    nics: tuple[NicAsk, ...],
) -> str | None:
    """Return in what a VM differs from sizes and devices, the first found; None = in nothing."""
    if vm.cpus != cpus:
        return f"{vm.cpus} vCPUs instead of {cpus}"
    if vm.memory_mib != memory_mib:
        return f"{vm.memory_mib} MiB of memory instead of {memory_mib}"
    if not same_gpus(today.gpus, gpus):
        return "other GPUs"
    if not same_nics(today.nics, nics):
        return "other passthrough NICs"
    return None


def same_gpus(held: tuple[GpuAsk, ...], asked: tuple[GpuAsk, ...]) -> bool:
    """Whether the GPUs held are those asked for, apart from nearness and label."""
    kinds = [[(ask.count, (ask.profile, ask.group), ask.model) for ask in asks] for asks in (held, asked)]
    return _serve(*kinds)


def same_nics(held: tuple[NicAsk, ...], asked: tuple[NicAsk, ...]) -> bool:
    """Whether the NICs held are those asked for, apart from nearness, label and network."""
    kinds = [[(ask.count, (ask.kind, None), ask.model) for ask in asks] for asks in (held, asked)]
    return _serve(*kinds)


_Kind = tuple[int, tuple[str | None, str | None], str | None]


def _serve(held: Sequence[_Kind], asked: Sequence[_Kind]) -> bool:
    """Whether the devices held are just those asked for; an ask without a model takes any of its kind."""
    left: Counter[tuple[tuple[str | None, str | None], str | None]] = Counter()
    for count, kind, model in held:
        left[kind, model] += count
    for count, kind, model in sorted(asked, key=lambda ask: ask[2] is None):
        for _ in range(count):
            fitting = next(
                (key for key in left if left[key] and key[0] == kind and model in (None, key[1])), None
            )
            if fitting is None:
                return False
            left[fitting] -= 1
    return not left.total()
