"""Which cards of a host a device of a VM may mean, by its backing."""

from __future__ import annotations

from vplacer.inventory.finding import Certainty
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import DynamicBacking, StaticBacking
from vplacer.topology.assignable import allowed_by, offers
from vplacer.topology.claims import HostCards


def matching_cards(backing: DynamicBacking, cards: HostCards) -> tuple[PciAddress, ...]:
    """Return the cards that a Dynamic DirectPath device may be given."""
    key = (backing.allowed, backing.label)
    if key not in cards.answers:
        cards.answers[key] = tuple(
            d.address
            for d in cards.devices
            if d.passthrough
            and allowed_by(backing.allowed, d.ids)
            and (not backing.label or backing.label == d.label)
        )
    return cards.answers[key]


def assigned_address(
    backing: DynamicBacking, vm: str, cards: HostCards
) -> tuple[PciAddress | None, Certainty]:
    """Read an assigned id: the instance of a binding that names its card, or text that reads like an address.

    The id is opaque (vSphere API: DynamicBackingInfo.assignedId); only the first is proof. The address
    may be one that the host does not have.
    """
    text = backing.assigned_id
    if not text:
        return None, Certainty.UNKNOWN
    for binding in cards.bindings.get(vm, ()):
        if binding.instance_id == text and binding.address is not None:
            return binding.address, Certainty.PROVED
    try:
        return PciAddress.parse(text), Certainty.LIKELY
    except ValueError:
        return None, Certainty.UNKNOWN


def same_cards(backing: StaticBacking, cards: HostCards) -> tuple[PciAddress, ...]:
    """Return the devices of the host that have the ids a static backing names, by address."""
    named = backing.ids
    if named is None:
        return ()
    key = (named.vendor, named.device)
    if key not in cards.answers:
        cards.answers[key] = tuple(
            sorted(
                address
                for address, device in cards.hardware.items()
                if (device.ids.vendor, device.ids.device) == key
            )
        )
    return cards.answers[key]


def whole_twins(backing: StaticBacking, cards: HostCards) -> tuple[PciAddress, ...]:
    """Return those of `same_cards` that can be passed through as a whole."""
    if backing.ids is None:
        return ()
    key = ("whole", backing.ids.vendor, backing.ids.device)
    if key not in cards.answers:
        cards.answers[key] = tuple(a for a in same_cards(backing, cards) if a in cards.whole)
    return cards.answers[key]


def offering_cards(profile: str, cards: HostCards) -> tuple[PciAddress, ...]:
    """The cards that offer a profile; all cards for vGPU where none does: the list is of what is possible
    now (vSphere API: HostConfigInfo.sharedPassthruGpuTypes), and a running VM's profile need not be."""
    if profile not in cards.answers:
        found = tuple(d.address for d in cards.devices if d.vgpu and offers(cards.host, d, profile))
        cards.answers[profile] = found or cards.shared
    return cards.answers[profile]
