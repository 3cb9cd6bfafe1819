"""Where the sources of who holds what contradict each other, as findings.

The kinds are stable words, listed with their meaning in docs/topology.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.finding import Certainty, Finding
from vplacer.inventory.moids import moid_order
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import DynamicBacking, StaticBacking, VgpuBacking, Vm, VmPower
from vplacer.topology.backing_cards import assigned_address, matching_cards
from vplacer.topology.claims import PASSTHROUGH, VGPU, HostCards, Source
from vplacer.topology.device_use import DeviceUse
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.static_findings import static_findings

_STATES = {VmPower.OFF: "powered off", VmPower.SUSPENDED: "suspended"}


@dataclass(frozen=True, eq=False)
class _View:
    """All that is compared. ``everywhere``: the VMs of the vCenter by moid; empty = not known."""

    cards: HostCards
    use: DeviceUse
    topology: HostTopology
    here: Mapping[str, Vm]
    everywhere: Mapping[str, Vm] = field(default_factory=dict)
    named: Callable[[str], str] | None = None

    def name(self, moid: str) -> str:
        if self.named is not None:
            return self.named(moid)
        vm = self.here.get(moid) or self.everywhere.get(moid)
        return vm.name if vm is not None else moid

    def names(self, moids: Iterable[str]) -> str:
        return ", ".join(self.name(moid) for moid in sorted(moids, key=moid_order))

    def finding(
        self,
        kind: str,
        text: str,
        certainty: Certainty,
        vm: str | None = None,
        address: PciAddress | None = None,
    ) -> Finding:
        return Finding(kind, text, certainty, self.cards.host.moid, vm, address)


def use_findings(
    cards: HostCards,
    use: DeviceUse,
    topology: HostTopology,
    vms: Iterable[Vm],
    everywhere: Mapping[str, Vm] | None = None,
    name: Callable[[str], str] | None = None,
) -> tuple[Finding, ...]:
    """Return what contradicts itself in who holds the devices of a host, in a stable order.

    Args:
        cards: the host, indexed.
        use: all claims on its devices.
        topology: of the host.
        vms: the VMs registered on it.
        everywhere: all VMs of the vCenter by managed object id, to say where a holder is.
        name: what stands for a VM in the texts, by managed object id; None = its name.
    """
    view = _View(cards, use, topology, {vm.moid: vm for vm in vms}, everywhere or {}, name)
    found = [
        *_twice(view),
        *_later(view),
        *_holders(view),
        *_outliving(view),
        *_bindings(view),
        *_assigned(view),
        *_listed(view),
        *_split(view),
        *_states(view),
    ]
    for vm in view.here.values():
        found += static_findings(vm, cards)
    return tuple(sorted(set(found), key=_order))


def _order(finding: Finding) -> tuple[str, str, str, str]:
    return (finding.kind, str(finding.address or ""), finding.vm or "", finding.text)


def _twice(view: _View) -> Iterable[Finding]:
    """A whole card has one holder, and no vGPU or virtual function beside it."""
    for address, claims in view.use.use.held.items():
        if len(claims) < 2 or all(claim.kind != PASSTHROUGH for claim in claims):
            continue
        told = "; ".join(
            f"{view.name(claim.vm)} as {_WORDS[claim.kind]} ({', '.join(claim.sources)})" for claim in claims
        )
        sure = Certainty.PROVED if all(claim.certain for claim in claims) else Certainty.LIKELY
        vms = {claim.vm for claim in claims}
        who = f"{len(vms)} VMs" if len(vms) > 1 else f"{len(claims)} devices of one VM"
        vm = None if len(vms) > 1 else claims[0].vm
        text = f"{address} can have one holder and is claimed by {who}: {told}"
        yield view.finding("device-claimed-twice", text, sure, vm, address)


_WORDS = {PASSTHROUGH: "a whole card", VGPU: "a vGPU", "vf": "a virtual function"}


def _later(view: _View) -> Iterable[Finding]:
    """Static cards that VMs which do not run will not get, or that only one of them can get."""
    wanted: dict[PciAddress, set[str]] = defaultdict(set)
    for claim in view.use.at_power_on:
        if claim.kind == PASSTHROUGH and claim.address is not None:
            wanted[claim.address].add(claim.vm)
    held = view.use.use.held
    for address, vms in wanted.items():
        if len(vms) > 1:
            names = view.names(vms)
            text = f"{address} is the static device of VMs that are off, and only one can run: {names}"
            yield view.finding("device-wanted-twice", text, Certainty.PROVED, None, address)
        for vm in vms:
            holders = {claim.vm for claim in held.get(address, ())} - {vm}
            if holders:
                text = (
                    f"its static device {address} is held by {view.names(holders)}: it cannot be switched on"
                )
                yield view.finding("device-held-by-another", text, Certainty.PROVED, vm, address)


def _holders(view: _View) -> Iterable[Finding]:
    """Holders that are not registered on the host, not seen, or not readable."""
    for vm in view.cards.holders:
        cards = _cards_told(view, vm)
        known = view.here.get(vm)
        if known is not None and not known.readable:
            text = f"it holds {cards}, and its configuration cannot be read"
            yield view.finding("holder-not-readable", text, Certainty.PROVED, vm)
        elif known is None and vm in view.everywhere:
            text = f"the host says that it holds {cards}, and it is registered on another host"
            yield view.finding("holder-not-on-host", text, Certainty.PROVED, vm)
        elif known is None:
            why = "it is not in the inventory: deleted, or hidden from this account"
            text = f"the host says that it holds {cards}, and {why}"
            kind = "holder-not-visible"
            if not view.everywhere:
                text, kind = f"the host says that it holds {cards}, and it is not on it", "holder-not-on-host"
            yield view.finding(kind, text, Certainty.PROVED, vm)


def _cards_told(view: _View, vm: str) -> str:
    addresses = {b.address for b in view.cards.bindings.get(vm, ()) if b.address is not None}
    addresses.update(view.cards.listed.get(vm, ()))
    opaque = sum(1 for b in view.cards.bindings.get(vm, ()) if b.address is None)
    named = ", ".join(str(address) for address in sorted(addresses))
    if named:
        return named
    return "a card" if opaque == 1 else f"{opaque} cards"


def _outliving(view: _View) -> Iterable[Finding]:
    """Claims of VMs that do not run: the card stays taken until the claim is released."""
    for vm in view.here.values():
        if vm.is_on:
            continue
        state = _STATES[vm.power]
        for claim in view.use.now:
            if claim.vm != vm.moid:
                continue
            at = str(claim.address) if claim.address is not None else "a card"
            said = ", ".join(claim.sources)
            if Source.GRAPHICS in claim.sources:
                text = f"it is {state}, and the host lists it as a user of {at}"
                yield view.finding("graphics-lists-off-vm", text, Certainty.PROVED, vm.moid, claim.address)
            if claim.sources != (Source.GRAPHICS,):
                text = f"it is {state} and still holds {at} ({said}); the card is free once that is released"
                yield view.finding("claim-outlives-power-off", text, claim.certainty, vm.moid, claim.address)


def _bindings(view: _View) -> Iterable[Finding]:
    """Bindings that name what the host or the VM does not have."""
    for vm, bindings in view.cards.bindings.items():
        known = view.here.get(vm)
        for binding in bindings:
            address = binding.address
            if address is None:
                continue
            if address not in view.cards.hardware:
                text = f"a binding names {address}, and the host has no such device"
                yield view.finding("binding-names-absent-device", text, Certainty.PROVED, vm, address)
            if known is None or not known.readable or not known.is_on or binding.device_key is None:
                continue
            device = next((d for d in known.devices if d.key == binding.device_key), None)
            backing = device.backing if device is not None else None
            if device is None:
                text = f"a binding gives {address} to its device {binding.device_key}, which it does not have"
                yield view.finding("binding-differs-from-vm", text, Certainty.PROVED, vm, address)
            elif isinstance(backing, StaticBacking) and backing.address != address:
                text = f"a binding gives {address} to a device whose configuration names {backing.address}"
                yield view.finding("binding-differs-from-vm", text, Certainty.PROVED, vm, address)
            elif isinstance(backing, DynamicBacking) and address not in matching_cards(backing, view.cards):
                text = f"a binding gives it {address}, which its device does not allow"
                yield view.finding("binding-differs-from-vm", text, Certainty.PROVED, vm, address)
    for claim in view.use.now:
        known = view.here.get(claim.vm)
        if known is None or not known.is_on or not known.readable:
            continue
        if claim.sources == (Source.BINDING,):
            at = str(claim.address) if claim.address is not None else "a card that is not named"
            text = f"a binding gives it {at}, and none of its devices can be that one"
            yield view.finding("binding-without-device", text, Certainty.LIKELY, claim.vm, claim.address)


def _assigned(view: _View) -> Iterable[Finding]:
    """Assigned ids of running VMs that read like an address, and do not agree with the rest."""
    for vm in view.here.values():
        for device in vm.devices if vm.is_on else ():
            if not isinstance(device.backing, DynamicBacking):
                continue
            address, _ = assigned_address(device.backing, vm.moid, view.cards)
            if address is None:
                continue
            bound = {
                b.address
                for b in view.cards.bindings.get(vm.moid, ())
                if b.device_key == device.key and b.address is not None
            }
            if address not in view.cards.hardware:
                text = f"the assigned id of a device reads {address}, and the host has no such device"
                yield view.finding(
                    "assigned-id-names-absent-device", text, Certainty.LIKELY, vm.moid, address
                )
            elif bound and address not in bound:
                others = ", ".join(str(a) for a in sorted(bound))
                text = f"the assigned id of a device reads {address}, and its binding names {others}"
                yield view.finding(
                    "assigned-id-differs-from-binding", text, Certainty.LIKELY, vm.moid, address
                )
            elif address not in matching_cards(device.backing, view.cards):
                text = f"the assigned id of a device reads {address}, which the device does not allow"
                yield view.finding("assigned-id-not-allowed", text, Certainty.LIKELY, vm.moid, address)


def _listed(view: _View) -> Iterable[Finding]:
    """Running VMs that the host lists as users of more cards than they have devices for."""
    for vm in view.here.values():
        if not vm.is_on or not vm.readable:
            continue
        for claim in view.use.now:
            if claim.vm == vm.moid and claim.sources == (Source.GRAPHICS,):
                count = sum(1 for device in vm.devices if isinstance(device.backing, VgpuBacking))
                has = {0: "no vGPU", 1: "one vGPU"}.get(count, f"{count} vGPUs")
                text = f"the host lists it as a user of {claim.address}, and it has {has}"
                yield view.finding(
                    "vgpu-listed-without-profile", text, Certainty.LIKELY, vm.moid, claim.address
                )


def _split(view: _View) -> Iterable[Finding]:
    """Devices that are reset together and that several VMs hold or will.

    HostPciPassthruInfo.dependentDevice; it may be a bridge.
    """
    owners: dict[PciAddress, set[str]] = defaultdict(set)
    later: dict[PciAddress, set[str]] = defaultdict(set)
    for claim in view.use.claims:
        if claim.address is not None and claim.kind == PASSTHROUGH:
            (owners if claim in view.use.now else later)[claim.address].add(claim.vm)
    for group in view.topology.ownership_groups:
        now: set[str] = set().union(*(owners[a] for a in group if a in owners))
        all_vms = now.union(*(later[a] for a in group if a in later))
        if len(all_vms) < 2:
            continue
        devices = " ".join(str(address) for address in group)
        how = "are split over" if len(now) > 1 else "would be split over"
        text = f"{devices} are reset together and {how} {view.names(all_vms)}"
        yield view.finding("dependent-devices-split", text, Certainty.PROVED, None, group[0])


def _states(view: _View) -> Iterable[Finding]:
    """GPUs and NICs whose passthrough waits for a reboot: not placeable now, unlike those that cannot."""
    for placed in view.topology.devices:
        device = view.cards.hardware.get(placed.address)
        state = device.passthrough if device is not None else None
        if state is None or placed.kind not in (DeviceKind.GPU, DeviceKind.NIC):
            continue
        if state.enabled and not state.active:
            text = f"passthrough of {placed.address} is enabled and not active: the host has to be rebooted"
            yield view.finding("reboot-pending", text, Certainty.PROVED, None, placed.address)
