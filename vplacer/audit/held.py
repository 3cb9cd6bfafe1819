"""Which cards a VM holds now, as far as that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vplacer.audit.subject import Subject
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import Vm
from vplacer.topology.claims import Claim
from vplacer.topology.values import DeviceTopology


@dataclass(frozen=True, slots=True)
class HeldCard:
    """A card of which it is known that a VM holds it, or a share of it; ``certainty`` of the address."""

    card: DeviceTopology
    claim: Claim
    certainty: Certainty

    @property
    def name(self) -> str:
        """The card for people: "GPU A30 0000:3b:00.0"."""
        model = f" {self.card.model}" if self.card.model else ""
        return f"{_WORDS.get(self.card.kind, self.card.kind.value)}{model} {self.card.address}"


_WORDS = {DeviceKind.GPU: "GPU", DeviceKind.NIC: "NIC", DeviceKind.NVSWITCH: "NVSwitch"}


def held_cards(subject: Subject, vm: Vm, kind: DeviceKind) -> tuple[HeldCard, ...]:
    """Return the cards of a kind that a running VM holds, in address order, each once."""
    if vm.host is None or vm.host not in subject.topologies:
        return ()
    found: dict[PciAddress, HeldCard] = {}
    for held in subject.derive(_held_by_vm, vm.host).get(vm.moid, ()):
        if held.card.kind is kind:
            found.setdefault(held.card.address, held)
    return tuple(found[address] for address in sorted(found))


@dataclass(frozen=True, slots=True)
class OpenDevice:
    """A device of a running VM of which it is not known which card it is: one of ``cards``.

    ``label``: of the device, None where it is not known which of the VM's devices it is either. No cards =
    nobody can tell.
    """

    label: str | None
    cards: tuple[DeviceTopology, ...]


def open_devices(subject: Subject, vm: Vm, kind: DeviceKind) -> tuple[OpenDevice, ...]:
    """Return the devices of a running VM that may be of a kind while nobody can tell which card each is."""
    if vm.host is None or vm.host not in subject.topologies:
        return ()
    topology = subject.topologies[vm.host]
    labels = {device.key: device.label for device in vm.devices}
    found = []
    for claim in subject.derive(_open_claims, vm.host).get(vm.moid, ()):
        cards = [topology.device(topology.owners.get(card, card)) for card in claim.candidates]
        known = tuple(card for card in cards if card is not None)
        if not known or any(card.kind is kind for card in known):
            label = labels.get(claim.device_key) if claim.device_key is not None else None
            found.append(OpenDevice(label, known if len(known) == len(cards) else ()))
    return tuple(found)


def unknown_cards(subject: Subject, vm: Vm, kind: DeviceKind) -> int:
    """Return how many devices of a VM may be of a kind while nobody can tell which card each is."""
    return len(open_devices(subject, vm, kind))


def holders(subject: Subject, host: Host) -> Mapping[PciAddress, tuple[str, ...]]:
    """Return the moids of the VMs that hold each card of a host now, by its address."""
    found: dict[PciAddress, list[str]] = {}
    for vm, cards in subject.derive(_held_by_vm, host.moid).items():
        for held in cards:
            if vm not in found.setdefault(held.card.address, []):
                found[held.card.address].append(vm)
    return {address: tuple(vms) for address, vms in found.items()}


def _held_by_vm(subject: Subject, moid: str) -> dict[str, tuple[HeldCard, ...]]:
    topology = subject.topologies[moid]
    found: dict[str, list[HeldCard]] = {}
    for claim in subject.use(subject.inventory.host_by_moid[moid]).now:
        if claim.address is None:
            continue
        card = topology.device(topology.owners.get(claim.address, claim.address))
        if card is not None:
            found.setdefault(claim.vm, []).append(HeldCard(card, claim, claim.certainty))
    return {vm: tuple(cards) for vm, cards in found.items()}


def _open_claims(subject: Subject, moid: str) -> dict[str, tuple[Claim, ...]]:
    found: dict[str, list[Claim]] = {}
    for claim in subject.use(subject.inventory.host_by_moid[moid]).now:
        if claim.address is None:
            found.setdefault(claim.vm, []).append(claim)
    return {vm: tuple(claims) for vm, claims in found.items()}
