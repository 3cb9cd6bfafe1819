"""Which VM holds which card of a host: what only the simulated vCenter knows for sure.

Where the site says it (inventory YAML), that is taken; for VMs that ran when a snapshot was taken, what
their devices and the host tell, and where that leaves a choice, the first card that serves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from vplacer.inventory.host import DeviceBinding, Host, PciDevice
from vplacer.inventory.limits_table import parse_release
from vplacer.inventory.moids import moid_order
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site import HeldDevice
from vplacer.inventory.site_names import stable_uuid
from vplacer.inventory.vm import DvxBacking, DynamicBacking, SriovBacking, VgpuBacking, Vm
from vplacer.lab.model.tables import Tables
from vplacer.topology.claims import PASSTHROUGH, VF, VGPU, Claim, HostCards, host_cards
from vplacer.topology.device_use import device_use

_FIRST_TELLING_CARDS: Final = (9, 1, 0)
"""From API 9.1 on a binding names the card and the device (vSphere API: AssignableHardwareBinding)."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A device of a VM and the card behind it.

    ``kind``: passthrough, vgpu or vf; of a virtual function ``address`` is that of its physical one.
    ``offset``: where a vGPU lies on its card, in GiB or memory slices; None = wherever.
    """

    vm: str
    key: int
    address: PciAddress
    kind: str
    profile: str | None = None
    offset: tuple[int, int] | None = None


@dataclass
class CardsHeld:
    """What is held of one host's cards."""

    cards: HostCards
    whole: dict[PciAddress, Seat] = field(default_factory=dict)
    vgpus: dict[PciAddress, list[Seat]] = field(default_factory=dict)
    functions: dict[PciAddress, list[Seat]] = field(default_factory=dict)

    def add(self, seat: Seat) -> None:
        """Note that a card is held."""
        if seat.kind == VGPU:
            self.vgpus.setdefault(seat.address, []).append(seat)
        elif seat.kind == VF:
            self.functions.setdefault(seat.address, []).append(seat)
        else:
            self.whole.setdefault(seat.address, seat)

    def untouched(self, address: PciAddress) -> bool:
        """Whether nobody holds any of a card."""
        return address not in self.whole and not self.vgpus.get(address) and not self.functions.get(address)

    def free_functions(self, address: PciAddress) -> int:
        """Return how many virtual functions of a port nobody holds."""
        card = self.cards.by_address.get(address)
        return 0 if card is None else max(0, card.sriov_free_vfs - len(self.functions.get(address, ())))


def cards_held(tables: Tables, host: Host, without: str | None = None) -> CardsHeld:
    """Return what is held of a host's cards, by all VMs or all but one."""
    cards = host_cards(host, tables.topology(host))
    _find_out(tables, host, cards)
    held = CardsHeld(cards)
    known = [vm.moid for vm in tables.vms_on(host.moid)]
    foreign = sorted(tables.foreign, key=moid_order)
    for moid in (*known, *foreign):
        if moid == without:
            continue
        for seat in seats_of(tables, moid, host.moid, cards):
            held.add(seat)
    return held


def seats_of(tables: Tables, vm: str, host: str, cards: HostCards) -> tuple[Seat, ...]:
    """Return what a VM holds on a host."""
    found = []
    known = tables.vms.get(vm)
    backings = {device.key: device.backing for device in known.devices} if known is not None else {}
    for item in tables.held.get(vm, ()):
        if item.host != host:
            continue
        backing = backings.get(item.device_key)
        owner = cards.function_of.get(item.address)
        card = cards.by_address.get(item.address)
        profile = None
        if isinstance(backing, VgpuBacking):
            kind, profile = VGPU, backing.profile
        elif isinstance(backing, SriovBacking | DvxBacking) or owner is not None:
            kind = VF
        elif backing is None and card is not None and card.vgpu:
            kind = VGPU
        else:
            kind = PASSTHROUGH
        offset = tables.offsets.get((vm, item.device_key))
        found.append(Seat(vm, item.device_key, owner or item.address, kind, profile, offset))
    return tuple(found)


def take_seats(tables: Tables, vm: Vm, host: Host, seats: Iterable[Seat]) -> Vm:
    """Note what a VM that starts holds, at the host and in the VM; return the VM."""
    mine = tuple(seats)
    tables.hold(vm.moid, tuple(HeldDevice(vm.moid, seat.key, host.moid, seat.address) for seat in mine))
    for seat in mine:
        if seat.offset is not None:
            tables.offsets[(vm.moid, seat.key)] = seat.offset
    release = parse_release(host.api_version)
    tells = release is not None and release >= _FIRST_TELLING_CARDS
    bindings = [
        DeviceBinding(
            instance_of(host, seat.address),
            vm.moid,
            seat.address if tells else None,
            seat.key if tells else None,
        )
        for seat in mine
        if seat.kind != VF
    ]
    shared = {seat.address for seat in mine if seat.kind == VGPU}
    kept = [binding for binding in host.bindings if binding.vm != vm.moid]
    ordered = sorted([*kept, *bindings], key=lambda item: moid_order(item.vm))
    devices = tuple(_with_user(device, vm.moid, device.address in shared) for device in host.pci_devices)
    if bindings or len(kept) != len(host.bindings) or devices != host.pci_devices:
        tables.put_host(replace(host, bindings=tuple(ordered), pci_devices=devices))
    by_key = {seat.key: seat for seat in mine}
    return replace(
        vm,
        devices=tuple(
            replace(device, backing=replace(backing, assigned_id=_assigned(host, by_key.get(device.key))))
            if isinstance(backing := device.backing, DynamicBacking)
            else device
            for device in vm.devices
        ),
    )


def leave_seats(tables: Tables, vm: Vm) -> Vm:
    """Note that a VM holds nothing any more; return the VM."""
    host = tables.hosts.get(vm.host or "")
    if host is not None:
        cards = host_cards(host, tables.topology(host))
        _find_out(tables, host, cards)
        return take_seats(tables, vm, host, ())
    tables.hold(vm.moid, ())
    return vm


def instance_of(host: Host, address: PciAddress) -> str:
    """Return the opaque id by which the host's assignable hardware names a card."""
    return stable_uuid("assigned", host.moid, str(address))


def _assigned(host: Host, seat: Seat | None) -> str | None:
    return None if seat is None else instance_of(host, seat.address)


def _with_user(device: PciDevice, vm: str, uses: bool) -> PciDevice:
    graphics = device.graphics
    if graphics is None or uses == (vm in graphics.vms):
        return device
    others = [moid for moid in graphics.vms if moid != vm]
    users = sorted([*others, vm] if uses else others, key=moid_order)
    return replace(device, graphics=replace(graphics, vms=tuple(users)))


def _find_out(tables: Tables, host: Host, cards: HostCards) -> None:
    """Give the devices of VMs that ran from the beginning their cards; once a host."""
    if host.moid in tables.seated:
        return
    tables.seated.add(host.moid)
    vms = tables.vms_on(host.moid)
    told = {(vm.moid, item.device_key) for vm in vms for item in tables.held.get(vm.moid, ())}
    taken = {item.address for vm in vms for item in tables.held.get(vm.moid, ())}
    unknown: list[Claim] = []
    fresh: dict[str, list[HeldDevice]] = {}
    for claim in device_use(cards, vms).now:
        if claim.device_key is not None and (claim.vm, claim.device_key) in told:
            continue
        if claim.vm in tables.held and claim.device_key is None:
            continue
        if claim.address is None:
            unknown.append(claim)
            continue
        taken.add(claim.address)
        _note(fresh, claim, host, claim.function or claim.address)
    for claim in unknown:
        open_cards = [a for a in claim.candidates if claim.kind != PASSTHROUGH or a not in taken]
        if open_cards:
            taken.add(open_cards[0])
            _note(fresh, claim, host, open_cards[0])
    for vm, items in fresh.items():
        tables.hold(vm, (*tables.held.get(vm, ()), *items))


def _note(fresh: dict[str, list[HeldDevice]], claim: Claim, host: Host, address: PciAddress) -> None:
    items = fresh.setdefault(claim.vm, [])
    key = claim.device_key if claim.device_key is not None else -1 - len(items)
    items.append(HeldDevice(claim.vm, key, host.moid, address))
