"""Vendor device groups: added whole, from the templates that the host's driver gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vplacer.errors import InventoryIncomplete, StaleError
from vplacer.inventory.vm import NetworkBacking, SriovBacking, UnknownBacking, VmDevice
from vplacer.plan.changes import Action, DeviceValue, GroupRef, Reconfigure
from vplacer.plan.observed import backing_text
from vplacer.vsphere.data_objects import copied, make
from vplacer.vsphere.encode_backings import HostSide, network_backing
from vplacer.vsphere.raw import Data, Notes
from vplacer.vsphere.read_vm_devices import read_vm_devices


def encode_groups(change: Reconfigure, host: HostSide, keys: Iterator[int]) -> tuple[list[Any], list[Any]]:
    """Return the groups that are added, and the devices of their members.

    Every member is a copy of the host's template with a key of its own, and names its group by the
    group's temporary negative key and its place by the template's sequence id (vSphere API:
    VirtualDeviceDeviceGroupInfo).

    Args:
        change: the change.
        host: with the templates of its groups, read just now.
        keys: unused negative keys.

    Raises:
        StaleError: the host offers the group no longer, or with other members.
        InventoryIncomplete: a member is of an unknown type, or needs a network that is not named.
    """
    groups: list[Any] = []
    devices: list[Any] = []
    for item in change.groups:
        if item.action is not Action.ADD:
            continue
        key = next(keys)
        groups.append(
            make(
                "VirtualMachineVirtualDeviceGroupsVendorDeviceGroup",
                groupInstanceKey=key,
                deviceGroupName=item.group.name,
            )
        )
        for sequence, template, value in _paired(change, item.group, host):
            device = _member(template, value, host)
            device.key = next(keys)
            device.deviceGroupInfo = make(
                "VirtualDeviceDeviceGroupInfo", groupInstanceKey=key, sequenceId=sequence
            )
            devices.append(device)
    return groups, devices


def _paired(change: Reconfigure, group: GroupRef, host: HostSide) -> list[tuple[int, Data, DeviceValue]]:
    """Pair the plan's members with the host's templates, by sequence id."""
    offered = host.groups.get(group.name)
    if offered is None:
        raise StaleError(
            f"the host no longer offers the device group {group.name}", obj=host.name, hint="make a new plan"
        )
    planned = [
        item.after
        for item in change.devices
        if item.action is Action.ADD and item.after is not None and item.after.group == group
    ]
    templates: dict[int, Data] = {}
    for position, component in enumerate(offered.items("componentDeviceInfo")):
        template = component.data("device")
        if template is None:
            raise InventoryIncomplete(
                f"the host gives no template for a member of {group.name}", obj=host.name
            )
        place = template.data("deviceGroupInfo")
        sequence = place.number("sequenceId") if place else None
        templates[position if sequence is None else sequence] = template
    by_sequence = {
        (position if value.sequence is None else value.sequence): value
        for position, value in enumerate(planned)
    }
    if set(by_sequence) != set(templates) or len(planned) != len(by_sequence):
        raise StaleError(
            f"the host offers the device group {group.name} with other members than the plan knew",
            obj=host.name,
            why=f"planned: {sorted(by_sequence)}; now: {sorted(templates)} (sequence ids)",
            hint="make a new plan",
        )
    return [(sequence, templates[sequence], by_sequence[sequence]) for sequence in templates]


def _member(template: Data, value: DeviceValue, host: HostSide) -> Any:
    offered = read_vm_devices([template], host.name, Notes())
    _check_same(offered[0] if offered else None, value, host)
    device = copied(template, host.name)
    if template.is_a("VirtualEthernetCard"):
        network = value.backing.network if isinstance(value.backing, SriovBacking | NetworkBacking) else None
        if network is not None or template.data("backing") is None:
            device.backing = network_backing(network, host)
    if value.numa_node is not None:
        device.numaNode = value.numa_node
    return device


def _check_same(offered: VmDevice | None, value: DeviceValue, host: HostSide) -> None:
    """What the plan knows of a member must be what the template has; a network is the plan's own choice."""
    if offered is None or isinstance(value.backing, UnknownBacking | SriovBacking | NetworkBacking):
        return
    planned, now = backing_text(value.backing), backing_text(offered.backing)
    if planned != now:
        raise StaleError(
            "a member of a device group is no longer what the plan knew",
            obj=host.name,
            why=f"planned: {planned}; now: {now}",
            hint="make a new plan",
        )
