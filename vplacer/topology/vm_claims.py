"""What one VM claims of a host's devices: resolved from its devices and all that the host says of it.

Where sources disagree, every card that one of them names is claimed: a card that anyone may hold is
not free. `vplacer.topology.use_findings` tells an admin that they disagree.
"""

from __future__ import annotations

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
from vplacer.topology.backing_cards import assigned_address, matching_cards, offering_cards, whole_twins
from vplacer.topology.claims import (
    PASSTHROUGH,
    VF,
    VGPU,
    Claim,
    HostCards,
    Source,
    When,
    claim_order,
    settled_at,
    with_sources,
)
from vplacer.topology.told_claims import claim_told, with_told

_UNKNOWN_PASSTHROUGH = "VirtualPCIPassthrough"


def claims_of_vm(vm: Vm, cards: HostCards) -> tuple[Claim, ...]:
    """Return what a VM registered on a host claims now, in `claim_order`.

    A VM that does not run claims nothing, except what the host still says it holds (a claim that
    outlives the VM's run keeps the card from others), and cards named by assigned ids that it kept
    while suspended.
    """
    if vm.moid not in cards.listed and vm.moid not in cards.bindings and not _may_claim(vm):
        return ()
    found: list[Claim] = []
    if vm.is_on:
        found = _Running(vm, cards).claims()
    elif vm.power is VmPower.SUSPENDED:
        found = _kept_ids(vm, cards)
    return tuple(with_told(vm.moid, cards, found, vm))


def _may_claim(vm: Vm) -> bool:
    """Whether any device of a VM may be one of a host's, whatever the host says of it."""
    return any(map(_may_be_claimed, vm.devices))


def _may_be_claimed(device: VmDevice) -> bool:
    kinds = (StaticBacking, DynamicBacking, VgpuBacking, SriovBacking, DvxBacking, UnknownBacking)
    return isinstance(device.backing, kinds)


def claims_told(vm: str, cards: HostCards) -> tuple[Claim, ...]:
    """Return the claims that the host asserts of a VM of which nothing else is known."""
    return tuple(with_told(vm, cards, [], None))


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
                settled_at(claim(PASSTHROUGH, (), BoundBy.STATIC), address, cards)
                if address in cards.hardware
                else None
            )
        case DynamicBacking(label=label) as backing:
            bound_by = BoundBy.LABEL if label else BoundBy.PLATFORM
            return claim(PASSTHROUGH, matching_cards(backing, cards), bound_by, label=label)
        case VgpuBacking(profile=profile):
            return claim(VGPU, offering_cards(profile, cards), profile=profile)
        case SriovBacking(physical_function=port, virtual_function=function):
            if port is not None and port in cards.hardware:
                found = settled_at(claim(VF, (), BoundBy.STATIC), port, cards)
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


def _kept_ids(vm: Vm, cards: HostCards) -> list[Claim]:
    found = []
    for device in vm.devices:
        if not isinstance(device.backing, DynamicBacking):
            continue
        address, _ = assigned_address(device.backing, vm.moid, cards)
        if address is not None and address in cards.hardware:
            claim = claim_told(vm.moid, PASSTHROUGH, (Source.ASSIGNED_ID,), device.key)
            found.append(settled_at(claim, address, cards, Certainty.LIKELY))
    return found


class _Running:
    """Finds the card of each device of one running VM."""

    def __init__(self, vm: Vm, cards: HostCards) -> None:
        self.vm = vm
        self.cards = cards
        self.groups = _groups(vm)
        told = [
            b
            for b in cards.bindings.get(vm.moid, ())
            if b.address is not None and b.address in cards.hardware
        ]
        self.by_key = {b.device_key: b.address for b in told if b.device_key is not None}
        self.unkeyed = [b.address for b in told if b.device_key is None and b.address is not None]
        self.listed = cards.listed.get(vm.moid, ())
        self.found: list[Claim] = []

    def claims(self) -> list[Claim]:
        """Resolve the devices that name their card first, then those that share it with nobody."""
        dynamic: list[Claim] = []
        shared: list[Claim] = []
        for device in sorted(filter(_may_be_claimed, self.vm.devices), key=lambda d: d.key):
            group = self.groups.get(device.group_key) if device.group_key is not None else None
            claim = _wanted(self.vm.moid, device, self.cards, group)
            if isinstance(device.backing, StaticBacking):
                self._static(device.key, device.backing, claim, group)
            elif claim is None:
                continue
            elif claim.address is not None:
                self.found.append(claim)
            elif (bound := self.by_key.get(device.key)) is not None:
                self.found.append(with_sources(settled_at(claim, bound, self.cards), Source.BINDING))
            elif isinstance(device.backing, DynamicBacking):
                dynamic.append(claim)
            elif isinstance(device.backing, VgpuBacking):
                shared.append(claim)
            else:
                self.found.append(claim)
        if dynamic:
            self._dynamic(dynamic)
        self._shared(shared)
        kinds = {type(device.backing) for device in self.vm.devices}
        return self.found + (self._assigned_elsewhere() if DynamicBacking in kinds else [])

    def _static(self, key: int, backing: StaticBacking, claim: Claim | None, group: str | None) -> None:
        """A running VM holds the card it names; and where that is another card, maybe one it meant."""
        twins = whole_twins(backing, self.cards)
        if claim is not None:
            right = not twins or backing.address in twins
            self.found.append(claim if right else replace(claim, certainty=Certainty.LIKELY))
            if backing.address in self.unkeyed:
                self.unkeyed.remove(backing.address)
            if right:
                return
        lost = claim_told(self.vm.moid, PASSTHROUGH, (Source.CONFIGURATION,), key if claim is None else None)
        lost = replace(lost, candidates=twins, bound_by=BoundBy.STATIC, group=group)
        if len(twins) == 1:
            lost = settled_at(lost, twins[0], self.cards, Certainty.LIKELY)
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
                best = min(able[0], key=lambda claim: self._speaks_against(claim, address))
                able[0].remove(best)
                self.found.append(with_sources(settled_at(best, address, self.cards), source))
                addresses.remove(address)
        return [claim for items in alike.values() for claim in items]

    def _speaks_against(self, claim: Claim, address: PciAddress) -> int:
        """How far the assigned id of a device says that it has another card: 0 = it names this one."""
        assigned, _ = self._assigned(claim.device_key)
        if assigned is None:
            return 1
        return 0 if assigned == address else 2

    def _by_instance(self, claims: list[Claim]) -> list[Claim]:
        """Settle claims whose assigned id is the instance of a binding that names the card."""
        left = []
        for claim in claims:
            address, sure = self._assigned(claim.device_key)
            if address is not None and sure is Certainty.PROVED and address in self.unkeyed:
                self.unkeyed.remove(address)
                self.found.append(
                    with_sources(settled_at(claim, address, self.cards), Source.BINDING, Source.ASSIGNED_ID)
                )
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
                self.found.append(
                    with_sources(settled_at(claim, address, self.cards, sure), Source.ASSIGNED_ID)
                )
            else:
                either = tuple(sorted({address, *claim.candidates}))
                self.found.append(with_sources(replace(claim, candidates=either), Source.ASSIGNED_ID))
        return left

    def _assigned(self, key: int | None) -> tuple[PciAddress | None, Certainty]:
        """The card of this host that the assigned id of a device names."""
        for device in self.vm.devices:
            if device.key == key and isinstance(device.backing, DynamicBacking):
                address, sure = assigned_address(device.backing, self.vm.moid, self.cards)
                return (
                    (address, sure)
                    if address is not None and address in self.cards.hardware
                    else (None, sure)
                )
        return None, Certainty.UNKNOWN

    def _assigned_elsewhere(self) -> list[Claim]:
        """Claims for assigned ids that name another card than the one found; agreement is noted."""
        more = []
        for index, claim in enumerate(self.found):
            assigned, _ = self._assigned(claim.device_key)
            if assigned is None or claim.address is None:
                continue
            if assigned in (claim.address, claim.function):
                self.found[index] = with_sources(claim, Source.ASSIGNED_ID)
            else:
                extra = claim_told(self.vm.moid, PASSTHROUGH, (Source.ASSIGNED_ID,))
                more.append(settled_at(extra, assigned, self.cards, Certainty.LIKELY))
        return more

    def _or_only(self, claim: Claim) -> Claim:
        """Settle a claim that one card can serve."""
        if len(claim.candidates) != 1:
            return claim
        return with_sources(settled_at(claim, claim.candidates[0], self.cards), Source.ELIMINATION)

    def _shared(self, claims: list[Claim]) -> None:
        """Cards of the VM's vGPUs: bindings, then the cards that list it as a user."""
        waiting = self._settle(claims, self.unkeyed, Source.BINDING)
        bound = sum(1 for claim in self.found if claim.kind == VGPU)
        listed = [a for a in self.listed if a in self.cards.shared]
        one_profile = len({claim.profile for claim in waiting}) == 1
        for index, claim in enumerate(waiting):
            if len(listed) == 1:
                self.found.append(with_sources(settled_at(claim, listed[0], self.cards), Source.GRAPHICS))
            elif listed and not bound and len(listed) == len(waiting) and one_profile:
                # As many cards as vGPUs, all of one profile: one each, and which is which does not matter.
                self.found.append(with_sources(settled_at(claim, listed[index], self.cards), Source.GRAPHICS))
            elif listed:
                self.found.append(replace(claim, candidates=tuple(listed)))
            else:
                self.found.append(self._or_only(claim))
        if len(listed) > bound + len(waiting):
            at = {claim.address for claim in self.found}
            more = claim_told(self.vm.moid, VGPU, (Source.GRAPHICS,))
            self.found += [settled_at(more, a, self.cards, Certainty.LIKELY) for a in listed if a not in at]
