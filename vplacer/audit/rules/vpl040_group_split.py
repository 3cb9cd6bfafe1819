"""The cards of a vendor device group are not one set, or the group is not whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.words import counted, listed
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import Vm, VmDeviceGroup
from vplacer.topology.claims import Claim
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import Level


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield device groups of VMs that are not whole, not offered any more, or not one set of cards."""
    for vm, host, topology in subject.placed:
        if vm.device_groups or any(device.group_key is not None for device in vm.devices):
            for group in vm.device_groups:
                yield from _parts(vm, host, group)
                if vm.is_on:
                    yield from _cards(subject, vm, host, topology, group)
            yield from _orphans(vm)


def _parts(vm: Vm, host: Host, group: VmDeviceGroup) -> Iterator[Outcome]:
    has = sum(1 for device in vm.devices if device.group_key == group.key)
    offered = next((kind for kind in host.device_groups if kind.name == group.name), None)
    wanted = len(offered.components) if offered is not None else None
    if has == 0 or (wanted is not None and has != wanted):
        of = f" of {wanted}" if wanted is not None else ""
        told = (
            f"its device group {group.name} has {has}{of} {'device' if (wanted or has) == 1 else 'devices'}"
        )
        yield _hit(vm, group, f"{told}: it will not start again", None if vm.is_on else Severity.ERROR)
    elif offered is None and not host.device_groups:
        yield NotEvaluated("which device groups its host offers is not told", vm=vm.moid)
    elif offered is None:
        names = listed(sorted(kind.name for kind in host.device_groups))
        told = f"its host does not offer the device group {group.name} any more (it offers {names})"
        end = "it will not start again here" if vm.is_on else "it cannot be switched on here"
        yield _hit(vm, group, f"{told}: {end}", None if vm.is_on else Severity.ERROR)


def _orphans(vm: Vm) -> Iterator[Hit]:
    known = {group.key for group in vm.device_groups}
    lost = [d for d in vm.devices if d.group_key is not None and d.group_key not in known]
    if lost:
        names = listed(device.label or str(device.key) for device in lost)
        verb = "belongs" if len(lost) == 1 else "belong"
        yield Hit(
            f"{names} {verb} to a device group that it does not have",
            Certainty.PROVED,
            vm=vm.moid,
            host=vm.host,
            key="orphans",
        )


def _cards(
    subject: Subject, vm: Vm, host: Host, topology: HostTopology, group: VmDeviceGroup
) -> Iterator[Outcome]:
    name = f"{group.key}:{group.name}"
    claims = [claim for claim in subject.use(host).now if claim.vm == vm.moid and claim.group == name]
    unknown = sum(1 for claim in claims if claim.address is None)
    if unknown:
        why = f"which cards its device group {group.name} has is not known ({counted(unknown, 'device')})"
        yield NotEvaluated(why, vm=vm.moid)
        return
    cards = tuple(sorted({claim.address for claim in claims if claim.address is not None}))
    level = _level(topology, cards)
    apart = [(a, b) for a, b in combinations(cards, 2) if topology.relation(a, b).satisfies(level) is False]
    open_ = [(a, b) for a, b in combinations(cards, 2) if topology.relation(a, b).satisfies(level) is None]
    joined = "joined by NVLink" if level is Level.NVLINK else "below one PCIe switch"
    if apart:
        certain = _weakest(claims)
        text = f"of its device group {group.name}, {apart[0][0]} and {apart[0][1]} are not {joined}"
        yield _hit(vm, group, text, None, certain)
    elif open_:
        why = f"whether the cards of its device group {group.name} are {joined} is not known"
        yield NotEvaluated(why, vm=vm.moid)


def _level(topology: HostTopology, cards: tuple[PciAddress, ...]) -> Level:
    """GPUs alone are joined by NVLink, a GPU with a NIC shares a PCIe switch with it."""
    devices = (topology.device(card) for card in cards)
    nic = any(device is not None and device.kind is DeviceKind.NIC for device in devices)
    return Level.SWITCH if nic else Level.NVLINK


def _weakest(claims: list[Claim]) -> Certainty:
    order = tuple(Certainty)
    return max((claim.certainty for claim in claims), key=order.index)


def _hit(
    vm: Vm,
    group: VmDeviceGroup,
    text: str,
    severity: Severity | None,
    certainty: Certainty = Certainty.PROVED,
) -> Hit:
    key = f"{group.key}:{group.name}"
    return Hit(text, certainty, vm=vm.moid, host=vm.host, key=key, severity=severity)


RULE = Rule(
    id="VPL040",
    name="group-split",
    title="Vendor device group not one set, or not whole",
    severity=Severity.WARNING,
    cause="A device group is bought for the NVLink or PCIe switch between its members. A member that was "
    "taken off the VM, a driver that does not offer the group any more, or a link that failed leaves a "
    "group that does not start, or is no faster than single cards.",
    evidence="VirtualDeviceGroups of the VM and its devices' deviceGroupInfo, held against the host's "
    "VendorDeviceGroupInfo; the cards as far as they are known: GPUs alone should be joined by NVLink, a "
    "GPU with a NIC should share a PCIe switch (NVIDIA AI Enterprise documentation, device groups). A VM "
    "that is off and will not start is an error.",
    fix="Remove the whole group from the VM while it is off, and add one that the host offers; groups are "
    "added and removed whole. Look after a link that should be there (nvidia-smi nvlink --status).",
    sample="its device group Nvidia:2@nvidia_h100xm-80c%NVLink has 1 of 2 devices: it will not start again",
    find=find,
)
