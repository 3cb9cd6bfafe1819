"""Checks of what vCenter says about who holds which card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vplacer.doctor.checks.common import count, described_hosts, differs, few, host_name, not_applicable, ok
from vplacer.doctor.marks import named
from vplacer.doctor.model import Finding
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import DynamicBacking, StaticBacking, VgpuBacking, Vm

_BINDINGS_WITH_ADDRESS = (9, 1)


def bindings(inventory: Inventory) -> Finding:
    """Say whether bindings name their card, and whether instance ids read like addresses."""
    found = [(host, binding) for host in described_hosts(inventory) for binding in host.bindings]
    if not found:
        return not_applicable("no host tells of a binding")
    addressed = [binding for _, binding in found if binding.address is not None]
    readable = [b for host, b in found if _address_on(host, b.instance_id) is not None]
    agree = [
        b for host, b in found if b.address is not None and _address_on(host, b.instance_id) == b.address
    ]
    told = [
        f"{len(addressed)} of {count(len(found), 'binding')} name their card (pciId)",
        f"{len(readable)} instance ids read as an address of the host",
    ]
    if addressed and readable:
        told.append(f"{len(agree)} of them are the card the binding names")
    parts = inventory.about.api_version.split(".")
    spoken = tuple(int(part) for part in parts if part.isdigit())
    if spoken >= _BINDINGS_WITH_ADDRESS and len(addressed) < len(found):
        lost = [f"{host_name(host)}, ESXi {host.version}" for host, b in found if b.address is None]
        return differs(
            "API 9.1 is spoken, and bindings name no card",
            (*told, *few(sorted(set(lost)))),
            "expected for hosts older than 9.1; report others",
        )
    if addressed and readable and len(agree) < len(readable):
        return differs(
            "instance ids read like addresses of other cards",
            told,
            "report this: before API 9.1 such an id is taken as the likely card",
        )
    return ok("bindings are as expected for this API version", *told)


def agreement(inventory: Inventory) -> Finding:
    """Compare the ways in which vCenter tells who holds a card: binding, assignedId, graphics, backing."""
    compared, wrong = 0, []
    ways: Counter[str] = Counter()
    for host in described_hosts(inventory):
        for vm in inventory.vms_by_host.get(host.moid, ()):
            if not vm.is_on or not vm.readable:
                continue
            told = _told(host, vm)
            ways.update(told.keys())
            for a, b in _PAIRS:
                if told.get(a) and told.get(b):
                    compared += 1
                    if not _agree(told[a], told[b], subset=(a, b) in _SUBSETS):
                        wrong.append(
                            f"{named('vm', vm.moid)} on {host_name(host)}: {a} says {_list(told[a])}, "
                            f"{b} says {_list(told[b])}"
                        )
        wrong += list(_unexpected(host, inventory))
    evidence = [f"{number} VMs by {way}" for way, number in sorted(ways.items())]
    if wrong:
        return differs(
            "sources disagree on who holds a card",
            (*evidence, *few(wrong)),
            "such cards count as held; report the versions of vCenter and ESXi",
        )
    if not ways:
        return not_applicable("no running VM is said to hold a card")
    if not compared:
        return ok("holders are told, and each by one source only: nothing to compare", *evidence)
    return ok(f"sources agree, {count(compared, 'pair')} compared", *evidence)


_BINDING, _GRAPHICS, _ASSIGNED, _STATIC = "binding", "graphicsInfo.vm", "assignedId", "static backing"
_PAIRS = (
    (_STATIC, _BINDING),
    (_ASSIGNED, _BINDING),
    (_GRAPHICS, _BINDING),
    (_ASSIGNED, _GRAPHICS),
)
_SUBSETS = frozenset(_PAIRS)
"""The first names some of what the second does; graphicsInfo lists GPUs only, so it is compared on these."""


def _told(host: Host, vm: Vm) -> dict[str, frozenset[PciAddress]]:
    found = {
        _BINDING: {b.address for b in host.bindings if b.vm == vm.moid and b.address is not None},
        _GRAPHICS: {
            d.address for d in host.pci_devices if d.graphics is not None and vm.moid in d.graphics.vms
        },
        _ASSIGNED: {
            address
            for device in vm.devices
            if isinstance(device.backing, DynamicBacking)
            and (address := _address_on(host, device.backing.assigned_id)) is not None
        },
        _STATIC: {d.backing.address for d in vm.devices if isinstance(d.backing, StaticBacking)},
    }
    return {way: frozenset(addresses) for way, addresses in found.items() if addresses}


def _agree(a: frozenset[PciAddress], b: frozenset[PciAddress], *, subset: bool) -> bool:
    return a <= b if subset else a == b


def _unexpected(host: Host, inventory: Inventory) -> Iterator[str]:
    """Yield VMs that the host's graphics list and that have no device a card could stand behind."""
    for device in host.pci_devices:
        for moid in device.graphics.vms if device.graphics is not None else ():
            vm = inventory.vm_by_moid.get(moid)
            if vm is None or not vm.readable:
                continue
            kinds = (VgpuBacking, DynamicBacking, StaticBacking)
            if not any(isinstance(item.backing, kinds) for item in vm.devices):
                yield f"{host_name(host)} {device.address} lists {named('vm', moid)}, which has no card"
            elif not vm.is_on:
                yield f"{host_name(host)} {device.address} lists {named('vm', moid)}, which does not run"


def _address_on(host: Host, text: str | None) -> PciAddress | None:
    try:
        address = PciAddress.parse(text or "")
    except ValueError:
        return None
    return address if host.device(address) is not None else None


def _list(addresses: frozenset[PciAddress]) -> str:
    return " ".join(str(address) for address in sorted(addresses))
