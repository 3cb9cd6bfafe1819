"""The platform's choice of cards at power-on: Dynamic DirectPath, vGPU, device groups, virtual functions.

vSphere says nothing of how it chooses among cards that serve. Here it is the first by address, unless the
simulated vCenter is told otherwise (`Luck`), so that a plan can meet bad luck. For vGPUs in same-size mode
the host's assignment policy comes first (vSphere API: HostGraphicsConfig.sharedPassthruAssignmentPolicy).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from vplacer.constraints.bipartite import assign
from vplacer.inventory.host import GpuMode, Host, PciDevice
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import (
    DvxBacking,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
    Vm,
    VmDevice,
)
from vplacer.lab.model.faults import LabFault, vm_config
from vplacer.lab.model.seats import CardsHeld, Seat, cards_held
from vplacer.lab.model.tables import Tables
from vplacer.lab.model.vgpu_places import place_on
from vplacer.topology.assignable import allowed_by, offers
from vplacer.topology.claims import PASSTHROUGH, VF, VGPU
from vplacer.topology.vgpu_room import profile_shape

_CONSOLIDATION = "consolidation"
_PERFORMANCE = "performance"


class Luck(StrEnum):
    """Which of several cards that serve the platform takes.

    first, last: by address. worst: cards on other nodes than the VM is bound to, if it can. seed: at
    random, the same for the same seed.
    """

    FIRST = "first"
    LAST = "last"
    WORST = "worst"
    SEED = "seed"


@dataclass(frozen=True, slots=True)
class CardOrder:
    """The order in which the platform tries cards."""

    luck: Luck = Luck.FIRST
    seed: int = 0

    def ranked(self, addresses: Iterable[PciAddress], vm: Vm, host: Host) -> list[PciAddress]:
        """Return cards in the order in which they are tried."""
        found = sorted(addresses)
        if self.luck is Luck.LAST:
            found.reverse()
        elif self.luck is Luck.SEED:
            random.Random(f"{self.seed}/{host.moid}/{vm.moid}").shuffle(found)
        elif self.luck is Luck.WORST:
            near = set(vm.node_affinity)
            found.sort(key=lambda address: (host.node_of(address) in near, address))
        return found


def choose_cards(tables: Tables, vm: Vm, host: Host, order: CardOrder) -> tuple[Seat, ...]:
    """Return the card of each device of a VM that is to start at a host.

    Raises:
        LabFault: a device finds none: ``GenericVmConfigFault`` for DirectPath, virtual functions and
            device groups, ``InsufficientGraphicsResourcesFault`` for vGPUs.
    """
    if not any(isinstance(device.backing, _HELD) for device in vm.devices):
        return ()
    return _Choice(tables, vm, host, order).run()


_HELD = (StaticBacking, DynamicBacking, VgpuBacking, SriovBacking, DvxBacking)


class _Choice:
    """One VM's cards: those named first, then groups, then the rest with the fewest choices."""

    def __init__(self, tables: Tables, vm: Vm, host: Host, order: CardOrder) -> None:
        self.tables = tables
        self.vm = vm
        self.host = host
        self.order = order
        self.held: CardsHeld = cards_held(tables, host, without=vm.moid)
        self.hardware = self.held.cards.hardware
        self.function_of = self.held.cards.function_of
        self.together = {
            address: group for group in tables.topology(host).ownership_groups for address in group
        }
        self.seats: list[Seat] = []

    def run(self) -> tuple[Seat, ...]:
        single = [device for device in self.vm.devices if device.group_key is None]
        for device in single:
            if isinstance(device.backing, StaticBacking):
                self._static(device, device.backing)
        for group in self.vm.device_groups:
            members = [device for device in self.vm.devices if device.group_key == group.key]
            self._group(group.name, members)
        self._dynamic([device for device in single if isinstance(device.backing, DynamicBacking)])
        self._vgpus([device for device in single if isinstance(device.backing, VgpuBacking)])
        for device in single:
            if isinstance(device.backing, SriovBacking):
                self._function(device, device.backing.physical_function)
            elif isinstance(device.backing, DvxBacking):
                self._function(device, None)
        return tuple(self.seats)

    def _take(self, seat: Seat) -> None:
        self.seats.append(seat)
        self.held.add(seat)

    def _name(self, device: VmDevice) -> str:
        """The device as hostd calls it: the n-th passthrough device of the VM."""
        place = [d.key for d in self.vm.devices if not isinstance(d.backing, SriovBacking)]
        number = place.index(device.key) if device.key in place else 0
        return f"pciPassthru{number}"

    def _fails(self, device: VmDevice, why: str) -> LabFault:
        return vm_config(f"Module 'DevicePowerOn' power on failed. {self._name(device)}: {why}")

    def _static(self, device: VmDevice, backing: StaticBacking) -> None:
        """The card named must be there, be what it was, be passed through, and be free (govmomi #2248)."""
        card = self.hardware.get(backing.address)
        if card is None or backing.ids is None:
            raise self._fails(device, f"device {backing.address} was not found")
        if (card.ids.vendor, card.ids.device) != (backing.ids.vendor, backing.ids.device):
            raise self._fails(device, f"device {backing.address} is {card.ids}, not {backing.ids}")
        if card.system_id is not None and backing.system_id not in ("", card.system_id):
            raise self._fails(device, f"device {backing.address} is of another host")
        if card.passthrough is None or not card.passthrough.active:
            owner = self.function_of.get(backing.address)
            if owner is None:
                raise self._fails(device, f"device {backing.address} is not enabled for passthrough")
        owner = self.function_of.get(backing.address)
        if owner is not None:
            self._function(device, owner)
        elif not self.held.untouched(backing.address):
            raise self._fails(device, f"device {backing.address} is already in use")
        elif not self._is_apart(backing.address):
            raise self._fails(device, f"device {backing.address} is reset together with one that is in use")
        else:
            self._take(Seat(self.vm.moid, device.key, backing.address, PASSTHROUGH))

    def _is_apart(self, address: PciAddress) -> bool:
        """Whether no other VM holds a card that leaves the hypervisor together with this one.

        vSphere API: HostPciPassthruInfo.dependentDevice.
        """
        group = (self.held.whole.get(other) for other in self.together.get(address, ()))
        return all(seat is None or seat.vm == self.vm.moid for seat in group)

    def _open(self, backing: DynamicBacking) -> list[PciAddress]:
        found = [
            card.address
            for card in self.hardware.values()
            if _passed_through(card)
            and allowed_by(backing.allowed, card.ids)
            and (not backing.label or (card.passthrough and card.passthrough.label == backing.label))
            and self.held.untouched(card.address)
            and self._is_apart(card.address)
        ]
        return self.order.ranked(found, self.vm, self.host)

    def _dynamic(self, devices: Sequence[VmDevice]) -> None:
        wanted = [self._open(d.backing) for d in devices if isinstance(d.backing, DynamicBacking)]
        every = self.order.ranked({card for cards in wanted for card in cards}, self.vm, self.host)
        sets = [set(cards) for cards in wanted]
        found = assign(len(devices), [1] * len(every), lambda row, column: every[column] in sets[row])
        if found is None:
            names = ", ".join(
                self._name(device) for device, cards in zip(devices, wanted, strict=True) if not cards
            )
            raise self._missing(names or ", ".join(map(self._name, devices)))
        given: dict[tuple[PciAddress, ...], list[int]] = {}
        for cards, column in zip(wanted, found, strict=True):
            given.setdefault(tuple(cards), []).append(column)
        for columns in given.values():
            columns.sort(reverse=True)  # devices that are alike take theirs in order
        for device, cards in zip(devices, wanted, strict=True):
            address = every[given[tuple(cards)].pop()]
            self._take(Seat(self.vm.moid, device.key, address, PASSTHROUGH))

    def _missing(self, devices: str) -> LabFault:
        return vm_config(
            f"Insufficient resources. One or more devices ({devices}) required by VM {self.vm.name} "
            f"are not available on host {self.host.name}."
        )

    def _vgpus(self, devices: Sequence[VmDevice]) -> None:
        """The largest first: what is left between them may still do for the small ones."""
        sized = []
        for device in devices:
            profile = device.backing.profile if isinstance(device.backing, VgpuBacking) else ""
            shape = profile_shape(self.host, profile)
            sized.append((-shape.framebuffer_mib if shape else 0, device.key, device, profile))
        for _, _, device, profile in sorted(sized, key=lambda item: item[:2]):
            seat = self._vgpu(device, profile, None)
            if seat is None:
                text = f"One or more vGPUs ({profile}) required by VM {self.vm.name} are not available"
                raise LabFault("InsufficientGraphicsResourcesFault", f"{text} on host {self.host.name}.")
            self._take(seat)

    def _vgpu(self, device: VmDevice, profile: str, among: Sequence[PciAddress] | None) -> Seat | None:
        shape = profile_shape(self.host, profile)
        if shape is None:
            return None
        cards = [
            card
            for card in self.held.cards.devices
            if card.vgpu and offers(self.host, card, profile) and card.address not in self.held.whole
        ]
        by_address = {card.address: card for card in cards if among is None or card.address in among}
        for address in self._by_policy(self.order.ranked(by_address, self.vm, self.host)):
            offset = place_on(
                self.host,
                by_address[address],
                shape,
                self.held.vgpus.get(address, ()),
                from_end=self.order.luck is Luck.LAST,
            )
            if offset is not None:
                return Seat(self.vm.moid, device.key, address, VGPU, profile, offset)
        return None

    def _by_policy(self, ranked: list[PciAddress]) -> list[PciAddress]:
        """The host's policy counts in same-size mode only."""
        by_address = self.held.cards.by_address
        modes = {by_address[address].mode for address in ranked}
        if modes & {GpuMode.MIXED_SIZE, GpuMode.MIG}:
            return ranked

        def users(address: PciAddress) -> int:
            return len(self.held.vgpus.get(address, ()))

        if self.host.assignment_policy == _PERFORMANCE:
            return sorted(ranked, key=users)
        if self.host.assignment_policy == _CONSOLIDATION:
            return sorted(ranked, key=lambda address: -users(address))
        return ranked

    def _function(self, device: VmDevice, port: PciAddress | None) -> None:
        ports = self.held.cards.ports if port is None else (port,)
        if isinstance(device.backing, DvxBacking) and not ports:
            return  # what backs it is not told by any host
        for address in self.order.ranked(ports, self.vm, self.host):
            if self.held.free_functions(address) > 0 and address not in self.held.whole:
                self._take(Seat(self.vm.moid, device.key, address, VF))
                return
        where = "any port" if port is None else str(port)
        raise vm_config(
            f"Module 'DevicePowerOn' power on failed. {device.label}: no virtual function of {where} is free"
        )

    def _group(self, name: str, members: Sequence[VmDevice]) -> None:
        """A group's cards are one of the sets that the vendor's driver knows, all of it free."""
        offered = any(group.name == name for group in self.host.device_groups)
        sets = self.tables.group_sets(self.host, name) if offered else ()
        if sets is None:
            self._group_anyhow(name, members)
            return
        for cards in self._ranked_sets(sets):
            seats = self._seat_set(members, cards)
            if seats is not None:
                for seat in seats:
                    self._take(seat)
                return
        raise self._missing(name)

    def _ranked_sets(self, sets: Iterable[Sequence[PciAddress]]) -> list[tuple[PciAddress, ...]]:
        whole = [tuple(cards) for cards in sets if all(address in self.hardware for address in cards)]
        order = self.order.ranked({address for cards in whole for address in cards}, self.vm, self.host)
        rank = {address: place for place, address in enumerate(order)}
        return sorted(whole, key=lambda cards: [rank[address] for address in cards])

    def _seat_set(self, members: Sequence[VmDevice], cards: Sequence[PciAddress]) -> list[Seat] | None:
        left = list(cards)
        if not all(self._may_join(address) for address in left):
            return None
        seats = []
        for device in members:
            seat = next((s for address in left if (s := self._member(device, address)) is not None), None)
            if seat is None:
                return None
            left.remove(seat.address)
            seats.append(seat)
        return seats

    def _may_join(self, address: PciAddress) -> bool:
        card = self.held.cards.by_address.get(address)
        if card is not None and card.kind == "nic":
            return self.held.free_functions(address) > 0 or self.held.untouched(address)
        return self.held.untouched(address)

    def _member(self, device: VmDevice, address: PciAddress) -> Seat | None:
        """The seat of a group's member on a card, if the card can be it."""
        card = self.hardware[address]
        known = self.held.cards.by_address.get(address)
        match device.backing:
            case VgpuBacking(profile=profile):
                return self._vgpu(device, profile, (address,)) if known and known.kind == "gpu" else None
            case DynamicBacking() as backing if _passed_through(card) and allowed_by(
                backing.allowed, card.ids
            ):
                return Seat(self.vm.moid, device.key, address, PASSTHROUGH)
            case SriovBacking() | DvxBacking() if known is not None and known.kind == "nic":
                return Seat(self.vm.moid, device.key, address, VF)
            case _:
                return None

    def _group_anyhow(self, name: str, members: Sequence[VmDevice]) -> None:
        """Nobody knows the sets: any free cards that fit the members."""
        for device in members:
            cards = self.order.ranked(self.held.cards.by_address, self.vm, self.host)
            free = (address for address in cards if self._may_join(address))
            seat = next((s for address in free if (s := self._member(device, address)) is not None), None)
            if seat is None:
                raise self._missing(name)
            self._take(seat)


def _passed_through(card: PciDevice) -> bool:
    return card.passthrough is not None and card.passthrough.active
