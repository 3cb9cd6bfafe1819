"""Who chooses the card: the cards the platform may give a VM, and what holds whatever it chooses.

A static backing names its card. For a label, a device group, a vGPU or an unlabelled Dynamic device
the platform chooses at power-on among all that match; nothing that depends on the card may be promised
unless it holds for every such choice. It then holds until the next power cycle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from vplacer.constraints.holdings import PASSTHROUGH, HostUse, host_use, vm_holdings
from vplacer.constraints.matching import (
    gpu_matches,
    group_sets,
    group_type,
    nic_matches,
    serves,
)
from vplacer.constraints.state import DeviceAssignment, Placement, State
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import BoundBy, Demand, GpuAsk, NicAsk
from vplacer.topology.assignable import AssignableDevice
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.vgpu_capacity import held_shapes as card_shapes
from vplacer.topology.vgpu_room import ProfileShape, profile_shape, room_for


def use_of(state: State, host: str) -> HostUse:
    """Return what standing VMs leave of a host's cards in a state."""
    return state.derive(_use, host)


def _use(state: State, host: str) -> HostUse:
    standing = state.standing_by_host.get(host, ())
    return host_use(state.problem, state.problem.inventory.host_by_moid[host], standing)


def candidates(state: State, placement: Placement, assignment: DeviceAssignment) -> tuple[PciAddress, ...]:
    """Return the cards the platform may give for an assignment, by address.

    For a static backing: the card itself. For a VM that stays as it is: the card it holds until its
    next power cycle, or those it may hold where that is not known. Where the platform chooses, cards
    that standing VMs certainly hold or that static backings of this state name are out; so are
    labelled cards, where label-bound devices of this state take all of that label.
    """
    if placement.stays:
        return _held_by_stayer(state, placement, assignment)
    if assignment.bound_by is BoundBy.STATIC:
        return (assignment.address,)
    demand = state.problem.demand_by_id[placement.demand]
    host = state.problem.inventory.host_by_moid[placement.host]
    ask = ask_of(demand, assignment)
    if ask is None:
        return (assignment.address,)
    label = assignment.label if assignment.bound_by is BoundBy.LABEL else None
    cards: tuple[PciAddress, ...] = state.derive(
        _open_cards, host.moid, ask, label, _member_kind(state, host, assignment)
    )
    if label is None:
        return cards
    # The Dynamic backing allows the ids of the card chosen for it, and no others.
    devices = use_of(state, host.moid).devices
    ids = devices[assignment.address].ids if assignment.address in devices else None
    return tuple(address for address in cards if ids is None or devices[address].ids == ids)


def _held_by_stayer(
    state: State, placement: Placement, assignment: DeviceAssignment
) -> tuple[PciAddress, ...]:
    holdings = vm_holdings(state.problem, placement.demand)
    if assignment.bound_by is BoundBy.STATIC or any(h.address == assignment.address for h in holdings):
        return (assignment.address,)
    maybe = {a for h in holdings if assignment.address in h.candidates for a in h.candidates}
    if maybe:
        return tuple(sorted(maybe))
    # A VM that is off holds nothing: it gets any card that matches when it starts.
    host = state.problem.inventory.host_by_moid[placement.host]
    ask = ask_of(state.problem.demand_by_id[placement.demand], assignment)
    if ask is None:
        return (assignment.address,)
    return state.derive(_open_cards, host.moid, ask, assignment.label, _member_kind(state, host, assignment))


def ask_of(demand: Demand, assignment: DeviceAssignment) -> GpuAsk | NicAsk | None:
    """Return the ask an assignment answers, None where it answers none."""
    asks: Sequence[GpuAsk | NicAsk] = demand.gpus if assignment.ask == "gpu" else demand.nics
    return asks[assignment.index] if 0 <= assignment.index < len(asks) else None


def _member_kind(state: State, host: Host, assignment: DeviceAssignment) -> str:
    """The kind of card of an assignment: a device group has GPUs and NICs under one GPU ask."""
    device = use_of(state, host.moid).devices.get(assignment.address)
    return device.kind if device is not None else assignment.ask


def _open_cards(
    state: State, moid: str, ask: GpuAsk | NicAsk, label: str | None, kind: str
) -> tuple[PciAddress, ...]:
    host = state.problem.inventory.host_by_moid[moid]
    use = use_of(state, moid)
    cards = [d for d in use.devices.values() if d.kind == kind and _is_asked(host, d, ask, label)]
    if isinstance(ask, GpuAsk) and (ask.profile or ask.group):
        cards = [d for d in cards if _shared_card_open(host, use, d, ask)]
        if ask.group is not None:
            cards = _in_open_sets(state.problem.topologies[moid], ask.group, cards, use)
    elif isinstance(ask, NicAsk) and ask.kind == "sriov":
        cards = [d for d in cards if use.free_vfs(d.address) > 0]
    else:
        bound = bound_cards(state, moid)
        taken = exhausted_labels(state, moid) if label is None else frozenset()
        cards = [
            d for d in cards if d.address not in use.held and d.address not in bound and d.label not in taken
        ]
    return tuple(sorted(d.address for d in cards))


def _is_asked(host: Host, device: AssignableDevice, ask: GpuAsk | NicAsk, label: str | None) -> bool:
    if isinstance(ask, NicAsk):
        return nic_matches(device, ask) and (label is None or device.label == label)
    if ask.group is not None:
        group = group_type(host, ask.group)
        return group is not None and any(serves(host, device, part) for part in group.components)
    return gpu_matches(host, device, ask) and (label is None or device.label == label)


def _shared_card_open(host: Host, use: HostUse, device: AssignableDevice, ask: GpuAsk) -> bool:
    """Whether a vGPU card (or another member of a group) has room beside standing VMs."""
    held = use.held.get(device.address, ())
    if any(holding.kind == PASSTHROUGH for holding in held):
        return False
    if device.kind == "nic":
        return use.free_vfs(device.address) > 0 or (device.passthrough and not held)
    if not device.vgpu:
        return not held
    if ask.group is not None:
        return not held  # members of a group are full-framebuffer profiles
    shape = profile_shape(host, ask.profile or "")
    return shape is not None and room_for(device, shape, held_shapes(host, use, device.address)) > 0


def held_shapes(host: Host, use: HostUse, address: PciAddress) -> tuple[ProfileShape, ...]:
    """Return the shapes of the vGPUs standing VMs hold on a card; a profile not known counts as the
    whole card."""
    return card_shapes(host, use.devices.get(address), use.held.get(address, ()))


def _in_open_sets(
    topology: HostTopology, group: str, cards: list[AssignableDevice], use: HostUse
) -> list[AssignableDevice]:
    """Keep the cards that are in a set, all of it open, that can serve a device group."""
    sets = group_sets(topology, group)
    if sets is None:
        return cards
    held = {a for a, items in use.held.items() if any(h.kind != "vf" for h in items)}
    open_sets = [members for members in sets if held.isdisjoint(members)]
    inside = {address for members in open_sets for address in members}
    return [card for card in cards if card.address in inside]


def bound_cards(state: State, host: str) -> frozenset[PciAddress]:
    """Return the cards that static backings of the placements of a host name."""
    return state.derive(_bound_cards, host)


def _bound_cards(state: State, host: str) -> frozenset[PciAddress]:
    return frozenset(
        assignment.address
        for placement in state.placements_by_host.get(host, ())
        for assignment in placement.devices
        if assignment.bound_by is BoundBy.STATIC
    )


def exhausted_labels(state: State, host: str) -> frozenset[str]:
    """Return the labels of which label-bound devices of a state take every card left on a host."""
    return state.derive(_exhausted, host)


def _exhausted(state: State, host: str) -> frozenset[str]:
    use = use_of(state, host)
    bound = bound_cards(state, host)
    left = Counter(
        device.label
        for device in use.devices.values()
        if device.passthrough and device.label and device.address not in use.held.keys() | bound
    )
    taken = Counter(
        assignment.label
        for placement in state.placements_by_host.get(host, ())
        for assignment in placement.devices
        if assignment.bound_by is BoundBy.LABEL and assignment.label
    )
    return frozenset(label for label, count in taken.items() if label and count >= left[label])


def possible_cards(state: State, placement: Placement) -> tuple[tuple[PciAddress, ...], ...]:
    """Return, for each device of a placement in order, the cards it may turn out to be.

    Where a placement takes every candidate there is, the set is settled and only the order is open:
    each device then stands for one of them.
    """
    return state.derive(_possible_cards, placement)


def _possible_cards(state: State, placement: Placement) -> tuple[tuple[PciAddress, ...], ...]:
    every = [candidates(state, placement, assignment) for assignment in placement.devices]
    wanted = Counter(every)
    demand = state.problem.demand_by_id[placement.demand]
    dealt: Counter[tuple[PciAddress, ...]] = Counter()
    found: list[tuple[PciAddress, ...]] = []
    for assignment, cards in zip(placement.devices, every, strict=True):
        ask = ask_of(demand, assignment)
        if len(cards) > 1 and wanted[cards] == len(cards) and takes_whole_cards(ask):
            found.append((cards[dealt[cards]],))
            dealt[cards] += 1
        else:
            found.append(cards)
    return tuple(found)


def takes_whole_cards(ask: GpuAsk | NicAsk | None) -> bool:
    """Whether no two devices of an ask can be on one card: passthrough, and groups of full vGPUs."""
    if isinstance(ask, NicAsk):
        return ask.kind != "sriov"
    return ask is None or ask.profile is None


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Three-valued "and": False before unknown before True."""
    found = set(answers)
    if False in found:
        return False
    return None if None in found else True
