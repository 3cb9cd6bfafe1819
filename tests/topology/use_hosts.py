"""Builds hosts with claims on their devices, from a few words each.

A host is that of `tests.topology.hosts`, and besides:
    bindings: ["vm-1 17:00.0 13000", "vm-1 i-7=17:00.0", "vm-1 ?"]   # VM, [instance=]address, device key
    graphics: {"17:00.0": {mode: mixedSize, vms: [vm-1]}}            # type: sharedDirect
    states: {"17:00.0": enabled}                                     # none | capable | enabled, else active
    system_ids: {"17:00.0": abc}
VMs are a mapping from moid to {power: on, devices: [...], template: false, readable: true}; a device is
    static 17:00.0 [10de:20b7] [id=8375] [system=abc]    dynamic A30 [label=x] [assigned=text]
    vgpu nvidia_a30-6c    sriov 37:00.0    sriov ?    dvx    unknown TYPE
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.topology.hosts import address, make_host
from vplacer.inventory.gpu_models import gpu_by_ids, gpu_by_name
from vplacer.inventory.host import (
    ConnectionState,
    DeviceBinding,
    GpuMode,
    Graphics,
    Host,
    Passthrough,
    PciDevice,
)
from vplacer.inventory.pci import PciIds
from vplacer.inventory.vm import (
    AllowedDevice,
    Backing,
    DvxBacking,
    DynamicBacking,
    Ownership,
    SriovBacking,
    StaticBacking,
    UnknownBacking,
    VgpuBacking,
    Vm,
    VmDevice,
    VmPower,
    VnumaConfig,
)

FIRST_KEY = 13000
_NIC = PciIds(0x15B3, 0x101D)


def make_use_host(spec: Mapping[str, Any]) -> Host:
    """Build a host with what it says of the use of its devices."""
    host = make_host(spec)
    graphics = {address(k): v for k, v in spec.get("graphics", {}).items()}
    states = {address(k): str(v) for k, v in spec.get("states", {}).items()}
    systems = {address(k): str(v) for k, v in spec.get("system_ids", {}).items()}
    devices = []
    for device in host.pci_devices:
        card = graphics.get(device.address)
        state = "none" if card is not None else "active"
        state = states.get(device.address, state)
        devices.append(
            replace(
                device,
                graphics=None if card is None else _graphics(device, card),
                passthrough=_passthrough(device.passthrough, state),
                system_id=systems.get(device.address),
            )
        )
    bindings = tuple(_binding(line) for line in spec.get("bindings", ()))
    return replace(host, pci_devices=tuple(devices), bindings=bindings)


def _graphics(device: PciDevice, card: Mapping[str, Any]) -> Graphics:
    model = gpu_by_ids(device.ids)
    memory = model.memory_mib * 1024 if model is not None else None
    kind = card.get("type", "sharedDirect")
    return Graphics(kind, GpuMode(card.get("mode", "sameSize")), memory, tuple(card.get("vms", ())))


def _passthrough(had: Passthrough | None, state: str) -> Passthrough | None:
    if had is None:
        return None
    level = ("none", "capable", "enabled", "active").index(state)
    return replace(had, capable=level > 0, enabled=level > 1, active=level > 2)


def _binding(line: str) -> DeviceBinding:
    vm, what, *key = line.split()
    instance, _, at = what.rpartition("=")
    place = None if at == "?" else address(at)
    return DeviceBinding(instance or f"instance-of-{line}", vm, place, int(key[0]) if key else None)


def make_vms(spec: Mapping[str, Mapping[str, Any]], host: Host) -> tuple[Vm, ...]:
    """Build VMs registered on a host; each is named as its moid without the hyphen."""
    return tuple(_vm(moid, raw, host) for moid, raw in spec.items())


def _vm(moid: str, raw: Mapping[str, Any], host: Host) -> Vm:
    power = {"on": VmPower.ON, "off": VmPower.OFF, "suspended": VmPower.SUSPENDED}[raw.get("power", "on")]
    return Vm(
        moid=moid,
        name=moid.replace("-", ""),
        instance_uuid=None,
        datacenter=None,
        folder="",
        host=host.moid,
        pool=None,
        power=power,
        connection=ConnectionState.CONNECTED,
        template=bool(raw.get("template", False)),
        readable=bool(raw.get("readable", True)),
        hardware_version=21,
        change_version=None,
        cpus=2,
        cores_per_socket=None,
        cores_per_socket_auto=None,
        simultaneous_threads=None,
        memory_mib=1024,
        memory_reservation_mib=None,
        memory_limit_mib=None,
        memory_locked_to_max=None,
        cpu_reservation_mhz=None,
        overhead_mib=None,
        latency_sensitivity=None,
        cpu_hot_add=None,
        memory_hot_add=None,
        firmware=None,
        guest_id=None,
        vnuma=VnumaConfig(None, None, None),
        cpu_affinity=(),
        devices=tuple(
            VmDevice(FIRST_KEY + index, "", _backing(line, host))
            for index, line in enumerate(raw.get("devices", ()))
        ),
        device_groups=(),
        extra_config=(),
        datastores=(),
        networks=(),
        snapshot_count=0,
        linked_clone=None,
        ownership=Ownership(),
    )


def _backing(line: str, host: Host) -> Backing:
    kind, *words = line.split()
    plain = [word for word in words if "=" not in word]
    given = dict(word.split("=", 1) for word in words if "=" in word)
    match kind:
        case "static":
            at = address(plain[0])
            card = host.device(at)
            ids = card.ids if card is not None else PciIds(0x10DE, 0x20B7)
            if len(plain) > 1:
                ids = PciIds(*(int(part, 16) for part in plain[1].split(":")))
            device_id = given.get("id", f"{ids.device:04x}")
            return StaticBacking(at, device_id, ids.vendor, given.get("system", ""))
        case "dynamic":
            model = gpu_by_name(plain[0])
            ids = model.ids if model is not None else _NIC
            allowed = (AllowedDevice(ids.vendor, ids.device),)
            return DynamicBacking(allowed, given.get("label"), given.get("assigned"))
        case "vgpu":
            return VgpuBacking(plain[0])
        case "sriov":
            return SriovBacking(None if plain[0] == "?" else address(plain[0]), None, None)
        case "dvx":
            return DvxBacking("class")
    return UnknownBacking(plain[0])
