"""VirtualDeviceConfigSpec: devices added, edited and removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from pyVmomi import vim

from vplacer.inventory.pci import PciAddress, unsigned16
from vplacer.inventory.vm import (
    AllowedDevice,
    Backing,
    DvxBacking,
    DynamicBacking,
    NetworkBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
    Vm,
    VmDevice,
)
from vplacer.lab.model.edit import DeviceEdit
from vplacer.lab.soap.decode.members import invalid_argument, moid_or_none, not_supported, refuse_others
from vplacer.lab.soap.wire import typetable
from vplacer.plan.changes import Action

_DEVICE = vim.vm.device
_PASSTHROUGH = vim.vm.device.VirtualPCIPassthrough
_AUTOMATIC_FUNCTION = "Automatic-0000:00:00.0"
"""The physical function's id where vSphere is to choose one (vSphere API: SriovBackingInfo)."""
_IGNORED = frozenset({"deviceInfo", "connectable", "slotInfo", "controllerKey", "unitNumber"})
"""What says where a device sits on the VM's buses: the lab gives out the places itself."""
_CARD_IGNORED = _IGNORED | {"addressType", "wakeOnLanEnabled", "uptCompatibilityEnabled", "externalId"}

NetworkNamed = Callable[[str], str | None]
"""Finds a network's id by its name."""


def device_edits(changes: Iterable[Any], vm: Vm, network_named: NetworkNamed) -> tuple[DeviceEdit, ...]:
    """Return the device changes of a ConfigSpec.

    Raises:
        vmodl.fault.NotSupported: a kind of device or a member that the lab does not understand.
        vmodl.fault.InvalidArgument: a change without operation.
    """
    have = {device.key: device for device in vm.devices}
    return tuple(_edit(change, have, network_named) for change in changes)


def _edit(change: Any, have: dict[int, VmDevice], network_named: NetworkNamed) -> DeviceEdit:
    refuse_others(change, ("operation", "fileOperation", "device"))
    if change.operation is None:
        raise invalid_argument("deviceChange.operation", "unset")
    action = Action(change.operation)
    device = change.device
    present = have.get(device.key)
    if action is not Action.ADD and present is None and not _is_known(type(device)):
        # Disks and controllers are made for reading only; of them no client may change anything.
        raise not_supported(f"{action} of a {typetable.wire_name(type(device))}")
    if action is Action.REMOVE:
        return DeviceEdit(action, device.key)
    backing = backing_of(device, network_named)
    group = device.deviceGroupInfo
    if action is Action.EDIT:
        node = device.numaNode
        same_node = present is not None and node == present.numa_node
        return DeviceEdit(
            action,
            device.key,
            backing=None if present is None or _same(backing, present.backing) else backing,
            numa_node=None if same_node else node,
        )
    return DeviceEdit(
        action,
        device.key,
        backing=backing,
        numa_node=device.numaNode,
        group_key=None if group is None else group.groupInstanceKey,
        group_sequence=None if group is None else group.sequenceId,
        mac=getattr(device, "macAddress", None),
    )


def _same(asked: Backing | None, present: Backing) -> bool:
    """Whether an edit leaves the backing as it is; what the server alone sets does not count."""
    if isinstance(asked, DynamicBacking) and isinstance(present, DynamicBacking):
        return replace(asked, assigned_id=None) == replace(present, assigned_id=None)
    if isinstance(asked, VgpuBacking) and isinstance(present, VgpuBacking):
        return asked.profile == present.profile
    return asked is None or asked == present


def _is_known(kind: Any) -> bool:
    return issubclass(kind, (_PASSTHROUGH, _DEVICE.VirtualEthernetCard))


def backing_of(device: Any, network_named: NetworkNamed) -> Backing | None:
    """Return what backs a device; None = it has no backing.

    Raises:
        vmodl.fault.NotSupported: a kind of device, of backing, or a member that the lab does not know.
    """
    if isinstance(device, _PASSTHROUGH):
        refuse_others(device, {"key", "backing", "numaNode", "deviceGroupInfo"} | _IGNORED)
        return _passthrough(device.backing)
    if not isinstance(device, _DEVICE.VirtualEthernetCard):
        raise not_supported(f"devices of type {typetable.wire_name(type(device))}")
    known = {"key", "backing", "numaNode", "deviceGroupInfo", "macAddress"} | _CARD_IGNORED
    if isinstance(device, _DEVICE.VirtualSriovEthernetCard):
        refuse_others(device, known | {"sriovBacking", "allowGuestOSMtuChange"})
        return _sriov(device, network_named)
    refuse_others(device, known)
    card = typetable.wire_name(type(device)).removeprefix("Virtual").lower()
    return NetworkBacking(card, _network(device.backing, network_named))


def _passthrough(backing: Any) -> Backing | None:
    if backing is None:
        return None
    if isinstance(backing, _PASSTHROUGH.DynamicBackingInfo):
        refuse_others(backing, ("deviceName", "allowedDevice", "customLabel", "assignedId", "useAutoDetect"))
        allowed = tuple(
            AllowedDevice(item.vendorId, item.deviceId, item.subVendorId, item.subDeviceId)
            for item in backing.allowedDevice
        )
        return DynamicBacking(allowed, backing.customLabel or None, backing.assignedId)
    if isinstance(backing, _PASSTHROUGH.DeviceBackingInfo):
        refuse_others(backing, ("deviceName", "id", "deviceId", "systemId", "vendorId", "useAutoDetect"))
        return StaticBacking(
            _address(backing.id),
            backing.deviceId,
            unsigned16(backing.vendorId),
            backing.systemId,
            backing.deviceName,
        )
    if isinstance(backing, _PASSTHROUGH.VmiopBackingInfo):
        refuse_others(
            backing, ("vgpu", "migrateSupported", "vgpuMigrateDataSizeMB", "enhancedMigrateCapability")
        )
        return VgpuBacking(backing.vgpu or "", backing.migrateSupported)
    if isinstance(backing, _PASSTHROUGH.DvxBackingInfo):
        refuse_others(backing, ("deviceClass", "configParams"))
        params = tuple((item.key, str(item.value)) for item in backing.configParams)
        return DvxBacking(backing.deviceClass or "", params)
    raise not_supported(f"backings of type {typetable.wire_name(type(backing))}")


def _address(text: str) -> PciAddress:
    try:
        return PciAddress.parse(text)
    except ValueError as error:
        raise invalid_argument("deviceChange.device.backing.id", f"{text!r} is no PCI address") from error


def _sriov(device: Any, network_named: NetworkNamed) -> SriovBacking:
    functions: dict[str, PciAddress | None] = {}
    for name in ("physicalFunctionBacking", "virtualFunctionBacking"):
        told: Any = getattr(device.sriovBacking, name) if device.sriovBacking else None
        known = told is not None and told.id and told.id != _AUTOMATIC_FUNCTION
        functions[name] = _address(told.id) if known else None
    return SriovBacking(
        functions["physicalFunctionBacking"],
        functions["virtualFunctionBacking"],
        _network(device.backing, network_named),
    )


def _network(backing: Any, network_named: NetworkNamed) -> str | None:
    if backing is None:
        return None
    card = _DEVICE.VirtualEthernetCard
    if isinstance(backing, card.DistributedVirtualPortBackingInfo):
        return str(backing.port.portgroupKey) if backing.port and backing.port.portgroupKey else None
    if isinstance(backing, card.NetworkBackingInfo):
        return moid_or_none(backing.network) or network_named(backing.deviceName)
    raise not_supported(f"backings of type {typetable.wire_name(type(backing))}")
