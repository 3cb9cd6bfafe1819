"""What the host says of a VM: bindings and users of graphics cards, added to what the VM's devices claim."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vplacer.inventory.bound_by import BoundBy
from vplacer.inventory.finding import Certainty
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import DynamicBacking, VgpuBacking, Vm
from vplacer.topology.backing_cards import matching_cards, offering_cards
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


def claim_told(vm: str, kind: str, sources: tuple[Source, ...], key: int | None = None) -> Claim:
    """A claim nobody but the host speaks of."""
    unknown, by = Certainty.UNKNOWN, BoundBy.PLATFORM
    return Claim(vm, key, kind, None, (), None, by, None, unknown, None, When.NOW, sources)


def with_told(vm: str, cards: HostCards, found: list[Claim], known: Vm | None) -> list[Claim]:
    """Add what the host says of a VM and none of its claims covers; and let claims name who else says so.

    Returned in `claim_order`.
    """
    claims = sorted(found, key=claim_order) if len(found) > 1 else list(found)
    bindings = cards.bindings.get(vm, ())
    if not bindings and vm not in cards.listed:
        return claims
    for binding in bindings:
        address = binding.address
        if address is None or address not in cards.hardware:
            continue
        index = _covering(claims, address)
        if index is None:
            index = _of_port(claims, address, cards)
        if index is not None:
            claims[index] = with_sources(claims[index], Source.BINDING)
        elif not _shares(claims, address):
            key = binding.device_key if known is None else None
            claim = claim_told(vm, _kind_told(address, cards), (Source.BINDING,), key)
            claims.append(settled_at(claim, address, cards))
    for address in cards.listed.get(vm, ()):
        index = _covering(claims, address)
        if index is not None:
            claims[index] = with_sources(claims[index], Source.GRAPHICS)
        elif not _shares(claims, address):
            card = cards.by_address.get(address)
            kind = VGPU if card is not None and card.vgpu else PASSTHROUGH
            claims.append(settled_at(claim_told(vm, kind, (Source.GRAPHICS,)), address, cards))
    claims += _opaque(vm, cards, claims, known)
    return sorted(claims, key=claim_order) if len(claims) > 1 else claims


def _kind_told(address: PciAddress, cards: HostCards) -> str:
    """How a VM holds a card of which the host says no more than that: as the card can be given now."""
    card = cards.by_address.get(address)
    if card is None or card.passthrough:
        return PASSTHROUGH
    if card.vgpu:
        return VGPU
    return VF if card.sriov_free_vfs else PASSTHROUGH


def _of_port(claims: list[Claim], address: PciAddress, cards: HostCards) -> int | None:
    """The claim on a virtual function, not told which, that a binding to one of the port is about.

    The function is noted where no other claim of the VM can be the one.
    """
    port = cards.function_of.get(address)
    able = [
        index
        for index, claim in enumerate(claims)
        if claim.kind == VF
        and claim.function is None
        and Source.BINDING not in claim.sources
        and (port == claim.address or (claim.address is None and port in claim.candidates))
    ]
    if port is None or not able:
        return None
    sure = next((index for index in able if claims[index].address is not None), None)
    if len(able) == 1 or sure is None:
        claims[able[0]] = settled_at(claims[able[0]], address, cards)
        return able[0]
    return sure


def _covering(claims: Iterable[Claim], address: PciAddress) -> int | None:
    """The claim that is on an address, by its place."""
    return next((i for i, c in enumerate(claims) if address in (c.address, c.function)), None)


def _shares(claims: Iterable[Claim], address: PciAddress) -> bool:
    """Whether a device of the VM may be on a card, and so explain that the host says the VM is there."""
    return any(c.address is None and address in c.candidates for c in claims)


def _opaque(vm: str, cards: HostCards, claims: list[Claim], known: Vm | None) -> list[Claim]:
    """Claims for bindings that name no card of this host, beyond those that the VM's claims explain."""
    bindings = [b for b in cards.bindings.get(vm, ()) if b.address is None or b.address not in cards.hardware]
    explained = sum(1 for claim in claims if Source.BINDING not in claim.sources)
    left = bindings[explained:]
    if not left:
        return []
    kind, candidates, profile = _may_be_bound(cards, known)
    if not candidates:
        return []
    more = [
        replace(
            claim_told(vm, kind, (Source.BINDING,), b.device_key if known is None else None),
            candidates=candidates,
            profile=profile,
            instance=b.instance_id if b.address is None else f"{b.instance_id} at {b.address}",
        )
        for b in left
    ]
    return list(dict.fromkeys(more))  # one instance told twice is one device


def _may_be_bound(cards: HostCards, known: Vm | None) -> tuple[str, tuple[PciAddress, ...], str | None]:
    """What a binding of a VM that names no card may be: a kind, cards, and a profile where it is known.

    The VM's devices tell. Without any that could be meant, it is a whole card; where there is none, or
    the host lists no users of shared cards, it may be a vGPU.
    """
    devices = known.devices if known is not None else ()
    dynamic = [device.backing for device in devices if isinstance(device.backing, DynamicBacking)]
    whole = {address for backing in dynamic for address in matching_cards(backing, cards)}
    if whole:
        return PASSTHROUGH, tuple(sorted(whole)), None
    profiles = {device.backing.profile for device in devices if isinstance(device.backing, VgpuBacking)}
    shared = {address for profile in profiles for address in offering_cards(profile, cards)}
    if shared:
        return VGPU, tuple(sorted(shared)), profiles.pop() if len(profiles) == 1 else None
    if not cards.whole:
        return VGPU, cards.shared, None
    if known is None and not cards.listed:
        return PASSTHROUGH, tuple(sorted({*cards.whole, *cards.shared})), None
    return PASSTHROUGH, cards.whole, None
