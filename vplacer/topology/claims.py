"""A claim: that a VM holds a device of a host, or will when it is switched on, and who says so."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from vplacer.inventory.bound_by import BoundBy
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import DeviceBinding, Host, PciDevice
from vplacer.inventory.pci import PciAddress
from vplacer.topology.assignable import AssignableDevice, assignable_devices
from vplacer.topology.host_topology import HostTopology

PASSTHROUGH: Final = "passthrough"
VGPU: Final = "vgpu"
VF: Final = "vf"


class When(StrEnum):
    """When a claim counts."""

    NOW = "now"
    AT_POWER_ON = "at-power-on"


class Source(StrEnum):
    """Who says that a VM claims a device.

    configuration: a backing of the VM names the card, or asks for one of its kind.
    binding: AssignableHardwareBinding. assigned-id: DynamicBackingInfo.assignedId.
    graphics: HostGraphicsInfo.vm. elimination: no other card is left that could serve.
    """

    CONFIGURATION = "configuration"
    BINDING = "binding"
    ASSIGNED_ID = "assigned-id"
    GRAPHICS = "graphics"
    ELIMINATION = "elimination"


@dataclass(frozen=True, slots=True)
class Claim:
    """One device a VM claims.

    ``kind``: "passthrough" | "vgpu" | "vf" (then the address is that of the physical function, and
    ``function`` that of the virtual one where it is known). ``address`` None = not known which; it is
    one of ``candidates``. ``device_key`` None = which of the VM's devices it is, is not known.
    ``bound_by`` says who chose the card. ``group`` names the VM's vendor device group and its key
    ("4:Nvidia:2@..."). ``certainty`` is that of the address: proved, likely (an opaque id that reads
    like one, or sources that do not agree) or unknown (candidates only). ``instance``: of a binding that
    names no card, what it names.
    """

    vm: str
    device_key: int | None
    kind: str
    address: PciAddress | None
    candidates: tuple[PciAddress, ...]
    profile: str | None
    bound_by: BoundBy
    label: str | None
    certainty: Certainty
    group: str | None
    when: When = When.NOW
    sources: tuple[Source, ...] = (Source.CONFIGURATION,)
    function: PciAddress | None = None
    instance: str | None = None

    @property
    def certain(self) -> bool:
        """Whether the address is proved."""
        return self.certainty is Certainty.PROVED


def claim_order(claim: Claim) -> tuple[object, ...]:
    """Return the sort key of a claim within one host: what a list of claims does not depend on."""
    return (
        claim.when is not When.NOW,
        len(claim.vm),
        claim.vm,
        claim.device_key is None,
        claim.device_key or 0,
        str(claim.address),
        claim.kind,
        claim.candidates,
        claim.sources,
        claim.instance or "",
    )


@dataclass(frozen=True, eq=False)
class HostCards:
    """What the claims on a host's devices are read from, indexed once a host.

    ``devices``: the cards a VM can get. ``function_of``: physical functions by virtual function.
    ``listed``: the cards whose users, by HostGraphicsInfo.vm, a VM is among. ``bindings``: by VM.
    """

    host: Host
    devices: tuple[AssignableDevice, ...]
    by_address: Mapping[PciAddress, AssignableDevice]
    hardware: Mapping[PciAddress, PciDevice]
    function_of: Mapping[PciAddress, PciAddress]
    listed: Mapping[str, tuple[PciAddress, ...]]
    bindings: Mapping[str, tuple[DeviceBinding, ...]]
    whole: tuple[PciAddress, ...] = field(default=())
    # Answers given before: the VMs of a host ask for the same few things.
    answers: dict[Hashable, tuple[PciAddress, ...]] = field(default_factory=dict, repr=False)

    @property
    def holders(self) -> frozenset[str]:
        """The moids of the VMs that the host says hold its devices."""
        return frozenset((*self.listed, *self.bindings))

    @property
    def shared(self) -> tuple[PciAddress, ...]:
        """The cards set up for vGPU."""
        return tuple(device.address for device in self.devices if device.vgpu)

    @property
    def ports(self) -> tuple[PciAddress, ...]:
        """The cards with virtual functions."""
        return tuple(device.address for device in self.devices if device.sriov_free_vfs)


def host_cards(
    host: Host, topology: HostTopology, devices: tuple[AssignableDevice, ...] | None = None
) -> HostCards:
    """Index a host. ``devices``: its `assignable_devices`, where they are known already."""
    devices = assignable_devices(host, topology) if devices is None else devices
    listed: dict[str, list[PciAddress]] = {}
    for device in sorted(host.pci_devices, key=lambda item: item.address):
        for vm in device.graphics.vms if device.graphics is not None else ():
            listed.setdefault(vm, []).append(device.address)
    bindings: dict[str, list[DeviceBinding]] = {}
    for binding in sorted(set(host.bindings), key=_binding_order):
        bindings.setdefault(binding.vm, []).append(binding)
    return HostCards(
        host=host,
        devices=devices,
        by_address={device.address: device for device in devices},
        hardware={device.address: device for device in host.pci_devices},
        function_of=topology.owners,
        listed={vm: tuple(dict.fromkeys(cards)) for vm, cards in listed.items()},
        bindings={vm: tuple(items) for vm, items in bindings.items()},
        whole=tuple(device.address for device in devices if device.passthrough),
    )


def _binding_order(binding: DeviceBinding) -> tuple[object, ...]:
    return (str(binding.address), binding.device_key is None, binding.device_key or 0, binding.instance_id)


def settled_at(
    claim: Claim, address: PciAddress, cards: HostCards, certainty: Certainty = Certainty.PROVED
) -> Claim:
    """Settle a claim on an address; a virtual function passed through is one of its card's functions."""
    owner = cards.function_of.get(address)
    # Written out: a vCenter has tens of thousands of claims, and `replace` takes three times as long.
    return Claim(
        vm=claim.vm,
        device_key=claim.device_key,
        kind=claim.kind if owner is None else VF,
        address=address if owner is None else owner,
        candidates=(),
        profile=claim.profile if owner is None else None,
        bound_by=claim.bound_by,
        label=claim.label,
        certainty=certainty,
        group=claim.group,
        when=claim.when,
        sources=claim.sources,
        function=claim.function if owner is None else address,
        instance=claim.instance,
    )


def with_sources(claim: Claim, *sources: Source) -> Claim:
    """Add sources to a claim, each once."""
    new = tuple(dict.fromkeys((*claim.sources, *sources)))
    if new == claim.sources:
        return claim
    return Claim(
        vm=claim.vm,
        device_key=claim.device_key,
        kind=claim.kind,
        address=claim.address,
        candidates=claim.candidates,
        profile=claim.profile,
        bound_by=claim.bound_by,
        label=claim.label,
        certainty=claim.certainty,
        group=claim.group,
        when=claim.when,
        sources=new,
        function=claim.function,
        instance=claim.instance,
    )


def narrowed(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Take cards that are surely held as a whole off the candidates of claims whose card is not known.

    A claim with one candidate left holds it, which may narrow others again; so do as many claims of one
    VM as they have candidates. ``claims``: of one host, and all that count at one time. Returned in the
    order of `claim_order`.
    """
    found = _all_of_theirs(sorted(claims, key=claim_order))
    taken = {c.address for c in found if c.address is not None and c.kind == PASSTHROUGH and c.certain}
    divided = {c.address for c in found if c.kind == VF}
    settled = True
    while settled:
        settled = False
        for index, claim in enumerate(found):
            if claim.address is not None or claim.kind == VF or taken.isdisjoint(claim.candidates):
                continue
            left = tuple(address for address in claim.candidates if address not in taken)
            if not left:
                continue  # the sources contradict each other: it may be any of them
            if len(left) == 1 and claim.kind == PASSTHROUGH:
                # Of what only a binding tells, the kind is not known: beside functions it is one.
                function = left[0] in divided and Source.CONFIGURATION not in claim.sources
                found[index] = replace(
                    claim,
                    kind=VF if function else PASSTHROUGH,
                    address=left[0],
                    candidates=(),
                    certainty=Certainty.LIKELY,
                    sources=(*claim.sources, Source.ELIMINATION),
                )
                if not function:
                    taken.add(left[0])
                settled = True
            else:
                found[index] = replace(claim, candidates=left)
    return tuple(found)


def _all_of_theirs(claims: list[Claim]) -> list[Claim]:
    """Settle whole cards of a VM that has as many devices as there are cards for them.

    Which device has which card does not matter. Of what only a binding tells, the kind is not proved:
    on a port of which others have functions it is one too.
    """
    alike: dict[tuple[str, tuple[PciAddress, ...]], list[int]] = {}
    for index, claim in enumerate(claims):
        if claim.address is None and claim.kind == PASSTHROUGH:
            alike.setdefault((claim.vm, claim.candidates), []).append(index)
    found = list(claims)
    divided = {c.address for c in claims if c.kind == VF}
    for (_, candidates), indexes in alike.items():
        if len(indexes) != len(candidates):
            continue
        for index, address in zip(indexes, candidates, strict=True):
            sure = Source.CONFIGURATION in found[index].sources
            found[index] = replace(
                found[index],
                kind=VF if not sure and address in divided else PASSTHROUGH,
                address=address,
                candidates=(),
                certainty=Certainty.PROVED if sure else Certainty.LIKELY,
                sources=(*found[index].sources, Source.ELIMINATION),
            )
    return found
