"""The devices of a VM that placement is about: passthrough, vGPU, NICs; what is unknown is kept by name."""

from __future__ import annotations

from typing import Final

from vplacer.inventory.pci import unsigned16
from vplacer.inventory.vm import (
    AllowedDevice,
    Backing,
    DvxBacking,
    DynamicBacking,
    NetworkBacking,
    SriovBacking,
    StaticBacking,
    UnknownBacking,
    VgpuBacking,
    VmDevice,
)
from vplacer.vsphere.raw import Data, Notes
from vplacer.vsphere.read_address import read_address

_PASSTHROUGH: Final = "VirtualPCIPassthrough"
_AUTOMATIC: Final = "Automatic-"

# Devices that no placement depends on. All others that are not read below are kept as unknown.
_IGNORED: Final = (
    "VirtualCdrom",
    "VirtualController",
    "VirtualDisk",
    "VirtualFloppy",
    "VirtualKeyboard",
    "VirtualMachineVMCIDevice",
    "VirtualMachineVMIROM",
    "VirtualMachineVideoCard",
    "VirtualNVDIMM",
    "VirtualParallelPort",
    "VirtualPointingDevice",
    "VirtualPrecisionClock",
    "VirtualSCSIPassthrough",
    "VirtualSerialPort",
    "VirtualSoundCard",
    "VirtualTPM",
    "VirtualUSB",
    "VirtualWDT",
)


def read_vm_devices(devices: list[Data], vm_name: str, notes: Notes) -> tuple[VmDevice, ...]:
    """Return the devices that matter, ordered by key.

    Args:
        devices: config.hardware.device.
        vm_name: for notes.
        notes: told of types that are not known.
    """
    found = []
    for device in devices:
        backing = _backing(device, vm_name, notes)
        if backing is None:
            continue
        group = device.data("deviceGroupInfo")
        info = device.data("deviceInfo")
        found.append(
            VmDevice(
                key=device.number("key") or 0,
                label=info.text("label") or "" if info else "",
                backing=backing,
                numa_node=device.number("numaNode"),
                group_key=group.number("groupInstanceKey") if group else None,
                group_sequence=group.number("sequenceId") if group else None,
            )
        )
    return tuple(sorted(found, key=lambda device: device.key))


def _backing(device: Data, vm_name: str, notes: Notes) -> Backing | None:
    """Return what is behind a device; None for a device that does not matter."""
    if device.is_a("VirtualSriovEthernetCard"):
        return _sriov(device, vm_name, notes)
    if device.is_a("VirtualEthernetCard"):
        return NetworkBacking(device.type.removeprefix("Virtual").lower(), _network(device.data("backing")))
    if device.is_a(_PASSTHROUGH):
        return _passthrough(device.data("backing"), vm_name, notes)
    if any(device.is_a(kind) for kind in _IGNORED):
        return None
    return _unknown(device.type, vm_name, notes)


def _unknown(type_name: str, vm_name: str, notes: Notes) -> UnknownBacking:
    notes.add(f"{vm_name}: a device of type {type_name} is not known; it is kept as it is")
    return UnknownBacking(type_name)


def _passthrough(backing: Data | None, vm_name: str, notes: Notes) -> Backing:
    if backing is None:
        return _unknown(f"{_PASSTHROUGH} without backing", vm_name, notes)
    if backing.is_a("VirtualPCIPassthroughVmiopBackingInfo"):
        return VgpuBacking(backing.text("vgpu") or "", backing.flag("migrateSupported"))
    if backing.is_a("VirtualPCIPassthroughDynamicBackingInfo"):
        return DynamicBacking(
            allowed=tuple(_allowed(item) for item in backing.items("allowedDevice")),
            label=backing.text("customLabel") or None,
            assigned_id=backing.text("assignedId") or None,
        )
    if backing.is_a("VirtualPCIPassthroughDvxBackingInfo"):
        params = [
            (key, str(item.get("value")))
            for item in backing.items("configParams")
            if (key := item.text("key"))
        ]
        return DvxBacking(backing.text("deviceClass") or "", tuple(sorted(params)))
    if backing.is_a("VirtualPCIPassthroughDeviceBackingInfo"):
        address = read_address(backing.text("id"), notes, f"{vm_name} passthrough backing")
        if address is not None:
            return StaticBacking(
                address=address,
                device_id=backing.text("deviceId") or "",
                vendor_id=unsigned16(backing.number("vendorId") or 0),
                system_id=backing.text("systemId") or "",
                device_name=backing.text("deviceName") or "",
            )
    return _unknown(backing.type, vm_name, notes)


def _allowed(item: Data) -> AllowedDevice:
    sub_vendor, sub_device = item.number("subVendorId"), item.number("subDeviceId")
    return AllowedDevice(
        vendor=unsigned16(item.number("vendorId") or 0),
        device=unsigned16(item.number("deviceId") or 0),
        sub_vendor=None if sub_vendor is None else unsigned16(sub_vendor),
        sub_device=None if sub_device is None else unsigned16(sub_device),
    )


def _sriov(device: Data, vm_name: str, notes: Notes) -> Backing:
    """A physical function written "Automatic-..." is the platform's choice (vSphere API)."""
    dvx = device.data("dvxBackingInfo")
    if dvx is not None:
        return _passthrough(dvx, vm_name, notes)
    sriov = device.data("sriovBacking")
    physical = sriov.data("physicalFunctionBacking") if sriov else None
    virtual = sriov.data("virtualFunctionBacking") if sriov else None
    where = f"{vm_name} SR-IOV backing"
    name = physical.text("id") if physical else None
    if name is not None and name.startswith(_AUTOMATIC):
        name = None
    return SriovBacking(
        physical_function=read_address(name, notes, where),
        virtual_function=read_address(virtual.text("id"), notes, where) if virtual else None,
        network=_network(device.data("backing")),
    )


def _network(backing: Data | None) -> str | None:
    """Return the network's moid; a distributed port group's key is its moid."""
    if backing is None:
        return None
    network = backing.ref("network")
    if network is not None:
        return network.moid
    port = backing.data("port")
    return port.text("portgroupKey") or None if port else None


def is_linked_clone(devices: list[Data]) -> bool:
    """Whether a disk rests on a file in another folder.

    A snapshot's file lies beside the file it rests on; a linked clone's first one rests on a file of
    the VM it was cloned from.
    """
    for device in devices:
        layer = device.data("backing") if device.is_a("VirtualDisk") else None
        while layer is not None:
            below = layer.data("parent")
            if below is not None and _folder(below) != _folder(layer):
                return True
            layer = below
    return False


def _folder(layer: Data) -> str:
    return (layer.text("fileName") or "").rpartition("/")[0]
