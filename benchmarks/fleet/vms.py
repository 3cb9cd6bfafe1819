"""Running VMs of the fleet as the collector would give them, and what their hosts then show of the cards."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.fleet.families import GROUP
from benchmarks.fleet.running import Running
from vplacer.constraints.checks.pool_memory import vm_holds
from vplacer.inventory.host import ConnectionState, DeviceBinding, Host, PciDevice
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site_names import stable_uuid
from vplacer.inventory.site_vms import overhead_mib
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import (
    AllowedDevice,
    Backing,
    DynamicBacking,
    NetworkBacking,
    Ownership,
    StaticBacking,
    VgpuBacking,
    Vm,
    VmDevice,
    VmDeviceGroup,
    VmPower,
    VnumaConfig,
)

HARDWARE: Final = 21
_FIRST: Final = 100_001
_PCI_KEY: Final = 13_000
_LABELLED: Final = 0.4
"""Share of the bound GPU VMs whose cards are bound by label; those of the others are static."""
_RESERVED: Final = 0.4
"""Share of the CPU-only VMs whose memory is fully reserved."""

MOVABLE: Final = "fleet:movable"
"""Start of the tag of VMs that may move; the affinity mode that keeps them as they are follows."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How many of the running VMs float (no numa.nodeAffinity), and how many may move; of 1."""

    floating: float = 0.0
    movable: float = 0.0


def with_vms(inventory: Inventory, running: Sequence[Running], shares: Shares, seed: int) -> Inventory:
    """Return the inventory with running VMs, and hosts and pools as they then are."""
    chooser = random.Random(f"vms {seed}")
    cards = _Cards()
    network = VmDevice(4000, "Network adapter 1", NetworkBacking("vmxnet3", inventory.networks[0].moid))
    roots = {pool.owner: pool.moid for pool in inventory.pools}
    made: list[Vm] = []
    held: dict[str, list[DeviceBinding]] = {}
    shown: dict[tuple[str, PciAddress], list[str]] = {}
    for number, item in enumerate(running):
        host = inventory.hosts[item.host]
        moid = f"vm-{_FIRST + number}"
        backing = _Backing.choose(item, shares, chooser)
        devices = cards.devices(host, item, backing)
        for device, address in zip(devices, (*item.gpus, *item.nics), strict=True):
            instance = cards.instance(host, address)
            held.setdefault(host.moid, []).append(DeviceBinding(instance, moid, address, device.key))
            if isinstance(device.backing, VgpuBacking):
                shown.setdefault((host.moid, address), []).append(moid)
        made.append(_vm(moid, number, host, roots, item, backing, (*devices, network), chooser))
    hosts = tuple(_with_use(host, held.get(host.moid, []), shown) for host in inventory.hosts)
    used: dict[str, int] = {}
    for vm in made:
        used[vm.pool or ""] = used.get(vm.pool or "", 0) + vm_holds(vm)
    pools = tuple(
        replace(pool, memory_unreserved_mib=(pool.memory_unreserved_mib or 0) - used.get(pool.moid, 0))
        for pool in inventory.pools
    )
    return replace(inventory, hosts=hosts, pools=pools, vms=(*inventory.vms, *made))


@dataclass(frozen=True, slots=True)
class _Backing:
    """How a VM is bound. ``mode``: the affinity mode that leaves it as it is."""

    mode: str
    floating: bool
    movable: bool

    @staticmethod
    def choose(item: Running, shares: Shares, chooser: random.Random) -> _Backing:
        floating, labelled, movable = (chooser.random() for _ in range(3))
        floats = floating < shares.floating
        if floats:
            mode = "hint"
        elif item.flavour.profile is None and item.gpus and labelled < _LABELLED:
            mode = "label"
        else:
            mode = "pin"
        return _Backing(mode, floats, movable < shares.movable)


class _Cards:
    """Makes devices of VMs; backings that are alike are one object."""

    def __init__(self) -> None:
        self._by_host: dict[str, dict[PciAddress, PciDevice]] = {}

    def instance(self, host: Host, address: PciAddress) -> str:
        return stable_uuid("assigned", host.moid, str(address))

    def devices(self, host: Host, item: Running, backing: _Backing) -> tuple[VmDevice, ...]:
        """Return the passthrough and vGPU devices, in the order of the cards."""
        group = 1 if item.flavour.kind == "group" else None
        return tuple(
            VmDevice(
                _PCI_KEY + at,
                f"PCI device {at}",
                self._backing(host, address, item.flavour.profile, backing),
                group_key=group,
                group_sequence=at + 1 if group else None,
            )
            for at, address in enumerate((*item.gpus, *item.nics))
        )

    def _backing(self, host: Host, address: PciAddress, profile: str | None, how: _Backing) -> Backing:
        if profile is not None:
            return VgpuBacking(profile, True)
        device = self._device(host, address)
        if how.mode == "pin":
            return StaticBacking(
                address,
                f"{device.ids.device:04x}",
                device.ids.vendor,
                device.system_id or "",
                device.device_name,
            )
        assert device.passthrough is not None
        label = device.passthrough.label if how.mode == "label" else None
        allowed = (AllowedDevice(device.ids.vendor, device.ids.device),)
        return DynamicBacking(allowed, label, self.instance(host, address))

    def _device(self, host: Host, address: PciAddress) -> PciDevice:
        if host.moid not in self._by_host:
            self._by_host = {host.moid: {device.address: device for device in host.pci_devices}}
        return self._by_host[host.moid][address]


def _vm(
    moid: str,
    number: int,
    host: Host,
    roots: Mapping[str, str],
    item: Running,
    backing: _Backing,
    devices: tuple[VmDevice, ...],
    chooser: random.Random,
) -> Vm:
    flavour = item.flavour
    reserved = bool(item.gpus) or chooser.random() < _RESERVED
    nodes = ",".join(map(str, item.nodes))
    name = f"run-{number:05}"
    return Vm(
        moid=moid,
        name=name,
        instance_uuid=stable_uuid("fleet", "vm", name),
        datacenter=host.datacenter,
        folder="vm/running",
        host=host.moid,
        pool=roots[host.cluster or ""],
        power=VmPower.ON,
        connection=ConnectionState.CONNECTED,
        template=False,
        readable=True,
        hardware_version=HARDWARE,
        change_version="1",
        cpus=flavour.cpus,
        cores_per_socket=None,
        cores_per_socket_auto=True,
        simultaneous_threads=None,
        memory_mib=flavour.memory_mib,
        memory_reservation_mib=flavour.memory_mib if reserved else 0,
        memory_limit_mib=None,
        memory_locked_to_max=bool(item.gpus),
        cpu_reservation_mhz=0,
        overhead_mib=overhead_mib(flavour.cpus, flavour.memory_mib),
        latency_sensitivity="normal",
        cpu_hot_add=False,
        memory_hot_add=False,
        firmware="efi",
        guest_id="ubuntu64Guest",
        vnuma=VnumaConfig(None, True, False)
        if len(item.nodes) == 1
        else VnumaConfig(flavour.cpus // len(item.nodes), False, False),
        cpu_affinity=(),
        devices=devices,
        device_groups=(VmDeviceGroup(1, GROUP),) if flavour.kind == "group" else (),
        extra_config=() if backing.floating else (("numa.nodeAffinity", nodes),),
        datastores=host.datastores[:1],
        networks=host.networks[:1],
        snapshot_count=0,
        linked_clone=False,
        ownership=Ownership(),
        tags=(f"{MOVABLE}-{backing.mode}",) if backing.movable else (),
    )


def _with_use(
    host: Host, bindings: list[DeviceBinding], shown: Mapping[tuple[str, PciAddress], list[str]]
) -> Host:
    if not bindings:
        return host
    devices = tuple(
        replace(device, graphics=replace(device.graphics, vms=tuple(dict.fromkeys(vms))))
        if device.graphics is not None and (vms := shown.get((host.moid, device.address)))
        else device
        for device in host.pci_devices
    )
    return replace(host, pci_devices=devices, bindings=tuple(bindings))
