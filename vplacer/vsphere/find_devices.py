"""Which devices and groups of a VM a change means: by key, or by content where it has none yet.

A key is used again after its device was removed, so that content is compared for every device.

Devices alike in all that is known of them are one as good as the other, and of more than are meant the newest
go: those with the highest keys. Network cards are not alike: each has an address of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from vplacer.errors import AmbiguousObjectError, InternalError, StaleError
from vplacer.inventory.vm import (
    Backing,
    DvxBacking,
    DynamicBacking,
    StaticBacking,
    VgpuBacking,
    Vm,
    VmDevice,
    VmDeviceGroup,
)
from vplacer.plan.changes import Action, DeviceChange, GroupChange, Reconfigure
from vplacer.plan.device_match import device_value
from vplacer.plan.observed import device_text


@dataclass(frozen=True, slots=True)
class Found:
    """Keys of devices to be removed, in order, and of those to be edited, by the change's position."""

    removed: tuple[int, ...]
    edited: Mapping[int, int]


def find_devices(change: Reconfigure, vm: Vm) -> Found:
    """Find the devices that a change removes or edits.

    Args:
        change: the change.
        vm: as it is now.

    Raises:
        StaleError: a device or group is not there, is another one, or has other members than planned.
        AmbiguousObjectError: several network cards fit, or groups with such, and not all are meant.
        InternalError: the change takes a device out of a group that stays.
    """
    groups = _find_groups(change.groups, vm)
    finder = _Finder(vm)
    removed: list[int] = []
    for item, group in zip(_removed_groups(change.groups), groups, strict=True):
        removed += _members(change, item, group, vm)
    finder.taken.update(removed)
    loose: list[tuple[int, DeviceChange]] = []
    for position, device in enumerate(change.devices):
        before = device.before
        if device.action is Action.ADD or before is None:
            continue
        if device.action is Action.REMOVE and before.group is not None:
            if not any(item.group == before.group for item in _removed_groups(change.groups)):
                raise InternalError(
                    f"the plan takes {device.ref} out of device group {before.group.name}, which stays",
                    obj=vm.name,
                )
            continue
        loose.append((position, device))
    keys = finder.find(loose)
    for position, device in loose:
        if device.action is Action.REMOVE:
            removed.append(keys[position])
    edited = {position: keys[position] for position, device in loose if device.action is Action.EDIT}
    return Found(tuple(removed), edited)


def _removed_groups(changes: Iterable[GroupChange]) -> list[GroupChange]:
    return [item for item in changes if item.action is Action.REMOVE]


class _Finder:
    """Hands each change a device of its own; those with keys choose first."""

    def __init__(self, vm: Vm) -> None:
        self._vm = vm
        self._text = {device.key: device_text(device_value(vm, device)) for device in vm.devices}
        self._backings = {device.key: device.backing for device in vm.devices}
        self.taken: set[int] = set()

    def find(self, changes: list[tuple[int, DeviceChange]]) -> dict[int, int]:
        found: dict[int, int] = {}
        by_content: dict[str, list[int]] = {}
        for position, change in changes:
            assert change.before is not None
            wanted = device_text(change.before)
            if change.key is None:
                by_content.setdefault(wanted, []).append(position)
                continue
            self._check(change.key, wanted)
            self.taken.add(change.key)
            found[position] = change.key
        for wanted, positions in by_content.items():
            keys = [
                key for key, text in sorted(self._text.items()) if text == wanted and key not in self.taken
            ]
            keys = self._newest(wanted, keys, len(positions))
            found.update(zip(positions, keys, strict=True))
            self.taken.update(keys)
        return found

    def _check(self, key: int, wanted: str) -> None:
        present = self._text.get(key)
        if present != wanted or key in self.taken:
            raise StaleError(
                f"device {key} is no longer what the plan knew",
                obj=self._vm.name,
                why=f"planned: {wanted}; now: {present or 'no such device'}",
                hint="make a new plan",
            )

    def _newest(self, wanted: str, keys: list[int], count: int) -> list[int]:
        if len(keys) < count:
            raise StaleError(
                f"the VM has {len(keys)} of {count} devices '{wanted}' that are to be changed",
                obj=self._vm.name,
                hint="somebody else changed the VM: look at its devices and make a new plan",
            )
        if len(keys) > count and not all(_replaceable(self._backings[key]) for key in keys):
            raise AmbiguousObjectError(
                f"{len(keys)} devices fit, and {count} of them would be changed",
                obj=self._vm.name,
                why=f"'{wanted}' are the devices {', '.join(map(str, keys))}",
                hint="change them by hand in the vSphere Client, then make a new plan",
            )
        return keys[len(keys) - count :]


def _replaceable(backing: Backing) -> bool:
    """Whether two devices with this backing are one as good as the other."""
    return isinstance(backing, StaticBacking | DynamicBacking | VgpuBacking | DvxBacking)


def _find_groups(changes: Iterable[GroupChange], vm: Vm) -> list[VmDeviceGroup]:
    """Return the VM's group of each removal, in order."""
    removals = _removed_groups(changes)
    present = {group.key: group for group in vm.device_groups}
    keyed = {item.key for item in removals if item.key is not None}
    unnamed = _by_name(removals, lambda item: item.key is None)
    free: dict[str, list[VmDeviceGroup]] = {}
    for name, count in unnamed.items():
        alike = [group for key, group in sorted(present.items()) if group.name == name and key not in keyed]
        if len(alike) < count:
            raise StaleError(f"the VM has no device group {name} any more", obj=vm.name, hint="plan again")
        keys = {group.key for group in alike}
        members = [device for device in vm.devices if device.group_key in keys]
        if len(alike) > count and not all(_replaceable(device.backing) for device in members):
            raise AmbiguousObjectError(
                f"{len(alike)} device groups fit, and {count} of them would be removed",
                obj=vm.name,
                why=f"'{name}' are the groups {', '.join(str(group.key) for group in alike)}",
                hint="remove it by hand in the vSphere Client, then make a new plan",
            )
        free[name] = alike[len(alike) - count :]
    found = []
    for item in removals:
        if item.key is None:
            found.append(free[item.group.name].pop(0))
            continue
        group = present.get(item.key)
        if group is None or group.name != item.group.name:
            raise StaleError(
                f"device group {item.key} is no longer what the plan knew",
                obj=vm.name,
                why=f"planned: {item.group.name}; now: {group.name if group else 'no such group'}",
                hint="make a new plan",
            )
        found.append(group)
    return found


def _by_name(changes: Iterable[GroupChange], chosen: Callable[[GroupChange], bool]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in changes:
        if chosen(item):
            counts[item.group.name] = counts.get(item.group.name, 0) + 1
    return counts


def _members(change: Reconfigure, item: GroupChange, group: VmDeviceGroup, vm: Vm) -> list[int]:
    """Return the keys of a group's devices: a group goes whole, and only if it is the one planned for."""
    members: list[VmDevice] = [device for device in vm.devices if device.group_key == group.key]
    planned = [
        device
        for device in change.devices
        if device.action is Action.REMOVE and device.before is not None and device.before.group == item.group
    ]
    keys = {device.key for device in members}
    strangers = [device.key for device in planned if device.key is not None and device.key not in keys]
    if len(planned) != len(members) or strangers:
        raise StaleError(
            f"device group {group.name} has other members than the plan knew",
            obj=vm.name,
            why=f"planned: {len(planned)} devices; now: {len(members)}",
            hint="make a new plan",
        )
    return sorted(keys)
