"""One reconfigure task: everything it changes, as one ConfigSpec."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vplacer.errors import InternalError, InventoryIncomplete
from vplacer.inventory.vm import Vm
from vplacer.plan.changes import Action, DeviceValue, Reconfigure
from vplacer.vsphere.data_objects import copied, make
from vplacer.vsphere.encode_backings import HostSide, encode_device
from vplacer.vsphere.encode_fields import encode_extra_config, encode_fields
from vplacer.vsphere.encode_groups import encode_groups
from vplacer.vsphere.find_devices import find_devices
from vplacer.vsphere.raw import Data


@dataclass(frozen=True, slots=True)
class PresentVm:
    """A VM as it is now, and its devices as the server sent them, by key."""

    vm: Vm
    devices: Mapping[int, Data]


def encode_reconfigure(
    change: Reconfigure, present: PresentVm, host: HostSide, change_version: str | None
) -> Any:
    """Return the ConfigSpec of a change.

    Args:
        change: what is to be changed.
        present: the VM.
        host: what its host offers.
        change_version: as read just before; None = a mere check.

    Raises:
        StaleError, AmbiguousObjectError, InventoryIncomplete, InternalError: see `find_devices`,
            `encode_groups` and `encode_device`. Nothing was sent.
    """
    spec = make(
        "VirtualMachineConfigSpec",
        changeVersion=change_version,
        **encode_fields(change.fields, present.vm.hardware_version),
    )
    if change.extra_config:
        spec.extraConfig = encode_extra_config(change.extra_config)
    # One counter for devices and groups: every temporary key is told from every other.
    keys = itertools.count(-1, -1)
    added = _added(change, host, keys)
    groups, members = encode_groups(change, host, keys)
    device_changes = [*_removed_and_edited(change, present), *map(_add, [*added, *members])]
    if device_changes:
        spec.deviceChange = device_changes
    if groups:
        spec.deviceGroups = make("VirtualMachineVirtualDeviceGroups", deviceGroup=groups)
    return spec


def _removed_and_edited(change: Reconfigure, present: PresentVm) -> list[Any]:
    found = find_devices(change, present.vm)
    removed = [_going(present, key) for key in found.removed]
    edited = []
    for position, key in found.edited.items():
        after = change.devices[position].after
        if after is None:
            raise InternalError("the plan edits a device and does not say how", obj=present.vm.name)
        edited.append(_edited(_device(present, key), after))
    return [
        *(make("VirtualDeviceConfigSpec", operation="remove", device=device) for device in removed),
        *(make("VirtualDeviceConfigSpec", operation="edit", device=device) for device in edited),
    ]


def _going(present: PresentVm, key: int) -> Any:
    """Return a device that is removed: whole, as most clients send it; the key alone names it."""
    try:
        return _device(present, key)
    except InventoryIncomplete:
        return make("VirtualDevice", key=key)


def _device(present: PresentVm, key: int) -> Any:
    """Return a device of the VM as it is, whole: some servers take an edit for all there is to it."""
    return copied(present.devices[key], present.vm.name)


def _edited(device: Any, after: DeviceValue) -> Any:
    """Only the vNUMA node is ever edited: -1 clears it, unset would keep it (vSphere API)."""
    device.numaNode = -1 if after.numa_node is None else after.numa_node
    if hasattr(device.backing, "assignedId"):
        device.backing.assignedId = None  # the server's own, set while the VM runs
    device.deviceGroupInfo = None  # fixed once the device is added
    return device


def _added(change: Reconfigure, host: HostSide, keys: Iterator[int]) -> list[Any]:
    devices = []
    for item in change.devices:
        if item.action is not Action.ADD or item.after is None or item.after.group is not None:
            continue
        device = encode_device(item.after.backing, host)
        device.key = next(keys)
        device.numaNode = item.after.numa_node
        devices.append(device)
    return devices


def _add(device: Any) -> Any:
    return make("VirtualDeviceConfigSpec", operation="add", device=device)
