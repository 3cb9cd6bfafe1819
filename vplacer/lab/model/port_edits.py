"""A plan's changes as the calls of a vCenter: what `LabPort` asks the state machine for."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.inventory.host import GroupComponent, Host
from vplacer.inventory.limits_table import FIRST_WITH_VNUMA
from vplacer.inventory.vm import (
    AllowedDevice,
    Backing,
    DvxBacking,
    DynamicBacking,
    SriovBacking,
    UnknownBacking,
    VgpuBacking,
    Vm,
    VmDevice,
)
from vplacer.lab.model.edit import DeviceEdit, GroupEdit, VmEdit
from vplacer.lab.model.faults import LabFault
from vplacer.plan.changes import Action, DeviceChange, DeviceValue, Field, GroupRef, Reconfigure, Scalar
from vplacer.plan.observed import device_text

_SHAPE = {
    Field.CPUS: "cpus",
    Field.CORES_PER_NUMA_NODE: "cores_per_numa_node",
    Field.VNUMA_ON_HOT_ADD: "vnuma_on_hot_add",
    Field.MEMORY_MIB: "memory_mib",
    Field.MEMORY_LOCKED_TO_MAX: "memory_locked_to_max",
    Field.MEMORY_RESERVED_MIB: "memory_reservation_mib",
    Field.MEMORY_LIMIT_MIB: "memory_limit_mib",
    Field.CPU_RESERVATION_MHZ: "cpu_reservation_mhz",
    Field.LATENCY_SENSITIVITY: "latency_sensitivity",
    Field.CPU_AFFINITY: "cpu_affinity",
}
_CLEARED: dict[Field, object] = {
    Field.CORES_PER_NUMA_NODE: 0,
    Field.VNUMA_ON_HOT_ADD: False,
    Field.MEMORY_LOCKED_TO_MAX: False,
    Field.MEMORY_RESERVED_MIB: 0,
    Field.MEMORY_LIMIT_MIB: -1,
    Field.CPU_RESERVATION_MHZ: 0,
    Field.LATENCY_SENSITIVITY: "normal",
    Field.CPU_AFFINITY: (),
}
"""What stands for "unset" in a call, where unset would be "unchanged"."""


def edit_of(vm: Vm, host: Host | None, change: Reconfigure, change_version: str | None) -> VmEdit:
    """Return the call that makes a change.

    Raises:
        LabFault: ``InvalidDeviceSpec``: a device to be removed or edited is not there.
    """
    values = {_name(item.field): _value(vm, item.field, item.after) for item in change.fields}
    devices, groups = _devices(vm, host, change)
    return VmEdit(
        change_version=change_version,
        extra_config=tuple((item.key, item.after or "") for item in change.extra_config),
        devices=devices,
        groups=groups,
        **values,  # type: ignore[arg-type]
    )


def _name(field: Field) -> str:
    return "cores_per_socket" if field is Field.CORES_PER_SOCKET else _SHAPE[field]


def _value(vm: Vm, field: Field, value: Scalar) -> object:
    if value is not None:
        return value
    if field is Field.CORES_PER_SOCKET:
        # Below version 20 there is no automatic value to go back to; 1 is the default.
        return 0 if (vm.hardware_version or FIRST_WITH_VNUMA) >= FIRST_WITH_VNUMA else 1
    return _CLEARED.get(field)


def _devices(
    vm: Vm, host: Host | None, change: Reconfigure
) -> tuple[tuple[DeviceEdit, ...], tuple[GroupEdit, ...]]:
    groups = {
        item.group: GroupEdit(-1 - place, item.group.name)
        for place, item in enumerate(change.groups)
        if item.action is Action.ADD
    }
    leaving = _leaving_groups(vm, change)
    edits: list[DeviceEdit] = []
    gone: set[int] = set()
    temporary = -1
    for item in change.devices:
        if item.action is Action.ADD and item.after is not None:
            edits.append(_added(item.after, temporary, groups, host))
            temporary -= 1
            continue
        device = _find(vm, item, gone, leaving)
        gone.add(device.key)
        if item.action is Action.REMOVE:
            edits.append(DeviceEdit(Action.REMOVE, device.key))
        elif item.after is not None:
            edits.append(DeviceEdit(Action.EDIT, device.key, numa_node=_told(item.after)))
    return tuple(edits), tuple(groups.values())


def _told(value: DeviceValue) -> int:
    return -1 if value.numa_node is None else value.numa_node


def _leaving_groups(vm: Vm, change: Reconfigure) -> dict[GroupRef, int]:
    """The keys of the groups that go; one without a key is the last of its name."""
    found: dict[GroupRef, int] = {}
    for item in change.groups:
        if item.action is not Action.REMOVE:
            continue
        keys = [group.key for group in vm.device_groups if group.name == item.group.name]
        keys = [key for key in keys if key not in found.values()]
        if item.key is not None:
            found[item.group] = item.key
        elif keys:
            found[item.group] = keys[-1]
    return found


def _find(vm: Vm, item: DeviceChange, gone: set[int], leaving: dict[GroupRef, int]) -> VmDevice:
    """Find a device by its key, else the first of that content that is not taken yet."""
    for device in vm.devices:
        if device.key in gone:
            continue
        if item.key is not None:
            if device.key == item.key:
                return device
        elif item.before is not None and _is(vm, device, item.before, leaving):
            return device
    raise LabFault("InvalidDeviceSpec", f"The VM has no device '{item.ref}'.", deviceIndex=0)


def _is(vm: Vm, device: VmDevice, value: DeviceValue, leaving: dict[GroupRef, int]) -> bool:
    if value.group is not None and device.group_key != leaving.get(value.group, device.group_key):
        return False
    if value.sequence is not None and device.group_sequence != value.sequence:
        return False
    name = next((group.name for group in vm.device_groups if group.key == device.group_key), "")
    group = GroupRef("", name) if device.group_key is not None else None
    mine = DeviceValue(device.backing, device.numa_node, group)
    return device_text(mine) == device_text(value)


def _added(value: DeviceValue, key: int, groups: dict[GroupRef, GroupEdit], host: Host | None) -> DeviceEdit:
    backing = value.backing
    if value.group is not None and isinstance(backing, UnknownBacking):
        backing = _from_template(value, host) or backing
    group = groups[value.group].key if value.group is not None and value.group in groups else None
    return DeviceEdit(Action.ADD, key, backing, value.numa_node, group, value.sequence)


def _from_template(value: DeviceValue, host: Host | None) -> Backing | None:
    """The content of a group's member that only the vendor's template on the host tells."""
    offered = (
        next((g for g in host.device_groups if value.group and g.name == value.group.name), None)
        if host
        else None
    )
    part = _part(offered.components, value.sequence) if offered is not None else None
    return None if part is None else _of_part(part)


def _part(components: Sequence[GroupComponent], sequence: int | None) -> GroupComponent | None:
    for position, part in enumerate(components):
        if (part.sequence_id if part.sequence_id is not None else position) == sequence:
            return part
    return None


def _of_part(part: GroupComponent) -> Backing | None:
    match part.kind:
        case "nvidiaVgpu" if part.profile is not None:
            return VgpuBacking(part.profile)
        case "pciPassthru":
            return DynamicBacking(
                tuple(AllowedDevice(i.vendor, i.device, i.sub_vendor, i.sub_device) for i in part.allowed)
            )
        case "sriovNic":
            return SriovBacking(None, None, None)
        case "dvx":
            return DvxBacking(part.device_name or "dvx")
        case _:
            return None
