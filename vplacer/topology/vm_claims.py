"""What one VM claims of a host's devices: resolved from its devices and all that the host says of it.

Where sources disagree, every card that one of them names is claimed: a card that anyone may hold is
not free. `vplacer.topology.use_findings` tells an admin that they disagree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vplacer.inventory.bound_by import BoundBy
from vplacer.inventory.finding import Certainty
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import (
    DvxBacking,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    UnknownBacking,
    VgpuBacking,
    Vm,
    VmDevice,
    VmPower,
)
from vplacer.topology.assignable import allowed_by, offers
from vplacer.topology.claims import (
    PASSTHROUGH,
    VF,
    VGPU,
    Claim,
    HostCards,
    Source,
    When,
    claim_order,
)

_UNKNOWN_PASSTHROUGH = "VirtualPCIPassthrough"


def claims_of_vm(vm: Vm, cards: HostCards) -> tuple[Claim, ...]:
    """Return what a VM registered on a host claims now, in `claim_order`.

    A VM that does not run claims nothing, except what the host still says it holds (a claim that
    outlives the VM's run keeps the card from others), and cards named by assigned ids that it kept
    while suspended.
    """
    found: list[Claim] = []
    if vm.is_on:
        found = _Running(vm, cards).claims()
    elif vm.power is VmPower.SUSPENDED:
        found = _kept_ids(vm, cards)
    return tuple(sorted(_with_told(vm.moid, cards, found, vm), key=claim_order))


def claims_told(vm: str, cards: HostCards) -> tuple[Claim, ...]:
    """Return the claims that the host asserts of a VM of which nothing else is known."""
    return tuple(sorted(_with_told(vm, cards, [], None), key=claim_order))


def claims_at_power_on(vm: Vm, cards: HostCards) -> tuple[Claim, ...]:
    """Return what a VM that does not run will claim when it is switched on, in `claim_order`.

    Its cards are free until then. A template is never switched on. A static backing whose card the host
    does not have claims nothing.
    """
    if vm.is_on or vm.template:
        return ()
    groups = _groups(vm)
    found = []
    for device in vm.devices:
        group = groups.get(device.group_key) if device.group_key is not None else None
        claim = _wanted(vm.moid, device, cards, group)
        if claim is not None:
            found.append(replace(claim, when=When.AT_POWER_ON))
    return tuple(sorted(found, key=claim_order))


def matching_cards(backing: DynamicBacking, cards: HostCards) -> tuple[PciAddress, ...]:
    """Return the cards that a Dynamic DirectPath device may be given."""
    return tuple(
        d.address
        for d in cards.devices
        if d.passthrough
        and allowed_by(backing.allowed, d.ids)
        and (not backing.label or backing.label == d.label)
    )


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
    return tuple(
        sorted(
            address
            for address, device in cards.hardware.items()
            if (device.ids.vendor, device.ids.device) == (named.vendor, named.device)
        )
    )


def _groups(vm: Vm) -> dict[int, str]:
    return {group.key: f"{group.key}:{group.name}" for group in vm.device_groups}


def _wanted(vm: str, device: VmDevice, cards: HostCards, group: str | None) -> Claim | None:
    """The claim of a device by the VM's configuration alone."""

    def claim(
        kind: str,
        candidates: tuple[PciAddress, ...],
        bound_by: BoundBy = BoundBy.PLATFORM,
        profile: str | None = None,
        label: str | None = None,
    ) -> Claim:
        unknown = Certainty.UNKNOWN
        return Claim(vm, device.key, kind, None, candidates, profile, bound_by, label, unknown, group)

    match device.backing:
        case StaticBacking(address=address):
            return (
                _at(claim(PASSTHROUGH, (), BoundBy.STATIC), address, cards) if _has(cards, address) else None
            )
        case DynamicBacking(label=label) as backing:
            bound_by = BoundBy.LABEL if label else BoundBy.PLATFORM
            return claim(PASSTHROUGH, matching_cards(backing, cards), bound_by, label=label)
        case VgpuBacking(profile=profile):
            return claim(VGPU, _offering(profile, cards), profile=profile)
        case SriovBacking(physical_function=port, virtual_function=function):
            if port is not None and _has(cards, port):
                found = _at(claim(VF, (), BoundBy.STATIC), port, cards)
                if found.function is not None:
                    return found
                known = function is not None and cards.function_of.get(function) == port
                return replace(found, function=function if known else None)
            return claim(VF, cards.ports)
        case DvxBacking():
            return claim(VF, cards.ports)
        case UnknownBacking(type_name=name) if name.startswith(_UNKNOWN_PASSTHROUGH):
            return claim(PASSTHROUGH, cards.whole)
        case _:
            return None


def _has(cards: HostCards, address: PciAddress) -> bool:
    return address in cards.hardware


def _offering(profile: str, cards: HostCards) -> tuple[PciAddress, ...]:
    """The cards that offer a profile; all cards for vGPU where none does: the list is of what is possible
    now (vSphere API: HostConfigInfo.sharedPassthruGpuTypes), and a running VM's profile need not be."""
    found = tuple(d.address for d in cards.devices if d.vgpu and offers(cards.host, d, profile))
    return found or cards.shared


def _at(
    claim: Claim, address: PciAddress, cards: HostCards, certainty: Certainty = Certainty.PROVED
) -> Claim:
    """Settle a claim on an address; a virtual function passed through is one of its card's functions."""
    owner = cards.function_of.get(address)
    if owner is not None:
        return replace(
            claim, kind=VF, address=owner, candidates=(), certainty=certainty, function=address, profile=None
        )
    return replace(claim, address=address, candidates=(), certainty=certainty)


def _by(claim: Claim, *sources: Source) -> Claim:
    """Add sources to a claim, each once."""
    return replace(claim, sources=tuple(dict.fromkeys((*claim.sources, *sources))))


def _told(vm: str, kind: str, sources: tuple[Source, ...], key: int | None = None) -> Claim:
    """A claim nobody but the host speaks of."""
    unknown, by = Certainty.UNKNOWN, BoundBy.PLATFORM
    return Claim(vm, key, kind, None, (), None, by, None, unknown, None, When.NOW, sources)


def _kept_ids(vm: Vm, cards: HostCards) -> list[Claim]:
    found = []
    for device in vm.devices:
        if not isinstance(device.backing, DynamicBacking):
            continue
        address, _ = assigned_address(device.backing, vm.moid, cards)
        if address is not None and _has(cards, address):
            claim = _told(vm.moid, PASSTHROUGH, (Source.ASSIGNED_ID,), device.key)
            found.append(_at(claim, address, cards, Certainty.LIKELY))
    return found


def _with_told(vm: str, cards: HostCards, found: list[Claim], known: Vm | None) -> list[Claim]:
    """Add what the host says of a VM and none of its claims covers; and let claims name who else says so."""
    claims = sorted(found, key=claim_order)
    bindings = cards.bindings.get(vm, ())
    for binding in bindings:
        if binding.address is None or not _has(cards, binding.address):
            continue
        index = _covering(claims, binding.address)
        if index is not None:
            claims[index] = _by(claims[index], Source.BINDING)
        elif not _shares(claims, binding.address):
            claim = _told(vm, PASSTHROUGH, (Source.BINDING,), binding.device_key if known is None else None)
            claims.append(_at(claim, binding.address, cards))
    for address in cards.listed.get(vm, ()):
        index = _covering(claims, address)
        if index is not None:
            claims[index] = _by(claims[index], Source.GRAPHICS)
        elif not _shares(claims, address):
            card = cards.by_address.get(address)
            kind = VGPU if card is not None and card.vgpu else PASSTHROUGH
            claims.append(_at(_told(vm, kind, (Source.GRAPHICS,)), address, cards))
    return claims + _opaque(vm, cards, claims, known)


def _covering(claims: Iterable[Claim], address: PciAddress) -> int | None:
    """The claim that is on an address, by its place."""
    return next((i for i, c in enumerate(claims) if address in (c.address, c.function)), None)


def _shares(claims: Iterable[Claim], address: PciAddress) -> bool:
    """Whether a device of the VM may be on a card, and so explain that the host says the VM is there."""
    return any(c.address is None and address in c.candidates for c in claims)


def _opaque(vm: str, cards: HostCards, claims: list[Claim], known: Vm | None) -> list[Claim]:
    """Claims for bindings that name no card of this host, beyond those that the VM's claims explain."""
    bindings = [b for b in cards.bindings.get(vm, ()) if b.address is None or not _has(cards, b.address)]
    explained = sum(1 for claim in claims if Source.BINDING not in claim.sources)
    left = bindings[explained:]
    if not left:
        return []
    wanted = {
        address
        for device in (known.devices if known is not None else ())
        if isinstance(device.backing, DynamicBacking)
        for address in matching_cards(device.backing, cards)
    }
    candidates = tuple(sorted(wanted)) or cards.whole
    if not candidates:
        return []
    found = [
        replace(
            _told(vm, PASSTHROUGH, (Source.BINDING,), b.device_key if known is None else None),
            candidates=candidates,
            instance=b.instance_id if b.address is None else f"{b.instance_id} at {b.address}",
        )
        for b in left
    ]
    return list(dict.fromkeys(found))  # one instance told twice is one device


class _Running:
    """Finds the card of each device of one running VM."""

    def __init__(self, vm: Vm, cards: HostCards) -> None:
        self.vm = vm
        self.cards = cards
        self.groups = _groups(vm)
        told = [
            b for b in cards.bindings.get(vm.moid, ()) if b.address is not None and _has(cards, b.address)
        ]
        self.by_key = {b.device_key: b.address for b in told if b.device_key is not None}
        self.unkeyed = [b.address for b in told if b.device_key is None and b.address is not None]
        self.listed = cards.listed.get(vm.moid, ())
        self.found: list[Claim] = []

    def claims(self) -> list[Claim]:
        """Resolve the devices that name their card first, then those that share it with nobody."""
        dynamic: list[Claim] = []
        shared: list[Claim] = []
        for device in sorted(self.vm.devices, key=lambda d: d.key):
            group = self.groups.get(device.group_key) if device.group_key is not None else None
            claim = _wanted(self.vm.moid, device, self.cards, group)
            if isinstance(device.backing, StaticBacking):
                self._static(device.key, device.backing, claim, group)
            elif claim is None:
                continue
            elif claim.address is not None:
                self.found.append(claim)
            elif (bound := self.by_key.get(device.key)) is not None:
                self.found.append(_by(_at(claim, bound, self.cards), Source.BINDING))
            elif isinstance(device.backing, DynamicBacking):
                dynamic.append(claim)
            elif isinstance(device.backing, VgpuBacking):
                shared.append(claim)
            else:
                self.found.append(claim)
        self._dynamic(dynamic)
        self._shared(shared)
        return self.found + self._assigned_elsewhere()

    def _static(self, key: int, backing: StaticBacking, claim: Claim | None, group: str | None) -> None:
        """A running VM holds the card it names; and where that is another card, maybe one it meant."""
        twins = tuple(a for a in same_cards(backing, self.cards) if a in self.cards.whole)
        if claim is not None:
            right = not twins or backing.address in twins
            self.found.append(claim if right else replace(claim, certainty=Certainty.LIKELY))
            if backing.address in self.unkeyed:
                self.unkeyed.remove(backing.address)
            if right:
                return
        lost = _told(self.vm.moid, PASSTHROUGH, (Source.CONFIGURATION,), key if claim is None else None)
        lost = replace(lost, candidates=twins, bound_by=BoundBy.STATIC, group=group)
        if len(twins) == 1:
            lost = _at(lost, twins[0], self.cards, Certainty.LIKELY)
        elif not twins:
            lost = replace(lost, address=backing.address)
        if lost not in self.found:
            self.found.append(lost)

    def _dynamic(self, claims: list[Claim]) -> None:
        waiting = self._by_instance(claims)
        waiting = self._settle(waiting, self.unkeyed, Source.BINDING)
        waiting = self._by_assigned(waiting)
        taken = {claim.address for claim in self.found}
        whole = [a for a in self.listed if a in self.cards.whole and a not in taken]
        waiting = self._settle(waiting, whole, Source.GRAPHICS)
        self.found += [self._or_only(claim) for claim in waiting]

    def _settle(self, claims: list[Claim], addresses: list[PciAddress], source: Source) -> list[Claim]:
        """Give cards that a source says the VM holds to claims, where it cannot be the card of others.

        Claims with the same candidates are alike: which of them has which card does not matter. Takes
        the cards off ``addresses``, and returns the claims that are left.
        """
        alike: dict[tuple[object, ...], list[Claim]] = {}
        for claim in claims:
            alike.setdefault((claim.candidates, claim.kind, claim.profile), []).append(claim)
        for address in list(addresses):
            able = [items for items in alike.values() if items and address in items[0].candidates]
            if len(able) == 1:
                self.found.append(_by(_at(able[0].pop(0), address, self.cards), source))
                addresses.remove(address)
        return [claim for items in alike.values() for claim in items]

    def _by_instance(self, claims: list[Claim]) -> list[Claim]:
        """Settle claims whose assigned id is the instance of a binding that names the card."""
        left = []
        for claim in claims:
            address, sure = self._assigned(claim.device_key)
            if address is not None and sure is Certainty.PROVED and address in self.unkeyed:
                self.unkeyed.remove(address)
                self.found.append(_by(_at(claim, address, self.cards), Source.BINDING, Source.ASSIGNED_ID))
            else:
                left.append(claim)
        return left

    def _by_assigned(self, claims: list[Claim]) -> list[Claim]:
        left = []
        for claim in claims:
            address, sure = self._assigned(claim.device_key)
            if address is None:
                left.append(claim)
            elif address in claim.candidates:
                self.found.append(_by(_at(claim, address, self.cards, sure), Source.ASSIGNED_ID))
            else:
                either = tuple(sorted({address, *claim.candidates}))
                self.found.append(_by(replace(claim, candidates=either), Source.ASSIGNED_ID))
        return left

    def _assigned(self, key: int | None) -> tuple[PciAddress | None, Certainty]:
        """The card of this host that the assigned id of a device names."""
        for device in self.vm.devices:
            if device.key == key and isinstance(device.backing, DynamicBacking):
                address, sure = assigned_address(device.backing, self.vm.moid, self.cards)
                return (address, sure) if address is not None and _has(self.cards, address) else (None, sure)
        return None, Certainty.UNKNOWN

    def _assigned_elsewhere(self) -> list[Claim]:
        """Claims for assigned ids that name another card than the one found; agreement is noted."""
        more = []
        for index, claim in enumerate(self.found):
            assigned, _ = self._assigned(claim.device_key)
            if assigned is None or claim.address is None:
                continue
            if assigned in (claim.address, claim.function):
                self.found[index] = _by(claim, Source.ASSIGNED_ID)
            else:
                extra = _told(self.vm.moid, PASSTHROUGH, (Source.ASSIGNED_ID,))
                more.append(_at(extra, assigned, self.cards, Certainty.LIKELY))
        return more

    def _or_only(self, claim: Claim) -> Claim:
        """Settle a claim that one card can serve."""
        if len(claim.candidates) != 1:
            return claim
        return _by(_at(claim, claim.candidates[0], self.cards), Source.ELIMINATION)

    def _shared(self, claims: list[Claim]) -> None:
        """Cards of the VM's vGPUs: bindings, then the cards that list it as a user."""
        waiting = self._settle(claims, self.unkeyed, Source.BINDING)
        bound = sum(1 for claim in self.found if claim.kind == VGPU)
        listed = [a for a in self.listed if a in self.cards.shared]
        one_profile = len({claim.profile for claim in waiting}) == 1
        for index, claim in enumerate(waiting):
            if len(listed) == 1:
                self.found.append(_by(_at(claim, listed[0], self.cards), Source.GRAPHICS))
            elif listed and not bound and len(listed) == len(waiting) and one_profile:
                # As many cards as vGPUs, all of one profile: one each, and which is which does not matter.
                self.found.append(_by(_at(claim, listed[index], self.cards), Source.GRAPHICS))
            elif listed:
                self.found.append(replace(claim, candidates=tuple(listed)))
            else:
                self.found.append(self._or_only(claim))
        if len(listed) > bound + len(waiting):
            at = {claim.address for claim in self.found}
            more = _told(self.vm.moid, VGPU, (Source.GRAPHICS,))
            self.found += [_at(more, a, self.cards, Certainty.LIKELY) for a in listed if a not in at]
