"""Who holds what: for every device of a host the claims on it, from all sources there are.

One answer for the judge, the solver and what an admin is shown. Sources:

- static and SR-IOV backings: the VM's configuration names the card, whether it runs or not;
- AssignableHardwareBinding: the card and the VM's device from API 9.1 on, before that an opaque instance;
- DynamicBackingInfo.assignedId of a running VM, opaque as well: where it reads like an address of the
  host it is likely that;
- HostGraphicsInfo.vm: the VMs that use a card;
- what is left: a device that only one card can serve has that card.

A VM that the host names and that is not registered on it, or that nobody can see, holds what the host says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vplacer.inventory.moids import moid_order
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import Vm
from vplacer.topology.assignable import AssignableDevice
from vplacer.topology.claims import VF, VGPU, Claim, HostCards, narrowed
from vplacer.topology.vm_claims import claims_at_power_on, claims_of_vm, claims_told


@dataclass(frozen=True)
class HostUse:
    """The cards of a host beside what some VMs claim of them now.

    ``free``: whole cards that certainly nobody holds. ``held``: claims whose card is known.
    ``uncertain``: claims whose card is not. ``vgpu_held``: profiles on each card. ``devices``: all.
    """

    free: tuple[AssignableDevice, ...]
    held: Mapping[PciAddress, tuple[Claim, ...]]
    uncertain: tuple[Claim, ...]
    vgpu_held: Mapping[PciAddress, tuple[str, ...]]
    devices: Mapping[PciAddress, AssignableDevice]

    def free_vfs(self, address: PciAddress) -> int:
        """Return the virtual functions certainly free on a port."""
        device = self.devices.get(address)
        if device is None:
            return 0
        known = sum(1 for claim in self.held.get(address, ()) if claim.kind == VF)
        maybe = sum(1 for c in self.uncertain if c.kind == VF and address in c.candidates)
        return max(0, device.sriov_free_vfs - known - maybe)


@dataclass(frozen=True)
class DeviceUse:
    """All claims on a host's devices.

    ``now``: those that count at present. ``at_power_on``: what VMs that do not run will claim; their
    cards are free until then. ``use``: what that leaves.
    """

    now: tuple[Claim, ...]
    at_power_on: tuple[Claim, ...]
    use: HostUse

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims, each once."""
        return (*self.now, *self.at_power_on)


def device_use(cards: HostCards, vms: Iterable[Vm]) -> DeviceUse:
    """Return all claims on a host's devices. ``vms``: all that are registered on it, in any order."""
    here = sorted(vms, key=lambda vm: moid_order(vm.moid))
    now = [claim for vm in here for claim in claims_of_vm(vm, cards)]
    now += foreign_claims(cards, (vm.moid for vm in here))
    later = [claim for vm in here for claim in claims_at_power_on(vm, cards)]
    settled = narrowed(now)
    return DeviceUse(settled, tuple(later), use_beside(cards.devices, settled))


def foreign_claims(cards: HostCards, registered: Iterable[str]) -> tuple[Claim, ...]:
    """Return what VMs hold that the host names and that are not registered on it, or that nobody sees."""
    foreign = sorted(cards.holders - frozenset(registered), key=moid_order)
    return tuple(claim for vm in foreign for claim in claims_told(vm, cards))


def use_beside(devices: Iterable[AssignableDevice], claims: Iterable[Claim]) -> HostUse:
    """Say which cards of a host are left beside claims that count now (`narrowed`)."""
    devices = tuple(devices)
    held: dict[PciAddress, list[Claim]] = {}
    uncertain = []
    profiles: dict[PciAddress, list[str]] = {}
    maybe: set[PciAddress] = set()
    for claim in claims:
        if claim.address is None:
            uncertain.append(claim)
            maybe.update(claim.candidates)
            continue
        held.setdefault(claim.address, []).append(claim)
        if claim.kind == VGPU and claim.profile is not None:
            profiles.setdefault(claim.address, []).append(claim.profile)
    free = tuple(d for d in devices if d.passthrough and d.address not in held and d.address not in maybe)
    return HostUse(
        free,
        {address: tuple(items) for address, items in held.items()},
        tuple(uncertain),
        {address: tuple(items) for address, items in profiles.items()},
        {device.address: device for device in devices},
    )
