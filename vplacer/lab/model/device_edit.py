"""Device changes of a reconfigure call: keys, power state, hardware version, device groups whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from vplacer.inventory.host import DeviceGroupType, GroupComponent, Host
from vplacer.inventory.limits_table import FIRST_WITH_DYNAMIC, FIRST_WITH_VNUMA
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
    VmDeviceGroup,
    VmPower,
)
from vplacer.lab.model.edit import DeviceEdit, GroupEdit, VmEdit
from vplacer.lab.model.faults import LabFault, invalid_argument, invalid_device, invalid_power_state
from vplacer.plan.changes import Action

_FIRST_PCI: Final = 13000
_FIRST_NIC: Final = 4000


@dataclass(frozen=True, slots=True)
class EditedDevices:
    """The devices after a call. ``added``: the keys given, in the order of the call's additions."""

    devices: tuple[VmDevice, ...]
    groups: tuple[VmDeviceGroup, ...]
    added: tuple[tuple[int, DeviceEdit], ...]
    removed: tuple[VmDevice, ...]


def device_faults(vm: Vm, host: Host | None, edit: VmEdit, *, hot_plug: bool) -> Iterator[LabFault]:
    """Yield what a server says against the device changes of a call. ``hot_plug``: of static devices."""
    if not edit.devices and not edit.groups:
        return
    added = Counter(item.key for item in edit.devices if item.action is Action.ADD)
    have = {device.key: device for device in vm.devices}
    for index, item in enumerate(edit.devices):
        if item.action is Action.ADD:
            if added[item.key] > 1 or item.key in have:
                text = f"multiple devices using the same device key {item.key}"
                yield invalid_device(index, text)
            yield from _addition_faults(vm, index, item, edit)
        elif item.key not in have:
            yield invalid_device(index, f"the VM has no device with key {item.key}")
            continue
        yield from _state_faults(vm, index, item, have.get(item.key), hot_plug=hot_plug)
        yield from _version_faults(vm, index, item)
    yield from _broken_groups(vm, edit)
    yield from _new_group_faults(vm, host, edit)


def edited_devices(vm: Vm, edit: VmEdit) -> EditedDevices:
    """Carry out changes that have no faults. Keys of removed devices are given again."""
    gone = {item.key for item in edit.devices if item.action is Action.REMOVE}
    removed = tuple(device for device in vm.devices if device.key in gone)
    devices = {device.key: device for device in vm.devices if device.key not in gone}
    used_groups = {device.group_key for device in devices.values() if device.group_key is not None}
    groups = [group for group in vm.device_groups if group.key in used_groups]
    keys: dict[int, int] = {}
    for group in edit.groups:
        if group.key < 0:
            keys[group.key] = _free(1, {item.key for item in groups})
            groups.append(VmDeviceGroup(keys[group.key], group.name))
    added = []
    for item in edit.devices:
        if item.action is Action.EDIT:
            devices[item.key] = _edited(devices[item.key], item)
        elif item.action is Action.ADD and item.backing is not None:
            first = _FIRST_NIC if is_nic(item.backing) else _FIRST_PCI
            key = _free(first, devices)
            label = (
                f"Network adapter {key - first + 1}" if first == _FIRST_NIC else f"PCI device {key - first}"
            )
            group_key = keys.get(item.group_key) if item.group_key is not None else None
            node = item.numa_node
            devices[key] = VmDevice(key, label, _stored(item.backing), node, group_key, item.group_sequence)
            added.append((key, item))
    return EditedDevices(tuple(devices.values()), tuple(groups), tuple(added), removed)


def is_nic(backing: Backing) -> bool:
    """Whether a device is a network card to the guest."""
    return isinstance(backing, NetworkBacking | SriovBacking)


def is_passthrough(backing: Backing) -> bool:
    """Whether a device gives the VM hardware of its host: it then needs all memory reserved."""
    return not isinstance(backing, NetworkBacking | UnknownBacking)


def _stored(backing: Backing) -> Backing:
    """A backing as the server stores it: the card it may be given later is not the client's to say."""
    return replace(backing, assigned_id=None) if isinstance(backing, DynamicBacking) else backing


def _edited(device: VmDevice, item: DeviceEdit) -> VmDevice:
    backing = device.backing if item.backing is None else _stored(item.backing)
    node = device.numa_node if item.numa_node is None else item.numa_node
    return replace(device, backing=backing, numa_node=node)


def _free(first: int, used: object) -> int:
    key = first
    while key in used:  # type: ignore[operator]
        key += 1
    return key


def _addition_faults(vm: Vm, index: int, item: DeviceEdit, edit: VmEdit) -> Iterator[LabFault]:
    match item.backing:
        case None:
            yield invalid_device(index, "it has no backing", "InvalidDeviceBacking")
        case DynamicBacking(allowed=()):
            yield invalid_device(index, "no device is allowed", "InvalidDeviceBacking")
        case VgpuBacking(profile=""):
            yield invalid_device(index, "the vGPU has no profile", "InvalidDeviceBacking")
        case DvxBacking(device_class=""):
            yield invalid_device(index, "the device class is empty", "InvalidDeviceBacking")
        case StaticBacking() if vm.snapshot_count > 0:
            yield invalid_device(index, "the VM has snapshots", "DeviceNotSupported")
    if item.group_key is None:
        return
    if item.group_key not in {group.key for group in edit.groups if group.key < 0}:
        yield invalid_device(index, f"the call adds no device group with key {item.group_key}")


def _state_faults(
    vm: Vm, index: int, item: DeviceEdit, device: VmDevice | None, *, hot_plug: bool
) -> Iterator[LabFault]:
    """Only ordinary NICs, and static devices where that was prepared for, come and go while a VM runs."""
    if vm.power is VmPower.OFF:
        return
    backing = item.backing if item.action is Action.ADD else (device.backing if device else None)
    if vm.power is VmPower.SUSPENDED:
        yield invalid_power_state(vm.power, VmPower.OFF, "A device")
    elif item.action is Action.EDIT:
        if item.numa_node is not None and device is not None and item.numa_node != device.numa_node:
            yield invalid_power_state(vm.power, VmPower.OFF, "The NUMA node of a device")
        elif device is not None and is_passthrough(device.backing) and _is_replaced(device, item):
            yield invalid_power_state(vm.power, VmPower.OFF, "A passthrough device")
    elif backing is not None and is_passthrough(backing) and not (hot_plug and _is_static(backing)):
        text = "hot-plug is not supported for this device"
        yield invalid_device(index, text, "DeviceHotPlugNotSupported")


def _is_replaced(device: VmDevice, item: DeviceEdit) -> bool:
    return item.backing is not None and _stored(item.backing) != _stored(device.backing)


def _is_static(backing: Backing) -> bool:
    return isinstance(backing, StaticBacking)


def _version_faults(vm: Vm, index: int, item: DeviceEdit) -> Iterator[LabFault]:
    needed = 0
    if item.action is not Action.REMOVE and isinstance(item.backing, DynamicBacking):
        needed = FIRST_WITH_DYNAMIC
    tells_node = item.numa_node is not None and item.numa_node >= 0
    if item.action is not Action.REMOVE and (tells_node or item.group_key is not None):
        needed = FIRST_WITH_VNUMA
    if vm.hardware_version is not None and vm.hardware_version < needed:
        have = f"vmx-{vm.hardware_version}"
        yield LabFault(
            "DeviceUnsupportedForVmVersion",
            f"Device '{index}' is not supported by hardware version {have}: it needs vmx-{needed}.",
            deviceIndex=index,
            property="deviceChange",
            currentVersion=have,
            expectedVersion=f"vmx-{needed}",
        )


def _broken_groups(vm: Vm, edit: VmEdit) -> Iterator[LabFault]:
    """A group's members come and go together; membership is never edited (vSphere API: DeviceGroupInfo)."""
    gone = {item.key for item in edit.devices if item.action is Action.REMOVE}
    for group in vm.device_groups:
        members = {device.key for device in vm.devices if device.group_key == group.key}
        if gone & members and not members <= gone:
            index = next(i for i, item in enumerate(edit.devices) if item.key in members)
            left = ", ".join(str(key) for key in sorted(members - gone))
            text = f"it is part of device group {group.key} ({group.name}); devices {left} stay"
            yield invalid_device(index, text)
    for index, item in enumerate(edit.devices):
        if item.action is Action.EDIT and item.group_key is not None:
            device = next((d for d in vm.devices if d.key == item.key), None)
            if device is not None and device.group_key != item.group_key:
                yield invalid_device(index, "a device cannot change its device group")


def _new_group_faults(vm: Vm, host: Host | None, edit: VmEdit) -> Iterator[LabFault]:
    keys = Counter(group.key for group in edit.groups)
    have = {group.key: group.name for group in vm.device_groups}
    for group in edit.groups:
        if group.key >= 0:
            if have.get(group.key) != group.name:
                yield invalid_argument("deviceGroups", f"the VM has no group {group.key} '{group.name}'")
            continue
        if keys[group.key] > 1:
            yield invalid_argument("deviceGroups", f"two groups have the key {group.key}")
            continue
        if vm.power is not VmPower.OFF:
            yield invalid_power_state(vm.power, VmPower.OFF, "A device group")
        if vm.hardware_version is not None and vm.hardware_version < FIRST_WITH_VNUMA:
            yield LabFault(
                "DeviceUnsupportedForVmVersion",
                f"Device groups need hardware version vmx-{FIRST_WITH_VNUMA}.",
                currentVersion=f"vmx-{vm.hardware_version}",
                expectedVersion=f"vmx-{FIRST_WITH_VNUMA}",
            )
        offered = next((g for g in host.device_groups if g.name == group.name), None) if host else None
        if offered is None:
            yield invalid_argument("deviceGroups", f"the host offers no device group '{group.name}'")
            continue
        yield from _member_faults(offered, group, edit.devices)


def _member_faults(
    offered: DeviceGroupType, group: GroupEdit, devices: Sequence[DeviceEdit]
) -> Iterator[LabFault]:
    """The members are those of the vendor's template, told apart by its sequence ids."""
    wanted = {
        part.sequence_id if part.sequence_id is not None else position: part
        for position, part in enumerate(offered.components)
    }
    seen: set[int] = set()
    for index, item in enumerate(devices):
        if item.action is not Action.ADD or item.group_key != group.key:
            continue
        part = wanted.get(item.group_sequence) if item.group_sequence is not None else None
        if part is None or item.group_sequence in seen:
            text = f"device group '{group.name}' has no member of sequence id {item.group_sequence} left"
            yield invalid_device(index, text)
        elif item.backing is not None and not serves_part(item.backing, part):
            yield invalid_device(index, f"it is not what '{group.name}' has at {item.group_sequence}")
        if item.group_sequence is not None:
            seen.add(item.group_sequence)
    missing = sorted(set(wanted) - seen)
    if missing:
        text = f"'{group.name}' is incomplete: members {', '.join(map(str, missing))} are missing"
        yield invalid_argument("deviceGroups", text)


def serves_part(backing: Backing, part: GroupComponent) -> bool:
    """Whether a device is of the kind that a member of a group is."""
    match part.kind:
        case "nvidiaVgpu":
            return isinstance(backing, VgpuBacking) and backing.profile == (part.profile or backing.profile)
        case "pciPassthru":
            return isinstance(backing, DynamicBacking | StaticBacking)
        case "sriovNic":
            return isinstance(backing, SriovBacking)
        case "dvx":
            return isinstance(backing, DvxBacking | SriovBacking)
        case _:
            return True
