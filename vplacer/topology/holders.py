"""Which VMs hold which PCI devices of a host, as far as vCenter tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import DynamicBacking, SriovBacking, StaticBacking, Vm, VmPower


@dataclass(frozen=True, slots=True, order=True)
class Holder:
    """A VM (``vm`` is its moid) and how it holds the device.

    ``how``: "static" = its configuration names the card, whether it runs or not; "assigned" = vSphere
    gave it the card for as long as it runs; "shared" = it uses the card as a vGPU; "function" = its
    configuration names the card or one of its virtual functions for SR-IOV.
    """

    vm: str
    how: str


def device_holders(host: Host, vms: Iterable[Vm]) -> dict[PciAddress, tuple[Holder, ...]]:
    """Map devices of a host to the VMs that hold them, in the order of managed object ids.

    ``vms``: the VMs registered on the host. Before API 9.1 a binding names no address, and an assigned
    id is opaque: such a device has no holder here although it has one.
    """
    found: dict[PciAddress, set[Holder]] = {}
    present = {device.address for device in host.pci_devices}

    def note(address: PciAddress | None, vm: str, how: str) -> None:
        if address is not None and address in present:
            found.setdefault(address, set()).add(Holder(vm, how))

    bound = {b.instance_id: b.address for b in host.bindings if b.address is not None}
    for binding in host.bindings:
        note(binding.address, binding.vm, "assigned")
    for device in host.pci_devices:
        for vm_moid in device.graphics.vms if device.graphics is not None else ():
            note(device.address, vm_moid, "shared")
    for vm in vms:
        for held in vm.devices:
            match held.backing:
                case StaticBacking(address=address):
                    note(address, vm.moid, "static")
                # An id that a VM still carries after it was switched off holds nothing.
                case DynamicBacking(assigned_id=str(assigned)) if vm.power is not VmPower.OFF:
                    note(_assigned(assigned, bound), vm.moid, "assigned")
                case SriovBacking(physical_function=physical, virtual_function=virtual):
                    note(physical, vm.moid, "function")
                    note(virtual, vm.moid, "function")
                case _:
                    pass
    return {address: _strongest(holders) for address, holders in sorted(found.items())}


def _assigned(text: str, bound: Mapping[str, PciAddress]) -> PciAddress | None:
    """Read an assigned id: the instance id of a binding with an address, or an address itself."""
    if text in bound:
        return bound[text]
    try:
        return PciAddress.parse(text)
    except ValueError:
        return None


def _strongest(holders: set[Holder]) -> tuple[Holder, ...]:
    """Keep one entry a VM: what its configuration names says more than what runs now."""
    order = {"static": 0, "function": 1, "assigned": 2, "shared": 3}
    best: dict[str, Holder] = {}
    for holder in sorted(holders, key=lambda h: (order[h.how], h.vm)):
        best.setdefault(holder.vm, holder)
    return tuple(best[vm] for vm in sorted(best, key=lambda moid: (len(moid), moid)))
