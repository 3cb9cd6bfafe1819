"""Devices of a VM: those of the inventory, and the plain ones that every VM has."""

from __future__ import annotations

from typing import Any

from pyVmomi import VmomiSupport, vim

from vplacer.inventory.pci import signed16
from vplacer.inventory.vm import (
    Backing,
    DvxBacking,
    DynamicBacking,
    NetworkBacking,
    SriovBacking,
    StaticBacking,
    UnknownBacking,
    VgpuBacking,
    Vm,
    VmDevice,
)
from vplacer.lab.soap.views.world import PORTGROUP_PREFIX, World

_DEVICE = vim.vm.device
_PASSTHROUGH = vim.vm.device.VirtualPCIPassthrough
_PCI_CONTROLLER = 100
_SCSI_CONTROLLER = 1000
_DISK = 2000
_DISK_KIB = 64 * 1024 * 1024
_FIRST_NIC_UNIT = 7
_FIRST_PCI_UNIT = 18

_CARDS: dict[str, Any] = {
    "vmxnet3": _DEVICE.VirtualVmxnet3,
    "vmxnet3vrdma": _DEVICE.VirtualVmxnet3Vrdma,
    "vmxnet2": _DEVICE.VirtualVmxnet2,
    "vmxnet": _DEVICE.VirtualVmxnet,
    "e1000": _DEVICE.VirtualE1000,
    "e1000e": _DEVICE.VirtualE1000e,
    "pcnet32": _DEVICE.VirtualPCNet32,
}


def devices(world: World, vm: Vm) -> list[Any]:
    """Return all devices of a VM."""
    own = [_device(world, device, vm) for device in vm.devices]
    return [*_plain(world, vm, [device.key for device in own]), *own]


def dynamic_backing(backing: DynamicBacking) -> Any:
    """Return ``VirtualPCIPassthroughDynamicBackingInfo``; the ids in it are unsigned."""
    return _PASSTHROUGH.DynamicBackingInfo(
        deviceName="",
        allowedDevice=[
            _PASSTHROUGH.AllowedDevice(
                vendorId=device.vendor,
                deviceId=device.device,
                subVendorId=device.sub_vendor,
                subDeviceId=device.sub_device,
            )
            for device in backing.allowed
        ],
        customLabel=backing.label,
        assignedId=backing.assigned_id,
    )


def _device(world: World, device: VmDevice, vm: Vm) -> Any:
    made = _of_backing(world, device.backing)
    made.key = device.key
    made.deviceInfo = vim.Description(label=device.label, summary=_summary(world, device.backing))
    made.controllerKey = _PCI_CONTROLLER
    made.unitNumber = _unit(device, vm)
    made.numaNode = device.numa_node
    if device.group_key is not None:
        made.deviceGroupInfo = _DEVICE.VirtualDevice.DeviceGroupInfo(
            groupInstanceKey=device.group_key, sequenceId=device.group_sequence or 0
        )
    return made


def _unit(device: VmDevice, vm: Vm) -> int:
    """Return the unit on the PCI controller: NICs from 7, other devices from 18, in order."""
    nic = isinstance(device.backing, NetworkBacking | SriovBacking)
    same = [d.key for d in vm.devices if isinstance(d.backing, NetworkBacking | SriovBacking) == nic]
    return (_FIRST_NIC_UNIT if nic else _FIRST_PCI_UNIT) + same.index(device.key)


def _summary(world: World, backing: Backing) -> str:
    if isinstance(backing, VgpuBacking):
        return f"NVIDIA GRID vGPU {backing.profile}"
    if isinstance(backing, NetworkBacking | SriovBacking):
        return world.network_name(backing.network) if backing.network else ""
    return ""


def _of_backing(world: World, backing: Backing) -> Any:
    if isinstance(backing, StaticBacking):
        return _PASSTHROUGH(
            backing=_PASSTHROUGH.DeviceBackingInfo(
                deviceName=backing.device_name,
                id=str(backing.address),
                deviceId=backing.device_id,
                systemId=backing.system_id,
                vendorId=signed16(backing.vendor_id),
            )
        )
    if isinstance(backing, DynamicBacking):
        return _PASSTHROUGH(backing=dynamic_backing(backing))
    if isinstance(backing, VgpuBacking):
        return _PASSTHROUGH(
            backing=_PASSTHROUGH.VmiopBackingInfo(vgpu=backing.profile, migrateSupported=backing.migratable)
        )
    if isinstance(backing, DvxBacking):
        params = [vim.option.OptionValue(key=key, value=value) for key, value in backing.params]
        return _PASSTHROUGH(
            backing=_PASSTHROUGH.DvxBackingInfo(deviceClass=backing.device_class, configParams=params)
        )
    if isinstance(backing, SriovBacking):
        return _sriov_card(world, backing)
    if isinstance(backing, NetworkBacking):
        card = _CARDS.get(backing.card.lower(), _DEVICE.VirtualVmxnet3)()
        card.backing = _network_backing(world, backing.network)
        return card
    return _unknown(backing)


def _sriov_card(world: World, backing: SriovBacking) -> Any:
    functions = {
        "physicalFunctionBacking": backing.physical_function,
        "virtualFunctionBacking": backing.virtual_function,
    }
    known = {
        name: _PASSTHROUGH.DeviceBackingInfo(
            deviceName="", id=str(address), deviceId="0", systemId="", vendorId=0
        )
        for name, address in functions.items()
        if address is not None
    }
    card = _DEVICE.VirtualSriovEthernetCard(
        sriovBacking=_DEVICE.VirtualSriovEthernetCard.SriovBackingInfo(**known)
    )
    card.backing = _network_backing(world, backing.network)
    return card


def _network_backing(world: World, network: str | None) -> Any:
    if network is None:
        return None
    if network.startswith(PORTGROUP_PREFIX):
        port = vim.dvs.PortConnection(switchUuid="", portgroupKey=network)
        return _DEVICE.VirtualEthernetCard.DistributedVirtualPortBackingInfo(port=port)
    return _DEVICE.VirtualEthernetCard.NetworkBackingInfo(
        deviceName=world.network_name(network), network=world.ref(network)
    )


def _unknown(backing: UnknownBacking) -> Any:
    """Return a device of the named type or with a backing of it.

    A type that the tables lack cannot be sent by them: the base of all plug-in backings stands for it.
    """
    try:
        kind: Any = VmomiSupport.GuessWsdlType(backing.type_name)
    except KeyError:
        kind = _PASSTHROUGH.PluginBackingInfo
    if issubclass(kind, _DEVICE.VirtualDevice):
        return kind()
    if issubclass(kind, _DEVICE.VirtualDevice.BackingInfo):
        return _PASSTHROUGH(backing=kind())
    return _PASSTHROUGH(backing=_PASSTHROUGH.PluginBackingInfo())


def _plain(world: World, vm: Vm, keys: list[int]) -> list[Any]:
    def named(made: Any, label: str) -> Any:
        made.deviceInfo = vim.Description(label=label, summary=label)
        return made

    pci = _DEVICE.VirtualPCIController(
        key=_PCI_CONTROLLER, busNumber=0, device=[500, 12000, _SCSI_CONTROLLER, *keys]
    )
    scsi = _DEVICE.ParaVirtualSCSIController(
        key=_SCSI_CONTROLLER,
        busNumber=0,
        sharedBus="noSharing",
        scsiCtlrUnitNumber=7,
        controllerKey=_PCI_CONTROLLER,
        unitNumber=3,
    )
    made = [
        named(pci, "PCI controller 0"),
        named(_DEVICE.VirtualVideoCard(key=500, controllerKey=_PCI_CONTROLLER, unitNumber=0), "Video card"),
        named(
            _DEVICE.VirtualVMCIDevice(key=12000, controllerKey=_PCI_CONTROLLER, unitNumber=17), "VMCI device"
        ),
        named(scsi, "SCSI controller 0"),
    ]
    disk = _disk(world, vm)
    if disk is not None:
        scsi.device = [_DISK]
        made.append(named(disk, "Hard disk 1"))
    return made


def _disk(world: World, vm: Vm) -> Any:
    """Return the disk, whose backing tells a linked clone by its parent; None where that is not known."""
    if vm.linked_clone is None:
        return None
    flat: Any = _DEVICE.VirtualDisk.FlatVer2BackingInfo
    first = vm.datastores[0] if vm.datastores else None
    where = f"[{world.datastore_name(first)}] " if first else ""
    backing = flat(
        fileName=f"{where}{vm.name}/{vm.name}.vmdk",
        datastore=world.ref(first),
        diskMode="persistent",
        thinProvisioned=True,
    )
    if vm.linked_clone:
        backing.parent = flat(fileName=f"{where}base/base.vmdk", diskMode="persistent")
    return _DEVICE.VirtualDisk(
        key=_DISK, controllerKey=_SCSI_CONTROLLER, unitNumber=0, capacityInKB=_DISK_KIB, backing=backing
    )
