"""Compares the devices a VM has with those it must have, by content, never by key.

Devices of kinds that no request speaks of (ordinary network cards, Enhanced DirectPath, passthrough of
other things, types unknown) are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vplacer.constraints.holdings import allowed_by
from vplacer.inventory.device_kind import DeviceKind, device_kind
from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.nic_models import nic_by_ids
from vplacer.inventory.pci import PciIds
from vplacer.inventory.vm import (
    Backing,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
    Vm,
    VmDevice,
)
from vplacer.plan.changes import Action, DeviceChange, DeviceValue, GroupChange, GroupRef
from vplacer.plan.wanted_devices import WantedDevice, WantedDevices


@dataclass(frozen=True, slots=True)
class DeviceDifference:
    """What has to happen to a VM's devices. ``detach``: removals that must come before a relocation,
    because the device exists on the present host only."""

    detach: tuple[DeviceChange, ...]
    changes: tuple[DeviceChange, ...]
    groups: tuple[GroupChange, ...]


def device_difference(
    vm: Vm | None, wanted: WantedDevices, today: Host | None, target: Host, *, moves: bool
) -> DeviceDifference:
    """Compare devices. ``vm`` None = a VM without any; ``today``: its host, None = none known.

    Order is stable: removals by key, then edits and additions in the order of the request.
    """
    if vm is None:
        adds = tuple(_add(device) for device in wanted.devices)
        return DeviceDifference((), adds, tuple(_add_group(group) for group in wanted.groups))
    hosts = [host for host in (today, target) if host is not None]
    kept_groups, group_changes = _match_groups(vm, wanted)
    own = [
        device
        for device in sorted(vm.devices, key=lambda item: item.key)
        if device.group_key is not None or is_managed(device, hosts)
    ]
    loose = [device for device in own if device.group_key is None]
    singles = [device for device in wanted.devices if device.group is None]
    pairs = _match(loose, singles, target, moves)
    kept = {device.key for device, _ in pairs}
    kept_keys = set(kept_groups)
    removed = [
        device
        for device in own
        if device.key not in kept and not (device.group_key is not None and device.group_key in kept_keys)
    ]
    matched = {id(want) for _, want in pairs}
    replaced_groups = set(kept_groups.values())
    edits = [edit for device, want in pairs if (edit := _edit(vm, device, want)) is not None]
    adds = tuple(
        _add(want)
        for want in wanted.devices
        if id(want) not in matched and (want.group is None or want.group.ref not in replaced_groups)
    )
    detach = tuple(_remove(vm, device) for device in removed if moves and _host_bound(device.backing))
    later = tuple(_remove(vm, device) for device in removed if not (moves and _host_bound(device.backing)))
    return DeviceDifference(detach, (*later, *edits, *adds), group_changes)


def is_managed(device: VmDevice, hosts: Sequence[Host]) -> bool:
    """Whether a request speaks of this device: a GPU in any form, a passthrough or SR-IOV NIC."""
    return managed_kind(device.backing, hosts) is not None


def managed_kind(backing: Backing, hosts: Sequence[Host]) -> DeviceKind | None:
    """Return GPU or NIC for a device that a request speaks of, None for all others.

    ``hosts``: where cards may be looked up. A static backing is what its ids say, since another device may
    be at its address by now; the host tells where no catalogue knows the ids.
    """
    match backing:
        case VgpuBacking():
            return DeviceKind.GPU
        case SriovBacking():
            return DeviceKind.NIC
        case StaticBacking():
            cards = [card for host in hosts if (card := host.device(backing.address)) is not None]
            return _kind_by_ids(backing.ids) or _asked_kind(cards)
        case DynamicBacking(allowed=allowed):
            cards = [card for host in hosts for card in host.pci_devices if allowed_by(allowed, card.ids)]
            known = _asked_kind(cards)
            by_ids = (_kind_by_ids(PciIds(item.vendor, item.device)) for item in allowed)
            return known or next((kind for kind in by_ids if kind is not None), None)
        case _:
            return None


def _asked_kind(cards: Sequence[PciDevice]) -> DeviceKind | None:
    kinds = {device_kind(card) for card in cards}
    return next((kind for kind in (DeviceKind.GPU, DeviceKind.NIC) if kind in kinds), None)


def _kind_by_ids(ids: PciIds | None) -> DeviceKind | None:
    if ids is None:
        return None
    if gpu_by_ids(ids) is not None:
        return DeviceKind.GPU
    return DeviceKind.NIC if nic_by_ids(ids) is not None else None


def _match_groups(vm: Vm, wanted: WantedDevices) -> tuple[dict[int, str], tuple[GroupChange, ...]]:
    """Pair device groups by name; return kept keys with the wanted ref, and what changes."""
    kept: dict[int, str] = {}
    open_groups = list(wanted.groups)
    removed = []
    for group in sorted(vm.device_groups, key=lambda item: item.key):
        match = next((want for want in open_groups if want.name == group.name), None)
        if match is not None:
            open_groups.remove(match)
            kept[group.key] = match.ref
        else:
            removed.append(GroupChange(Action.REMOVE, _todays_group(vm, group.key), group.key))
    added = [_add_group(group) for group in open_groups]
    return kept, (*removed, *added)


def _match(
    have: list[VmDevice], want: list[WantedDevice], target: Host, moves: bool
) -> list[tuple[VmDevice, WantedDevice]]:
    """Pair equal devices, those that are told the same vNUMA node first; in the order of the request."""
    pairs: dict[int, VmDevice] = {}
    left = list(have)
    for strict in (True, False):
        for position, wanted in enumerate(want):
            if position in pairs:
                continue
            for device in left:
                if strict and (device.numa_node if (device.numa_node or 0) >= 0 else None) != wanted.vnode:
                    continue
                if same_backing(device.backing, wanted, target, moves):
                    pairs[position] = device
                    left.remove(device)
                    break
    return [(device, want[position]) for position, device in sorted(pairs.items())]


def same_backing(have: Backing, wanted: WantedDevice, target: Host, moves: bool) -> bool:
    """Whether a device a VM has is the one it must have.

    A Dynamic backing that allows less than the wanted one will do as long as it allows the card; a
    static one never survives a move, since its address and system id are the present host's.
    """
    match have, wanted.backing:
        case StaticBacking(), StaticBacking() as want:
            return not moves and (
                have.address == want.address
                and have.ids == want.ids
                and have.system_id in ("", want.system_id)
            )
        case DynamicBacking(), DynamicBacking() as want:
            if (have.label or None) != (want.label or None) or not have.allowed:
                return False
            narrower = all(
                allowed_by(want.allowed, PciIds(a.vendor, a.device, a.sub_vendor, a.sub_device))
                for a in have.allowed
            )
            card = target.device(wanted.witness) if wanted.witness is not None else None
            return narrower and (card is None or allowed_by(have.allowed, card.ids))
        case VgpuBacking(), VgpuBacking() as want:
            return have.profile == want.profile
        case SriovBacking(), SriovBacking() as want:
            return _same_function(have, want, moves)
        case _:
            return False


def _same_function(have: SriovBacking, want: SriovBacking, moves: bool) -> bool:
    if want.network is not None and have.network != want.network:
        return False
    if have.physical_function is None:
        return want.physical_function is None
    return not moves and want.physical_function in (None, have.physical_function)


def _host_bound(backing: Backing) -> bool:
    match backing:
        case StaticBacking():
            return True
        case SriovBacking(physical_function=port):
            return port is not None
        case _:
            return False


def device_value(vm: Vm, device: VmDevice) -> DeviceValue:
    """Return a device of a VM by content."""
    group = _todays_group(vm, device.group_key) if device.group_key is not None else None
    return DeviceValue(device.backing, device.numa_node, group, device.group_sequence)


def _todays_group(vm: Vm, key: int) -> GroupRef:
    name = next((group.name for group in vm.device_groups if group.key == key), "?")
    return GroupRef(f"group key {key}", name)


def _add(want: WantedDevice) -> DeviceChange:
    value = DeviceValue(want.backing, want.vnode, want.group, want.sequence)
    return DeviceChange(Action.ADD, want.ref, None, None, value, want.bound_by)


def _add_group(group: GroupRef) -> GroupChange:
    return GroupChange(Action.ADD, group, None)


def _remove(vm: Vm, device: VmDevice) -> DeviceChange:
    return DeviceChange(Action.REMOVE, f"device {device.key}", device.key, device_value(vm, device), None)


def _edit(vm: Vm, device: VmDevice, want: WantedDevice) -> DeviceChange | None:
    """Return the change of the vNUMA node told; unset and negative both mean none, -1 clears."""
    told = device.numa_node if device.numa_node is not None and device.numa_node >= 0 else None
    if told == want.vnode:
        return None
    before = device_value(vm, device)
    node = want.vnode if want.vnode is not None else -1
    after = DeviceValue(device.backing, node, before.group, device.group_sequence)
    return DeviceChange(Action.EDIT, want.ref, device.key, before, after, want.bound_by)
