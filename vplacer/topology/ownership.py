"""Devices that leave the hypervisor together, and so cannot go to two VMs.

HostPciPassthruInfo.dependentDevice names the device that must be given up with a device; it may be
the device itself, another function, or a bridge. Devices that name one bridge, and all that lies
below it, are reset together.
"""

from __future__ import annotations

from collections.abc import Mapping

from vplacer.inventory.pci import PciAddress
from vplacer.topology.pci_tree import PciTree


def ownership_groups(
    dependents: Mapping[PciAddress, PciAddress],
    tree: PciTree,
    endpoints: frozenset[PciAddress],
) -> tuple[tuple[PciAddress, ...], ...]:
    """Return the sets of two and more endpoints that must go together, in address order.

    ``dependents`` maps a device to its dependent device; ``endpoints`` are all functions but bridges.
    """
    leader: dict[PciAddress, PciAddress] = {}

    def find(address: PciAddress) -> PciAddress:
        while leader.get(address, address) != address:
            address = leader[address]
        return address

    for device, dependent in sorted(dependents.items()):
        if device == dependent:
            continue
        members = [device, dependent]
        if dependent not in endpoints:
            members += [address for address in tree.below(dependent) if address in endpoints]
        for member in members:
            one, other = sorted((find(device), find(member)))
            leader[other] = one
    groups: dict[PciAddress, list[PciAddress]] = {}
    for address in sorted(endpoints):
        groups.setdefault(find(address), []).append(address)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)
